"""Saving the state of a task: as a checkpoint, or into a state record.

A checkpoint continues the one before, and gets files and events. A plan that was interrupted must not read like
finished work to the next window, and finished work not like a plan (rules.md#checkpoints): `task/progress.py` decides
which status a step may get.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import checkpoint
from memctl.record.change import Change, Write, WriteOptions
from memctl.record.checkpoint import FORMAT, Checkpoint, Metrics, Version
from memctl.record.event import WorkflowEvent
from memctl.record.filters import severity_rank
from memctl.record.kinds import ISSUE, STATE
from memctl.record.required_text import LONGEST_LINE, InvalidFields, is_meaningful, type_errors
from memctl.record.snapshot import Snapshot
from memctl.record.task_state import BLOCKS, DONE, EVERYBODY, RecordReference, Step, TaskState
from memctl.store import event_stream, load
from memctl.store.memory import Memory
from memctl.task import environment, progress, state, versions
from memctl.task import events as task_events
from memctl.task.forms import markdown
from memctl.task.state import of_record as task_state_of
from memctl.task.versions import Checkpoints
from memctl.team import ref_state
from memctl.text.fit import cut
from memctl.text.markdown import one_line
from memctl.write import edit, transaction
from memctl.write.commit import Outcome

DECISIONS, ISSUES, LEARNINGS = 10, 15, 5  # as in a rehydration; rules.md#rehydration
_EVENTS_TOLD = 20
_NOT_KEPT = "this can't be kept in a checkpoint:"
_FITTING = f"a text has 1 to {LONGEST_LINE} characters: put the long part into a record or a file, and name that"


class SaveOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options for saving a checkpoint.

    `workflow` is the checkpoint's, "" for that of the agent at work (`versions.workflow_for`). `base` is the version or
    id of the checkpoint that the state continues, "" for the newest in this worktree. `window` is the number of the
    context window, None for the session's own. `is_whole` says that the state replaces the one before, so that steps it
    does not name are dropped unless they are done; otherwise it is added to that. `dropped` are steps to remove.
    `knows_files` says that the state's list of files is complete; otherwise files that Git knows to be changed are
    added. `scs_size` is the size of what all agents at work share, `aws_size` that of all that is in the window, in
    tokens; None stands for the latest that is known.
    """

    workflow: str = ""
    window: int | None = None
    base: str = ""
    dropped: tuple[str, ...] = ()
    is_whole: bool = False
    knows_files: bool = False
    scs_size: int | None = None
    aws_size: int | None = None


def change(memory: Memory, snapshot: Snapshot, given: TaskState, options: SaveOptions) -> Change:
    """Return the Change that saves a state as a checkpoint; raises MemctlError for a stale base or a wrong value.

    `given` is the state as its writer gives it.
    """
    given = progress.normalise(given)
    if unfit := [(step.status, f"{cut(step.text, 60)!r} has {len(step.text)} characters") for step in given.steps
                 if not 0 < len(step.text) <= LONGEST_LINE]:  # fmt: skip
        raise InvalidFields(_NOT_KEPT, unfit, _FITTING)
    workflow = options.workflow or versions.workflow_for(memory, snapshot, given.goal)
    options = msgspec.structs.replace(options, workflow=workflow, dropped=tuple(map(one_line, options.dropped)))
    found = versions.read(snapshot, workflow)
    versions.refuse_broken(snapshot, found)
    last = _last(found, options)
    if options.base and (last is None or options.base not in (last.checkpoint_id, str(last.version))):
        named = "" if options.base.isdecimal() else options.base
        other = versions.on_any_branch(memory, snapshot, named, workflow)
        last = other if other and options.base in (other.checkpoint_id, str(other.version)) else last
    before = last if last and (not given.goal or given.goal == last.goal) else None  # else it is another task
    if not is_meaningful(given.goal or (last.goal if last else "")):
        wrong = (
            f"{given.goal!r} is only a placeholder"
            if given.goal
            else "is missing: the first checkpoint of a workflow needs it"
        )
        raise InvalidFields("this checkpoint is incomplete:", [("goal", wrong)], "say what the task is", USAGE)
    number = _number(memory, snapshot, options, last, found.checkpoints)
    events = task_events.since_checkpoint(event_stream.read(memory).events, workflow)
    if not given.phases and (named := next((event.phase for event in reversed(events) if event.phase), "")):
        given = msgspec.structs.replace(given, phases=(*(before.phases if before else ()), named))
    made = _checkpoint(
        memory,
        number,
        {
            **msgspec.to_builtins(_state(memory, snapshot, given, before, last, options)),  # to be looked at whole
            "event_stream_summary": task_events.lines(events)[-_EVENTS_TOLD:],
            "context_metrics": _metrics(options, events, last),
        },
    )
    writes = (Write(made.number.path, checkpoint.to_json(made)), Write(made.number.page, markdown(made)))
    # The id is the title: the task may be what somebody asked for in private.
    return Change(op="checkpoint", title=made.checkpoint_id, ids=(made.checkpoint_id,), writes=writes)


def update(
    snapshot: Snapshot, reference: str, values: Mapping[str, Any], saved: TaskState | None, completion: int | None
) -> Change:
    """Return the Change that updates a state record with new values and with the progress of a checkpoint.

    `values` are the record's values by field, `saved` is the checkpoint's state, None for none. Steps move as in a
    checkpoint, and new next actions replace those before; fields of the text that do not change stay as they are
    written. The completion follows from the steps unless `completion` (percent) is given. Raises MemctlError for a
    record that is not a state, and for a step that can't be moved.
    """
    record = snapshot.resolve(reference)
    if record.memory_type != STATE.name:
        raise MemctlError(f"{record.id} is not a state", f"`memctl edit {record.id}` changes it", USAGE)
    progress.refuse_conflicting(state.stated_steps(values))
    before, given = task_state_of(snapshot, record), state.of_values(values)
    if saved is not None:
        saved = TaskState(steps=saved.steps, next_actions=saved.next_actions, blockers=saved.blockers)
    made = progress.add(progress.merge(before, saved) if saved else before, given)
    percent = made.completion if completion is None else completion
    front = {} if percent is None else {"completion_percentage": percent}
    title = f"{record.id}{f' (completion_percentage {percent})' if front else ''} {record.title}"
    new, old = state.record_values(made), state.record_values(before)
    write = edit.rewrite(snapshot, record, front, {name: new[name] for name in new if new[name] != old[name]})
    return Change(op="edit", title=title, ids=(record.id,), writes=(write,))


def _state(
    memory: Memory,
    snapshot: Snapshot,
    given: TaskState,
    before: TaskState | None,
    last: Checkpoint | None,
    options: SaveOptions,
) -> TaskState:
    """Return the state to save: the given one on top of the one before, with records, files and environment."""
    now = environment.current(memory)
    steps = tuple(
        Step(step.text, DONE, step.at or memory.now, step.by or memory.actor, step.evidence or progress.COMMAND)
        if step.status == DONE
        else step
        for step in given.steps
    )
    given = msgspec.structs.replace(given, steps=steps)
    state = progress.take_whole(before, given) if options.is_whole else progress.add(before, given, options.dropped)
    knows_files = options.knows_files or (options.is_whole and given.files)
    return msgspec.structs.replace(
        state,
        files=state.files if knows_files else environment.touched_since(memory, now, last, state.files),
        records=(*_blocking(memory, snapshot), *_records(snapshot)),
        environment=msgspec.structs.replace(now, dirty=now.dirty[: environment.MOST_DIRTY]),
    )


def _last(found: Checkpoints, options: SaveOptions) -> Checkpoint | None:
    """Return the checkpoint to continue; raises MemctlError if two clones saved one each of the newest version."""
    named = next((one for one in found.checkpoints if one.checkpoint_id == options.base), None)
    if named is not None or not found.checkpoints:
        return named
    last = found.checkpoints[0]
    if twins := versions.twins(found, last):
        names = " and ".join(sorted(one.checkpoint_id for one in (last, *twins)))
        raise MemctlError(
            f"{names} were saved at the same time",
            "name the one to continue with --base ID, and add what the other has",
        )
    return last


def _number(
    memory: Memory, snapshot: Snapshot, options: SaveOptions, last: Checkpoint | None, here: Sequence[Checkpoint]
) -> Version:
    """Return the next version of a workflow; raises MemctlError if the base is unknown or not the newest."""
    base = last.version if last else 0
    if options.base.isdecimal():
        base = int(options.base)
    elif options.base and (last is None or last.checkpoint_id != options.base):
        raise MemctlError(f"{options.workflow} has no checkpoint {options.base!r}", "`memctl checkpoint list`", USAGE)
    window = _window(memory, options, here)
    known = versions.all_versions(memory, snapshot, options.workflow)
    newest = versions.newer_version(known, Version(base, window, workflow=options.workflow))
    if newest is not None:
        mine = f"this goes on from version {base} in window {window}"
        raise _stale(newest, here, mine if newest.version > base else f"window {window} is over")
    highest = max((one.version for one in known), default=0)
    if base > highest:
        raise MemctlError(f"there is no version {base} of {options.workflow}", f"the newest is {highest}", USAGE)
    return Version(base + 1, window, workflow=options.workflow)


def _window(memory: Memory, options: SaveOptions, here: Sequence[Checkpoint]) -> int:
    """Return the number of the context window: the given one, else the session's own, else the next one for a new
    session."""
    if options.window is not None:
        return options.window
    if not here:
        return 1
    newest = max(one.window_id for one in here)
    if not memory.session:
        return newest
    own = [one.window_id for one in here if one.session == memory.session]
    return max(own) if own else newest + 1


def _stale(newest: Version, here: Sequence[Checkpoint], mine: str) -> MemctlError:
    one = next((one for one in here if one.checkpoint_id == newest.id), None)
    where = f" by {one.saved_by}, {one.saved_at}" if one else ", which another branch or remote has"
    hint = f"read it with `memctl checkpoint show {newest.id}`"
    return MemctlError(
        f"stale: {mine}: {newest.id} is newer{where}",
        f"{hint}, then save with --base {newest.version} --window {newest.window}",
    )


def _records(snapshot: Snapshot) -> tuple[RecordReference, ...]:
    """Return the records that bear on any task: important decisions, open issues by severity, learnings."""
    issues = sorted(
        (r for r in snapshot.records if r.memory_type == "issue" and r.is_open),
        key=lambda record: (severity_rank(record), record.timestamp, record.id),
    )
    weighty = [
        *((r, f"importance {r.importance}") for r in snapshot.catalogue.top("decision", None, DECISIONS)),
        *((r, r.severity or "") for r in issues[:ISSUES]),
        *((r, f"importance {r.importance}") for r in snapshot.catalogue.top("learning", None, LEARNINGS)),
    ]
    return tuple(RecordReference(record.id, one_line(record.title), weight) for record, weight in weighty)


def _blocking(memory: Memory, snapshot: Snapshot) -> Iterator[RecordReference]:
    """Yield what blocks work: blockers of all agents, issues that block records, and blockers of states."""
    for one in ref_state.read(memory).state.global_blockers.values():
        yield RecordReference(EVERYBODY, cut(one_line(one.text), LONGEST_LINE), f"noted by {one.agent_id}")
    for record in snapshot.open_records:
        if record.memory_type == ISSUE.name and record.blocks:
            yield RecordReference(
                record.id, one_line(record.title), f"{BLOCKS} {', '.join(record.blocks)}"[:LONGEST_LINE]
            )
        elif record.memory_type == STATE.name:
            for text in task_state_of(snapshot, record).blockers:
                yield RecordReference(
                    record.id, cut(one_line(text), LONGEST_LINE), f"{BLOCKS} {record.title}"[:LONGEST_LINE]
                )


def _metrics(options: SaveOptions, events: Sequence[WorkflowEvent], before: Checkpoint | None) -> Metrics:
    """Return the sizes as given, or as the latest event has them, and the counts of events."""
    old = before.context_metrics if before else Metrics()

    def latest(given: int | None, sizes: Iterable[Any]) -> Any:
        return next((size for size in (given, *sizes) if size is not None), None)

    return Metrics(
        scs_size=latest(options.scs_size, (event.after_state.scs_size for event in reversed(events))),
        aws_size=latest(options.aws_size, (event.after_state.aws_size for event in reversed(events))),
        compression_ratio=latest(None, (event.compression_ratio for event in reversed(events))),
        compressions=old.compressions + sum(event.event_type == "compression" for event in events),
        events=old.events + len(events),
    )


def _checkpoint(memory: Memory, number: Version, values: dict[str, Any]) -> Checkpoint:
    """Return the checkpoint with its id, whose mark is a hash of all values."""
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
    if wrong := list(type_errors(values, Checkpoint)):
        raise InvalidFields(_NOT_KEPT, wrong, _FITTING)
    return msgspec.convert(values, Checkpoint)


def note(memory: Memory, made: Checkpoint) -> None:
    """Add the event "a checkpoint was saved" to the events of the checkpoint's workflow.

    Events before it count as part of the checkpoint from then on.
    """
    name = made.checkpoint_id
    fields = {"event_type": "checkpoint", "action_taken": f"saved {name}", "checkpoint_id": name}
    task_events.emit(memory, made.workflow_id, fields)


def save(memory: Memory, given: TaskState, how: SaveOptions, options: WriteOptions) -> tuple[Checkpoint, Outcome]:
    """Save the state of a task as a checkpoint, and return it with the outcome of the write.

    `given` is the state as its writer gives it, `how` are options of the checkpoint, and `options` those of every
    write. With `options.dry_run` nothing is written, and the checkpoint is the one that would be saved. Raises
    MemctlError if the base is stale, or if a value is wrong. If the event can't be added to the stream, the outcome has
    a warning.
    """
    outcome = transaction.carry_out(memory, lambda _: change(memory, load.disk(memory), given, how), options)
    write = outcome.change.writes[0]
    made = checkpoint.parse(write.text, write.path)
    if not options.dry_run:
        try:
            note(memory, made)
        except MemctlError as error:  # the checkpoint is saved all the same
            why = f"its event could not be added: {error.message}"
            outcome = msgspec.structs.replace(outcome, warning="; ".join(filter(None, (outcome.warning, why))))
    return made, outcome
