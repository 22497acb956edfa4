"""The log of a move of the worktree to another commit, from which a later write can finish an interrupted move.

The log is written before the move begins, and the new commit is in Git by then. Without the log, after a checkout that
was killed half-way, memctl would take the files that were already written for edits by the user.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn

import msgspec

from memctl.errors import MemctlError
from memctl.git import checkout, git, index, locks, refs
from memctl.store import journal, memory_root
from memctl.store.memory import Memory
from memctl.team.state import Ownership

_SHOWN = 10  # files that a message names


class Move(msgspec.Struct, frozen=True):
    """A planned move of `branch` and the worktree from the commit `old` to the commit `new`.

    - `why` is the purpose of the move, for error messages.
    - `ownerships` are pairs of an ownership and the new marker of its section, for sections that the move renumbers.
    - `report` are lines for the user, printed once the move is done.
    - `pushed` is how many commits were pushed to a remote before the move.
    """

    branch: str
    old: str
    new: str
    why: str
    ownerships: tuple[tuple[Ownership, str], ...] = msgspec.field(name="owned", default=())
    report: tuple[str, ...] = msgspec.field(name="told", default=())
    pushed: int = 0


def begin(memory: Memory, move: Move) -> None:
    """Write down that the worktree is about to move to another commit, so that a later write can finish it."""
    journal.put(_file(memory), move, lasting=True)


def drop(memory: Memory) -> None:
    """Delete the log of a move to another commit, once the move is finished, or given up before it changed anything."""
    _file(memory).unlink(missing_ok=True)


def read(memory: Memory) -> Move | None:
    """Return the logged move of the worktree to another commit, which is not finished yet; None if there is none."""
    return journal.get(_file(memory), Move)


def finish(memory: Memory) -> None:
    """Finish an interrupted move of the worktree to another commit, if there is one, and report it in `memory.remarks`.

    The caller holds the lock for writes. Raises MemctlError if files with changes of the user's are in the way.
    """
    move, repository = read(memory), memory.repository
    if move is None:
        return
    if repository.branch() == (move.branch, move.old):  # otherwise it is done, or the user has switched branches
        if lock := locks.existing(repository.git_dir, repository.common_dir, move.branch):
            raise MemctlError(*locks.describe(lock[0]))
        if operation := repository.under_way():
            raise MemctlError(f"{move.why} was interrupted, and {operation} is under way", f"finish {operation} first")
        checkout.finish_interrupted(repository, move.old, move.new)
        refuse_if_in_the_way(memory, move, f"{move.why} was interrupted and can't be finished")
        carry_out(memory, move)
    elif repository.branch() == (move.branch, move.new):
        _follow(memory, move)
    memory.asked = None  # what Git was asked before is about another commit
    branch, commit = repository.branch()
    if move.report and branch == move.branch and refs.contains(repository, commit, move.new):
        memory.remarks += [
            f"{move.why} was interrupted earlier; memctl has finished it now:",
            *(f"  {line}" for line in move.report),
        ]
    drop(memory)


def refuse_if_in_the_way(memory: Memory, move: Move, what: str) -> None:
    """Raise MemctlError if files in conflict or with uncommitted changes block a move to another commit.

    `what` is the beginning of the error's message.
    """
    if conflicts := index.conflicting_paths(memory.repository):
        _refuse(
            f"{what}: these files have merge conflicts",
            conflicts,
            "resolve the conflicts, `git add` the files and commit",
        )
    try:
        blocking = checkout.blocking_files(memory.repository, move.old, move.new)
    except git.GitFailed as error:
        raise _git_error(memory, move, error) from None
    if blocking:
        _refuse(
            f"{what}: these files have uncommitted changes",
            blocking,
            "`memctl commit` commits the files of the memory; commit or `git stash` the other files",
        )


def _refuse(what: str, names: Sequence[str], hint: str) -> NoReturn:
    lines = [f"  {os.fsencode(path).decode('utf-8', 'backslashreplace')}" for path in names[:_SHOWN]]
    more = [f"  and {len(names) - _SHOWN:,} more"] if len(names) > _SHOWN else []
    raise MemctlError("\n".join([what, *lines, *more]), hint)


def carry_out(memory: Memory, move: Move) -> None:
    """Move worktree, index and branch as `move` says, and renumber the ownerships that it names.

    Raises MemctlError if Git fails half-way; the log is kept then, so that a later write can finish the move.
    """
    try:
        checkout.fast_forward(memory.repository, move.new)
    except git.GitFailed as error:
        raise _git_error(memory, move, error) from None
    _follow(memory, move)


def _follow(memory: Memory, move: Move) -> None:
    if move.ownerships:
        from memctl.team import ownership, ref_state  # few moves change owners, and every write loads this module

        plan = partial(ownership.renumber, moved=move.ownerships)
        ref_state.update_locked(memory, plan, ref_state.Terms(), is_locked=True)


def _git_error(memory: Memory, move: Move, error: git.GitFailed) -> MemctlError:
    """Return the error for a move that Git refused: it names the lock that is in the way, or Git's reason."""
    if (lock := locks.parse(error.stderr, memory.repository.top)) is not None:
        return MemctlError(*locks.describe(lock))
    return MemctlError(f"{move.why}: Git can't move the worktree to {move.new[:10]}:\n{error.stderr.strip()}")


def _file(memory: Memory) -> Path:
    return memory.repository.private / memory_root.MOVE
