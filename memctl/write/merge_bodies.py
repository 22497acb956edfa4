"""Merging bodies: section by section, and lists in them item by item."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import msgspec

from memctl.git import threeway
from memctl.git.threeway import Preference
from memctl.text import headings

_ITEM = re.compile(r"[-*+][ \t]")


class Lost(msgspec.Struct, frozen=True):
    """What gave way in a merge: the key or heading that it stood under, its text, and that of what was kept.

    Texts are as a file has them, "" for nothing: one side took away what the other changed.
    """

    key: str
    lost: str
    kept: str


def merged(base: str, ours: str, theirs: str, order: Sequence[str], prefer: Preference = "") -> tuple[str, list[Lost]]:
    """The body of a merge, and what is in conflict there, by headings; or gave way, if a side is preferred.

    New parts stand in the given order of headings (in lower case).
    """
    if ours == theirs or theirs == base:
        return ours, []
    if ours == base:
        return theirs, []
    before, one, other = map(_sections, (base, ours, theirs))
    parts: dict[str, str] = {}
    conflicts: dict[str, Lost] = {}
    for name in threeway.names(list(before), list(one), list(other), order):
        was, mine, yours = (sections.get(name, "").rstrip("\n") for sections in (before, one, other))
        parts[name], conflict = _merge_section(was, mine, yours, prefer)
        if conflict:
            told = name.strip("\n") or "the text before the first heading"
            conflicts[name] = _lost(told, was, mine, yours, parts[name], prefer)
    parts = {name: text for name, text in parts.items() if text or not name}
    end = ours if ours.strip("\n") else theirs
    text = _joined(parts, one, other, () if prefer else conflicts) + end[len(end.rstrip("\n")) :]
    return text, list(conflicts.values())


def _lost(name: str, base: str, ours: str, theirs: str, result: str, prefer: Preference) -> Lost:
    """The lines that one side wrote under a heading and that are not in the result, and what the other wrote there."""
    loser, winner = (ours, theirs) if prefer == "theirs" else (theirs, ours)
    known, there = base.split("\n"), result.split("\n")
    gone = [line for line in loser.split("\n") if line.strip() and line not in there and line not in known]
    kept = [line for line in winner.split("\n") if line.strip() and line in there and line not in known]
    return Lost(name, "\n".join(gone), "\n".join(kept))


def _sections(rest: str) -> dict[str, str]:
    """The parts of a body by their headings; of several with one heading the later ones have line ends behind it."""
    found: dict[str, str] = {}
    for part in headings.split(rest):
        name = (part.heading.casefold() or "##") if part.is_headed else ""
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


def _merge_section(base: str, ours: str, theirs: str, prefer: Preference) -> tuple[str, bool]:
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
    versions = [text + "\n" if text else "" for text in (base, ours, theirs)]
    text, count = threeway.texts(*versions)
    if count and prefer:
        text, _ = threeway.texts(*versions, prefer=prefer)
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
