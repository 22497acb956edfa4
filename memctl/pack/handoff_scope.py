"""The part of a memory that a handoff includes, by its type (rules.md#handoffs), and what is left out to save tokens.

- complete: all of the sections
- specialist: what search finds for the task
- continuation: the task, what changed since it was written down, then the rest
- emergency: the task, what blocks it, severe issues and binding decisions

A complete handoff and a continuation leave out a share: first what is closed or repeated, then what weighs least.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from memctl.pack import compaction, items, last_work, phase
from memctl.pack.budget_fill import CountTokens
from memctl.pack.compaction import ContextBlock
from memctl.pack.draft import Item, Left
from memctl.pack.handoff_request import (
    COMPLETE,
    CONTINUATION,
    EMERGENCY,
    NONE_RECORDED,
    SPECIALIST,
    HandoffRequest,
)
from memctl.pack.items import Sources
from memctl.pages import repository_paths
from memctl.record import timestamps
from memctl.record.checkpoint import Checkpoint, is_outside
from memctl.record.content_fields import content
from memctl.record.handoff import Handoff
from memctl.record.kinds import HANDOFF, KNOWLEDGE
from memctl.record.record import LISTS, Record
from memctl.record.snapshot import Snapshot
from memctl.record.task_state import READ, TaskState
from memctl.search.filters import severity_rank
from memctl.task import progress, versions
from memctl.task import state as states
from memctl.text.similar import terms
from memctl.text.words import stems

if TYPE_CHECKING:
    from memctl.search.ranking import Result

# Tokens of a package, at most and at least, and the share of the context that is to go; rules.md#handoffs.
BUDGETS = {COMPLETE: 25_000, SPECIALIST: 10_000, CONTINUATION: 40_000, EMERGENCY: 15_000}
LEAST = {COMPLETE: 15_000, SPECIALIST: 5_000, CONTINUATION: 30_000, EMERGENCY: 10_000}
AIMS = {COMPLETE: 0.2, SPECIALIST: 0.2, CONTINUATION: 0.4, EMERGENCY: 0.2}
# Why a record or a page must be in a package, by rules.md#preservation or by the type of handoff.
TASK, BINDING, RECENT, ISSUE, DETAIL, CHANGED, RELEVANT, SECTION = (
    "current task", "binding decisions", "recent and proposed decisions", "severe and blocking issues",
    "critical details", "changed since the task was written down", "what bears on the task", "pages of the sections",
)  # fmt: skip
_HIGH = 1  # the rank of severity up to which an issue must stay
_RECENT_DAYS = 7  # of which all decisions must stay; rules.md#compaction
_WEIGHTY = 7  # importance from which a learning about what is critical must stay
_CONFIRMED_DAYS = 30  # after which a resolved issue may go; rules.md#preservation
_FADING_DAYS = 60  # after which a record gets no points for being recent
_REFERENCES = 5  # so many and more give all points
_SAME_TASK = 0.5  # of the words of a task's title, from which on a goal that has them tells of it
_WEAK = 0.2  # of how well the best matches, below which nothing bears on a task
_TEXTS = 0.7  # of a package are texts of the context, the rest is frame; measured on 90 records
_TAGS = frozenset(("security", "performance", "data-integrity", "integrity", "privacy", "compliance"))


class Scope(msgspec.Struct, frozen=True):
    """What a handoff is about.

    `sections` are those handed over, or that of the task which is; `known` are all records of them, `tasks` those of
    them that are handed over, the one worked on last first, and `state` is that of the task.
    `keeps` says of records and pages that must be in the package why, by their keys, the most important first;
    `records` are these and others that have room, `left` what is named without its text, `prior` sessions before.
    `sizes` are the tokens of all that it is about, by key.
    """

    sections: tuple[str, ...]
    known: tuple[Record, ...]
    tasks: tuple[Record, ...]
    state: TaskState
    records: tuple[Record, ...]
    pages: tuple[Item, ...]
    prior: tuple[Item, ...]
    keeps: Mapping[str, str]
    left: tuple[Left, ...]
    sizes: Mapping[str, int]


def gather(snapshot: Snapshot, now: str, asked: HandoffRequest, sources: Sources, count: CountTokens) -> Scope:
    """Return the scope of a handoff; sizes are as `count` counts them."""
    is_narrow = asked.kind in (SPECIALIST, EMERGENCY)
    asked, known, tasks = _with_tasks(snapshot, now, asked, sources)
    globs = globs_of(snapshot, asked.sections)
    state = _state(snapshot, asked, tasks, sources)
    task = asked.task or " ".join(asked.lines.get("immediate", ())) or asked.reason
    ranked = items.search(snapshot, task, now) if asked.kind == SPECIALIST else []
    bearing, places = _bearing(snapshot, ranked, count)
    keeps = _reasons(snapshot, now, asked, known, tasks, sources, bearing)
    own = _pages(snapshot, asked.sections, sources)
    records = {record.path: record for record in (*known, *tasks, *bearing)}
    blocks = list(_blocks(snapshot, now, [*records.values()], keeps))
    pages = {page.key: page for page in (*own, *places)}.values()
    blocks += [ContextBlock(page.key, f"{page.id} {page.title}\n{page.body}", SECTION) for page in pages]
    gone = {path: "" for path in records if path not in keeps}
    if not is_narrow:
        gone = compaction.compact(blocks, AIMS[asked.kind], count, int(_TEXTS * LEAST[asked.kind]))
    left = [(records[key], why) for key, why in reversed(gone.items()) if why and key in records]
    if isinstance(state, Checkpoint) and asked.kind != SPECIALIST:
        keeps = {state.checkpoint_id: TASK, **keeps}
    prior = [] if asked.kind == EMERGENCY else last_work.prior(snapshot, last_work.WORK, count, ranked, globs)
    if asked.sections or isinstance(state, Checkpoint):  # a checkpoint of other work is none of the taker's
        prior = [item for item in prior if item.kind != "checkpoint"]
    ranks = {key: rank for rank, key in enumerate(keeps)}
    stays = [record for record in records.values() if record.path not in gone]
    return Scope(
        sections=asked.sections,
        known=tuple(known),
        tasks=tuple(tasks),
        state=state,
        records=tuple(sorted(stays, key=lambda record: ranks.get(record.path, len(ranks)))),
        pages=tuple(places if is_narrow else own),
        prior=tuple(prior),
        keeps=keeps if is_narrow else keeps | {page.key: SECTION for page in own},
        left=tuple(Left(record.id, record.title, why, record.memory_type) for record, why in left),
        sizes={block.key: count(block.text) for block in blocks},
    )


def task_state(snapshot: Snapshot, now: str, one: Handoff, sources: Sources) -> TaskState:
    """Return the state from which the taker of a handoff goes on: that of its task, with what the giver said."""
    who, given = one.parties, content(HANDOFF, one.body)
    said = {name: tuple(given.get(name, ())) for name in ("immediate", "success_criteria", "constraints", "inputs")}
    asked = HandoffRequest(source=who.from_agent_id, sections=who.sections, task=who.task)
    asked, _, tasks = _with_tasks(snapshot, now, asked, sources)
    state = _state(snapshot, asked, tasks, sources)
    return msgspec.structs.replace(
        state,
        goal=who.task or state.goal or one.record.title,
        next_actions=tuple(dict.fromkeys((*said.pop("immediate"), *state.next_actions))),
        saved_by=state.saved_by or who.from_agent_id,
        saved_at=state.saved_at or one.record.timestamp,
        **{name: tuple(line for line in lines if line != NONE_RECORDED) for name, lines in said.items()},
    )


def records_of(snapshot: Snapshot, now: str, sections: Sequence[str], giver: str = "") -> list[Record]:
    """Return what is known, and neither archived nor expired, of some sections (none: of all); see
    `phase.of_sections`."""
    known = [r for r in snapshot.records if r.memory_type in KNOWLEDGE and not r.is_archived and not r.is_expired(now)]
    return phase.of_sections(snapshot, known, sections, giver)


def _with_tasks(
    snapshot: Snapshot, now: str, asked: HandoffRequest, sources: Sources
) -> tuple[HandoffRequest, list[Record], list[Record]]:
    """Return a handoff with the section of its task if it names one and no section, the records of its sections, the
    tasks."""
    named = task_named(snapshot, asked.task)
    if named is not None and named.place and not asked.sections:
        asked = msgspec.structs.replace(asked, sections=(named.place,))
    known = records_of(snapshot, now, asked.sections, asked.source)
    return asked, known, [named] if named is not None else _tasks(snapshot, known, asked.source, sources)


def task_named(snapshot: Snapshot, task: str) -> Record | None:
    """Return the open state that a task is named by, "STA-2025-11-04-001" or "Refunds [STA-…]"; None for
    one in words."""
    found = snapshot.find(task.strip().rstrip("]").rpartition("[")[2]) if task else None
    return found if found is not None and found.memory_type == "state" and found.is_open else None


def _tasks(snapshot: Snapshot, known: Sequence[Record], giver: str, sources: Sources) -> list[Record]:
    """Return the open tasks of the giver, the one worked on last first and what has all steps done last; if it has
    none, whichever was worked on last.

    A task is worked on where its record changes, and where the giver saves a checkpoint of it.
    """
    found = [record for record in known if record.memory_type == "state" and record.is_open]
    worked = sources.worked(found)
    saved: dict[str, str] = {}  # when the giver's newest checkpoint of each was saved
    for one in last_work.checkpoints(snapshot):
        if one.saved_by == giver and not one.is_finished:
            saved |= {task.path: one.saved_at for task in _tasks_in_goal(one.goal, snapshot) if task.path not in saved}

    def order(task: Record) -> tuple[bool, str, bool, str, str]:
        moment = max(worked.get(task.path, task.timestamp), saved.get(task.path, ""))
        return task.completion_percentage != 100, moment, task.path in saved, task.timestamp, task.id

    ordered = sorted(found, key=order, reverse=True)
    return [record for record in ordered if record.agent_id == giver] or ordered[:1]


def _state(snapshot: Snapshot, asked: HandoffRequest, tasks: Sequence[Record], sources: Sources) -> TaskState:
    """Return the state of a task by its record, together with the giver's newest checkpoint of the same work."""
    record = tasks[0] if tasks else None
    state = states.of_record(snapshot, record) if record else TaskState()
    saved = next((one for one in last_work.checkpoints(snapshot) if _is_of(one, snapshot, asked, record)), None)
    if saved is None or saved.is_finished:
        return state
    saved, _ = versions.readable(snapshot, saved)
    if record is None:
        return saved
    is_older = saved.saved_at < sources.worked([record]).get(record.path, record.timestamp)
    given = state if is_older else TaskState(steps=state.steps, blockers=saved.blockers or state.blockers)
    return progress.merge(saved, given)


def _is_of(saved: Checkpoint, snapshot: Snapshot, asked: HandoffRequest, record: Record | None) -> bool:
    """Return whether a checkpoint of the giver is of what is handed over: by the task or section that it names, by the
    task that its goal tells of in most words, or because most of its files are of the sections."""
    if saved.saved_by != asked.source:
        return False
    if record is not None and saved.task_id in (record.id, record.memory_id):
        return True
    if saved.section:
        return not asked.sections or saved.section in asked.sections
    if tasks := _tasks_in_goal(saved.goal, snapshot):
        return record in tasks
    changed = [one.path for one in saved.files if one.action != READ and not is_outside(one.path)]
    inside = repository_paths.matching(changed, globs_of(snapshot, asked.sections))
    return not asked.sections or 2 * len(inside) > len(changed)


def _tasks_in_goal(goal: str, snapshot: Snapshot) -> list[Record]:
    """Return the open tasks whose titles share most words with a goal, if that is half of a title's words at least."""
    words = stems(goal)
    shares = [
        (len(words & own) / len(own), record)
        for record in snapshot.open_records
        if record.memory_type == "state" and (own := stems(record.title))
    ]
    most = max((share for share, _ in shares), default=0.0)
    return [record for share, record in shares if share == most >= _SAME_TASK]


def globs_of(snapshot: Snapshot, sections: Sequence[str]) -> list[str]:
    """Return what covers the code of some sections, or of the sections of some details."""
    pages = [page for section in sections if (page := snapshot.outline.find(section))]
    parents = [parent for page in pages if page.section and (parent := snapshot.outline.find(page.section))]
    return [glob for page in (*pages, *parents) for glob in page.paths]


def _reasons(
    snapshot: Snapshot, now: str, asked: HandoffRequest, known: Sequence[Record], tasks: Sequence[Record],
    sources: Sources, bearing: Sequence[Record],
) -> dict[str, str]:  # fmt: skip
    """Return why which records must be in the package, by their paths, the most important first."""
    weighty = sorted(known, key=lambda r: (-items.weight(r), r.timestamp, r.id))
    reasons = [(record.path, _reason(snapshot, now, record)) for record in weighty]
    if asked.kind == EMERGENCY:
        reasons = [(path, why) for path, why in reasons if why in (BINDING, ISSUE)]
    if bearing:
        tasks, reasons = tasks[:1], [(record.path, RELEVANT) for record in bearing]
    if asked.kind == CONTINUATION and tasks:
        reasons += [(record.path, CHANGED) for record in _changed_since(known, tasks[0], sources)]
    found: dict[str, str] = {record.path: TASK for record in tasks}
    for path, why in reasons:
        if why:
            found.setdefault(path, why)
    return found


def _reason(snapshot: Snapshot, now: str, record: Record) -> str:
    """Return why a record must stay, "" if it need not."""
    if not record.is_open:
        return ""
    if record.memory_type == "decision":
        is_recent = timestamps.days_between(record.timestamp, now) <= _RECENT_DAYS
        return BINDING if phase.binding([record]) else RECENT if is_recent or record.importance >= _WEIGHTY else ""
    if record.memory_type == "issue":
        return ISSUE if severity_rank(record) <= _HIGH or record.blocks else ""
    if record.memory_type != "learning":
        return ""
    text = f"{record.title}\n{snapshot.body(record)}"
    is_critical = record.importance >= _WEIGHTY and compaction.is_critical_detail(text)
    return DETAIL if is_critical or _TAGS & set(record.tags) or compaction.is_marked_critical(text) else ""


def _bearing(snapshot: Snapshot, ranked: Sequence[Result], count: CountTokens) -> tuple[list[Record], list[Item]]:
    """Return the open records and the pages that bear on a task, best first: all that match about as well as the best,
    and of what matches less as much as the least package has room for."""
    records: list[Record] = []
    pages: dict[str, Item] = {}
    room = int(_TEXTS * LEAST[SPECIALIST])
    for one in ranked:
        if one.match < (items.CLOSE if room <= 0 else _WEAK):
            break
        record, page = one.record, items.page_of(one.id)
        if record is not None and record.is_open and record.memory_type in KNOWLEDGE:
            records.append(record)
            room -= count(snapshot.body(record))
        elif one.kind == "page" and page not in pages:  # of a page and a part of it the better match
            pages[page] = items.of_result(snapshot, one)
            room -= count(pages[page].body)
    return records, [*pages.values()]


def _changed_since(known: Sequence[Record], task: Record, sources: Sources) -> list[Record]:
    """Return the records made or committed after a task was, the latest first; what was closed since is among them."""
    worked = sources.worked(list(known))
    written = worked.get(task.path, task.timestamp)
    moments = {r.path: max(worked.get(r.path, ""), r.timestamp) for r in known}
    changed = [r for r in known if r.timestamp > task.timestamp or worked.get(r.path, "") > written]
    return sorted(changed, key=lambda record: (moments[record.path], record.id), reverse=True)


def _pages(snapshot: Snapshot, sections: Sequence[str], sources: Sources) -> list[Item]:
    """Return the pages of sections, and of details below them."""
    outline = snapshot.outline
    found = [page for page in (*outline.sections, *outline.details) if page.id in sections]
    found += [page for section in sections for page in outline.details_of(section)]
    return [items.of_page(page, sources.page(page)) for page in {page.path: page for page in found}.values()]


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
    """Return why a record may go, and its score from 0 to 30 then."""
    if record.is_open:
        return "", 0
    if record.memory_type == "issue":
        is_old = timestamps.days_between(record.timestamp, now) > _CONFIRMED_DAYS
        return ("resolved more than 30 days ago", 5) if is_old else ("resolved", 25)
    return record.status, 20 if record.status == "done" else 10
