"""Operations that move ownership and write a record: both happen or neither, even if the process dies in between.

Ownership and records are on two refs, and Git can't move two refs at once if hooks can refuse one of them. So an
operation ("step") is first noted in a file. Then ownership moves by compare-and-swap (at a remote first, by a push with
a lease): if two processes want it at once, only one gets it, before anything is written. Then the record is committed.
After a kill in between, the next write finishes the step. If Git refuses the commit, ownership moves back and the
record is deleted.

A handoff that moves ownership at a remote goes the other way round, since its taker needs the record: the record is
committed and pushed, and then ownership moves. If the push is refused, the commit is taken back; if the ownership can't
move after it, the record is marked as withdrawn.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from memctl.errors import MemctlError
from memctl.git import commits, git, index_lock, refs
from memctl.record import handoff
from memctl.record.change import Change, Delete, Write, WriteOptions
from memctl.record.kinds import HANDOFF
from memctl.store import changes_ref, files, journal, load, lock, memory_root
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence
from memctl.team import coordination_ref, ref_state, remote_state
from memctl.team.ref_state import Plan, Step, Terms
from memctl.team.state import State
from memctl.write import documents, edit, merge, recovery
from memctl.write.commit import Outcome

Make = Callable[[ref_state.StateOutcome], Change]
# The function that writes a change, `transaction.write`; it is passed in, since `transaction` imports this module.
Writing = Callable[[Memory, Callable[[Sequence], Change], WriteOptions], Outcome]


class Intent(msgspec.Struct, frozen=True):
    """The note of an operation that has begun: it moves the ownership of sections, then writes a record about this.

    `commit` is the commit of the coordination state that moves ownership, "" for none. `remote` is the name of the
    remote at which ownership moves first, "" for none. `change` is the Change that writes the record. If the operation
    is interrupted after ownership has moved, the change is still to be written; before that, nothing has happened.
    `back` says that the operation is being undone.
    """

    commit: str
    remote: str
    change: Change
    back: bool = False


class StepResult(msgspec.Struct, frozen=True):
    """The result of an operation that moves ownership and writes a record: the outcomes of both.

    `written` is the outcome of writing the record, and `agreed` that of changing the coordination state.
    """

    written: Outcome
    agreed: ref_state.StateOutcome


def carry_out(
    memory: Memory,
    write: Writing,
    plan: Plan,
    make: Make,
    options: WriteOptions,
    remote: str = "",
    publish: Callable[[], None] | None = None,
) -> StepResult:
    """Change the coordination state and the memory: both or neither.

    `plan` returns the next coordination state. `make` gets a result of `plan`, and returns the Change of the memory; it
    is called again if another process changed the state meanwhile and `plan` is tried again. `write` writes that
    Change. If `remote` is the name of a remote, the coordination state changes there first. If `publish` is given, the
    Change, which records a handoff, is committed before that, and then `publish` pushes it. Raises MemctlError if
    either change is refused; then nothing has changed, except that a handoff that was pushed is withdrawn.
    """
    if why := commits.why_unsafe(memory.repository)[0]:
        raise MemctlError(f"sections can't be handed over now: {why}", "run the command again once Git can commit")
    terms = Terms(options.reason, options.dry_run)
    with ref_state.locked(memory):
        _recover(memory, write, ask_remote=bool(remote))
        noted: list[tuple[Path, Intent]] = []
        tried: list[Outcome] = []
        written: list[Outcome] = []
        is_published = False

        def prepare(outcome: ref_state.StateOutcome) -> None:
            if not written:
                change = make(outcome)
                tried[:] = [write(memory, lambda _: change, msgspec.structs.replace(options, dry_run=True))]
            if options.dry_run:
                return
            file, intent = journal.new_file(_folder(memory)), Intent(outcome.commit, remote, tried[0].change)
            journal.put(file, intent)  # before any of it is done
            _forget(noted)
            noted.append((file, intent))
            if publish and not written:
                nonlocal is_published
                written.append(_write(memory, write, file, msgspec.structs.replace(intent, commit=""), options))
                publish()
                is_published = True

        with lock.hold_interrupts(memory.remarks) as done:
            try:
                agreed = remote_state.update_locked(memory, remote or None, plan, terms, prepare)
            except remote_state.Unfinished as error:  # the note stays, since the remote has the step or may have it
                hint = (
                    f"`memctl team handoff recover` asks {remote} whether it has the change, and finishes or undoes "
                    "the handoff"
                )
                raise remote_state.Unfinished(error.message, hint) from None
            except MemctlError:
                is_left = publish and written and (is_published or not _take_back(memory, written[0], remote))
                if publish and is_left and _withdraw(memory, write, written[0].change):
                    memory.remarks.append(f"the handoff {written[0].change.ids[0]} is withdrawn")
                    with suppress(MemctlError):  # if it can't be pushed now, the next sync does
                        publish()
                _forget(noted)
                raise
            if options.dry_run:
                return StepResult(tried[0], agreed)
            file, intent = noted[0]
            outcome = written[0] if written else _write(memory, write, file, intent, options)
            file.unlink(missing_ok=True)
            done.append(outcome.description)
        return StepResult(outcome, agreed)


def recover(memory: Memory, write: Writing, *, ask_remote: bool = False) -> list[str]:
    """Finish or undo operations of this worktree that were to move ownership and write a record, but were interrupted.

    Returns a line for each operation, which says what was done. `write` writes the records. Operations that need a
    remote are left alone unless `ask_remote`. Raises MemctlError if the remote can't be reached.
    """
    if not unfinished_steps(memory):
        return []
    with ref_state.locked(memory):
        return _recover(memory, write, ask_remote=ask_remote)


def interrupted_steps(memory: Memory) -> list[str]:
    """Return a line for the user about each interrupted operation of this worktree that moves ownership."""
    lines = []
    for _, step in unfinished_steps(memory):
        how = "`memctl team handoff recover` finishes or undoes it" if step.remote else "the next write finishes it"
        lines.append(f"{step.change.op} {step.change.title} (interrupted, {how})")
    return lines


def unfinished_steps(memory: Memory) -> list[tuple[Path, Intent]]:
    """Return the notes of interrupted operations that move ownership, oldest first, each with its file."""
    return journal.entries_of_kind(_folder(memory), Intent)


def _folder(memory: Memory) -> Path:
    return memory.private / memory_root.STEPS


def _forget(noted: list[tuple[Path, Intent]]) -> None:
    """Delete the notes of steps, and empty the list."""
    while noted:
        noted.pop()[0].unlink(missing_ok=True)


def _write(memory: Memory, write: Writing, file: Path, intent: Intent, options: WriteOptions) -> Outcome:
    """Commit the record now that ownership has moved; if that is refused, undo the step and raise MemctlError."""
    change = intent.change

    def plan(sequence: Sequence) -> Change:
        if change.op == HANDOFF.verb:
            taken = sequence.take(HANDOFF, change.ids[0][4:14])
            if taken != [change.ids[0]]:
                raise MemctlError(f"another process has just used the id {change.ids[0]}", "run the command again")
        return _rebase(memory, change)

    try:
        written = write(memory, plan, options)
        why, hint = written.pending, written.hint
    except MemctlError as error:
        why, hint = error.message, error.hint or ""
    if not why:
        return written
    back = msgspec.structs.replace(intent, back=True)
    journal.put(file, back)
    _undo_step(memory, back)
    file.unlink(missing_ok=True)
    raise MemctlError(
        f"no section was handed over, because the record can't be committed: {why}",
        hint or "fix the cause, then run the command again",
    )


def _take_back(memory: Memory, written: Outcome, remote: str) -> bool:
    """Take the commit of a record off the branch and delete the record; return False if others may have the commit.

    What else the user has staged or changed stays. The commit is a second old, and only memctl's.
    """
    repository, (branch, head) = memory.repository, memory.repository.branch()
    address = refs.push_address(repository, remote) or remote
    there = git.try_read(["ls-remote", address], repository.top)
    before = refs.parent(repository, written.commit) if written.commit == head else ""
    if there is None or written.commit.encode() in there or not (branch and before):
        return False
    with lock.hold(repository.shared / "lock"):
        recovery.recover(memory)
        if not refs.swap(repository, branch, before, written.commit):
            return False
        paths = [memory.tracked(path) for path in (*written.paths, *written.documents)]
        git.write(["reset", "--quiet", *index_lock.FROM_STDIN], repository.top, index_lock.pathspecs(paths))
        memory.asked = None  # Git's answer is from before that
        _restore(memory, written.change)
        documents.refresh(memory, [written.change])
        if changes_ref.is_later(memory):
            gone = tuple(Delete(write.path, write.text) for write in written.change.writes)
            back = Change("undo", written.change.title, written.change.ids, deletes=gone)
            changes_ref.add(memory, back, commits.Variables(repository, memory.commit_moment))
    return True


def _withdraw(memory: Memory, write: Writing, change: Change) -> bool:
    """Withdraw the handoff that a change recorded; return whether there was one that waits for an answer.

    It is found by its memory_id, since a sync may have given it another id.
    """
    with lock.hold(memory.repository.shared / "lock"):
        recovery.recover(memory)  # the record may be half written
    memory.asked = None  # Git's answer is from before that
    snapshot, made = load.disk(memory), next(write for write in change.writes if write.path.endswith(".md"))
    record = snapshot.find(handoff.read(made.text, made.path).record.memory_id)
    if record is None or record.status != handoff.OFFERED:
        return False
    values = {"status": handoff.WITHDRAWN, "answered_by": memory.actor, "answered_at": memory.now}
    undone = edit.rewrite(snapshot, record, values, {"answer": "No section was handed over."})
    back = Change("withdraw", f"{record.id} {record.title}", (record.id,), (undone,))
    write(memory, lambda _: back, WriteOptions(allow_secret=True))
    return True


def _recover(memory: Memory, write: Writing, *, ask_remote: bool) -> list[str]:
    """Finish or undo the interrupted steps, as `recover` does; the caller holds the coordination lock."""
    lines = []
    for file, intent in unfinished_steps(memory):
        if intent.remote and not ask_remote and (intent.back or not _has_moved(memory, intent)):
            continue
        if intent.back:
            _undo_step(memory, intent)
        is_done = not intent.back and _finish(memory, write, intent)
        file.unlink(missing_ok=True)
        step = f"{intent.change.op} {intent.change.title}"
        lines.append(f"finished: {step}" if is_done else f"undone: {step}; no section has changed its owner")
    return lines


def _finish(memory: Memory, write: Writing, intent: Intent) -> bool:
    """Write the record of a step if its ownership has moved; return whether it has. If not, a handoff is withdrawn."""
    if intent.remote and not _has_moved(memory, intent):
        remote_state.fetch_and_merge_locked(memory, intent.remote)
    if not _has_moved(memory, intent):
        if intent.change.op == HANDOFF.verb:  # only an offer has its record before its section moves
            _withdraw(memory, write, intent.change)
        return False
    write(memory, lambda _: _rebase(memory, intent.change), WriteOptions(allow_secret=True))
    return True


def _has_moved(memory: Memory, intent: Intent) -> bool:
    """Return whether the shared state has the step in its history; a step that changes nothing there always has."""
    if not intent.commit:
        return True
    return refs.contains(memory.repository, memory.repository.tip(coordination_ref.ref(memory)), intent.commit)


def _undo_step(memory: Memory, intent: Intent) -> None:
    """Undo a step: restore the old texts of its files, and the old values that it replaced in the shared state.

    Values that somebody else has changed since stay.
    """
    _undo_pending(memory, intent.change)
    if intent.commit:
        before = ref_state.at(memory, refs.parent(memory.repository, intent.commit)).state
        plan = _undo_plan(before, ref_state.at(memory, intent.commit).state, intent)
        remote_state.update_locked(memory, intent.remote or None, plan, Terms())


def _undo_plan(before: State, after: State, intent: Intent) -> Plan:
    """Return a plan that restores the values of the state `before` a step where they are still those `after` it."""

    def plan(state: State) -> Step:
        values = {}
        for name in ("section_ownership_map", "active_agents"):
            old, new, now = getattr(before, name), getattr(after, name), dict(getattr(state, name))
            for key in {**old, **new}:
                if old.get(key) == new.get(key) or now.get(key) != new.get(key):
                    continue
                now.pop(key, None)
                now |= {key: old[key]} if key in old else {}
            values[name] = now
        what = f"{intent.change.op} {intent.change.ids[0]}, whose record was not written"
        return Step(state.with_(**values), "undo", what)

    return plan


def _undo_pending(memory: Memory, change: Change) -> None:
    """Undo a change that waits for its commit: restore the old texts of its files, and delete its journal entry.

    A file that was edited since is left alone.
    """
    with lock.hold(memory.repository.shared / "lock"):
        recovery.recover(memory)
        _restore(memory, change)
        for entry in journal.entries(memory.pending):
            if entry.change.ids == change.ids and entry.change.op == change.op:
                journal.drop(entry)


def _restore(memory: Memory, change: Change) -> None:
    """Restore the files of a change to the texts before it; a file that was edited since is left alone."""
    writes = [write for write in change.writes if files.read_if_there(memory.folder, write.path) == write.text]
    restored = [Write(write.path, write.old, write.text) for write in writes if write.old is not None]
    gone = [write.path for write in writes if write.old is None]
    files.replace_all(memory.folder, files.prepare(memory.folder, restored), gone)


def _rebase(memory: Memory, change: Change) -> Change:
    """Return a change as it applies to the current texts of its files."""
    writes = []
    for write in change.writes:
        now, text = files.read_if_there(memory.folder, write.path), write.text
        if now is not None and now not in (write.old, text):
            text = merge.merge(write.old, now, text).text if write.old is not None else now
        writes.append(Write(write.path, text, now))
    return msgspec.structs.replace(change, writes=tuple(writes))
