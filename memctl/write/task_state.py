"""Saving the state of a task: as a checkpoint, or into a state record.

A checkpoint takes over the task's state from the checkpoint before, and adds what is new, with files and events. In the
next context window an interrupted plan must not look like finished work, and finished work must not look like a plan
(rules.md#checkpoints): `task/progress.py` decides which status a step may get.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import checkpoint
from memctl.record.change import Change, Write, WriteOptions
from memctl.record.checkpoint import FORMAT, Checkpoint, Metrics, Version
from memctl.record.event import WorkflowEvent
from memctl.record.filters import severity_rank
from memctl.record.kinds import ISSUE, SEVERITIES, STATE
from memctl.record.mentions import REFERENCE
from memctl.record.record import Record
from memctl.record.required_text import LONGEST_LINE, InvalidFields, is_meaningful, placeholder_fault, type_errors
from memctl.record.snapshot import Snapshot
from memctl.record.task_state import (
    BLOCKS,
    CLAIMED,
    DONE,
    ELSEWHERE,
    EVERYBODY,
    IN_PROGRESS,
    PLANNED,
    RecordReference,
    TaskState,
    key,
)
from memctl.search.readiness import open_work
from memctl.store import event_stream, load
from memctl.store.memory import Memory
from memctl.task import checkpoints, environment, live_state, progress, state_record
from memctl.task import events as task_events
from memctl.task.checkpoints import Checkpoints
from memctl.task.formats import markdown
from memctl.task.state_record import of_record as task_state_of
from memctl.team import ref_state
from memctl.text.actions import READ
from memctl.text.fit import cut
from memctl.text.markdown import one_line
from memctl.text.phrases import quantity
from memctl.text.words import stems
from memctl.write import edit, transaction
from memctl.write.commit import Outcome

DECISIONS, ISSUES, LEARNINGS = 10, 15, 5  # as in a rehydration; rules.md#rehydration
_ALIKE = 2  # words that a record's title shares with a task or a step
_MOST_EVENTS = 20  # lines on events in a checkpoint
_UNFIT = "the checkpoint can't be saved: some texts are empty or too long:"
_FITTING = (
    f"a text has 1 to {LONGEST_LINE} characters: put the long part into a record or a file, and name the id or path"
)


class SaveOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options for saving a checkpoint.

    - `workflow` is the name of the checkpoint's workflow, "" to let `checkpoints.workflow_for` choose one.
    - `window` is the number of the context window within the session, None to let memctl find it.
    - `base` is the id of the checkpoint that the new one continues, or its version (its number within the workflow);
      "" stands for the newest checkpoint in this worktree.
    - `dropped` are the texts of steps to remove.
    - `is_whole` says that the new state replaces the earlier one: steps that it does not name are dropped, unless they
      are done. Otherwise the new state is added to the earlier one.
    - `knows_files` says that the state's list of files is complete. Otherwise files that changed since the earlier
      checkpoint, as far as Git knows, are added to it.
    - `scs_size` and `aws_size` are sizes in tokens: of the part of the context window that all agents at work share,
      and of everything in the window. None stands for the size in the workflow's latest event that has one.
    """

    workflow: str = ""
    window: int | None = None
    base: str = ""
    dropped: tuple[str, ...] = ()
    is_whole: bool = False
    knows_files: bool = False
    scs_size: int | None = None
    aws_size: int | None = None


def change(memory: Memory, snapshot: Snapshot, new: TaskState, options: SaveOptions) -> Change:
    """Return the Change that saves the state of a task as a checkpoint.

    `new` is the state as its writer gives it. Raises MemctlError for a wrong value. It is also raised if the workflow
    has a newer checkpoint than the one to be continued.
    """
    new = progress.normalise(new)
    if unfit := [(step.status, f"{cut(step.text, 60)!r} has {len(step.text)} characters") for step in new.steps
                 if not 0 < len(step.text) <= LONGEST_LINE]:  # fmt: skip
        raise InvalidFields(_UNFIT, unfit, _FITTING)
    workflow = options.workflow or checkpoints.workflow_for(memory, snapshot, new.goal)
    saved = checkpoints.read(snapshot, workflow)
    checkpoints.refuse_broken(snapshot, saved)
    last = _last(memory, snapshot, workflow, saved, options.base)
    before = last if last and (not new.goal or new.goal == last.goal) else None  # else it is another task
    if before is not None and not options.is_whole:
        since = live_state.bring_up_to_date(memory, before)
        before = since if key(since.goal) == key(before.goal) else before
    goal = new.goal or (last.goal if last else "")
    if not is_meaningful(goal):
        missing = "is missing: the first checkpoint of a workflow must say what the task is"
        wrong = placeholder_fault(goal) if goal else missing
        hint, other = "give the task with --task", checkpoints.workflow_to_resume(memory, snapshot)
        hint += (
            f", or continue the workflow {other} with `--workflow {other}`" if not goal and other != workflow else ""
        )
        raise InvalidFields("this checkpoint is incomplete:", [("goal", wrong)], hint, USAGE)
    number = _number(memory, snapshot, workflow, options, last, saved.checkpoints)
    events = task_events.since_checkpoint(event_stream.read(memory).events, workflow)
    if not new.phases and (phase := next((event.phase for event in reversed(events) if event.phase), "")):
        new = msgspec.structs.replace(new, phases=(*(before.phases if before else ()), phase))
    state = _state(memory, snapshot, new, before, last, options)
    made = _checkpoint(
        memory, number, state, task_events.lines(events)[-_MOST_EVENTS:], _metrics(options, events, last)
    )
    writes = (Write(made.number.path, checkpoint.to_json(made)), Write(made.number.page, markdown(made)))
    # The id is the title: the task may be what somebody asked for in private.
    return Change(op="checkpoint", title=made.checkpoint_id, ids=(made.checkpoint_id,), writes=writes)


def update(
    snapshot: Snapshot, reference: str, values: Mapping[str, Any], saved: TaskState | None, completion: int | None
) -> Change:
    """Return the Change that updates a state record with new values and with the progress of a checkpoint.

    `values` are the record's new values by field, `saved` is the state in the checkpoint, None for none. Which status a
    step may get, such as claimed or done, follows the same rules as in a checkpoint. New next actions replace the
    earlier ones. Only fields whose values change are written anew. `completion` is in percent. If it is None, it is
    computed from the steps, unless the record declares another percentage and no step was done since. Raises
    MemctlError for a record that is not a state, and for a step that can't get the wanted status.
    """
    record = snapshot.resolve(reference)
    if record.memory_type != STATE.name:
        raise MemctlError(
            f"{record.id} is a {record.memory_type}, not a state",
            f"`memctl edit {record.id}` changes it",
            USAGE,
        )
    progress.refuse_conflicting(state_record.stated_steps(values))
    before, given = task_state_of(snapshot, record), state_record.of_values(values)
    if saved is not None:
        saved = TaskState(steps=saved.steps, next_actions=saved.next_actions, blockers=saved.blockers)
    made = progress.add(progress.merge(before, saved) if saved else before, given)
    is_undeclared = record.completion_percentage in (None, 0, before.completion)
    is_computed = is_undeclared or made.done != before.done or made.is_finished
    percent = made.completion if completion is None and is_computed else completion
    front = {} if percent is None else {"completion_percentage": percent}
    title = f"{record.id}{f' (completion_percentage {percent})' if front else ''} {record.title}"
    new, old = state_record.record_values(made), state_record.record_values(before)
    write = edit.rewrite(snapshot, record, front, {name: new[name] for name in new if new[name] != old[name]})
    return Change(op="edit", title=title, ids=(record.id,), writes=(write,))


def _state(
    memory: Memory,
    snapshot: Snapshot,
    new: TaskState,
    before: TaskState | None,
    last: Checkpoint | None,
    options: SaveOptions,
) -> TaskState:
    """Return the state to save: the given one on top of the one before, with records, files and environment."""
    now = environment.current(memory)
    stamp = {"at": memory.now, "by": memory.actor, "evidence": progress.COMMAND}
    steps = tuple(
        msgspec.structs.replace(step, **{name: getattr(step, name) or value for name, value in stamp.items()})
        if step.status == DONE
        else step
        for step in new.steps
    )
    new = msgspec.structs.replace(new, steps=steps)
    dropped = tuple(map(one_line, options.dropped))
    state = progress.take_whole(before, new) if options.is_whole else progress.add(before, new, dropped)
    knows_files = options.knows_files or (options.is_whole and new.files)
    return msgspec.structs.replace(
        state,
        files=state.files if knows_files else environment.touched_since(memory, now, last, state.files),
        records=tuple(_references(memory, snapshot, state)),
        environment=msgspec.structs.replace(now, dirty=now.dirty[: environment.MOST_DIRTY]),
    )


def _last(memory: Memory, snapshot: Snapshot, workflow: str, saved: Checkpoints, base: str) -> Checkpoint | None:
    """Return the checkpoint to continue: the one that `base` names, here or on another branch, or else the newest.

    Raises MemctlError if two clones saved one each of the newest version, and `base` is the id of neither.
    """
    wanted = next((candidate for candidate in saved.checkpoints if candidate.checkpoint_id == base), None)
    if wanted is None and saved.twins:
        raise MemctlError(
            f"two checkpoints were saved at the same time, and neither is newer: {' and '.join(saved.twins)}",
            "choose the one to continue with --base ID, and add by hand what only the other has",
        )
    last = wanted or next(iter(saved.checkpoints), None)
    if base and (last is None or base not in (last.checkpoint_id, str(last.version))):
        other = checkpoints.on_any_branch(memory, snapshot, "" if base.isdecimal() else base, workflow)
        last = other if other and base in (other.checkpoint_id, str(other.version)) else last
    return last


def _number(
    memory: Memory,
    snapshot: Snapshot,
    workflow: str,
    options: SaveOptions,
    last: Checkpoint | None,
    here: Sequence[Checkpoint],
) -> Version:
    """Return the next version of a workflow; raises MemctlError if the base is unknown or not the newest."""
    base = int(options.base) if options.base.isdecimal() else last.version if last else 0
    if options.base and not options.base.isdecimal() and (last is None or last.checkpoint_id != options.base):
        raise MemctlError(
            f"the workflow {workflow} has no checkpoint {options.base!r}", "`memctl checkpoint list` lists them", USAGE
        )
    window = _window(memory, options, here)
    known = checkpoints.all_versions(memory, snapshot, workflow)
    newest = max(filter(Version(base, window).is_behind, known), default=None)
    if newest is not None:
        own = next((candidate for candidate in here if candidate.checkpoint_id == newest.id), None)
        where = f" (saved by {own.saved_by}, {own.saved_at})" if own else " (on another branch or remote)"
        mine = f"this checkpoint would follow version {base} in window {window}"
        mine = mine if newest.version > base else f"window {window} has ended"
        how = f"then save with --base {newest.version} --window {newest.window}"
        hint = f"read the newer one with `memctl checkpoint show {newest.id}`, {how}"
        raise MemctlError(f"stale: {mine}, but {newest.id} is newer{where}", hint)
    highest = max((version.version for version in known), default=0)
    if base > highest:
        raise MemctlError(
            f"the workflow {workflow} has no checkpoint with version {base}", f"the newest version is {highest}", USAGE
        )
    return Version(base + 1, window, workflow=workflow)


def _window(memory: Memory, options: SaveOptions, here: Sequence[Checkpoint]) -> int:
    """Return the number of the context window: the given one, or the session's own; for a new session the next one."""
    if options.window is not None or not here:
        return options.window or 1
    newest = max(candidate.window_id for candidate in here)
    own = [candidate.window_id for candidate in here if candidate.session == memory.session]
    return max(own, default=newest + 1) if memory.session else newest


def _references(memory: Memory, snapshot: Snapshot, state: TaskState) -> Iterator[RecordReference]:
    """Yield what blocks the task of a state, then other records that bear on it.

    The task is blocked by blockers of all agents, blockers that its records state, and issues that block its records or
    are critical and block any. The other records are important decisions, open issues, and learnings. Issues are those
    of the task and critical ones, by severity. What is blocked elsewhere, and other open issues, are only counted.
    """
    for blocker in ref_state.read(memory).state.global_blockers.values():
        yield RecordReference(EVERYBODY, cut(one_line(blocker.text), LONGEST_LINE), f"noted by {blocker.agent_id}")
    work, is_own = open_work(snapshot), _task_filter(snapshot, state)
    blocked = [(record, is_own(record)) for record in work.blocked]
    blocking: dict[str, tuple[Record, list[str]]] = {}
    for record, is_of_task in blocked:
        for other in work.blockers(record):
            if is_of_task or is_own(other) or other.severity == SEVERITIES[0]:
                blocking.setdefault(other.memory_id, (other, []))[1].append(record.id)
        for text in task_state_of(snapshot, record).blockers if is_of_task and record.memory_type == STATE.name else ():
            yield _reference(record, f"{BLOCKS} {record.title}", text)
    for other, names in blocking.values():
        yield _reference(other, f"{BLOCKS} {', '.join(names)}")
    if elsewhere := len({record.id for record, is_of_task in blocked if not is_of_task}):
        text = f"{quantity(elsewhere, 'blocked record')} of other work: `memctl list --blocked`"
        yield RecordReference(ELSEWHERE, text, "blockers")
    issues = [record for record in snapshot.open_records if record.memory_type == ISSUE.name]
    issues.sort(key=lambda record: (severity_rank(record), record.timestamp, record.id))
    near = [record for record in issues if record.severity == SEVERITIES[0] or is_own(record)]
    for record in snapshot.catalogue.top("decision", None, DECISIONS):
        yield _reference(record, f"importance {record.importance}")
    yield from (_reference(record, record.severity or "") for record in near[:ISSUES])
    shown = {record.memory_id for record in near[:ISSUES]} | blocking.keys()
    if others := sum(record.memory_id not in shown for record in issues):
        text = f"{quantity(others, 'other open issue')}: `memctl list --type issue`"
        yield RecordReference(ELSEWHERE, text, "open_issues")
    for record in snapshot.catalogue.top("learning", None, LEARNINGS):
        yield _reference(record, f"importance {record.importance}")


def _task_filter(snapshot: Snapshot, state: TaskState) -> Callable[[Record], bool]:
    """Return a function that tells whether a record is about the task of a state.

    Such a record is named by its id, is in a section that the task names, or refers to a file that the task changes; or
    two words of its title (or its only one) are in the goal or in a step that is not done.
    """
    ahead = (*state.having(PLANNED, IN_PROGRESS, CLAIMED), *state.next_actions)
    texts = (state.goal, *ahead, *state.inputs, *state.constraints, *state.blockers, *state.said)
    named = {match[0].rstrip(".-") for text in texts for match in REFERENCE.finditer(text)} | {state.task_id}
    markers = {state.section, *(name for name in named if name.startswith("§"))} - {""}
    changed = [one.path for one in state.files if one.action != READ]
    referring = {record.memory_id for record in snapshot.catalogue.with_code_refs(changed)}
    wanted = [stems(text) for text in (state.goal, *ahead)]

    def is_own(record: Record) -> bool:
        if not named.isdisjoint((record.id, *record.aliases)) or record.memory_id in referring:
            return True
        if record.section and any(f"{record.section}.".startswith(f"{marker}.") for marker in markers):
            return True
        words = stems(record.title)
        return bool(words) and any(len(words & other) >= min(_ALIKE, len(words)) for other in wanted)

    return is_own


def _reference(record: Record, weight: str, text: str = "") -> RecordReference:
    return RecordReference(record.id, cut(one_line(text or record.title), LONGEST_LINE), weight[:LONGEST_LINE])


def _metrics(options: SaveOptions, events: Sequence[WorkflowEvent], before: Checkpoint | None) -> Metrics:
    """Return the sizes as given, or as the latest event has them, and the counts of events."""
    old = before.context_metrics if before else Metrics()

    def latest(*sizes: Any) -> Any:
        return next((size for size in sizes if size is not None), None)

    newest_first = events[::-1]
    return Metrics(
        scs_size=latest(options.scs_size, *(event.after_state.scs_size for event in newest_first)),
        aws_size=latest(options.aws_size, *(event.after_state.aws_size for event in newest_first)),
        compression_ratio=latest(*(event.compression_ratio for event in newest_first)),
        compressions=old.compressions + sum(event.event_type == "compression" for event in events),
        events=old.events + len(events),
    )


def _checkpoint(
    memory: Memory, number: Version, state: TaskState, events: tuple[str, ...], metrics: Metrics
) -> Checkpoint:
    """Return the checkpoint with its id, whose mark is a hash of all values."""
    values: dict[str, Any] = msgspec.structs.asdict(state) | {
        "format": FORMAT,
        "checkpoint_id": number.id,
        "workflow_id": number.workflow,
        "window_id": number.window,
        "version": number.version,
        "saved_at": memory.now,
        "saved_by": memory.actor,
        "session": memory.session,
        "event_stream_summary": events,
        "context_metrics": metrics,
    }
    if wrong := list(type_errors(msgspec.to_builtins(values), Checkpoint)):
        raise InvalidFields(_UNFIT, wrong, _FITTING)
    mark = blake2b(checkpoint.to_json(Checkpoint(**values)).encode(), digest_size=3).hexdigest()
    return Checkpoint(**values | {"checkpoint_id": msgspec.structs.replace(number, mark=mark).id})


def note(memory: Memory, made: Checkpoint) -> None:
    """Add the event "a checkpoint was saved" to the events of the checkpoint's workflow.

    The next checkpoint then lists only the events after this one.
    """
    name = made.checkpoint_id
    fields = {"event_type": "checkpoint", "action_taken": f"saved {name}", "checkpoint_id": name}
    task_events.emit(memory, made.workflow_id, fields)


def save(memory: Memory, state: TaskState, how: SaveOptions, options: WriteOptions) -> tuple[Checkpoint, Outcome]:
    """Save the state of a task as a checkpoint and in the agent's live state; return the checkpoint and the outcome.

    `state` is the state as its writer gives it, `how` are options of the checkpoint, and `options` those of every
    write. With `options.dry_run` nothing is written, and the checkpoint is the one that would be saved. If the event "a
    checkpoint was saved" or the live state can't be written, the outcome has a warning. Raises MemctlError for a
    wrong value, or if the workflow has a newer checkpoint than the one to be continued.
    """
    outcome = transaction.carry_out(memory, lambda _: change(memory, load.disk(memory), state, how), options)
    write = outcome.change.writes[0]
    made = checkpoint.parse(write.text, write.path)
    if not options.dry_run:
        warnings = [outcome.warning, *_noted(memory, made)]
        outcome = msgspec.structs.replace(outcome, warning="; ".join(filter(None, warnings)))
    return made, outcome


def _noted(memory: Memory, made: Checkpoint) -> Iterator[str]:
    """Note a saved checkpoint in the live state and the events; yield what could not be, as the checkpoint is saved."""
    for what, note_in in (("live state in the Git directory", live_state.put), ("event for it", note)):
        try:
            note_in(memory, made)
        except (MemctlError, OSError) as error:
            why = error.message if isinstance(error, MemctlError) else error.strerror
            yield f"the checkpoint is saved, but the {what} could not be: {why}"
