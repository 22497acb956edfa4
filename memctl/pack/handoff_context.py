"""The context of a handoff as blocks for compaction: what of the memory must reach the taker, and what may go.

These are the rules of rules.md#preservation, read for records: an open decision of weight or of the last week, an open
issue that is critical or high, what the giver was at, what was learned of security, speed and whole data, and the pages
of the sections that change hands must stay. What is resolved, done or abandoned may go, the oldest first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from memctl.pack import compaction
from memctl.pack.compaction import ContextBlock
from memctl.pack.draft import Item
from memctl.pack.items import Worked
from memctl.pack.last_work import by_last_work
from memctl.record import content_fields, timestamps
from memctl.record.kinds import KNOWLEDGE, SEVERITIES
from memctl.record.record import LISTS, Record
from memctl.record.snapshot import Snapshot
from memctl.search.filters import Filters
from memctl.text.markdown import first_sentence
from memctl.text.similar import terms

DECISION, ISSUE, TASK, DETAIL, SECTION = (
    "architectural decisions", "critical and high issues", "current task", "critical details", "sections handed over",
)  # fmt: skip
FULL, BRIEF, LINE = range(3)  # how much of what must stay is written out

_WEIGHTY = {"emergency": 9}  # importance from which a decision must stay, if not _USUAL
_USUAL = 7  # rules.md#handoffs
_RECENT_DAYS = 7  # of which all decisions must stay; rules.md#compaction
_CONFIRMED_DAYS = 30  # after which a resolved issue may go; rules.md#preservation
_FADING_DAYS = 60  # after which a record gets no points for being recent
_REFERENCES = 5  # so many and more give all points
_TAGS = frozenset(("security", "performance", "data-integrity", "integrity", "privacy", "compliance"))
_LINE_FACTS = ("status", "severity", "importance")
_LINES, _LENGTH = 3, 300  # of a critical detail that are kept in every form, and how long they may be


class HandoffContext(msgspec.Struct, frozen=True):
    """What a handoff is made of: the records that it concerns by path, and all blocks by the time they are from."""

    records: dict[str, Record]
    blocks: tuple[ContextBlock, ...]


def gather(
    snapshot: Snapshot,
    now: str,
    kind: str,
    giver: str,
    sections: Sequence[str],
    pages: Sequence[Item],
    matching: dict[str, float],
    worked: Worked,
) -> HandoffContext:
    """The context of a handoff; `matching` says how well records bear on its task, by path, from 0 to 1."""
    records = concerned(snapshot, now, sections, giver)
    references = Counter(
        identifier for record in records for name in LISTS[1:-2] for identifier in getattr(record, name)
    )
    current = current_task(records, giver, worked)[:1]
    blocks = []
    for record in sorted(records, key=lambda r: (r.timestamp, r.id)):
        text = f"{record.id} {record.title}\n{snapshot.body(record)}"
        drops, worth = _drops(record, text, now)
        blocks.append(
            ContextBlock(
                key=record.path,
                text=text,
                keeps=TASK if record in current else _keeps(record, text, now, kind),
                drops=drops,
                worth=worth,
                recency=max(0.0, 1 - timestamps.days_between(record.timestamp, now) / _FADING_DAYS),
                references=min(references[record.id] / _REFERENCES, 1.0),
                relevance=max(matching.get(record.path, 0.0), record.importance / 10),
                density=min(1.0, len(terms(text)) / (len(text.split()) or 1)),
            )
        )
    blocks += [ContextBlock(page.key, f"{page.id} {page.title}\n{page.body}", SECTION) for page in pages]
    return HandoffContext({record.path: record for record in records}, tuple(blocks))


def concerned(snapshot: Snapshot, now: str, sections: Sequence[str], giver: str = "") -> list[Record]:
    """What is known and not archived, of some sections (none: of all), and what the giver is at outside of any."""
    return [
        record
        for record in snapshot.records
        if record.memory_type in KNOWLEDGE
        and not record.is_archived
        and not record.is_expired(now)
        and (
            not sections or _is_own_task(record, giver) or any(Filters(section=one).keep([record]) for one in sections)
        )
    ]


def _is_own_task(record: Record, giver: str) -> bool:
    return record.memory_type == "state" and record.is_open and not record.section and record.agent_id == giver


def current_task(records: Sequence[Record], giver: str, worked: Worked) -> list[Record]:
    """The open states of the giver, the one worked on last first; of others, if the giver has none, that one."""
    tasks = [record for record in records if record.memory_type == "state" and record.is_open]
    states = by_last_work(tasks, worked(tasks))
    return [record for record in states if record.agent_id == giver] or states[:1]


def _keeps(record: Record, text: str, now: str, kind: str) -> str:
    """Why a record must stay, "" if it need not."""
    if not record.is_open:
        return ""
    if record.memory_type == "decision":
        is_recent = timestamps.days_between(record.timestamp, now) <= _RECENT_DAYS
        return DECISION if is_recent or record.importance >= _WEIGHTY.get(kind, _USUAL) else ""
    if record.memory_type == "issue":
        return ISSUE if record.severity in SEVERITIES[:2] else ""
    if record.memory_type != "learning":
        return ""
    is_critical = record.importance >= _USUAL and compaction.is_critical_detail(text)
    return DETAIL if is_critical or _TAGS & set(record.tags) or compaction.is_marked_critical(text) else ""


def _drops(record: Record, text: str, now: str) -> tuple[str, float]:
    """Why a record may go, and its score from 0 to 30 then."""
    age = timestamps.days_between(record.timestamp, now)
    if record.memory_type == "issue" and not record.is_open:
        return ("resolved more than 30 days ago", 5) if age > _CONFIRMED_DAYS else ("resolved", 25)
    if not record.is_open:
        return f"{record.status}", 20 if record.status == "done" else 10
    if record.memory_type in ("learning", "issue") and (why := compaction.reason(text)):
        return why, 15
    return "", 0


def critical_lines(text: str) -> list[str]:
    """The lines of a text that speak of what is critical, or if none does its first sentence."""
    found = [line.strip() for line in text.split("\n") if compaction.is_critical_detail(line)]
    return [line[:_LENGTH] for line in found[:_LINES]] or [first_sentence(text)[:_LENGTH]]


def written(item: Item, record: Record | None, keeps: str, form: int) -> Item:
    """An item that must stay in one of its forms: whole, the first sentence of each field, or its line alone.

    Of a critical detail the lines that make it one stand in every form.
    """
    if form == FULL:
        return item
    body = ""
    if keeps == DETAIL:
        body = "\n".join(critical_lines(item.body)) + "\n"
    elif record is None:
        body = first_sentence(item.body)[:_LENGTH] if form == BRIEF else ""
    elif form == BRIEF or keeps == TASK:
        body = _brief(record, item.body)
    facts = item.facts if form == BRIEF else tuple(fact for fact in item.facts if fact[0] in _LINE_FACTS)
    return msgspec.structs.replace(item, body=body, facts=facts)


def _brief(record: Record, body: str) -> str:
    """The first sentence of every field, of lists that of the first few items."""
    content = content_fields.content(record.kind, body)
    parts = []
    for field in record.kind.fields:
        value = content.get(field.name)
        if not value:
            continue
        said: str | list[str]
        said = _sentence(value) if isinstance(value, str) else [_sentence(item) for item in value[:_LINES]]
        parts.append(content_fields.compose(field, said))
    return "\n".join(part for part in parts if part)


def _sentence(text: str) -> str:
    return first_sentence(text)[:_LENGTH]
