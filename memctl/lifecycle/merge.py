"""Merging two versions of a record or page: key by key, section by section, list item by list item."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from memctl.journal import threeway
from memctl.model import frontmatter, headings, moments
from memctl.model.kinds import KINDS
from memctl.model.malformed import Malformed
from memctl.model.record import ORDER

Values = Mapping[str, Any]

# How far a status is on its way, after the tables of `transitions`: what can be reached only through another comes
# after it. `superseded` is last, because nothing follows it and the other record says it too. Of two that are
# equally far (accepted or rejected, resolved or wontfix) a person chooses.
_PROGRESS: dict[str, dict[str, int]] = {
    "decision": {"proposed": 0, "accepted": 1, "rejected": 1, "deprecated": 2, "superseded": 3},
    "issue": {"open": 0, "in-progress": 1, "resolved": 2, "wontfix": 2},
    "state": {"active": 0, "done": 1, "superseded": 2},
    "learning": {"active": 0, "retracted": 1, "superseded": 2},
}
_COUNT = "access_count"
_CONFLICT = object()
_ITEM = re.compile(r"[-*+][ \t]")


class Merged(msgspec.Struct, frozen=True):
    """What a merge came to: the text, the keys and headings that conflict in it, and what was decided for a person."""

    text: str
    conflicts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class _Side(msgspec.Struct, frozen=True):
    """One version: the lines and the value of each key, and what follows the front matter."""

    lines: dict[str, str]
    values: dict[str, Any]  # without those that say nothing: null and []
    rest: str


def merge(base: str, ours: str, theirs: str) -> Merged:
    """Merge two versions of a record or page that come from `base` ("" if both were added).

    What conflicts stands between Git's markers. A version that can't be read is merged as plain lines. Line ends are
    those of `ours`. Raises GitFailed for what Git takes for binary.
    """
    if ours == theirs or theirs == base:
        return Merged(ours)
    if ours == base:
        return Merged(theirs)
    merged = _merge(*map(frontmatter.clean_newlines, (base, ours, theirs)))
    text = merged.text.replace("\n", "\r\n") if ours.partition("\n")[0].endswith("\r") else merged.text
    return Merged("\ufeff" * ours.startswith("\ufeff") + text, merged.conflicts, merged.notes)


def _merge(base_text: str, ours_text: str, theirs_text: str) -> Merged:
    base, ours, theirs = map(_side, (base_text, ours_text, theirs_text))
    if ours is None or theirs is None:
        return _plain(base_text, ours_text, theirs_text)
    if base is None:  # both added it, or an inner merge of a criss-cross left its markers
        if ours.values.get("memory_id") != theirs.values.get("memory_id"):
            return _plain(base_text, ours_text, theirs_text)  # two records that only share their path
        # Of a count that was there before it is known only that it was no more than the smaller one.
        count = {_COUNT: min(side.values.get(_COUNT, 0) for side in (ours, theirs))} if base_text else {}
        base = _Side({}, count, "")
    head, in_head, notes = _merge_heads(base, ours, theirs)
    body, in_body = _merge_bodies(base, ours, theirs)
    conflicts = (*in_head, *in_body)
    text = f"---\n{head}---\n{body}"
    if not conflicts and _side(text) is None:
        return _plain(base_text, ours_text, theirs_text)
    return Merged(text, conflicts, tuple(notes))


def _side(text: str) -> _Side | None:
    """A version taken apart; None if it can't be read."""
    try:
        text.encode()
        values, _ = frontmatter.read(text)
        lines = {block.key: block.text for block in frontmatter.blocks(text)}
        rest = frontmatter.split(text)[1]
    except (Malformed, UnicodeEncodeError):
        return None
    return _Side(lines, {key: value for key, value in values.items() if value is not None and value != []}, rest)


def _plain(base: str, ours: str, theirs: str) -> Merged:
    text, count = threeway.texts(base, ours, theirs)
    # Lines that don't touch can still break each other: the same key twice is no conflict for Git.
    broken = _side(text) is None and _side(ours) is not None and _side(theirs) is not None
    return Merged(text, ("the text",) if count or broken else ())


def _merge_heads(base: _Side, ours: _Side, theirs: _Side) -> tuple[str, list[str], list[str]]:
    """The front matter of a merge, the keys that conflict in it, and what to tell about the others."""
    head, conflicts, notes = "", [], []
    for key in threeway.names(list(base.lines), list(ours.lines), list(theirs.lines), ORDER):
        lines, value = _merge_key(key, base, ours, theirs)
        head += lines
        if value is _CONFLICT:
            conflicts.append(key)
        elif key == "status":
            lost = [side.values.get(key) for side in (ours, theirs)]
            notes += [f"{key} is {value}, no longer {v}" for v in lost if v not in (value, base.values.get(key))]
    return head, conflicts, notes


def _merge_key(key: str, base: _Side, ours: _Side, theirs: _Side) -> tuple[str, Any]:
    """The lines and the value of one key; _CONFLICT for a value, if a person has to choose."""
    before, one, other = (side.lines.get(key, "") for side in (base, ours, theirs))
    if other == before or (one == other and key != _COUNT):
        return one, ours.values.get(key)
    if one == before:
        return other, theirs.values.get(key)
    value = _merge_value(key, base.values, ours.values, theirs.values)
    was, mine, yours = (side.values.get(key) for side in (base, ours, theirs))
    # A side that changed lines but no value changed comments, and has the lines to keep.
    swap = not one or (_same(yours, was) and not _same(mine, was))
    kept, others, current = (other, one, yours) if swap else (one, other, mine)
    if value is not _CONFLICT and not _same(value, current):
        try:
            kept = frontmatter.split(frontmatter.replace(f"---\n{kept}---\n", {key: value}, ()))[0]
        except ValueError:  # a key that memctl itself would not write
            value = _CONFLICT
    if value is _CONFLICT:
        return f"<<<<<<< ours\n{one}=======\n{other}>>>>>>> theirs\n", value
    known = {*before.split("\n"), *kept.split("\n")}
    added = [line for line in others.split("\n") if line.startswith("#") and line not in known]
    return kept + "".join(f"{line}\n" for line in added), value


def _merge_value(key: str, base: Values, ours: Values, theirs: Values) -> Any:
    before, one, other = (values.get(key) for values in (base, ours, theirs))
    if _same(other, before) or (_same(one, other) and key != _COUNT):
        return one
    if _same(one, before):
        return other
    if all(value is None or _is_list(value) for value in (before, one, other)):
        if key == "reviewed" and "memory_type" not in ours:
            return _stamps(base, ours, theirs)
        return threeway.lists(before or [], one or [], other or [], key=lambda item: (type(item), item))
    rule = (_RECORD_RULES if "memory_type" in ours else _PAGE_RULES).get(key)
    return rule(key, base, ours, theirs) if rule else _CONFLICT


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, (str, int, float)) for item in value)


def _stamps(base: Values, ours: Values, theirs: Values) -> list[str]:
    """One stamp a file: if both sides reviewed it, that of the page that was changed later, else ours.

    What the file itself will hold is not known yet; if neither stamp is for that, the page counts as suspect.
    """
    was, *sides = ({str(item).rsplit(" ", 1)[0]: item for item in v.get("reviewed", ())} for v in (base, ours, theirs))
    is_later = _later("timestamp", base, ours, theirs) == theirs.get("timestamp") != ours.get("timestamp")
    found = []
    for path in {**sides[0], **sides[1]}:
        stamps = [side.get(path) for side in (reversed(sides) if is_later else sides)]
        changed = [stamp for stamp in stamps if stamp != was.get(path)] or stamps
        found += [stamp for stamp in changed if stamp is not None][:1]
    return found


def _both_counts(key: str, base: Values, ours: Values, theirs: Values) -> Any:
    before, one, other = (values.get(key, 0) for values in (base, ours, theirs))
    if any(type(count) is not int for count in (before, one, other)):
        return _CONFLICT
    return max(0, one + other - before)


def _later(key: str, _: Values, ours: Values, theirs: Values) -> Any:
    found = [values[key] for values in (ours, theirs) if key in values]
    try:
        return max(found, key=lambda value: moments.parse(str(value)))
    except ValueError:
        return _CONFLICT


def _either(key: str, _: Values, ours: Values, theirs: Values) -> Any:
    found = [values.get(key, False) for values in (ours, theirs)]
    return any(found) if all(isinstance(value, bool) for value in found) else _CONFLICT


def _furthest(key: str, _: Values, ours: Values, theirs: Values) -> Any:
    progress = _PROGRESS.get(str(ours.get("memory_type")), {})
    ranks = [progress.get(str(values.get(key)), -1) for values in (ours, theirs)]
    if -1 in ranks or ranks[0] == ranks[1]:
        return _CONFLICT
    return (ours if ranks[0] > ranks[1] else theirs)[key]


def _who_came_later(key: str, base: Values, ours: Values, theirs: Values) -> Any:
    last = _later("timestamp", base, ours, theirs) if "timestamp" in ours and "timestamp" in theirs else _CONFLICT
    found = [values.get(key) for values in (ours, theirs) if values.get("timestamp") == last]
    return found[0] if len(found) == 1 else _CONFLICT


_Rule = Callable[[str, Values, Values, Values], Any]
_RECORD_RULES: dict[str, _Rule] = {
    "status": _furthest,
    "is_archived": _either,
    "archived_at": _later,
    _COUNT: _both_counts,
    "last_accessed": _later,
}
_PAGE_RULES: dict[str, _Rule] = {"timestamp": _later, "agent_id": _who_came_later}  # of the last change to a page


def _merge_bodies(base: _Side, ours: _Side, theirs: _Side) -> tuple[str, list[str]]:
    """The body of a merge, and the headings under which there are conflicts."""
    if ours.rest == theirs.rest or theirs.rest == base.rest:
        return ours.rest, []
    if ours.rest == base.rest:
        return theirs.rest, []
    before, one, other = (_sections(side.rest) for side in (base, ours, theirs))
    kind = KINDS.get(str(ours.values.get("memory_type")))
    order = [field.heading.casefold() for field in kind.fields] if kind else []
    parts: dict[str, str] = {}
    conflicts: list[str] = []
    for name in threeway.names(list(before), list(one), list(other), order):
        texts = [sections.get(name, "").rstrip("\n") for sections in (before, one, other)]
        parts[name], conflict = _merge_section(*texts)
        if conflict:
            conflicts.append(name)
    parts = {name: text for name, text in parts.items() if text or not name}
    end = ours.rest if ours.rest.strip("\n") else theirs.rest
    text = _joined(parts, one, other, conflicts) + end[len(end.rstrip("\n")) :]
    return text, [name.strip("\n") or "the text before the first heading" for name in conflicts]


def _sections(rest: str) -> dict[str, str]:
    """The parts of a body by their headings; of several with one heading the later ones have line ends behind it."""
    found: dict[str, str] = {}
    for part in headings.split(rest):
        name = (part.heading.casefold() or "##") if part.text.startswith("## ") else ""
        while name in found:
            name += "\n"
        found[name] = part.text
    return found


def _joined(parts: dict[str, str], ours: dict[str, str], theirs: dict[str, str], conflicts: Collection[str]) -> str:
    """The parts of a body one after the other, as far apart as they stand in one of its versions."""
    text, last = "", next(reversed(parts), "")
    for name, content in parts.items():
        if name == last:
            return text + content
        apart = "\n\n"
        for side in (theirs, ours):
            if name in side and name != next(reversed(side)):
                apart = side[name][len(side[name].rstrip("\n")) :]
        text += (content if name in conflicts else headings.close_fence(content)) + apart
    return text


def _merge_section(base: str, ours: str, theirs: str) -> tuple[str, bool]:
    """One part of a body, and whether it is in conflict."""
    if ours == theirs or theirs == base:
        return ours, False
    if ours == base:
        return theirs, False
    before, one, other = map(_listed, (base, ours, theirs))
    if before and one and other:
        items = threeway.lists(before[1], one[1], other[1], key=lambda item: item[1:].strip())
        above = one[0] if one[1] else other[0]
        loose = any(item.endswith("\n\n") for item in one[1])
        return above + ("\n\n" if loose else "\n").join(item.rstrip("\n") for item in items) if items else "", False
    text, count = threeway.texts(*(text + "\n" if text else "" for text in (base, ours, theirs)))
    return text.rstrip("\n"), count > 0


def _listed(text: str) -> tuple[str, list[str]] | None:
    """A part of a body that is nothing but a list: what stands above the items, and each with all of its lines.

    A numbered list is none: its items have an order, which a union would not keep.
    """
    above, items = "", []
    for line in text.split("\n") if text else ():
        if _ITEM.match(line):
            items.append(line + "\n")
        elif items and (not line.strip() or line[0] in " \t"):
            items[-1] += line + "\n"
        elif not items and (not line or line.startswith("## ")):
            above += line + "\n"
        else:
            return None
    return above, items
