"""Which parts of a text are outdated (S1, "Staleness Ratio"; S1, "Stale Information").

Within a memory its records decide: one that is superseded, resolved, done, archived or expired is stale where it is
shown, and so is a line that mentions it as if it held. Elsewhere, and for what names no record, plain signs do: words
such as "obsolete", text struck out, and passages all of whose dates are older than 90 days (the age from which S0
archives).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from memctl.model import ids, moments
from memctl.model.record import Record
from memctl.policy.blocks import Block, Parsed
from memctl.policy.pieces import words

OLD_DAYS = 90
_ID = re.compile(rf"(?<![\w-]){ids.PATTERN.pattern}(?![\w-])")
_DATE = re.compile(r"(?<![\w-])\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?![\d])")
_SIGN = re.compile(
    r"~~.+?~~|\b(?:superseded(?! by nothing)|obsolete|outdated|deprecated|no longer (?:valid|true|used|applies|needed)|"
    r"abandoned|retracted|old plan|previous plan|this (?:is|was) replaced)\b",
    re.IGNORECASE,
)
# A line with one of these says itself that what it names is over.
_SAYS_SO = re.compile(
    r"\b(?:supersede[sd]?|superseded_by|replace[sd]?|resolve[sd]?|archived?|former(?:ly)?|was|were|closed|expired|done|"
    r"instead|until|wontfix|alias(?:es)?|history)\b",
    re.IGNORECASE,
)


class Stale(msgspec.Struct, frozen=True):
    """What of a block is stale: a share of its words, the first line of it, and why."""

    share: float
    line: int
    why: str


FRESH = Stale(0.0, 0, "")


class Over(msgspec.Struct, frozen=True):
    """The records of a memory that no longer hold, by id, each with what became of it; and the ids of those that do."""

    closed: Mapping[str, str]
    current: frozenset[str]


def over(records: Sequence[Record], now: str) -> Over:
    """Which records of a memory no longer hold at a moment."""
    closed: dict[str, str] = {}
    current: set[str] = set()
    for record in records:
        what = _end_of(record, now)
        for identifier in (record.id, *record.aliases):
            if what:
                closed[identifier] = what
            else:
                current.add(identifier)
    return Over(closed, frozenset(current))


def _end_of(record: Record, now: str) -> str:
    if record.is_archived:
        return "archived"
    if record.status in record.kind.closed:
        return record.status
    return "expired" if record.expires_at is not None and record.expires_at <= now else ""


def stale(parsed: Parsed, known: Over, now: str) -> list[Stale]:
    """Of each block what is stale in it; a block that shows a closed record is stale with all that stands under it."""
    found: list[Stale] = []
    oldest = moments.days_before(now, OLD_DAYS)[:10]
    for block in parsed.blocks:
        parent = block.piece.parent
        if parent >= 0 and found[parent].share == 1.0:
            found.append(found[parent])
        else:
            found.append(_of_block(block, known, oldest))
    return found


def _of_block(block: Block, known: Over, oldest: str) -> Stale:
    piece = block.piece
    if shown := _shown(block, known):
        return Stale(1.0, piece.line, shown)
    text = piece.text
    dates = _DATE.findall(text) if not any(match[0] in known.current for match in _ID.finditer(text)) else []
    if dates and max(dates) < oldest:
        return Stale(1.0, piece.line, f"nothing in it is newer than {max(dates)}")
    if not _ID.search(text) and not _SIGN.search(text):
        return FRESH
    number, first, why = 0, 0, ""
    lines = text.split("\n")
    for place, line in enumerate(lines):
        if reason := _why(line, known):
            number += len(words(line))
            first, why = first or piece.line + place, why or reason
    total = sum(len(words(line)) for line in lines)
    return Stale(number / total, min(first, piece.end), why) if number and total else FRESH


def _shown(block: Block, known: Over) -> str:
    """Why a block is stale as a whole: it begins with the id of a record that is over."""
    for text in (block.piece.title, block.piece.text[:200].lstrip()):
        match = _ID.search(text[:80])
        if match and match[0] in known.closed and (match.start() == 0 or text is block.piece.title or "id" in text[:5]):
            return f"{match[0]} is {known.closed[match[0]]}"
    return ""


def _why(line: str, known: Over) -> str:
    for match in _ID.finditer(line):
        if match[0] in known.closed and not _SAYS_SO.search(line):
            return f"{match[0]} is {known.closed[match[0]]}"
    sign = _SIGN.search(line)
    names_current = any(match[0] in known.current for match in _ID.finditer(line))
    return f"it says {sign[0][:30]!r}" if sign and not names_current else ""
