"""Read and change the coordination state on its ref, so that no writer overwrites the change of another.

The ref belongs to the clone and not to a branch, so all worktrees see it. Every change is a commit on the ref, and the
commit's message says who did what and why. The ref is moved by compare-and-swap. If another writer has moved it first,
the plan of the change runs again on the newer state, and may refuse then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext

import msgspec

from memctl.errors import MemctlError
from memctl.git import message, refs, tree_merge
from memctl.git.refs import RefFile
from memctl.record.change import Change
from memctl.store import commit_message, lock
from memctl.store.memory import Memory
from memctl.team.coordination_ref import ref
from memctl.team.state import FILES, State, decode, encode
from memctl.text.credentials import describe, find, fingerprint

_TRIES = 50  # of other programs that move the ref all the while; those of memctl wait for each other


class ReadState(msgspec.Struct, frozen=True):
    """The coordination state as it was read, with the id of its commit and the commit's files by name.

    If there is no coordination state yet, `state` is an empty one, and `commit` is empty, too.
    """

    state: State
    commit: str = ""
    files: dict[str, RefFile] = {}


class Step(msgspec.Struct, frozen=True):
    """The result of a plan: the next coordination state, and the operation and title in the message of its commit."""

    state: State
    op: str
    title: str


class Terms(msgspec.Struct, frozen=True):
    """How a change of the coordination state is carried out.

    `reason` goes into the commit message. With `dry_run` the change is planned, but not made. `expected` is the
    `sync_version` that the state must have before the change; None if any version will do.
    """

    reason: str = ""
    dry_run: bool = False
    expected: int | None = None


class StateOutcome(msgspec.Struct, frozen=True):
    """The outcome of a change of the coordination state: the step with the new state, and the state `before` it.

    `commit` is the id of the new commit, "" if nothing changed or in a dry run. `lost` and `theirs` are empty unless a
    remote is changed, too: `lost` describes each entry of this clone that an entry of the remote replaced, and `theirs`
    is the id of the commit that the remote had before the change.
    """

    step: Step
    before: State
    commit: str = ""
    lost: tuple[str, ...] = ()
    theirs: str = ""

    @property
    def is_changed(self) -> bool:
        """Whether the step changed the state, apart from its version and time."""
        return content(self.step.state) != content(self.before)


Plan = Callable[[State], Step]
Prepare = Callable[[StateOutcome], None]  # called with the commit of a step before anybody can see it; may refuse


def read(memory: Memory) -> ReadState:
    """Return the current coordination state, an empty one if there is none; raises MemctlError if it can't be read."""
    return at(memory, memory.repository.tip(ref(memory)))


def at(memory: Memory, commit: str) -> ReadState:
    """Return the coordination state at a commit of its ref; for the commit "" return an empty state."""
    if not commit:
        return ReadState(State(project_id=memory.config.project))
    files = refs.read(memory.repository, commit, FILES)
    return ReadState(decode({name: file.data for name, file in files.items()}, ref(memory)), commit, files)


@contextmanager
def locked(memory: Memory) -> Iterator[None]:
    """Hold the lock that keeps other memctl processes of this clone from changing the coordination state."""
    with lock.hold(memory.repository.shared / "coordination.lock"):
        yield


def update(memory: Memory, plan: Plan, terms: Terms) -> StateOutcome:
    """Change the coordination state of this clone by a plan, and return the outcome.

    If another program moves the ref meanwhile, the plan runs again on the newer state. Raises MemctlError if the plan
    refuses, or if `terms` expects another version of the state.
    """
    with locked(memory):
        return update_locked(memory, plan, terms)


def update_locked(
    memory: Memory, plan: Plan, terms: Terms, prepare: Prepare | None = None, *, is_locked: bool = False
) -> StateOutcome:
    """Change the coordination state by a plan, as `update` does, for a caller that holds the lock of `locked`.

    `prepare` is called with the outcome before the ref moves; if it raises an error, the state does not change.
    `is_locked` says that the caller also holds the memory's write lock; otherwise this lock is taken while the ref
    moves.
    """
    for _ in range(_TRIES):
        seen = read(memory)
        outcome = try_step(memory, seen, plan, terms, prepare)
        if not outcome.commit or move(memory, outcome.commit, seen.commit, is_locked=is_locked):
            return outcome
    raise MemctlError(f"{ref(memory)} is being changed by other processes all the time", "run the command again")


def try_step(
    memory: Memory,
    seen: ReadState,
    plan: Plan,
    terms: Terms,
    prepare: Prepare | None,
    lost: tuple[str, ...] = (),
    theirs: str = "",
) -> StateOutcome:
    """Run a plan on the state `seen`, and store the next state as a commit to which no ref points yet.

    Returns the outcome. `prepare` is called with the outcome and may refuse by raising an error. `lost` and `theirs`
    become fields of the outcome: lines about entries of this clone that a remote's entries replaced, and the id of the
    remote's commit. If the plan changes nothing, and in a dry run, no commit is made. Raises MemctlError if the plan or
    `prepare` refuses.
    """
    outcome = StateOutcome(next_step(memory, seen, plan, terms), seen.state, lost=lost, theirs=theirs)
    if outcome.is_changed and not terms.dry_run:
        outcome = msgspec.structs.replace(outcome, commit=commit_step(memory, seen, outcome.step, terms.reason))
    if prepare:
        prepare(outcome)
    return outcome


def next_step(memory: Memory, seen: ReadState, plan: Plan, terms: Terms) -> Step:
    """Return the step that a plan makes from the state `seen`.

    If the plan changes the state, the version of the new state is one higher, and its time is the present one. Raises
    MemctlError if `terms` expects another version of `seen`, if the plan refuses, or if a new text contains a
    credential.
    """
    if terms.expected is not None and terms.expected != seen.state.sync_version:
        raise _stale(memory, seen, terms.expected)
    step = plan(seen.state)
    if content(step.state) == content(seen.state):
        return step
    _refuse_credentials(memory, seen.state, step.state, (terms.reason, step.title, memory.actor, memory.session))
    version = seen.state.sync_version + 1
    state = step.state.with_(sync_version=version, last_sync_timestamp=memory.now, project_id=memory.config.project)
    return msgspec.structs.replace(step, state=state)


def _refuse_credentials(memory: Memory, before: State, after: State, texts: Iterable[str]) -> None:
    """Raise MemctlError if a new text of a state, or of its commit message, has a credential: a push would publish
    it."""
    known = set(_texts(before))
    for text in (*texts, *(text for text in _texts(after) if text not in known)):
        for span in find(text):
            if fingerprint(text, span) in memory.allowed_secrets:
                continue
            raise MemctlError(
                f"the text {describe(text, span)}; Git's history would keep it for ever", "remove the credential"
            )


def _texts(state: State) -> list[str]:
    return [line for data in encode(state).values() for line in data.decode().split("\n")]


def commit_step(memory: Memory, seen: ReadState, step: Step, reason: str, *others: str) -> str:
    """Store the state of a step as a commit, without moving a ref, and return the commit's id.

    The parents of the commit are the commit of the state `seen` and the commits `others`.
    """
    known = {file.data: file.blob for file in seen.files.values()}
    contents = encode(step.state)
    new = [data for data in dict.fromkeys(contents.values()) if data not in known]
    known |= zip(new, tree_merge.store(memory.repository, new), strict=True)
    blobs = {name: known[data] for name, data in contents.items()}
    change = Change(step.op, step.title, actor=memory.actor, session=memory.session, reason=reason)
    parents = [parent for parent in (seen.commit, *others) if parent]
    return refs.write_commit(memory.repository, blobs, parents, commit_message.compose([change]), memory.commit_moment)


def move(memory: Memory, commit: str, seen: str, *, is_locked: bool = False) -> bool:
    """Move the ref of the coordination state from the commit `seen` to `commit`, and return whether that was done.

    If another program has moved the ref away from `seen`, it stays where it is, and the result is False. The ref is
    moved under the memory's write lock, so a write that the old state permits is finished before the new state counts.
    `is_locked` says that the caller holds this lock already.
    """
    with nullcontext() if is_locked else lock.hold(memory.repository.shared / "lock"):
        return refs.swap(memory.repository, ref(memory), commit, seen)


def content(state: State) -> State:
    """Return a coordination state without version, time and project, so that two states can be compared by the rest."""
    return state.with_(sync_version=0, last_sync_timestamp="", project_id="")


def _stale(memory: Memory, seen: ReadState, expected: int) -> MemctlError:
    text = refs.message(memory.repository, seen.commit) if seen.commit else ""
    trailers = message.parse(text)
    subject = text.partition("\n")[0].partition(": ")[2]
    last = f"; the last change was `{subject}` by {trailers.actor} at {seen.state.last_sync_timestamp}" if text else ""
    return MemctlError(
        f"the coordination state has version {seen.state.sync_version}, not the expected version {expected}{last}",
        "read the present state with `memctl team show`, then run the command with its version",
    )
