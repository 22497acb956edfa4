"""Find the checkpoints of a workflow, and the newest of them, in this worktree and anywhere in Git.

Whoever resumes the work from an old checkpoint would lose the progress that newer checkpoints have, so an old one is
refused (rules.md#checkpoints).
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TypeVar

import msgspec

from memctl.errors import MemctlError
from memctl.git import history
from memctl.record import checkpoint, ids
from memctl.record.checkpoint import Checkpoint, Version
from memctl.record.errors import Fault, InvalidRecord
from memctl.record.snapshot import Snapshot
from memctl.record.task_state import TaskState
from memctl.store import git_source, sessions_ref
from memctl.store.memory import Memory
from memctl.task import events, live_state
from memctl.text import timestamps

_State = TypeVar("_State", bound=TaskState)
_MARK = 8  # characters of a session's id in the name of its workflow


class Checkpoints(msgspec.Struct, frozen=True):
    """The checkpoints in a snapshot of a memory, newest first, and the faults of files that can't be read."""

    checkpoints: tuple[Checkpoint, ...]
    faults: tuple[Fault, ...]

    @property
    def twins(self) -> list[str]:
        """The ids of the checkpoints that have the highest version number in common; [] if only one has it.

        This number, 3 in the id `main-w1-v3-5f0c9a`, grows with each checkpoint of a workflow. Two clones that save
        checkpoints at once give both the same number.
        """
        newest = [saved.checkpoint_id for saved in self.checkpoints if saved.version == self.checkpoints[0].version]
        return sorted(newest) if len(newest) > 1 else []


def read(snapshot: Snapshot, workflow: str = "") -> Checkpoints:
    """Return the checkpoints of a workflow in a snapshot, newest first.

    With "" for `workflow` all workflows' checkpoints are returned. The checkpoints of one workflow are sorted by the
    version number in their ids, which grows within a workflow (3 in `main-w1-v3-5f0c9a`), and those of all workflows by
    the time at which they were saved.
    """
    checkpoints: list[Checkpoint] = []
    faults: list[Fault] = []
    folder = f"{checkpoint.FOLDER}/{workflow}" if workflow else checkpoint.FOLDER
    for path in snapshot.names(folder):
        if checkpoint.is_json(path):
            try:
                checkpoints.append(checkpoint.parse(snapshot.read(path), path))
            except InvalidRecord as error:
                faults += error.faults
            except FileNotFoundError:
                continue
    newest = sorted(checkpoints, key=lambda one: ("" if workflow else one.saved_at, one.number), reverse=True)
    return Checkpoints(tuple(newest), tuple(faults))


def all_versions(memory: Memory, snapshot: Snapshot, workflow: str) -> set[Version]:
    """Return the Version of each checkpoint of a workflow, which has the parts of the checkpoint's id.

    For `main-w1-v3-5f0c9a` they are the workflow, window 1, version number 3 and a mark. The checkpoints are those
    in `snapshot`, and those in any commit of any local or remote branch.
    """
    folder = f"{checkpoint.FOLDER}/{workflow}"
    tracked = history.paths_ever(memory.repository, memory.tracked(folder), everywhere=True)
    return _versions((*snapshot.names(folder), *(path[len(memory.prefix) + 1 :] for path in tracked)))


def _versions(paths: Iterable[str]) -> set[Version]:
    return {version for path in paths if (version := checkpoint.version_at(path))}


def workflow_for(memory: Memory, snapshot: Snapshot, goal: str = "") -> str:
    """Return the workflow to which the agent at work belongs: that of HEAD's branch, or a workflow of the agent's own.

    `goal` is the goal of the agent's task, "" if it is not known. Mostly the agent uses the branch's workflow. But if
    another agent is at work in it, here or in another worktree of the branch, or works on another goal in it, the two
    tasks would replace each other's checkpoints, so this agent gets a workflow of its own, such as `main-codex`. The
    other goal does not count if it is finished, if its newest checkpoint is older than the setting
    `session_pause_hours` allows, or if `goal` is "".

    An agent that has a workflow of its own keeps it, unless `goal` is that of the branch's newest checkpoint.
    """
    branch = events.workflow(memory, "")
    own = events.slug(f"{branch}-{memory.session[:_MARK] or memory.actor}")
    first, mine = newest_of(snapshot, branch), newest_of(snapshot, own)
    if mine is not None and (not goal or goal == mine.goal or first is None or goal != first.goal):
        return own
    if first is not None and goal == first.goal:
        return branch
    # Of the same session, or without sessions of the same agent, it is one's own task that changes.
    has_sessions = first is not None and memory.session and first.session
    is_own = first is not None and (memory.session == first.session if has_sessions else memory.actor == first.saved_by)
    if not is_own and live_state.is_taken(memory, branch):
        return own
    if first is None or is_own or first.is_finished or not goal:
        return branch
    pause = timestamps.days_between(first.saved_at, memory.now) * 86_400
    return branch if pause >= snapshot.config.session_pause else own


def newest_of(snapshot: Snapshot, workflow: str) -> Checkpoint | None:
    """Return the newest checkpoint of a workflow that can be read, None if there is none."""
    for number in sorted(_versions(snapshot.names(f"{checkpoint.FOLDER}/{workflow}")), reverse=True):
        with suppress(InvalidRecord, OSError):
            return checkpoint.parse(snapshot.read(number.path), number.path)
    return None


def newest_of_each(snapshot: Snapshot) -> list[Checkpoint]:
    """Return the newest readable checkpoint of each workflow; the checkpoint that was saved last comes first."""
    workflows = {version.workflow for version in _versions(snapshot.names(checkpoint.FOLDER))}
    newest = [saved for workflow in workflows if (saved := newest_of(snapshot, workflow)) is not None]
    return sorted(newest, key=lambda saved: (saved.saved_at, saved.checkpoint_id), reverse=True)


def deleted_versions(memory: Memory, snapshot: Snapshot, workflow: str = "") -> list[Version]:
    """Return the Version of each checkpoint of a workflow whose file is in Git's history but not in the snapshot.

    A Version has the parts of the checkpoint's id, such as `main-w1-v3-5f0c9a`. If `workflow` is "", the result has
    those of all workflows. The newest checkpoint of a workflow comes first.
    """
    folder = f"{checkpoint.FOLDER}/{workflow}" if workflow else checkpoint.FOLDER
    here = set(snapshot.names(folder))
    beside = sessions_ref.head(memory)
    tracked = history.paths_ever(memory.repository, memory.tracked(folder), beside=beside)
    versions = _versions({path[len(memory.prefix) + 1 :] for path in tracked} - here)
    return sorted(versions, key=lambda version: (version.workflow, version), reverse=True)


def resolve(snapshot: Snapshot, reference: str, workflow: str) -> Checkpoint:
    """Return the checkpoint of the snapshot whose id is `reference`, or the only one whose id begins with it.

    If `reference` is "", the newest checkpoint of the workflow is returned. Raises MemctlError if no checkpoint
    matches, if several do, or if a file that may be the checkpoint can't be read.
    """
    known = read(snapshot, "" if reference else workflow)
    refuse_broken(snapshot, known, reference)
    wanted = reference.strip().lower()
    matching = [saved for saved in known.checkpoints if wanted and saved.checkpoint_id.startswith(wanted)]
    exact = (
        [saved for saved in matching if saved.checkpoint_id == wanted] or matching or [*known.checkpoints[: not wanted]]
    )
    if len(exact) == 1:
        return exact[0]
    if exact:
        names = ", ".join(saved.checkpoint_id for saved in exact[:5])
        raise MemctlError(f"{reference!r} matches several checkpoints: {names}", "give the whole id")
    hint = "`memctl checkpoint list --all` lists them"
    if not reference:
        others = ", ".join(sorted({saved.workflow_id for saved in read(snapshot).checkpoints}))
        hint = (
            f"use --workflow to name a workflow that has checkpoints: {others}"
            if others
            else "`memctl checkpoint save` saves one"
        )
    name = repr(reference) if reference else f"of the workflow {workflow}"
    raise MemctlError(f"there is no checkpoint {name}", hint, kind="not-found")


def find(memory: Memory, snapshot: Snapshot, reference: str, workflow: str) -> Checkpoint:
    """Return the checkpoint that `reference` names, from the snapshot, or else from any branch of this clone.

    `reference` is an id; in the snapshot a beginning of the id is enough if only one checkpoint has it. "" stands for
    the newest checkpoint of the workflow. Raises MemctlError if no checkpoint matches, if several do, or if a file that
    may be the checkpoint can't be read.
    """
    try:
        return resolve(snapshot, reference, workflow)
    except MemctlError as error:
        saved = on_any_branch(memory, snapshot, reference, workflow) if error.kind == "not-found" else None
        if saved is None:
            raise
        return saved


def on_any_branch(memory: Memory, snapshot: Snapshot, reference: str, workflow: str = "") -> Checkpoint | None:
    """Return the checkpoint with the id `reference` from Git's history, whichever branch has it.

    Its file is read from the newest commit that has touched the file. If `reference` is "", the newest checkpoint of
    the workflow is returned. The result is None if there is no such checkpoint, or if it can't be read.
    """
    named = checkpoint.version_in(reference)
    known = [named] if named else [] if reference else sorted(all_versions(memory, snapshot, workflow))[-1:]
    for version in known:
        if there := git_source.newest_with(memory, [memory.tracked(version.path)]):
            with suppress(InvalidRecord, OSError):
                return checkpoint.parse(there.read(version.path), version.path)
    return None


def workflow_to_resume(memory: Memory, snapshot: Snapshot) -> str:
    """Return the workflow to resume in this worktree.

    It is the workflow of the agent at work. If this workflow has no checkpoint, it is the workflow whose task is
    unfinished, which no other agent is at work on, and whose checkpoint was saved last.
    """
    own = workflow_for(memory, snapshot)
    if newest_of(snapshot, own) is not None:
        return own
    left = (saved.workflow_id for saved in newest_of_each(snapshot) if not saved.is_finished)
    return next((workflow for workflow in left if not live_state.is_taken(memory, workflow)), own)


def refuse_broken(snapshot: Snapshot, checkpoints: Checkpoints, reference: str = "") -> None:
    """Raise MemctlError if a file that can't be read may be the checkpoint that `reference` names.

    `reference` is an id or the beginning of one; with "" any checkpoint file that can't be read raises the error.
    `checkpoints` has the faults of these files.
    """
    for fault in checkpoints.faults:
        version = checkpoint.version_at(fault.path)
        if not reference or (version and version.id.startswith(reference.strip().lower())):
            raise MemctlError(
                f"{snapshot.prefix}/{fault}", "restore the file with Git, or delete it: a checkpoint can't be corrected"
            )


def readable(snapshot: Snapshot, saved: _State) -> tuple[_State, int]:
    """Return a state or checkpoint without the files and records that its reader may not see, and the number of those.

    `snapshot.withheld` says what the reader may not see. The texts that the state's author wrote stay, since they
    are meant for whoever continues the task.
    """
    files = snapshot.withheld.reasons_for({file.path for file in (*saved.files, *saved.environment.dirty)})
    gone = {ids.id_in_path(path) for path in snapshot.withheld.records}
    records = tuple(record for record in saved.records if record.id not in gone)
    number = len(files) + len(saved.records) - len(records)
    if not number:
        return saved, 0
    dirty = tuple(file for file in saved.environment.dirty if file.path not in files)
    return msgspec.structs.replace(
        saved,
        files=tuple(file for file in saved.files if file.path not in files),
        environment=msgspec.structs.replace(saved.environment, dirty=dirty),
        records=records,
    ), number
