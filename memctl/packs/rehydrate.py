"""Rehydration: what somebody needs to know who starts to work on the project (S0, "Memory Rehydration Process").

The seed's rules: the latest state; decisions of importance 7 and more from 30 days (10 of them); critical and high
issues, the worst and oldest first (15); learnings from 60 days, the most used first (5). Two of its rules are mended: a
decision of importance 10, which the seed itself keeps for ever, always competes; and a record too large for the
budget is skipped and listed, where the seed stops at it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from memctl.model import handoff, moments
from memctl.model.kinds import KNOWLEDGE, SEVERITIES
from memctl.model.markdown import one_line
from memctl.model.record import Record
from memctl.model.snapshot import Snapshot
from memctl.packs import items, overview, relevance
from memctl.packs.draft import NOTICED, Draft, Item, Note, Part
from memctl.packs.items import Sources
from memctl.search.filters import ORDERS, Filters, select, severity_rank

LATEST_STATES = 1
DECISIONS, DECISION_IMPORTANCE, DECISION_DAYS = 10, 7, 30
ISSUES, ISSUE_SEVERITIES = 15, ("critical", "high")
LEARNINGS, LEARNING_DAYS = 5, 60
_BESIDES = 3  # critical issues that are named although they do not bear on a task
_FOREVER = 10  # importance at which a decision competes at any age
# From which importance on a record is critical, and goes to the front of a pack; a task's own records from less on.
CRITICAL, WEIGHTY_FOR_TASK = 9, 7
TITLES = {
    "state": "Current state",
    "decision": "Key decisions",
    "issue": "Open issues",
    "learning": "Learnings that may apply",
}


class Wanted(msgspec.Struct, frozen=True):
    """What a pack is to be about; empty fields ask for nothing.

    `section` is a marker, its pages are packed too; `since` a canonical time from which on records of any weight count
    instead of the seed's windows; `agent` whose records; `reader` is who asks.
    """

    task: str = ""
    section: str = ""
    since: str = ""
    agent: str = ""
    reader: str = ""


NOTHING_SPECIAL = Wanted()


def draft(snapshot: Snapshot, now: str, wanted: Wanted, sources: Sources) -> Draft:
    """Everything that a rehydration could hold."""
    everything = current_records(snapshot, now)
    current = Filters(section=wanted.section, agent=wanted.agent, since=wanted.since).keep(everything)
    matching = [result.record for result in relevance.records(snapshot, wanted.task, now)]
    chosen = choose(current, now, wanted, matching)
    records = [record for found in chosen.values() for record in found]
    known = sources.origins(records)
    parts = [_section_part(snapshot, wanted.section, sources)] if wanted.section else []
    closing: list[Note] = []
    for name, found in chosen.items():
        made = [items.of_record(snapshot, record, known) for record in found]
        if name == "state":
            made, closing = _last_first(made)
        parts.append(Part(name, TITLES[name], tuple(made)))
    taken = {record.path for record in records}
    is_met = bool({record.path for record in matching} & taken)
    rest = sorted((r for r in current if r.path not in taken), key=ORDERS["importance"][0], reverse=True)
    return Draft(
        project=snapshot.config.project,
        parts=tuple(parts),
        opening=(
            NOTICED,
            *overview.notes(snapshot, everything, now, wanted.task, is_met=is_met),
            *_besides(rest, wanted),
            *_waiting(snapshot, wanted.reader),
        ),
        closing=tuple(closing),
        others=tuple(items.left(record) for record in rest),
        counts_others=is_met,
        leading=WEIGHTY_FOR_TASK if is_met else CRITICAL,
        made=now,
    )


def current_records(snapshot: Snapshot, now: str) -> list[Record]:
    """The records of what is known that still take part: not archived, open, not expired."""
    return [r for r in snapshot.records if r.memory_type in KNOWLEDGE and r.is_open and not r.is_expired(now)]


def choose(
    current: list[Record], now: str, wanted: Wanted = NOTHING_SPECIAL, matching: Sequence[Record] = ()
) -> dict[str, list[Record]]:
    """The records that the rules select, by part, most important first.

    With a task only records that match it are taken, at any age, in the order of `matching`, and if no state does the
    latest one; unless nothing matches.
    """
    by_type = {name: [r for r in current if r.memory_type == name] for name in TITLES}
    orders: dict[str, Callable[[Iterable[Record]], list[Record]]] = {
        "state": lambda found: select(found, Filters()),
        "decision": lambda found: select(found, Filters(), "importance"),
        "issue": lambda found: sorted(found, key=lambda r: (severity_rank(r), r.timestamp, r.id)),
        "learning": lambda found: sorted(found, key=lambda r: (-r.access_count, -r.importance, r.id)),
    }
    found = by_type if wanted.since or wanted.section else _weighty(by_type, now)
    found = {name: orders[name](records) for name, records in found.items()}
    if wanted.task:
        open_paths = {record.path for record in current}
        known = [record for record in matching if record.path in open_paths]
        if known:
            latest = found["state"]
            found = {name: [r for r in known if r.memory_type == name] for name in found}
            found["state"] = found["state"] or latest
    limits = {"state": LATEST_STATES, "decision": DECISIONS, "issue": ISSUES, "learning": LEARNINGS}
    return {name: found[name][: limits[name]] for name in limits}


def _weighty(by_type: dict[str, list[Record]], now: str) -> dict[str, list[Record]]:
    """The records that the seed's windows let in."""
    recent, of_late = moments.days_before(now, DECISION_DAYS), moments.days_before(now, LEARNING_DAYS)
    return {
        "state": by_type["state"],
        "decision": [
            r
            for r in by_type["decision"]
            if r.importance >= _FOREVER or (r.importance >= DECISION_IMPORTANCE and r.timestamp >= recent)
        ],
        "issue": [r for r in by_type["issue"] if r.severity in ISSUE_SEVERITIES],
        "learning": [r for r in by_type["learning"] if r.timestamp >= of_late],
    }


def _besides(rest: Sequence[Record], wanted: Wanted) -> Iterator[Note]:
    """Critical issues that do not bear on the task: whoever works on it must know that they are there."""
    critical = [record for record in rest if record.severity == SEVERITIES[0]] if wanted.task else []
    if critical:
        said = "; ".join(f"{record.id} {one_line(record.title)}" for record in critical[:_BESIDES])
        more = f"; and {len(critical) - _BESIDES:,} more" if len(critical) > _BESIDES else ""
        yield Note("open_risks", "Open risks besides", said + more, essential=True)


def _waiting(snapshot: Snapshot, reader: str) -> Iterator[Note]:
    """The handoffs that wait for the reader's answer, in one line."""
    if found := handoff.waiting(snapshot, reader) if reader else ():
        said = "; ".join(f"{one.record.id} {one_line(one.record.title)}" for one in found[:_BESIDES])
        more = f"; and {len(found) - _BESIDES:,} more" if len(found) > _BESIDES else ""
        yield Note("handoffs", "Handed to you", f"{said}{more}; `memctl handoff show ID`.", essential=True)


def _section_part(snapshot: Snapshot, section: str, sources: Sources) -> Part:
    """The page of a section and those of its details."""
    outline = snapshot.outline
    found = outline.find(section)
    wanted = [*([found] if found else []), *outline.details_of(section)]
    return Part("page", "Pages", tuple(items.of_page(page, sources.page(page)) for page in wanted))


def _last_first(states: list[Item]) -> tuple[list[Item], list[Note]]:
    """The states, and the next actions of the first for the end, which a model heeds as much as the beginning."""
    if not states:
        return [], []
    state, actions = items.without(states[0], "Next actions")
    if not actions.strip():
        return states, []
    return [state, *states[1:]], [Note("next", "Next actions", actions, of=state.key)]
