"""The end of a session, as one step: what an interrupted one has come to is found again, and not done twice.

The page and the records that were accepted are in one commit. Before it is made, the session is marked as ending, with
the commit that HEAD is at; after it, the session is forgotten. Who is interrupted in between and ends it again finds
the commit, or the change that waits for it, by the mark.
"""

from __future__ import annotations

from contextlib import suppress

import msgspec

from memctl.git import git, history
from memctl.git.history import Commit
from memctl.record.change import Change
from memctl.session import running
from memctl.session.running import Running
from memctl.session.writing import OP
from memctl.store import entry_state, lock, sessions_ref
from memctl.store.journal import PENDING
from memctl.store.memory import Memory
from memctl.write import commit, recovery
from memctl.write.commit import Outcome


def begin(memory: Memory, one: Running) -> None:
    """Mark a session as ending."""
    running.keep(memory, msgspec.structs.replace(one, ending=memory.repository.branch()[1] or running.NO_COMMIT))


def interrupted(memory: Memory, one: Running) -> Outcome | None:
    """What an end of this session had come to that was interrupted; None if nothing of it was written."""
    if not one.ending:
        return None
    with lock.hold(memory.repository.shared / "lock"):
        recovery.recover(memory)
        for entry in entry_state.outstanding(memory):
            if not entry.undone and entry.change.op == OP and entry.change.session == one.id:
                return commit.commit_waiting(memory, entry) if entry.stage == PENDING else Outcome(entry.change)
    for made in (*_commits_since(memory, one.ending), *_commits_beside(memory, one)):
        if OP in made.trailers.ops and made.trailers.session == one.id:
            return Outcome(Change(op=OP, title=one.id, ids=made.trailers.ids, session=one.id), commit=made.commit)
    return None


def _commits_since(memory: Memory, ending: str) -> list[Commit]:
    """The commits of the memory since a session was marked; all, if HEAD had none, or that one is gone by now."""
    if ending != running.NO_COMMIT:
        with suppress(git.GitFailed):  # history was written anew, and the old one was cleared away
            return history.commits(memory.repository, [memory.prefix], f"{ending}..HEAD")
    return history.commits(memory.repository, [memory.prefix])


def _commits_beside(memory: Memory, one: Running) -> list[Commit]:
    """The commits on the ref of sessions since a session began."""
    tip = sessions_ref.now(memory)
    found = history.commits(memory.repository, [memory.prefix], tip) if tip else []
    return [made for made in found if made.date >= one.started]
