"""Choose the open work that an agent can begin now, best first, with reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from memctl.git import git, history, message
from memctl.record import frontmatter
from memctl.record.content_fields import content
from memctl.record.errors import FrontMatterError, InvalidRecord
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.search.readiness import OpenWork, is_started, next_status, open_work
from memctl.search.urgency import LATEST_COMMITS, by_urgency, near_work, recorded_today
from memctl.store.last_commits import last_commits
from memctl.store.memory import Memory
from memctl.team import ref_state
from memctl.team.state import SHARED_WRITE, Ownership, State
from memctl.text import timestamps
from memctl.text.markdown import one_line

_FINISHED = 100  # percent
# Seconds since related work was done. Of 117 pieces of a project's work (300 issues of beads),
# each looked for among those that could be begun when it was finished (mostly 37), 21 % were among the first five with
# what goes on from yesterday's work first, 12 % by weight alone.
_LATELY = 24 * 3_600
_OWN_TIMES = ("closed_at", "updated_date")  # front matter from the tools that records are imported from


class WorkItem(msgspec.Struct, frozen=True):
    """An open record that an agent can begin, with the reasons why it is chosen and a command that begins or shows it.

    `is_own` says that the agent is at work on the record already, or that the record is assigned to the agent.
    `unblocks` are the ids of the records that this record blocks.
    """

    record: Record
    because: tuple[str, ...]
    command: str
    is_own: bool
    unblocks: tuple[str, ...]


class WorkElsewhere(NamedTuple):
    """An open record that another agent has, with the reason, such as "assigned to bob"."""

    record: Record
    because: str


class NextWork(msgspec.Struct, frozen=True):
    """The open records that an agent can begin, and what is known of the other open records.

    - `choices`: the chosen records, best first.
    - `total`: the number of records that the agent can begin, chosen or not.
    - `elsewhere`: the records that another agent has.
    - `blocked`: the number of records that can't begin before other records are closed.
    - `everywhere`: the blockers of all work, each as text with the agent that reported it.
    - `steps`: the open steps of the work that the agent is at.
    """

    choices: tuple[WorkItem, ...]
    total: int
    elsewhere: tuple[WorkElsewhere, ...]
    blocked: int
    everywhere: tuple[str, ...]
    steps: tuple[str, ...]


def choose(
    memory: Memory, snapshot: Snapshot, limit: int, steps: Sequence[str] = (), *, is_now: bool = True
) -> NextWork:
    """Return the open records that the agent at work can begin now, best first.

    At most `limit` records are chosen, or all if `limit` is 0. `steps` are those of the work that the agent is at.

    With `is_now=False`, for an earlier snapshot, owners, assignments and blockers of all work are ignored, because
    memctl knows only the present ones.
    """
    work = open_work(snapshot)
    state = ref_state.read(memory).state if is_now else State()
    elsewhere = {record.memory_id: who for record in work.ready if (who := _elsewhere(memory, snapshot, state, record))}
    # A state with all of its work done has only to be resolved.
    ready = [record for record in work.ready if record.completion_percentage != _FINISHED]
    free = [record for record in ready if record.memory_id not in elsewhere]
    before = _done_lately(memory, snapshot, free) if is_now else {}
    own = {record.memory_id for record in free if _is_own(memory, snapshot, state, record)}

    def order(record: Record) -> tuple[bool, bool, bool, bool]:
        return (
            record.severity != "critical",
            record.memory_id not in own,
            is_started(record) and record.memory_id not in own,  # somebody may still be at it
            record.memory_id not in before,
        )

    near = near_work(
        [record for record in free if record.memory_id in own],
        _changed_files(memory, free) if is_now else (),
        recorded_today(free, memory.now),
    )
    # What is begun comes before its equals.
    urgent = by_urgency(free, near, lambda record: work.weight(record) + is_started(record))
    chosen = sorted(urgent, key=order)
    return NextWork(
        tuple(_choice(memory, snapshot, state, work, record, before) for record in chosen[: limit or None]),
        len(free),
        tuple(WorkElsewhere(one, elsewhere[one.memory_id]) for one in work.ready if one.memory_id in elsewhere),
        len(work.blocked),
        tuple(f"{blocker.text} ({blocker.agent_id})" for blocker in state.global_blockers.values()),
        tuple(steps),
    )


def _changed_files(memory: Memory, records: Iterable[Record]) -> set[str]:
    """Return the paths of the files that the latest commits changed, as far as records refer to code."""
    if not any(record.code_refs for record in records):
        return set()
    return history.paths_touched(memory.repository, LATEST_COMMITS, memory.prefix)()


def _elsewhere(memory: Memory, snapshot: Snapshot, state: State, record: Record) -> str:
    """Return which other agent has a record, in words; "" if none has, or if it is assigned to this agent."""
    if memory.actor in (assigned := _assigned(state, record)):
        return ""
    if assigned:
        return f"assigned to {', '.join(assigned)}"
    owned = _owners(memory, snapshot, state, record)
    for held in owned:
        if held.ownership_type != SHARED_WRITE and held.owner_agent_id != memory.actor:
            return f"{held.owner_agent_id} owns {held.section_id}"
    if owned:
        return ""
    other = record.agent_id
    is_at_it = is_started(record) and other != memory.actor and other in state.active_agents
    return f"{other} is working on it" if is_at_it else ""


def _owners(memory: Memory, snapshot: Snapshot, state: State, record: Record) -> list[Ownership]:
    sections = snapshot.outline.sections_of(record) if state.section_ownership_map else ()
    return [held for markers in sections if (held := state.innermost(markers, memory.now))]


def _assigned(state: State, record: Record) -> list[str]:
    """Return the agents with an assigned task that names the record's id."""
    tasks = state.agent_task_assignments.items()
    return [agent for agent, some in tasks if any(record.id in task for task in some)]


def _is_own(memory: Memory, snapshot: Snapshot, state: State, record: Record) -> bool:
    """Begun work in a section that was handed over is the new owner's."""
    if memory.actor in _assigned(state, record):
        return True
    owners = {held.owner_agent_id for held in _owners(memory, snapshot, state, record)}
    return is_started(record) and memory.actor in {record.agent_id, *owners}


def _done_lately(memory: Memory, snapshot: Snapshot, records: Iterable[Record]) -> Mapping[str, Record]:
    """Return the record closed within the last day that a record follows: one it was blocked by, or one of the same
    parent.

    The result is by the `memory_id` of the record that follows.
    """
    related = [record for record in records if record.parent_memory_id or record.blocked_by]
    if not related:
        return {}
    closed = [record for record in snapshot.records if not record.is_open]
    by_id = {record.id: record for record in closed}
    parts: dict[str, list[Record]] = {}
    for record in closed:
        parts.setdefault(record.parent_memory_id or "", []).append(record)
    beside = {
        record.memory_id: [
            *(by_id[name] for name in record.blocked_by if name in by_id),
            *(parts.get(record.parent_memory_id, ()) if record.parent_memory_id else ()),
        ]
        for record in related
    }
    paths = {memory.tracked(record.path) for some in beside.values() for record in some}
    try:
        commits = last_commits(memory, paths)
    except git.GitFailed:  # a partial clone can't tell
        return {}
    since = timestamps.to_epoch(memory.now) - _LATELY
    when = {path: commit.seconds for path, commit in commits.items() if commit.seconds >= since}
    made = memory.repository.objects.read(sorted({commits[path].commit for path in when}))
    texts = {item.id: (item.data or b"").decode(errors="replace") for item in made if item}
    # A commit of an import has many records that nobody worked on then.
    imported = {commit for commit, text in texts.items() if "import" in message.parse(text).ops}
    done = {}
    for name, some in beside.items():
        lately = []
        for record in some:
            path = memory.tracked(record.path)
            if path in when and (commits[path].commit not in imported or _closed(snapshot, record) >= since):
                lately.append((when[path], record.id, record))
        if lately:
            done[name] = max(lately, key=lambda row: row[:2])[-1]
    return done


def _closed(snapshot: Snapshot, record: Record) -> int:
    """Return when an imported record was last worked on, by its own times and those of the tool that it comes from.

    The result is in seconds since 1970. The commit of an import says nothing of that.
    """
    values: Mapping[str, object] = {}
    with suppress(FrontMatterError, OSError):
        values = frontmatter.read(snapshot.read(record.path))[0]
    times = [timestamps.to_epoch(record.timestamp)]
    for name in _OWN_TIMES:
        with suppress(ValueError):
            times.append(timestamps.to_epoch(timestamps.parse(str(values.get(name) or ""))))
    return max(times)


def _begun(memory: Memory, agent: str) -> str:
    """Return who began work; under a user's name in Git others may work, too."""
    if agent != memory.actor:
        return f"begun by {agent}"
    return "begun under your name" if agent == memory.person() else "begun by you"


def _choice(
    memory: Memory, snapshot: Snapshot, state: State, work: OpenWork, record: Record, before: Mapping[str, Record]
) -> WorkItem:
    waiting = tuple(record.id for record in work.unblocks(record))
    is_mine = memory.actor in _assigned(state, record) or memory.actor.casefold() in record.assignees
    is_own = _is_own(memory, snapshot, state, record)
    because = ["assigned to you"] if is_mine else [f"assigned to {record.assignee}"] if record.assignee else []
    if is_started(record):
        done = f", {record.completion_percentage} % done" if record.completion_percentage is not None else ""
        because.append(f"{_begun(memory, record.agent_id)}{done}{'' if is_own else ': ask first'}")
    because += [record.severity] if record.severity in ("critical", "high") else []
    because += [f"blocks {waiting[0]}{f' and {len(waiting) - 1:,} more' * (len(waiting) > 1)}"] if waiting else []
    because += [f"continues {earlier.id}"] if (earlier := before.get(record.memory_id)) else []
    because = because or [f"importance {record.importance}"]
    actions: object = None
    with suppress(InvalidRecord, OSError):  # it changed just now
        actions = content(record.kind, snapshot.body(record)).get("next_actions")
    because += [f"next: {one_line(actions[0])}"] if isinstance(actions, list) and actions else []
    begun = next_status(record)
    command = f"memctl edit {record.id} --set status={begun}" if begun else f"memctl show {record.id}"
    return WorkItem(record, tuple(because), command, is_own, waiting)
