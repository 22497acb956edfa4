"""The write door: the one function that changes the memory and makes commits.

Under the lock: finish what was interrupted, let the operation look at the memory and return a Change, note it, write
the files, commit exactly those. If the commit can't be made, the files stay and the change waits with its message.
"""

from __future__ import annotations

from collections.abc import Callable

from memctl.errors import MemctlError
from memctl.lifecycle import commit, credentials
from memctl.lifecycle.commit import Outcome
from memctl.model.change import Change
from memctl.model.kinds import BY_FOLDER
from memctl.model.record import InvalidRecord, parse
from memctl.store import files, lock, pending
from memctl.store.memory import Memory
from memctl.store.pending import HELD, PENDING
from memctl.store.sequence import Sequence

Plan = Callable[[Sequence], Change]


def carry_out(
    memory: Memory, plan: Plan, *, dry_run: bool = False, no_commit: bool = False, allow_secret: bool = False
) -> Outcome:
    """Make the change that `plan` returns; it is called under the lock, with the sequence that ids come from.

    With `dry_run` nothing is written; with `no_commit` the files are, and the commit is left to `memctl commit`.
    Raises MemctlError if the change is refused; then nothing was written.
    """
    with lock.hold(memory.repository.shared / "lock"):
        if not dry_run:
            commit.recover(memory)
        sequence = Sequence(memory)
        change = commit.signed(memory, plan(sequence))
        _check(change, allow_secret)
        if dry_run or change.is_empty:
            return Outcome(change)
        # The user's own index and HEAD decide whether there can be a commit; the files are written either way.
        sequence.save()
        entry = pending.begin(commit.folder(memory), change)
        files.write_all(memory.folder, change.writes, change.deletes)
        entry = pending.advance(entry, HELD if no_commit else PENDING)
        if no_commit:
            return Outcome(change, pending="no commit was asked for", hint="`memctl commit` makes it")
        return commit.commit_waiting(memory, entry)


def _check(change: Change, allow_secret: bool) -> None:
    """Refuse a change that would leave a record nobody can read, or a credential in the history."""
    for write in change.writes:
        if len(write.text.encode(errors="surrogatepass")) > files.MAX_BYTES:
            raise MemctlError(
                f"{write.path} would have more than {files.MAX_BYTES:,} bytes",
                "keep the long part elsewhere and link it",
            )
        if files.is_record_path(write.path, BY_FOLDER):
            try:
                parse(write.text, write.path)
            except InvalidRecord as error:
                raise MemctlError("this is no valid record:\n" + "\n".join(map(str, error.faults))) from None
    if not allow_secret:
        credentials.refuse(change.writes)
