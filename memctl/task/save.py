"""Save a checkpoint: what was said, what the checkpoint before it had, and what memory, Git and events know.

What is planned, what is in progress and what is done are three lists that no item is in two of. A plan that was
interrupted must not read like finished work to the next window (rules.md#checkpoints). An item that is given for one
list leaves the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import checkpoint
from memctl.record.change import Change, Write, WriteOptions
from memctl.record.checkpoint import FORMAT, PROGRESS, Checkpoint, Metrics, Noted, Version, key, mixed
from memctl.record.event import WorkflowEvent
from memctl.record.required_text import MOST_LINES, Wrong, is_said, misfits
from memctl.record.snapshot import Snapshot
from memctl.search.filters import severity_rank
from memctl.store import event_stream, load
from memctl.store.memory import Memory
from memctl.task import environment, versions
from memctl.task import events as task_events
from memctl.task.markdown import document
from memctl.task.versions import Checkpoints
from memctl.text.markdown import one_line
from memctl.write import transaction
from memctl.write.commit import Outcome

Progress = dict[str, tuple[str, ...]]


def moved(before: Checkpoint | None, given: Mapping[str, tuple[str, ...]], dropped: tuple[str, ...]) -> Progress:
    """The lists after some items were given for them and others dropped; the rest is as it was `before`.

    Of what is done the latest items are kept; earlier checkpoints have the others. Raises MemctlError if an item is
    given for two lists, or if one is dropped that stands in none.
    """
    if twice := mixed(given):
        raise MemctlError(f"{twice[0]!r} is given for two of {', '.join(PROGRESS)}", exit_code=USAGE)
    lists = {name: getattr(before, name) if before else () for name in PROGRESS}
    known = {key(item) for items in lists.values() for item in items}
    for item in dropped:
        if key(item) not in known:
            raise MemctlError(f"{item!r} is neither planned nor in progress nor done", exit_code=USAGE)
    leaving = {key(item) for name in PROGRESS for item in given.get(name, ())} | {key(item) for item in dropped}
    made = {}
    for name in PROGRESS:
        kept = [item for item in lists[name] if key(item) not in leaving]
        made[name] = (*kept, *{key(item): item for item in given.get(name, ())}.values())
    made["done"] = made["done"][-MOST_LINES:]
    return made


DECISIONS, ISSUES, LEARNINGS = 10, 15, 5  # as in a rehydration; rules.md#rehydration
_EVENTS_TOLD = 20
_CARRIED = ("inputs", "expected_outputs", "constraints", "next_actions")
_SAID = (
    "mission", "phase", *_CARRIED, "planned", "in_progress", "done", "decisions", "issues", "lessons", "summary",
)  # fmt: skip


class StatedProgress(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody says of the state of a task; what is empty or None is taken over or found out.

    `base` is the checkpoint that the state goes on from, by its version or id ("": the newest in this worktree),
    `window` the context window that it was reached in. `files` are paths in the worktree that are known to have been
    read or changed, the latest first; others come from Git. `issues`, `lessons` and a `summary` are the agent's own
    words, beside what the memory has; issues of before are taken over only if these are None.
    """

    workflow: str
    window: int | None = None
    base: str = ""
    mission: str = ""
    phase: str = ""
    inputs: tuple[str, ...] = ()
    expected_outputs: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    planned: tuple[str, ...] = ()
    in_progress: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    next_actions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    issues: tuple[str, ...] | None = None
    lessons: tuple[str, ...] = ()
    summary: tuple[str, ...] = ()
    scs_size: int | None = None
    aws_size: int | None = None


def save(memory: Memory, snapshot: Snapshot, said: StatedProgress) -> Change:
    """The Change that adds a checkpoint. Raises MemctlError if it is stale, or if something said is wrong."""
    said, wrong = _tidy(said)
    found = versions.read(snapshot, said.workflow)
    if found.faults:
        raise MemctlError(
            f"{memory.prefix}/{found.faults[0]}", "bring it back with Git, or delete it: a checkpoint is never changed"
        )
    last = _last(found, said)
    before = last if last and (not said.mission or said.mission == last.mission) else None  # else it is another task
    mission = said.mission or (last.mission if last else "")
    wrong += [] if mission else [("mission", "is needed: the first checkpoint of a workflow says what the task is")]
    if wrong:
        raise Wrong("this is no checkpoint yet:", wrong, "say it, or leave out what says nothing", USAGE)
    number = _number(memory, snapshot, said, last, found.checkpoints)
    now = environment.look(memory)
    stream = event_stream.read(memory).events
    events = task_events.since_checkpoint(stream, said.workflow)
    values: dict[str, Any] = {
        **{name: getattr(said, name) or (getattr(before, name) if before else ()) for name in _CARRIED},
        **moved(before, {name: getattr(said, name) for name in checkpoint.PROGRESS}, said.dropped),
        **_records(snapshot),
        "phase": said.phase
        or next((event.phase for event in reversed(events) if event.phase), "")
        or (before.phase if before else ""),
        "mission": mission,
        **{name: _added(before, said, name) for name in ("decisions", "lessons")},
        "issues": (before.issues if before else ()) if said.issues is None else said.issues,
        "summary": said.summary or (before.summary if before else ()),
        "files_touched": environment.touched_since(memory, now, last, said.files),
        "branch": now.branch,
        "head": now.head,
        "dirty_files": tuple(one.path for one in now.dirty[: environment.MOST_DIRTY]),
        "event_stream_summary": task_events.told(events)[-_EVENTS_TOLD:],
        "context_metrics": _metrics(said, events, last),
    }
    if before and before.is_finished and not said.next_actions and (values["planned"] or values["in_progress"]):
        values["next_actions"] = ()  # it said that nothing is left to do, and now something is
    return _change(memory, _made(memory, number, values))


def _added(before: Checkpoint | None, said: StatedProgress, name: str) -> tuple[str, ...]:
    """What was said so far with what is said now; the latest stay."""
    return tuple(dict.fromkeys((*(getattr(before, name) if before else ()), *getattr(said, name))))[-MOST_LINES:]


def _tidy(said: StatedProgress) -> tuple[StatedProgress, list[tuple[str, str]]]:
    """Every text on one line; and the fields in which one says nothing, with that."""
    values: dict[str, Any] = {}
    wrong: list[tuple[str, str]] = []
    for name in (*_SAID, "dropped"):
        value = getattr(said, name)
        if value is None:
            continue
        values[name] = one_line(value) if isinstance(value, str) else tuple(one_line(item) for item in value)
        texts = [values[name]] if isinstance(value, str) else values[name]
        empty = next((text for text in texts if not is_said(text) and (text or not isinstance(value, str))), None)
        wrong += [] if empty is None else [(name, f"{empty!r} says nothing")]
    return msgspec.structs.replace(said, **values), wrong


def _last(found: Checkpoints, said: StatedProgress) -> Checkpoint | None:
    """The checkpoint whose state is taken over; raises MemctlError if two clones left one each of that version."""
    named = next((one for one in found.checkpoints if one.checkpoint_id == said.base), None)
    if named is not None or not found.checkpoints:
        return named
    last = found.checkpoints[0]
    if twins := versions.twins(found, last):
        names = " and ".join(sorted(one.checkpoint_id for one in (last, *twins)))
        raise MemctlError(
            f"{names} were saved at once", "say by --base ID which to go on from, and take over the other"
        )
    return last


def _number(
    memory: Memory, snapshot: Snapshot, said: StatedProgress, last: Checkpoint | None, here: Sequence[Checkpoint]
) -> Version:
    """The next version of a workflow; raises MemctlError if what it goes on from is not the newest there is."""
    base = last.version if last else 0
    if said.base.isdecimal():
        base = int(said.base)
    elif said.base and (last is None or last.checkpoint_id != said.base):
        raise MemctlError(f"{said.workflow} has no checkpoint {said.base!r}", "`memctl checkpoint list`", USAGE)
    window = _window(memory, said, here)
    known = versions.known(memory, snapshot, said.workflow)
    newest = versions.newer(known, Version(base, window, workflow=said.workflow))
    if newest is not None:
        mine = f"this goes on from version {base} in window {window}"
        raise _stale(memory, newest, here, mine if newest.version > base else f"window {window} is over")
    highest = max((one.version for one in known), default=0)
    if base > highest:
        raise MemctlError(f"there is no version {base} of {said.workflow}", f"the newest is {highest}", USAGE)
    return Version(base + 1, window, workflow=said.workflow)


def _window(memory: Memory, said: StatedProgress, here: Sequence[Checkpoint]) -> int:
    """The window as given; else the session's own, if it has saved before; else a new session opens a new one."""
    if said.window is not None:
        return said.window
    if not here:
        return 1
    newest = max(one.window_id for one in here)
    if not memory.session:
        return newest
    own = [one.window_id for one in here if one.session == memory.session]
    return max(own) if own else newest + 1


def _stale(memory: Memory, newest: Version, here: Sequence[Checkpoint], mine: str) -> MemctlError:
    one = next((one for one in here if one.checkpoint_id == newest.id), None)
    where = f" by {one.saved_by}, {one.saved_at}" if one else ", which another branch or remote has"
    show = f"memctl checkpoint show {newest.id}" if one else f"git log --all -- {memory.tracked(newest.path)}"
    return MemctlError(
        f"stale: {mine}: {newest.id} is newer{where}",
        f"take over what it says (`{show}`), then save with --base {newest.version} --window {newest.window}",
    )


def _records(snapshot: Snapshot) -> dict[str, tuple[Noted, ...]]:
    """What of the memory bears on any task: weighty decisions, open issues from the worst on, learnings."""
    issues = sorted(
        (r for r in snapshot.records if r.memory_type == "issue" and r.is_open),
        key=lambda record: (severity_rank(record), record.timestamp, record.id),
    )
    return {
        "recorded_decisions": tuple(
            Noted(r.id, one_line(r.title), f"importance {r.importance}")
            for r in snapshot.catalogue.top("decision", None, DECISIONS)
        ),
        "open_issues": tuple(Noted(r.id, one_line(r.title), r.severity or "") for r in issues[:ISSUES]),
        "learnings": tuple(
            Noted(r.id, one_line(r.title), f"importance {r.importance}")
            for r in snapshot.catalogue.top("learning", None, LEARNINGS)
        ),
    }


def _metrics(said: StatedProgress, events: Sequence[WorkflowEvent], before: Checkpoint | None) -> Metrics:
    """Sizes as they were said, or as the latest event has them."""
    sizes = [event.after_state for event in events]
    old = before.context_metrics if before else Metrics()
    scs = [size.scs_size for size in sizes if size.scs_size is not None]
    aws = [size.aws_size for size in sizes if size.aws_size is not None]
    ratios = [event.compression_ratio for event in events if event.compression_ratio is not None]
    return Metrics(
        scs_size=said.scs_size if said.scs_size is not None else (scs[-1] if scs else None),
        aws_size=said.aws_size if said.aws_size is not None else (aws[-1] if aws else None),
        compression_ratio=ratios[-1] if ratios else None,
        compressions=old.compressions + sum(event.event_type == "compression" for event in events),
        events=old.events + len(events),
    )


def _made(memory: Memory, number: Version, values: dict[str, Any]) -> Checkpoint:
    """The checkpoint; its mark follows from all that it says."""
    values |= {
        "format": FORMAT,
        "workflow_id": number.workflow,
        "window_id": number.window,
        "version": number.version,
        "saved_at": memory.now,
        "saved_by": memory.actor,
        "session": memory.session,
    }
    mark = blake2b(msgspec.json.encode(values, order="deterministic"), digest_size=3).hexdigest()
    values["checkpoint_id"] = msgspec.structs.replace(number, mark=mark).id
    if wrong := list(misfits(values, Checkpoint)):
        hint = "put the long part into a record or a file, and name that"
        raise Wrong("this can't be kept in a checkpoint:", wrong, hint)
    return msgspec.convert(values, Checkpoint)


def _change(memory: Memory, made: Checkpoint) -> Change:
    number = made.number
    return Change(
        op="checkpoint",
        title=made.checkpoint_id,  # the task may be what somebody asked for in private
        ids=(made.checkpoint_id,),
        writes=(
            Write(number.path, checkpoint.written(made)),
            Write(number.page, document(made)),
        ),
    )


def note(memory: Memory, made: Checkpoint) -> None:
    """Put the event of a saved checkpoint into the stream, so that the events before it count as taken up."""
    said = {
        "event_type": "checkpoint",
        "action_taken": f"saved {made.checkpoint_id}",
        "checkpoint_id": made.checkpoint_id,
    }
    task_events.emit(memory, made.workflow_id, said)


class SavedCheckpoint(msgspec.Struct, frozen=True):
    """A checkpoint that was saved, what came of the change, and why the event stream does not tell of it ("": it does).

    With `options.dry_run` it is the checkpoint that would have been saved.
    """

    checkpoint: Checkpoint
    outcome: Outcome
    untold: str = ""


def keep(memory: Memory, said: StatedProgress, options: WriteOptions) -> SavedCheckpoint:
    """Save what is said of a task; raises MemctlError if it is stale, or refused otherwise."""
    outcome = transaction.carry_out(memory, lambda _: save(memory, load.disk(memory), said), options)
    write = outcome.change.writes[0]
    made = checkpoint.parse(write.text, write.path)
    if not options.dry_run:
        try:
            note(memory, made)
        except MemctlError as error:  # the checkpoint is saved all the same
            return SavedCheckpoint(made, outcome, error.message)
    return SavedCheckpoint(made, outcome)
