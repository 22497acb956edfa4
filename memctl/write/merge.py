"""Merging two versions of a record or page: key by key, section by section, list item by list item.

If both sides changed one value and no rule decides, both values are put between Git's conflict markers for a person. If
the caller prefers one side, its value is taken instead, and the other side's value is reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from memctl.git import tree_merge
from memctl.git.tree_merge import Preference
from memctl.record import frontmatter, frontmatter_edit, record_form
from memctl.record.errors import FrontMatterError
from memctl.record.handoff import OFFERED
from memctl.record.kinds import KINDS
from memctl.record.parser import derived, is_slim
from memctl.record.record import ORDER
from memctl.text import headings, timestamps

WHOLE = "the text"  # the name of a conflict in versions that can't be parsed

_APART = ("the two versions are different records with the same id: `memctl renumber` gives one of them a new id",)


class MergeResult(msgspec.Struct, frozen=True):
    """The result of merging two versions of a record or page.

    - `text` is the merged text.
    - `conflicts` are the keys and headings in conflict, whose values are between Git's markers.
    - `notes` tell the user what a rule decided.
    - `lost` are values that the merged text lacks: a status, if the other side's status comes later in a record's life,
      and in a conflict the values of the side that was not preferred.
    """

    text: str
    conflicts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    lost: tuple[LostValue, ...] = ()


class _Side(msgspec.Struct, frozen=True):
    """One version: the lines and the value of each key, and what follows the front matter."""

    lines: dict[str, str]
    values: dict[str, Any]  # without null and []
    rest: str
    is_slim: bool = False  # a record in the form of format 2


def merge(base: str, ours: str, theirs: str, *, prefer: Preference = "", apart: bool = False) -> MergeResult:
    """Merge two versions of a record or page, `ours` and `theirs`, with their ancestor `base` ("" if both were added).

    Conflicts are put between Git's markers, or resolved for the side `prefer`. Unreadable versions are merged as plain
    lines. Line ends are those of `ours`. `apart` says that each side counted its own retrievals, so that the two counts
    are added even if they are equal. Raises GitFailed for a text that Git takes for binary.
    """
    if theirs == base or (ours == theirs and not apart):
        return MergeResult(ours)
    if ours == base:
        return MergeResult(theirs)
    merged = _merge(*map(frontmatter.clean_newlines, (base, ours, theirs)), prefer=prefer)
    text = merged.text.replace("\n", "\r\n") if ours.partition("\n")[0].endswith("\r") else merged.text
    return msgspec.structs.replace(merged, text="\ufeff" * ours.startswith("\ufeff") + text)


def merge_cleanly(base: str | None, ours: str | None, theirs: str | None) -> str | None:
    """Return two versions of a record or page merged; None if they conflict, or if one of the texts is missing."""
    if base is None or ours is None or theirs is None:
        return None
    merged = merge(base, ours, theirs)
    return None if merged.conflicts else merged.text


def _merge(base_text: str, ours_text: str, theirs_text: str, *, prefer: Preference) -> MergeResult:
    """Merge versions with LF line ends; the parameters are those of `merge`."""
    texts = [base_text, ours_text, theirs_text]
    sides = [_side(text) for text in texts]
    if len({side.is_slim for side in sides if side}) > 1:  # one side has been upgraded
        texts = [record_form.to_slim(text) if side else text for text, side in zip(texts, sides, strict=True)]
        sides = [_side(text) for text in texts]
    (base_text, ours_text, theirs_text), (base, ours, theirs) = texts, sides
    if ours is None or theirs is None:
        return _merge_as_lines(base_text, ours_text, theirs_text, prefer)
    if ours.values.get("memory_id") != theirs.values.get("memory_id"):
        # Two records that share a path, or one that Git took for the other, renamed, because records are alike.
        return msgspec.structs.replace(_merge_as_lines("", ours_text, theirs_text, prefer), notes=_APART)
    if base is None:  # both added it, or an inner merge of a criss-cross left its markers
        # The count before both sides is unknown, but not more than the smaller one.
        count = {COUNT: min(side.values.get(COUNT, 0) for side in (ours, theirs))} if base_text else {}
        # Every handoff was offered first. If one side brought it over from another branch to answer it, the offer is
        # the base.
        offered = (side for side in (ours, theirs) if side.values.get("status") == OFFERED)
        base = next(offered, _Side({}, count, ""))
    head, in_head, by_order = _merge_heads(base, ours, theirs, prefer)
    kind = KINDS.get(str(ours.values.get("memory_type")))
    order = [field.heading.casefold() for field in kind.fields] if kind else []
    body, in_body = merge_bodies(base.rest, ours.rest, theirs.rest, order, prefer)
    text = f"---\n{head}---\n{body}"
    conflicts = (*in_head, *in_body)
    if (prefer or not conflicts) and _side(text) is None:
        return _merge_as_lines(base_text, ours_text, theirs_text, prefer)
    notes = tuple(f"{value.key} is now {value.kept}, and no longer {value.lost}" for value in by_order)
    if prefer:
        return MergeResult(text, (), notes, (*by_order, *conflicts))
    return MergeResult(text, tuple(key.key for key in conflicts), notes, tuple(by_order))


def _side(text: str) -> _Side | None:
    """Return a version taken apart; None if it can't be read."""
    try:
        text.encode()
        values, _ = frontmatter.read(text)
        lines = {block.key: block.text for block in frontmatter_edit.blocks(text)}
        rest = frontmatter.split(text)[1]
    except (FrontMatterError, UnicodeEncodeError):
        return None
    values = {key: value for key, value in values.items() if value is not None and value != []}
    implied = derived(values) if is_slim(values) else {}  # {} for a page, too
    kind = {"memory_type": implied["memory_type"]} if implied else {}
    return _Side(lines, {**values, **kind}, rest, bool(implied))


def _merge_as_lines(base: str, ours: str, theirs: str, prefer: Preference) -> MergeResult:
    """Merge versions as plain lines.

    If they conflict and a side is preferred, that side's whole text wins, unless only the other one can be read.
    """
    text, count = tree_merge.merge_texts(base, ours, theirs)
    # Lines that don't touch can still break each other: the same key twice is no conflict for Git.
    broken = _side(text) is None and _side(ours) is not None and _side(theirs) is not None
    if not (count or broken):
        return MergeResult(text)
    if not prefer:
        return MergeResult(text, (WHOLE,))
    winner, loser = (ours, theirs) if prefer == "ours" else (theirs, ours)
    if _side(winner) is None and _side(loser) is not None:
        winner, loser = loser, winner
    return MergeResult(winner, lost=(LostValue(WHOLE, loser, winner),))


def _merge_heads(
    base: _Side, ours: _Side, theirs: _Side, prefer: Preference
) -> tuple[str, list[LostValue], list[LostValue]]:
    """Merge the front matter of two versions, and return it with two lists of values.

    The first has the values in conflict, or with `prefer` those that gave way. The second has statuses that gave way to
    one that is further on.
    """
    head = ""
    conflicts: list[LostValue] = []
    by_order: list[LostValue] = []
    order = record_form.SLIM_ORDER if ours.is_slim else ORDER
    for key in tree_merge.merge_names(list(base.lines), list(ours.lines), list(theirs.lines), order):
        lines, value = _merge_key(key, base, ours, theirs)
        if value is CONFLICT:
            winner, loser = (ours, theirs) if prefer == "ours" else (theirs, ours)
            lines = winner.lines.get(key, "") if prefer else lines
            conflicts.append(LostValue(key, _as_text(loser.values.get(key)), _as_text(winner.values.get(key))))
        elif key == "status":
            lost = [side.values.get(key) for side in (ours, theirs)]
            others = [one for one in lost if one not in (value, base.values.get(key))]
            by_order += [LostValue(key, _as_text(one), _as_text(value)) for one in others]
        head += lines
    return head, conflicts, by_order


def _as_text(value: Any) -> str:
    """Return a value as text: a text as it is, anything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()


def _merge_key(key: str, base: _Side, ours: _Side, theirs: _Side) -> tuple[str, Any]:
    """Return the lines and the value of one key; CONFLICT for a value, if a person has to choose."""
    before, one, other = (side.lines.get(key, "") for side in (base, ours, theirs))
    if other == before or (one == other and key != COUNT):
        return one, ours.values.get(key)
    if one == before:
        return other, theirs.values.get(key)
    value = merge_values(key, base.values, ours.values, theirs.values)
    was, mine, yours = (side.values.get(key) for side in (base, ours, theirs))
    # A side that changed lines and no value has changed comments: its lines are kept.
    swap = not one or (equal_values(yours, was) and not equal_values(mine, was))
    winner, current = (other, yours) if swap else (one, mine)
    if value is not CONFLICT and not equal_values(value, current):
        try:
            text = f"---\n{winner}---\n"
            changed = {key: value}
            text = record_form.replace(text, changed) if ours.is_slim else frontmatter_edit.replace(text, changed, ())
            winner = frontmatter.split(text)[0]
        except ValueError:  # memctl can't write this key
            value = CONFLICT
    if value is CONFLICT:
        return f"<<<<<<< ours\n{one}=======\n{other}>>>>>>> theirs\n", value
    known = {*frontmatter_edit.comments(before), *frontmatter_edit.comments(winner)}
    added = [comment for comment in frontmatter_edit.comments(one + other) if comment not in known]
    return winner + "".join(f"{comment}\n" for comment in added), value


_ITEM = re.compile(r"[-*+][ \t]")


class LostValue(msgspec.Struct, frozen=True):
    """A value that was replaced in a merge: its key or heading, its text, and the text that was kept in its place.

    Both texts are as they are written in a file; "" if a side had removed the value.
    """

    key: str
    lost: str
    kept: str


def merge_bodies(
    base: str, ours: str, theirs: str, order: Sequence[str], prefer: Preference = ""
) -> tuple[str, list[LostValue]]:
    """Merge two bodies with the ancestor `base`; return the merged body, and the values that are in conflict.

    If `prefer` is "ours" or "theirs", the merged body has the values of that side, and the returned values are those
    that it replaced. `order` are headings in lower case: if both sides add headings at one place, they are put in this
    order.
    """
    if ours == theirs or theirs == base:
        return ours, []
    if ours == base:
        return theirs, []
    before, one, other = map(_sections, (base, ours, theirs))
    parts: dict[str, str] = {}
    conflicts: dict[str, LostValue] = {}
    for name in tree_merge.merge_names(list(before), list(one), list(other), order):
        was, mine, yours = (sections.get(name, "").rstrip("\n") for sections in (before, one, other))
        parts[name], conflict = _merge_section(was, mine, yours, prefer)
        if conflict:
            title = name.strip("\n") or "the text before the first heading"
            conflicts[name] = _lost_value(title, was, mine, yours, parts[name], prefer)
    parts = {name: text for name, text in parts.items() if text or not name}
    end = ours if ours.strip("\n") else theirs
    text = _join_parts(parts, one, other, () if prefer else conflicts) + end[len(end.rstrip("\n")) :]
    return text, list(conflicts.values())


def _lost_value(name: str, base: str, ours: str, theirs: str, result: str, prefer: Preference) -> LostValue:
    """Return the lines of the losing side under a heading that the result lacks, and what stands there instead."""
    loser, winner = (ours, theirs) if prefer == "theirs" else (theirs, ours)
    known, merged_lines = base.split("\n"), result.split("\n")
    gone = [line for line in loser.split("\n") if line.strip() and line not in merged_lines and line not in known]
    lines = [line for line in winner.split("\n") if line.strip() and line in merged_lines and line not in known]
    return LostValue(name, "\n".join(gone), "\n".join(lines))


def _sections(rest: str) -> dict[str, str]:
    """Return the parts of a body by heading; a repeated heading gets one more line end each time."""
    sections: dict[str, str] = {}
    for part in headings.split(rest):
        name = (part.heading.casefold() or "##") if part.is_headed else ""
        while name in sections:
            name += "\n"
        sections[name] = part.text
    return sections


def _join_parts(parts: dict[str, str], ours: dict[str, str], theirs: dict[str, str], conflicts: Collection[str]) -> str:
    """Join the parts of a body, with as many line ends between two as one of the versions has there."""
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


def _merge_section(base: str, ours: str, theirs: str, prefer: Preference) -> tuple[str, bool]:
    """Merge one part of a body; return it, and whether it is in conflict."""
    if ours == theirs or theirs == base:
        return ours, False
    if ours == base:
        return theirs, False
    before, one, other = map(_list_items, (base, ours, theirs))
    if before and one and other:
        items = tree_merge.merge_lists(before[1], one[1], other[1], key=lambda item: item[1:].strip())
        above = one[0] if one[1] else other[0]
        loose = any(item.endswith("\n\n") for item in one[1])
        return above + ("\n\n" if loose else "\n").join(item.rstrip("\n") for item in items) if items else "", False
    versions = [text + "\n" if text else "" for text in (base, ours, theirs)]
    text, count = tree_merge.merge_texts(*versions)
    if count and prefer:
        text, _ = tree_merge.merge_texts(*versions, prefer=prefer)
    return text.rstrip("\n"), count > 0


def _list_items(text: str) -> tuple[str, list[str]] | None:
    """Return a part of a body that is only a list: the text above it, and the items, each with all of its lines.

    Returns None for any other part, such as a numbered list: a union of items would not keep its order.
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


Values = Mapping[str, Any]

COUNT = "access_count"
CONFLICT = object()  # for a value that a person has to choose


def merge_values(key: str, base: Values, ours: Values, theirs: Values) -> Any:
    """Return the merged value of the front matter key `key`, None for no value.

    `base`, `ours` and `theirs` are the front matter of the three versions, by key. The result is CONFLICT if both sides
    changed the value and no rule decides.
    """
    before, one, other = (values.get(key) for values in (base, ours, theirs))
    if equal_values(other, before) or (equal_values(one, other) and key != COUNT):
        return one
    if equal_values(one, before):
        return other
    if all(value is None or _is_list(value) for value in (before, one, other)):
        if key == "reviewed" and "memory_type" not in ours:
            return _stamps(base, ours, theirs)
        return tree_merge.merge_lists(before or [], one or [], other or [], key=lambda item: (type(item), item))
    rule = (_RECORD_RULES if "memory_type" in ours else _PAGE_RULES).get(key)
    return rule(key, base, ours, theirs) if rule else CONFLICT


def equal_values(one: Any, other: Any) -> bool:
    """Return whether two values are equal and of the same type: 1 and True are not equal here."""
    return type(one) is type(other) and bool(one == other)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, (str, int, float)) for item in value)


def _stamps(base: Values, ours: Values, theirs: Values) -> list[str]:
    """Return the merged stamps of a page, one for each file.

    If both sides reviewed a file, the stamp of the page that was changed later is taken, else ours. What the merged
    file contains is not known yet; if neither stamp fits, the page counts as suspect.
    """
    was, *sides = ({str(item).rsplit(" ", 1)[0]: item for item in v.get("reviewed", ())} for v in (base, ours, theirs))
    is_later = _latest_time("timestamp", base, ours, theirs) == theirs.get("timestamp") != ours.get("timestamp")
    all_stamps = []
    for path in {**sides[0], **sides[1]}:
        stamps = [side.get(path) for side in (reversed(sides) if is_later else sides)]
        changed = [stamp for stamp in stamps if stamp != was.get(path)] or stamps
        all_stamps += [stamp for stamp in changed if stamp is not None][:1]
    return all_stamps


def _sum_of_counts(key: str, base: Values, ours: Values, theirs: Values) -> Any:
    before, one, other = (values.get(key, 0) for values in (base, ours, theirs))
    if any(type(count) is not int for count in (before, one, other)):
        return CONFLICT
    return max(0, one + other - before)


def _latest_time(key: str, _: Values, ours: Values, theirs: Values) -> Any:
    times = [values[key] for values in (ours, theirs) if key in values]
    try:
        return max(times, key=lambda value: timestamps.parse(str(value)))
    except ValueError:
        return CONFLICT


def _any_true(key: str, _: Values, ours: Values, theirs: Values) -> Any:
    flags = [values.get(key, False) for values in (ours, theirs)]
    return any(flags) if all(isinstance(value, bool) for value in flags) else CONFLICT


def _furthest_status(key: str, _: Values, ours: Values, theirs: Values) -> Any:
    kind = KINDS.get(str(ours.get("memory_type")))
    one, other = (kind.step(str(values.get(key))) if kind else None for values in (ours, theirs))
    if one is None or other is None or one.rank == other.rank:
        return CONFLICT
    return (ours if one.rank > other.rank else theirs)[key]


def _latest_agent(key: str, base: Values, ours: Values, theirs: Values) -> Any:
    last = _latest_time("timestamp", base, ours, theirs) if "timestamp" in ours and "timestamp" in theirs else CONFLICT
    agents = [values.get(key) for values in (ours, theirs) if values.get("timestamp") == last]
    return agents[0] if len(agents) == 1 else CONFLICT


_Rule = Callable[[str, Values, Values, Values], Any]
_RECORD_RULES: dict[str, _Rule] = {
    "status": _furthest_status,
    "is_archived": _any_true,
    "archived_at": _latest_time,
    COUNT: _sum_of_counts,
    "last_accessed": _latest_time,
}
_PAGE_RULES: dict[str, _Rule] = {"timestamp": _latest_time, "agent_id": _latest_agent}  # from the last change of a page
