"""Summarize the memory for the next phase of work: PROCEED, STOP or CLARIFY, with the reason, facts and paths.

`context_summary` does the same with what a sub-agent returned (rules.md#phase-summaries).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.pack.budget_fill import CountTokens
from memctl.pack.context_summary import DECISIONS
from memctl.pack.draft import PROPOSED
from memctl.pack.items import ChangeTimes
from memctl.pack.last_work import by_last_work
from memctl.pack.rank import DECISION_IMPORTANCE
from memctl.pack.rehydrate import current_records
from memctl.record import content_fields
from memctl.record.filters import ORDERS, severity_rank
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.text.fit import first_sentence, whole_lines
from memctl.text.markdown import one_line
from memctl.text.phrases import quantity, some

PROCEED, STOP, CLARIFY = DECISIONS
_CRITICAL, _HIGH = 0, 1  # ranks of severity
_NAMED = 5  # issues listed by id that don't affect the decision


class PhaseStatus(msgspec.Struct, frozen=True):
    """What the next phase of work needs to know of the memory: a decision with its reason, facts, and paths.

    - `decision` is PROCEED, STOP or CLARIFY, and `why` is its reason.
    - `lines` are the facts, the most important first. But if there are open issues that the decision does not consider,
      the first line is on them.
    - `paths` are the code references of the records behind the facts.
    """

    decision: str
    why: str
    lines: tuple[str, ...]
    paths: tuple[str, ...]


def summary(status: PhaseStatus, budget: int, count: CountTokens) -> str:
    """Return, as text, PROCEED, STOP or CLARIFY with the reason, then as many facts and paths as the budget allows.

    `status` has all of these, and `budget` is in tokens, as `count` counts them. Raises MemctlError if the budget is
    too small even for the first word.
    """
    head = f"{status.decision}: {status.why}"
    if count(head) > budget:
        head = status.decision
    if count(head) > budget:
        raise MemctlError(f"the decision does not fit into {budget} tokens", "give a larger --budget", USAGE)
    lines = [*status.lines, *(f"File: {path}" for path in status.paths)]
    limit = budget - count(f"{head}\n\n")
    while (text := whole_lines(lines, limit, count)) and count(whole := f"{head}\n\n{text}\n") > budget:
        limit -= 1  # a text may have more tokens than its parts together
    return whole if text else f"{head}\n" if count(f"{head}\n") <= budget else head


def assess(
    snapshot: Snapshot,
    now: str,
    worked: ChangeTimes = lambda _: {},
    sections: Sequence[str] = (),
    task: Sequence[Record] = (),
    blockers: Sequence[str] = (),
) -> PhaseStatus:
    """Summarize a memory, or some of its sections, as a decision on how to go on, with the facts behind it.

    The decision is STOP if a critical issue is open. It is CLARIFY if an issue of high severity is open, if the task or
    all agents are blocked, if a record is only proposed, or if files can't be read. Otherwise it is PROCEED.

    - `now` is the current time, such as "2025-11-04T14:32:00Z".
    - `worked` is a function that returns the times of the last changes of tasks, by path.
    - `sections` are the markers of the sections to look at; () means the whole memory.
    - `task` has the record of the task to go on with; () means the task that was worked on last.
    - `blockers` are texts on what blocks all agents.
    """
    everything = current_records(snapshot, now)
    current = of_sections(snapshot, everything, sections)
    tasks = [record for record in current if record.memory_type == "state"]
    states = task or by_last_work(tasks, worked(tasks))[:1]
    issues = sorted((r for r in current if r.memory_type == "issue"), key=lambda r: (severity_rank(r), r.timestamp))
    severe = [record for record in issues if severity_rank(record) <= _HIGH]
    decisions = binding_decisions(current)
    decision, why = _decide(snapshot, current, states, severe, blockers)
    mild = [record for record in issues if severity_rank(record) > _HIGH]
    elsewhere = [r for r in everything if r.memory_type == "issue" and severity_rank(r) <= _HIGH and r not in severe]
    lines = [
        *_ignored_issues(mild, elsewhere),
        *(f"Blocked for all agents: {one_line(text)}" for text in blockers),
        *_of_pages(snapshot, sections),
        *_of_states(snapshot, states),
        *_of_issues(snapshot, severe),
        *_of_decisions(snapshot, decisions),
    ]
    if sections and not (states or severe or decisions):
        lines += [f"{record.kind.name.capitalize()}: {one_line(record.title)} [{record.id}]." for record in current]
        lines += [] if current else [f"No open record belongs to {', '.join(sections)}."]
    refs = [ref for record in (*states, *severe, *decisions) for ref in record.code_refs]
    return PhaseStatus(decision, why, tuple(lines), tuple(dict.fromkeys(refs)))


def of_sections(
    snapshot: Snapshot, records: Sequence[Record], sections: Sequence[str], agent: str = ""
) -> list[Record]:
    """Return which of the `records` belong to some sections, as `Outline.records_in` says.

    Returns all records if `sections` is empty. If the sections have no open task, the open tasks of `agent` that name
    neither a section nor code are returned as well.
    """
    if not sections:
        return list(records)
    paths = set(snapshot.outline.records_in(sections, snapshot.catalogue))
    tasks = [record for record in records if record.memory_type == "state" and record.is_open]
    if not any(record.path in paths for record in tasks):
        alone = [record for record in tasks if not record.section and not record.code_refs]
        paths |= {record.path for record in alone if record.agent_id == agent}
    return [record for record in records if record.path in paths]


def binding_decisions(records: Sequence[Record]) -> list[Record]:
    """Return the decisions that work must follow, the most important first.

    They are accepted (and not superseded, for example), not archived, and have an importance of 7 or more.
    """
    decisions = [r for r in records if r.memory_type == "decision" and r.is_open and r.status != PROPOSED]
    binding = [record for record in decisions if record.importance >= DECISION_IMPORTANCE]
    return sorted(binding, key=ORDERS["importance"][0], reverse=True)


def _ignored_issues(mild: Sequence[Record], elsewhere: Sequence[Record]) -> Iterator[str]:
    """Yield a line on the open issues that don't affect the decision: mild ones, and severe ones of other sections."""
    lines = [
        f"{quantity(len(some_issues), 'open issue')} {what} ({some([record.id for record in some_issues], _NAMED)})"
        for what, some_issues in (("below high severity", mild), ("outside of the sections", elsewhere))
        if some_issues
    ]
    if lines:
        yield f"Not considered for PROCEED, STOP or CLARIFY: {' and '.join(lines)}."


def _decide(
    snapshot: Snapshot,
    current: Sequence[Record],
    states: Sequence[Record],
    issues: Sequence[Record],
    blockers: Sequence[str],
) -> tuple[str, str]:
    """Return the decision on the next phase (PROCEED, STOP or CLARIFY) and its reason."""
    critical = [record.id for record in issues if severity_rank(record) == _CRITICAL]
    if critical:
        return STOP, f"critical issues are open: {', '.join(critical)}"
    if snapshot.faults:
        return CLARIFY, "some files of the memory can't be read (`memctl status` lists them)"
    if issues:
        return CLARIFY, f"issues of high severity are open: {', '.join(record.id for record in issues)}"
    if blockers:
        return CLARIFY, "a blocker stops all agents (`memctl team show` prints it)"
    blocked = [record.id for record in states if _items(snapshot, record, "blockers")]
    proposed = [record.id for record in current if record.status == PROPOSED]
    if blocked or proposed:
        return CLARIFY, f"some states are blocked or decisions only proposed: {', '.join([*blocked, *proposed])}"
    return PROCEED, "nothing blocks the work"


def _of_pages(snapshot: Snapshot, sections: Sequence[str]) -> Iterator[str]:
    for page in map(snapshot.outline.find, sections):
        if page is not None and page.completion_percentage is not None:
            yield f"{page.id} {one_line(page.title)}, {page.completion_percentage} % done."


def _of_states(snapshot: Snapshot, states: Sequence[Record]) -> Iterator[str]:
    for record in states:
        done = f", {record.completion_percentage} % done" if record.completion_percentage is not None else ""
        yield f"{one_line(record.title)}{done} [{record.id}]."
        for name, label in (("blockers", "Blocked by"), ("next_actions", "Next")):
            yield from (f"{label}: {one_line(item)}" for item in _items(snapshot, record, name))


def _of_issues(snapshot: Snapshot, issues: Sequence[Record]) -> Iterator[str]:
    for record in issues:
        actions = _items(snapshot, record, "next_actions")[:1]
        todo = f" Next: {one_line(actions[0])}" if actions else ""
        yield f"Open ({record.severity}): {one_line(record.title)} [{record.id}].{todo}"


def _of_decisions(snapshot: Snapshot, decisions: Sequence[Record]) -> Iterator[str]:
    for record in decisions:
        text = content_fields.content(record.kind, snapshot.body(record)).get("decision")
        first = first_sentence(text) if isinstance(text, str) else ""
        yield f"Decided: {one_line(record.title)} [{record.id}].{f' {first}' if first else ''}"


def _items(snapshot: Snapshot, record: Record, name: str) -> Sequence[str]:
    """Return the items of a content field of a record; a text is one item."""
    value = content_fields.content(record.kind, snapshot.body(record)).get(name) or ()
    return [value] if isinstance(value, str) else value


def next_actions(snapshot: Snapshot, records: Sequence[Record]) -> Iterator[str]:
    """Yield the next actions that records state, each with the record's id: "Add a test [ISS-2025-11-04-001]"."""
    for record in records:
        yield from (f"{one_line(item)} [{record.id}]" for item in _items(snapshot, record, "next_actions"))
