"""Merging two versions of a record or page: key by key, section by section, list item by list item.

Where both sides changed one thing and no rule decides, a person does, between Git's markers; or one side is preferred,
and what gives way is named.
"""

from __future__ import annotations

from typing import Any

import msgspec

from memctl.git import threeway
from memctl.git.threeway import Preference
from memctl.record import frontmatter
from memctl.record.errors import Malformed
from memctl.record.kinds import KINDS
from memctl.record.record import ORDER
from memctl.write import merge_bodies, merge_values
from memctl.write.merge_bodies import Lost
from memctl.write.merge_values import CONFLICT, COUNT, same

WHOLE = "the text"  # what conflicts if the versions can't be taken apart

_APART = ("these are two records: `memctl renumber` takes them apart",)


class Merged(msgspec.Struct, frozen=True):
    """What a merge came to: the text, the keys and headings that conflict in it, and what was decided for a person.

    `lost` are values that gave way: a status to one further on, and if a side is preferred, whatever conflicted.
    """

    text: str
    conflicts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    lost: tuple[Lost, ...] = ()


class _Side(msgspec.Struct, frozen=True):
    """One version: the lines and the value of each key, and what follows the front matter."""

    lines: dict[str, str]
    values: dict[str, Any]  # without those that say nothing: null and []
    rest: str


def merge(base: str, ours: str, theirs: str, *, prefer: Preference = "", apart: bool = False) -> Merged:
    """Merge two versions of a record or page that come from `base` ("" if both were added).

    What conflicts stands between Git's markers, or as the side has it that is preferred. A version that can't be read
    is merged as plain lines. Line ends are those of `ours`. `apart` says that no commit made both versions: what each
    counted adds up, though they come to the same. Raises GitFailed for what Git takes for binary.
    """
    if theirs == base or (ours == theirs and not apart):
        return Merged(ours)
    if ours == base:
        return Merged(theirs)
    merged = _merge(*map(frontmatter.clean_newlines, (base, ours, theirs)), prefer=prefer)
    text = merged.text.replace("\n", "\r\n") if ours.partition("\n")[0].endswith("\r") else merged.text
    return msgspec.structs.replace(merged, text="\ufeff" * ours.startswith("\ufeff") + text)


def _merge(base_text: str, ours_text: str, theirs_text: str, *, prefer: Preference) -> Merged:
    base, ours, theirs = map(_side, (base_text, ours_text, theirs_text))
    if ours is None or theirs is None:
        return _plain(base_text, ours_text, theirs_text, prefer)
    if ours.values.get("memory_id") != theirs.values.get("memory_id"):
        # Two records that share their path, or of which Git took the one for the other, renamed: records are alike.
        return msgspec.structs.replace(_plain("", ours_text, theirs_text, prefer), notes=_APART)
    if base is None:  # both added it, or an inner merge of a criss-cross left its markers
        # Of a count that was there before it is known only that it was no more than the smaller one.
        count = {COUNT: min(side.values.get(COUNT, 0) for side in (ours, theirs))} if base_text else {}
        base = _Side({}, count, "")
    head, in_head, by_order = _merge_heads(base, ours, theirs, prefer)
    kind = KINDS.get(str(ours.values.get("memory_type")))
    order = [field.heading.casefold() for field in kind.fields] if kind else []
    body, in_body = merge_bodies.merged(base.rest, ours.rest, theirs.rest, order, prefer)
    text = f"---\n{head}---\n{body}"
    found = (*in_head, *in_body)
    if (prefer or not found) and _side(text) is None:
        return _plain(base_text, ours_text, theirs_text, prefer)
    notes = tuple(f"{one.key} is {one.kept}, no longer {one.lost}" for one in by_order)
    if prefer:
        return Merged(text, (), notes, (*by_order, *found))
    return Merged(text, tuple(one.key for one in found), notes, tuple(by_order))


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


def _plain(base: str, ours: str, theirs: str, prefer: Preference) -> Merged:
    """A merge of lines; with a preferred side, of whole files, unless that side can't be read and the other can."""
    text, count = threeway.texts(base, ours, theirs)
    # Lines that don't touch can still break each other: the same key twice is no conflict for Git.
    broken = _side(text) is None and _side(ours) is not None and _side(theirs) is not None
    if not (count or broken):
        return Merged(text)
    if not prefer:
        return Merged(text, (WHOLE,))
    winner, loser = (ours, theirs) if prefer == "ours" else (theirs, ours)
    if _side(winner) is None and _side(loser) is not None:
        winner, loser = loser, winner
    return Merged(winner, lost=(Lost(WHOLE, loser, winner),))


def _merge_heads(base: _Side, ours: _Side, theirs: _Side, prefer: Preference) -> tuple[str, list[Lost], list[Lost]]:
    """The front matter of a merge, what conflicts in it (or gave way), and what gave way by the order of statuses."""
    head = ""
    conflicts: list[Lost] = []
    by_order: list[Lost] = []
    for key in threeway.names(list(base.lines), list(ours.lines), list(theirs.lines), ORDER):
        lines, value = _merge_key(key, base, ours, theirs)
        if value is CONFLICT:
            winner, loser = (ours, theirs) if prefer == "ours" else (theirs, ours)
            lines = winner.lines.get(key, "") if prefer else lines
            conflicts.append(Lost(key, _said(loser.values.get(key)), _said(winner.values.get(key))))
        elif key == "status":
            lost = [side.values.get(key) for side in (ours, theirs)]
            by_order += [Lost(key, _said(v), _said(value)) for v in lost if v not in (value, base.values.get(key))]
        head += lines
    return head, conflicts, by_order


def _said(value: Any) -> str:
    """A value as text: a text as it is, anything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()


def _merge_key(key: str, base: _Side, ours: _Side, theirs: _Side) -> tuple[str, Any]:
    """The lines and the value of one key; CONFLICT for a value, if a person has to choose."""
    before, one, other = (side.lines.get(key, "") for side in (base, ours, theirs))
    if other == before or (one == other and key != COUNT):
        return one, ours.values.get(key)
    if one == before:
        return other, theirs.values.get(key)
    value = merge_values.merged(key, base.values, ours.values, theirs.values)
    was, mine, yours = (side.values.get(key) for side in (base, ours, theirs))
    # A side that changed lines but no value changed comments, and has the lines to keep.
    swap = not one or (same(yours, was) and not same(mine, was))
    kept, others, current = (other, one, yours) if swap else (one, other, mine)
    if value is not CONFLICT and not same(value, current):
        try:
            kept = frontmatter.split(frontmatter.replace(f"---\n{kept}---\n", {key: value}, ()))[0]
        except ValueError:  # a key that memctl itself would not write
            value = CONFLICT
    if value is CONFLICT:
        return f"<<<<<<< ours\n{one}=======\n{other}>>>>>>> theirs\n", value
    known = {*before.split("\n"), *kept.split("\n")}
    added = [line for line in others.split("\n") if line.startswith("#") and line not in known]
    return kept + "".join(f"{line}\n" for line in added), value
