"""The package that one agent hands to another (S0, "Agent Handoff Protocols"): what it is about, what was done, what
comes next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from memctl.model import headings
from memctl.model.markdown import one_line
from memctl.model.record import Record
from memctl.model.snapshot import Snapshot
from memctl.packs import items, overview
from memctl.packs.draft import NOTICED, Draft, Note, Part
from memctl.packs.items import Sources
from memctl.packs.relevance import stems
from memctl.search.filters import ORDERS, Filters, severity_rank

# S0, "Agent Handoff Token Budget": 15-25k, 5-10k, 30-40k, 10-15k tokens.
BUDGETS = {"complete": 25_000, "specialist": 10_000, "continuation": 40_000, "emergency": 15_000}
_SKILLS = 8  # tags that say what a piece of work asks for
_WEIGHTY = 7  # importance from which on a decision is critical (S0, `critical_decisions`)


class Asked(msgspec.Struct, frozen=True):
    """Who hands what to whom: two agents, one of BUDGETS, why, of which sections (none: all), what there is to note."""

    source: str
    target: str
    kind: str
    reason: str = ""
    task: str = ""
    sections: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def draft(snapshot: Snapshot, now: str, asked: Asked, sources: Sources) -> Draft:
    """Everything that a handoff could hold: the fields of S0's package but ownership, in its order."""
    within = [r for r in snapshot.records if not r.is_expired(now) and _concerns(r, asked.sections)]
    groups = _groups(within, asked.source)
    records = [record for _, _, found in groups for record in found]
    origins = sources.origins(records)
    made = [
        Part(name, title, tuple(items.of_record(snapshot, record, origins) for record in found))
        for name, title, found in groups
    ]
    pages = [page for page in snapshot.outline.sections if page.id in asked.sections]
    focus = Part("sections", "Sections handed over", tuple(items.of_page(page, sources.page(page)) for page in pages))
    taken = {record.path for record in records}
    rest = sorted((r for r in within if r.is_open and r.path not in taken), key=ORDERS["importance"][0], reverse=True)
    return Draft(
        project=snapshot.config.project,
        parts=(made[0], focus, *made[1:]),
        title="Handoff of {project}",
        root="agent_handoff",
        opening=tuple(_opening(snapshot, records, [r for r in within if r.is_open], now, asked)),
        closing=tuple(_closing(snapshot, groups[0][2], asked)),
        others=tuple(items.left(record) for record in rest),
        made=now,
        source=asked.source,
        target=asked.target,
    )


def _concerns(record: Record, sections: Sequence[str]) -> bool:
    return not sections or any(Filters(section=section, archived=None).keep([record]) for section in sections)


def _groups(records: Sequence[Record], agent: str) -> list[tuple[str, str, list[Record]]]:
    """The records of a handoff by part: name, title, records, most important first."""
    newest = sorted(records, key=ORDERS["date"][0], reverse=True)
    weighty = sorted(records, key=ORDERS["importance"][0], reverse=True)
    current = [r for r in newest if r.memory_type == "state" and r.is_open]
    own = [r for r in current if r.agent_id == agent] or current
    issues = sorted((r for r in records if r.memory_type == "issue" and r.is_open), key=_worst_first)
    blocking = [r for r in issues if r.blocks or r.severity == "critical"]
    finished = [r for r in newest if r.agent_id == agent and r.status in ("done", "resolved") and not r.is_archived]
    return [
        ("current_task_state", "In progress", own),
        ("blocking_dependencies", "Blocking", blocking),
        ("critical_decisions", "Critical decisions", [r for r in weighty if _is_critical(r)]),
        ("open_issues", "Open issues", [r for r in issues if r not in blocking]),
        ("not_started", "Other work", [r for r in current if r not in own]),
        ("completed", "Completed", finished),
        ("observations", "Learned", [r for r in weighty if r.memory_type == "learning" and r.is_open]),
    ]


def _worst_first(record: Record) -> tuple[int, str, str]:
    return severity_rank(record), record.timestamp, record.id


def _is_critical(record: Record) -> bool:
    return record.memory_type == "decision" and record.is_open and record.importance >= _WEIGHTY


def _opening(
    snapshot: Snapshot, packed: Sequence[Record], current: Sequence[Record], now: str, asked: Asked
) -> Iterator[Note]:
    said = f"From {one_line(asked.source)} to {one_line(asked.target)}, {asked.kind}, {now}"
    if asked.sections:
        said += f", {', '.join(asked.sections)}"
    yield Note("handoff_metadata", "", f"{said}.", essential=True)
    yield NOTICED
    for name, title, text in (("reason", "Reason", asked.reason), ("task", "Task", asked.task)):
        if text:
            yield Note(name, title, one_line(text), essential=True)
    if match := _expertise(snapshot, packed, asked.target):
        yield Note("agent_expertise_match", "Expertise", match)
    yield Note("executive_summary", "", "\n".join([*overview.project(snapshot), overview.held(current)]))


def _expertise(snapshot: Snapshot, packed: Sequence[Record], agent: str) -> str:
    """What the work asks for by its most frequent tags, and how much of it an agent's profile names; "" without one."""
    profile = snapshot.config.agents.get(agent)
    counts = Counter(tag for record in packed for tag in record.tags)
    required = sorted(counts, key=lambda tag: (-counts[tag], tag))[:_SKILLS]
    if profile is None or not profile.skills or not required:
        return ""
    known = stems(" ".join(profile.skills))
    held = [tag for tag in required if stems(tag) & known]
    score = len(held) / len(required)
    return f"asked for are {', '.join(required)}; {agent} has {', '.join(held) or 'none of them'} ({score:.0%})."


def _closing(snapshot: Snapshot, states: Sequence[Record], asked: Asked) -> Iterator[Note]:
    """What the next agent does, how it is known to be done, and what the last one wants it to know."""
    goals: dict[str, list[str]] = {"next_actions": [], "substeps_remaining": [], "task_description": []}
    for state in states:
        content = headings.content(state.kind, snapshot.body(state))
        for name, found in goals.items():
            value = content.get(name) or ()
            found += [f"{one_line(item)} [{state.id}]" for item in ([value] if isinstance(value, str) else value)]
    if asked.notes:
        yield Note("agent_notes", "Notes", _list(asked.notes), essential=True)
    for name, title, field in (
        ("success_criteria", "Success criteria", "task_description"),
        ("short_term", "Short term", "substeps_remaining"),
        ("next", "Next actions", "next_actions"),
    ):
        if goals[field]:
            yield Note(name, title, _list(goals[field]))


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {one_line(line)}" for line in lines)
