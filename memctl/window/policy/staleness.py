"""Finds the parts of a text that are outdated (rules.md#quality).

A block is outdated (stale) if it shows a record of the memory that is superseded, archived or expired. It is also stale
if it shows a record that is resolved or done, but does not say so. A sentence is stale if it mentions one of all these
records as if it still held. Text that shows no record is judged by its words: it is stale if it says "obsolete" or the
like, if it is struck out, or if all dates in it are older than 90 days, the age at which decisions are archived.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from memctl.record import ids
from memctl.record.record import Record
from memctl.statements import labels
from memctl.text import timestamps
from memctl.text.similarity import plain_words
from memctl.window.policy.blocks import ParsedText, TextBlock

OLD_DAYS = 90
_ID = re.compile(rf"(?<![\w-]){ids.PATTERN.pattern}(?![\w-])")
_FACTS = re.compile(rf"(?:id )?{ids.PATTERN.pattern}(?=\s*(?:\||\n|$))")  # how a pack begins to show a record
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

# Parts of a text that tell what was: reasons and history.
_PAST = frozenset(
    [
        labels.REASON, labels.CONTEXT, labels.EVIDENCE, labels.ALTERNATIVE, labels.ATTEMPTED, labels.DONE,
        labels.RESOLUTION, labels.INVESTIGATION,
    ]
)  # fmt: skip
_FINISHED = ("resolved", "wontfix", "done")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+")


class StaleBlock(msgspec.Struct, frozen=True):
    """The outdated part of a block: which share of the block's words it is (0 to 1), its first line, and the reason.

    `is_whole` is True if the block is outdated as a whole, and False if only sentences in it are.
    """

    share: float
    line: int
    why: str
    is_whole: bool = False


FRESH = StaleBlock(0.0, 0, "")


class Over(msgspec.Struct, frozen=True):
    """The ids of a memory's records at one point in time, divided into those that no longer hold and those that do.

    `closed` maps the id of each record that no longer holds to the reason: "archived", "expired", or its closed status,
    such as "resolved". `current` has the ids of the records that hold.
    """

    closed: Mapping[str, str]
    current: frozenset[str]


def over(records: Sequence[Record], now: str) -> Over:
    """Return which records no longer hold at the time `now`, and which do.

    The ids in the result include former ids (aliases) of the records.
    """
    ends = [(name, _end_of(record, now)) for record in records for name in (record.id, *record.aliases)]
    return Over({name: end for name, end in ends if end}, frozenset(name for name, end in ends if not end))


def _end_of(record: Record, now: str) -> str:
    if record.is_archived:
        return "archived"
    if record.status in record.kind.closed_statuses:
        return record.status
    return "expired" if record.is_expired(now) else ""


def stale(parsed: ParsedText, known: Over, now: str) -> list[StaleBlock]:
    """Return for each block of a text its outdated part at the time `now`; the share is 0.0 if nothing is outdated.

    `known` says which records of the memory no longer hold. A block that shows such a record is outdated as a whole,
    and so are all blocks below it.
    """
    outdated: list[StaleBlock] = []
    current: list[bool] = []  # whether a block shows a record that holds, or is below one
    oldest = timestamps.days_before(now, OLD_DAYS)[:10]
    for block in parsed.blocks:
        parent = block.parent
        names = {match[0] for match in _ID.finditer(f"{block.title}\n{block.text}")}
        current.append(bool(names & known.current) or (parent >= 0 and current[parent]))
        is_below = parent >= 0 and outdated[parent].is_whole
        outdated.append(outdated[parent] if is_below else _of_block(block, known, "" if current[-1] else oldest))
    return outdated


def _of_block(block: TextBlock, known: Over, oldest: str) -> StaleBlock:
    if shown := _closed_record(block, known):
        return StaleBlock(1.0, block.line, shown, is_whole=True)
    text = block.text
    dates = _DATE.findall(text) if oldest else []
    if dates and max(dates) < oldest:
        return StaleBlock(1.0, block.line, f"the newest date in the block is {max(dates)}", is_whole=True)
    if not _ID.search(text) and not _SIGN.search(text):
        return FRESH
    number, first, why = 0, 0, ""
    is_past = _tells_past(block.title)
    for place, line in enumerate(text.split("\n")):
        tells_past = is_past or _tells_past(line.partition(":")[0])
        for sentence in _SENTENCE.split(line):
            if reason := _why(sentence, known, tells_past=tells_past):
                number += len(plain_words(sentence))
                first, why = first or block.line + place, why or reason
    total = len(plain_words(text))
    return StaleBlock(number / total, min(first, block.end), why) if number and total else FRESH


def _tells_past(name: str) -> bool:
    return labels.look_up(name.replace("_", " ").strip(' *#>-`"'))[0] in _PAST


def _closed_record(block: TextBlock, known: Over) -> str:
    """Return why a block is stale as a whole: it begins with the id of a record that is over.

    A record with the status "resolved", "wontfix" or "done" beside its id is shown for how it ended, and is not stale.
    """
    facts = block.text[:200].lstrip()
    for match in (_ID.search(block.title), _FACTS.match(facts)):
        identifier = _ID.search(match[0]) if match else None
        end = known.closed.get(identifier[0], "") if identifier else ""
        if identifier and end and not (end in _FINISHED and re.search(rf"\b{end}\b", f"{block.title}\n{facts}")):
            return f"{identifier[0]} is {end}"
    return ""


def _why(line: str, known: Over, *, tells_past: bool) -> str:
    """Among reasons and history a resolved issue is no mistake."""
    for match in _ID.finditer(line):
        end = known.closed.get(match[0], "")
        if end and not _SAYS_SO.search(line) and not (tells_past and end in _FINISHED):
            return f"{match[0]} is {end}"
    sign = _SIGN.search(line)
    names_current = any(match[0] in known.current for match in _ID.finditer(line))
    return f"the block says {sign[0][:30]!r}" if sign and not names_current else ""
