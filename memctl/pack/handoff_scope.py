"""Choose the part of a memory that a handoff includes, by the type of the handoff (rules.md#handoffs).

- complete: everything in the sections
- specialist: what a search for the task finds
- continuation: the task, what has changed since the task was written down, then everything else
- emergency: the task, its blockers, severe issues and binding decisions

A complete handoff and a continuation leave out a share of the tokens: closed and repeated records first, then those of
the lowest score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from memctl.pack import compaction, items, last_work, phase_summary
from memctl.pack.budget_fill import CountTokens
from memctl.pack.compaction import ContextBlock
from memctl.pack.draft import Item, OmittedItem
from memctl.pack.handoff_request import (
    BINDING,
    CHANGED,
    DETAIL,
    ISSUE,
    NONE_RECORDED,
    RECENT,
    RELEVANT,
    SECTION,
    SPECIALIST,
    TASK,
    TYPES,
    HandoffRequest,
    TypeRules,
)
from memctl.pack.items import Sources
from memctl.record.checkpoint import Checkpoint
from memctl.record.content_fields import content
from memctl.record.filters import severity_rank
from memctl.record.handoff import Handoff
from memctl.record.kinds import HANDOFF, KNOWLEDGE
from memctl.record.record import LISTS, Record
from memctl.record.snapshot import Snapshot
from memctl.record.task_state import RecordReference, TaskState
from memctl.task import checkpoints, progress
from memctl.task import state_record as states
from memctl.text import timestamps
from memctl.text.markdown import one_line
from memctl.text.similarity import terms
from memctl.text.words import stems

if TYPE_CHECKING:
    from memctl.search.ranking import Result

_HIGH = 1  # the rank of severity up to which an issue must stay
_RECENT_DAYS = 7  # decisions up to this age must stay; rules.md#compaction
_WEIGHTY = 7  # importance from which a learning about a critical detail must stay
_CONFIRMED_DAYS = 30  # after which a resolved issue is discardable; rules.md#preservation
_FADING_DAYS = 60  # after which a record gets no points for recency
_REFERENCES = 5  # references to a record that give all points
_WEAK = 0.2  # share of the best match below which nothing is relevant to a task
_TEXTS = 0.7  # share of a package that are items; measured on 90 records
_TAGS = frozenset(("security", "performance", "data-integrity", "integrity", "privacy", "compliance"))
_SAME_TASK = 0.5  # share of the words of a task's title that a goal about this task has at least
# Lists that the giver fills, and the fields of the state that they become.
_STATE_FIELDS = {"immediate": "next_actions", "success_criteria": "success_criteria", "constraints": "constraints",
         "inputs": "inputs"}  # fmt: skip


class Subject(msgspec.Struct, frozen=True):
    """What a handoff is about.

    - `sections`: the markers in the request or, if it has none, the marker of the section that the task belongs to.
    - `known`: all records of these sections.
    - `tasks`: the giver's tasks, the one worked on last first.
    - `state`: the state of the first of these tasks: its goal, progress and next actions.
    - `globs`: the patterns of the files that the sections cover.
    - `named`: the task's record if the request names it by id, otherwise None.
    """

    sections: tuple[str, ...]
    known: tuple[Record, ...]
    tasks: tuple[Record, ...]
    state: TaskState
    globs: tuple[str, ...]
    named: Record | None = None


def subject_of(snapshot: Snapshot, now: str, request: HandoffRequest, sources: Sources) -> Subject:
    """Return what the handoff of a request is about: its sections, their records, and the giver's tasks.

    `sources` tells when tasks were last changed. `now` is the current time, such as "2025-11-04T14:32:00Z"; records
    that have expired by then are left out.
    """
    named = snapshot.find(request.task.strip().rstrip("]").rpartition("[")[2]) if request.task else None
    named = named if named is not None and named.memory_type == "state" and named.is_open else None
    sections = request.sections or ((named.place,) if named is not None and named.place else ())
    known = records_of(snapshot, now, sections, request.from_agent_id)
    tasks = [named] if named is not None else _tasks(snapshot, known, request.from_agent_id, sources)
    pages = [page for section in sections if (page := snapshot.outline.find(section))]
    pages += [parent for page in pages if page.section and (parent := snapshot.outline.find(page.section))]
    globs = tuple(glob for page in pages for glob in page.paths)
    state = _state(snapshot, sections, next(iter(tasks), None), request.from_agent_id, sources)
    return Subject(sections, tuple(known), tuple(tasks), state, globs, named)


def resume_state(snapshot: Snapshot, now: str, handoff: Handoff, sources: Sources) -> TaskState:
    """Return the state of the task that the taker of a handoff is to continue.

    It is the state of the giver's task, but the criteria for success, constraints and inputs are those of the
    `handoff`, and the next actions begin with those of the `handoff`. `now` is the current time, such as
    "2025-11-04T14:32:00Z", and `sources` tells when tasks were last changed.
    """
    who, texts = handoff.parties, content(HANDOFF, handoff.body)
    subject = subject_of(snapshot, now, HandoffRequest(**msgspec.structs.asdict(who)), sources)
    weighty = [record for record in subject.known if _reason(snapshot, now, record) in (BINDING, ISSUE)]
    state, lists = subject.state, {}
    source = f" [{state.task_id}]"  # behind each line that `complete` took from the state
    for name, field in _STATE_FIELDS.items():
        lists[field] = [line.removesuffix(source) for line in texts.get(name, ()) if line != NONE_RECORDED]
    lists["next_actions"] += state.next_actions
    return msgspec.structs.replace(
        state,
        goal=who.task or state.goal or handoff.record.title,
        saved_by=state.saved_by or who.from_agent_id,
        saved_at=state.saved_at or handoff.record.timestamp,
        records=state.records
        or tuple(RecordReference(r.id, one_line(r.title), r.severity or f"importance {r.importance}") for r in weighty),
        **{field: tuple(dict.fromkeys(lines)) for field, lines in lists.items()},
    )


def records_of(snapshot: Snapshot, now: str, sections: Sequence[str], giver: str = "") -> list[Record]:
    """Return the records of some sections that are neither archived nor expired.

    `sections` are markers; () means all of the memory. `now` is the current time, such as "2025-11-04T14:32:00Z". If
    the sections have no open task, the open tasks of the agent `giver` that name neither a section nor code are
    returned as well.
    """
    known = [r for r in snapshot.records if r.memory_type in KNOWLEDGE and not r.is_archived and not r.is_expired(now)]
    return phase_summary.of_sections(snapshot, known, sections, giver)


def _tasks(snapshot: Snapshot, known: Sequence[Record], giver: str, sources: Sources) -> list[Record]:
    """Return the giver's open tasks, the one worked on last first and finished ones last.

    If the giver has none, returns the task that anybody worked on last. Work on a task is a change of its record, or a
    checkpoint of it by the giver.
    """
    tasks = [record for record in known if record.memory_type == "state" and record.is_open]
    worked = sources.worked(tasks)
    own = [saved for saved in last_work.checkpoints(snapshot) if saved.saved_by == giver and not saved.is_finished]
    times = {task.path: saved.saved_at for saved in own[::-1] for task in _tasks_in_goal(saved.goal, snapshot)}

    def order(task: Record) -> tuple[bool, str, bool, str, str]:
        moment = max(worked.get(task.path, task.timestamp), times.get(task.path, ""))
        return task.completion_percentage != 100, moment, task.path in times, task.timestamp, task.id

    ordered = sorted(tasks, key=order, reverse=True)
    return [record for record in ordered if record.agent_id == giver] or ordered[:1]


def _state(
    snapshot: Snapshot, sections: Sequence[str], record: Record | None, giver: str, sources: Sources
) -> TaskState:
    """Return the state of a task, from its record and the giver's newest checkpoint or live state of that work.

    Without a record, the work is that on the sections.
    """
    state = states.of_record(snapshot, record) if record else TaskState()
    live = [one.task for one in sources.worktree().states if one.task.saved_at]
    known = sorted([*last_work.checkpoints(snapshot), *live], key=lambda one: one.saved_at, reverse=True)
    own = (one for one in known if one.saved_by == giver)
    saved = next((one for one in own if _is_of(one, snapshot, sections, record)), None)
    if saved is None or saved.is_finished:
        return state
    saved, _ = checkpoints.readable(snapshot, saved)
    if record is None:
        return saved
    is_older = saved.saved_at < sources.worked([record]).get(record.path, record.timestamp)
    given = state if is_older else TaskState(steps=state.steps, blockers=saved.blockers or state.blockers)
    return progress.merge(saved, given)


def _is_of(saved: TaskState, snapshot: Snapshot, sections: Sequence[str], record: Record | None) -> bool:
    """Return whether a state belongs to the subject of a handoff, by the section or the task that it names."""
    if record is not None and saved.task_id in (record.id, record.memory_id):
        return True
    if saved.section:
        return not sections or saved.section in sections
    tasks = _tasks_in_goal(saved.goal, snapshot)
    return record in tasks if tasks else not sections


def _tasks_in_goal(goal: str, snapshot: Snapshot) -> list[Record]:
    """Return the open tasks whose titles share the most words with a goal, at least half of the title's words."""
    words = stems(goal)
    tasks = [record for record in snapshot.open_records if record.memory_type == "state"]
    shares = {task.path: len(words & own) / len(own) for task in tasks if (own := stems(task.title))}
    most = max(_SAME_TASK, *shares.values(), 0.0)
    return [task for task in tasks if shares.get(task.path) == most]


class Scope(Subject, frozen=True, kw_only=True):
    """The part of a memory that goes into the package of a handoff, and what the handoff is about.

    - `records`, `pages`: the records and pages of the package.
    - `prior`: earlier sessions.
    - `keeps`: the keys of the records, pages and checkpoint that are required (for a record, its path), each with the
      reason; the most important first.
    - `left`: records that are left out, each with a reason.
    - `sizes`: the tokens of each record and page that was considered, by key.
    """

    records: tuple[Record, ...]
    pages: tuple[Item, ...]
    prior: tuple[Item, ...]
    keeps: Mapping[str, str]
    left: tuple[OmittedItem, ...]
    sizes: Mapping[str, int]


def gather(snapshot: Snapshot, now: str, request: HandoffRequest, sources: Sources, count: CountTokens) -> Scope:
    """Return the part of a memory that goes into the package of the handoff of a request.

    `now` is the current time, such as "2025-11-04T14:32:00Z". `sources` gets further facts about records and pages, and
    `count` counts the tokens of a text.
    """
    kind, subject = request.rules, subject_of(snapshot, now, request, sources)
    task = request.task or " ".join(request.lines.get("immediate", ())) or request.reason
    ranked = items.search(snapshot, task, now) if kind.is_ranked else []
    bearing, places = _bearing(snapshot, ranked, count)
    own = _pages(snapshot, subject.sections, sources)
    keeps = _reasons(snapshot, now, kind, subject, sources, bearing)
    records = {record.path: record for record in (*subject.known, *subject.tasks, *bearing)}
    pages = {page.key: page for page in (*own, *places)}.values()
    blocks = [*_blocks(snapshot, now, [*records.values()], keeps)]
    blocks += [ContextBlock(page.key, f"{page.id} {page.title}\n{page.body}", SECTION) for page in pages]
    if kind.is_narrow:
        gone = {path: "" for path in records if path not in keeps}
    else:
        gone = compaction.compact(blocks, kind.aim, count, int(_TEXTS * kind.least))
        keeps |= {page.key: SECTION for page in own}
    has_checkpoint = isinstance(subject.state, Checkpoint)
    if isinstance(subject.state, Checkpoint) and kind.has_checkpoint:
        keeps = {subject.state.checkpoint_id: TASK, **keeps}
    prior: list[Item] = []
    if kind.has_prior:  # a checkpoint of other work does not belong in the package
        is_open = not (subject.sections or has_checkpoint)
        room, globs = last_work.WORK, subject.globs
        prior = last_work.prior_work(snapshot, now, room, count, ranked, globs, with_checkpoint=is_open)
        prior = [item for item in prior if is_open or item.kind != "checkpoint"]
    ranks = {key: rank for rank, key in enumerate(keeps)}
    stays = [record for record in records.values() if record.path not in gone]
    return Scope(
        **msgspec.structs.asdict(subject),
        records=tuple(sorted(stays, key=lambda record: ranks.get(record.path, len(ranks)))),
        pages=tuple(places if kind.is_narrow else own),
        prior=tuple(prior),
        keeps=keeps,
        left=tuple(
            OmittedItem(records[key].id, records[key].title, why, records[key].memory_type)
            for key, why in reversed(gone.items())
            if why and key in records
        ),
        sizes={block.key: count(block.text) for block in blocks},
    )


def _reasons(
    snapshot: Snapshot, now: str, kind: TypeRules, subject: Subject, sources: Sources, bearing: Sequence[Record]
) -> dict[str, str]:
    """Return the records that must be in the package, by path, with the reasons; the most important come first."""
    weighty = sorted(subject.known, key=lambda r: (-items.weight(r), r.timestamp, r.id))
    reasons = [(record, _reason(snapshot, now, record)) for record in weighty]
    found = [(record, why) for record, why in reasons if why in kind.reasons]
    if CHANGED in kind.reasons:
        found += [(record, CHANGED) for record in _changed_since(subject, sources)]
    tasks = subject.tasks
    if bearing:
        tasks, found = tasks[:1], [(record, RELEVANT) for record in bearing]
    keeps: dict[str, str] = {}
    for record, why in [*((one, TASK) for one in tasks), *found]:
        keeps.setdefault(record.path, why)
    return keeps


def _reason(snapshot: Snapshot, now: str, record: Record) -> str:
    """Return the reason why a package must contain a record, "" if there is none."""
    if not record.is_open:
        return ""
    if record.memory_type == "decision":
        is_recent = timestamps.days_between(record.timestamp, now) <= _RECENT_DAYS
        if phase_summary.binding_decisions([record]):
            return BINDING
        return RECENT if is_recent or record.importance >= _WEIGHTY else ""
    if record.memory_type == "issue":
        return ISSUE if severity_rank(record) <= _HIGH or record.blocks else ""
    if record.memory_type != "learning":
        return ""
    text = f"{record.title}\n{snapshot.body(record)}"
    is_critical = record.importance >= _WEIGHTY and compaction.is_critical_detail(text)
    return DETAIL if is_critical or _TAGS & set(record.tags) or compaction.is_marked_critical(text) else ""


def _bearing(snapshot: Snapshot, ranked: Sequence[Result], count: CountTokens) -> tuple[list[Record], list[Item]]:
    """Return the open records and the pages that are relevant to a task, the best first.

    These are all results that match about as well as the best one, and weaker ones until the least size of a package is
    reached.
    """
    records: list[Record] = []
    pages: dict[str, Item] = {}
    room = int(_TEXTS * TYPES[SPECIALIST].least)
    for result in ranked:
        if result.match < (items.CLOSE if room <= 0 else _WEAK):
            break
        record, page = result.record, items.page_of(result.id)
        if record is not None and record.is_open and record.memory_type in KNOWLEDGE:
            records.append(record)
            room -= count(snapshot.body(record))
        elif result.kind == "page" and page not in pages:  # only the best match of each page
            pages[page] = items.of_result(snapshot, result)
            room -= count(pages[page].body)
    return records, [*pages.values()]


def _changed_since(subject: Subject, sources: Sources) -> list[Record]:
    """Return the records that were made or changed after the task's record, the latest first."""
    if not subject.tasks:
        return []
    task, worked = subject.tasks[0], sources.worked([*subject.known])
    written = worked.get(task.path, task.timestamp)
    changed = [r for r in subject.known if r.timestamp > task.timestamp or worked.get(r.path, "") > written]
    return sorted(changed, key=lambda r: (max(worked.get(r.path, ""), r.timestamp), r.id), reverse=True)


def _pages(snapshot: Snapshot, sections: Sequence[str], sources: Sources) -> list[Item]:
    """Return the pages of sections, and their pages of details, as items."""
    outline = snapshot.outline
    pages = [page for page in (*outline.sections, *outline.details) if page.id in sections]
    pages += [page for section in sections for page in outline.details_of(section)]
    return [items.of_page(page, sources.page(page)) for page in {page.path: page for page in pages}.values()]


def _blocks(
    snapshot: Snapshot, now: str, records: Sequence[Record], keeps: Mapping[str, str]
) -> Iterator[ContextBlock]:
    """Yield records as blocks of a context, the oldest first."""
    cited = Counter(identifier for r in records for name in LISTS[1:-2] for identifier in getattr(r, name))
    for record in sorted(records, key=lambda r: (r.timestamp, r.id)):
        text = f"{record.id} {record.title}\n{snapshot.body(record)}"
        drops, worth = _drops(record, now)
        yield ContextBlock(
            key=record.path,
            text=text,
            keeps=keeps.get(record.path, ""),
            drops=drops,
            worth=worth,
            recency=max(0.0, 1 - timestamps.days_between(record.timestamp, now) / _FADING_DAYS),
            references=min(cited[record.id] / _REFERENCES, 1.0),
            relevance=record.importance / 10,
            density=min(1.0, len(terms(text)) / (len(text.split()) or 1)),
        )


def _drops(record: Record, now: str) -> tuple[str, float]:
    """Return why a record is discardable, and its score from 0 to 30; ("", 0) for an open record."""
    if record.is_open:
        return "", 0
    if record.memory_type == "issue":
        is_old = timestamps.days_between(record.timestamp, now) > _CONFIRMED_DAYS
        return ("resolved more than 30 days ago", 5) if is_old else ("resolved", 25)
    return record.status, 20 if record.status == "done" else 10
