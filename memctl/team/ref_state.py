"""The shared state on its ref: read it, and change it so that of several writers at once each sees what was before.

The ref belongs to the clone, not to a branch, so all worktrees see it at once. Every change is a commit on it, whose
message says who did what and why. The ref moves by compare-and-swap: whoever comes second looks again at what the
first has made of the state, and is refused by that or goes on from there.
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
from memctl.text.credentials import describe, find

_TRIES = 50  # of other programs that move the ref all the while; those of memctl wait for each other


class ReadState(msgspec.Struct, frozen=True):
    """A state as it was read: at which commit ("" if there is none yet), and its files there."""

    state: State
    commit: str = ""
    files: dict[str, RefFile] = {}


class Step(msgspec.Struct, frozen=True):
    """What an operation makes of a state: the state after it, and what its commit says."""

    state: State
    op: str
    title: str


class Terms(msgspec.Struct, frozen=True):
    """How a step is to be made: why; whether only to try it; the version that the caller has seen, if it insists."""

    reason: str = ""
    dry_run: bool = False
    expected: int | None = None


class StateOutcome(msgspec.Struct, frozen=True):
    """What became of a step: the `commit` ("" if nothing changed or it was only tried), and the state before it.

    `lost` says what of this clone was replaced by what a remote had; `theirs` is the commit that it had ("" for none).
    """

    step: Step
    before: State
    commit: str = ""
    lost: tuple[str, ...] = ()
    theirs: str = ""

    @property
    def changed(self) -> bool:
        return content(self.step.state) != content(self.before)


Plan = Callable[[State], Step]
Prepare = Callable[[StateOutcome], None]  # called with the commit of a step before anybody can see it; may refuse


def read(memory: Memory) -> ReadState:
    """Return the state as it is now, empty if nobody has written any; raises MemctlError if it can't be read."""
    return at(memory, memory.repository.tip(ref(memory)))


def at(memory: Memory, commit: str) -> ReadState:
    """Return the state as a commit has it; "" stands for the time before the first."""
    if not commit:
        return ReadState(State(project_id=memory.config.project))
    files = refs.read(memory.repository, commit, FILES)
    return ReadState(decode({name: file.data for name, file in files.items()}, ref(memory)), commit, files)


@contextmanager
def alone(memory: Memory) -> Iterator[None]:
    """Keep other memctl processes of this clone from changing the state meanwhile."""
    with lock.hold(memory.repository.shared / "coordination.lock"):
        yield


def update(memory: Memory, plan: Plan, terms: Terms) -> StateOutcome:
    """Change the state by what `plan` makes of it; raises MemctlError if that, or the expected version, forbids it.

    Where another program moves the ref in between, the plan is asked anew about the newer state.
    """
    with alone(memory):
        return update_alone(memory, plan, terms)


def update_alone(
    memory: Memory, plan: Plan, terms: Terms, prepare: Prepare | None = None, *, is_locked: bool = False
) -> StateOutcome:
    """The same for a caller that keeps others away by `alone`; `prepare` is called before the ref moves.

    A caller that keeps every write of the memory away (`is_locked`) can't wait for one.
    """
    for _ in range(_TRIES):
        seen = read(memory)
        step = planned(memory, seen, plan, terms)
        outcome = StateOutcome(step, seen.state)
        if not terms.dry_run and outcome.changed:
            outcome = msgspec.structs.replace(outcome, commit=commit_step(memory, seen, step, terms.reason))
        if prepare:
            prepare(outcome)
        if not outcome.commit or move(memory, outcome.commit, seen.commit, is_locked=is_locked):
            return outcome
    raise MemctlError(f"{ref(memory)} keeps being moved by other processes", "try again")


def planned(memory: Memory, seen: ReadState, plan: Plan, terms: Terms) -> Step:
    """Return what a plan makes of a state, with the next version if that differs; raises MemctlError for a stale
    writer."""
    if terms.expected is not None and terms.expected != seen.state.sync_version:
        raise _stale(memory, seen, terms.expected)
    step = plan(seen.state)
    if content(step.state) == content(seen.state):
        return step
    _refuse_credentials(seen.state, step.state, (terms.reason, step.title, memory.actor, memory.session))
    version = seen.state.sync_version + 1
    state = step.state.with_(sync_version=version, last_sync_timestamp=memory.now, project_id=memory.config.project)
    return msgspec.structs.replace(step, state=state)


def _refuse_credentials(before: State, after: State, said: Iterable[str]) -> None:
    """What is new in a state goes to a remote, and into the history of the ref; so does what its commit says."""
    known = set(_texts(before))
    for text in (*said, *(text for text in _texts(after) if text not in known)):
        for span in find(text):
            raise MemctlError(f"this {describe(text, span)}; it would stay in the history for ever", "take it out")


def _texts(state: State) -> list[str]:
    return [line for data in encode(state).values() for line in data.decode().split("\n")]


def commit_step(memory: Memory, seen: ReadState, step: Step, reason: str, *others: str) -> str:
    """Store a step as a commit after what was seen (and after `others`, where histories meet); the ref stays."""
    known = {file.data: file.blob for file in seen.files.values()}
    contents = encode(step.state)
    new = [data for data in dict.fromkeys(contents.values()) if data not in known]
    known |= zip(new, tree_merge.store(memory.repository, new), strict=True)
    blobs = {name: known[data] for name, data in contents.items()}
    change = Change(step.op, step.title, actor=memory.actor, session=memory.session, reason=reason)
    parents = [parent for parent in (seen.commit, *others) if parent]
    return refs.write_commit(memory.repository, blobs, parents, commit_message.compose([change]), memory.commit_moment)


def move(memory: Memory, commit: str, seen: str, *, is_locked: bool = False) -> bool:
    """Let the ref be at a commit if it is still at the one that was seen.

    No write of the memory is under way then: none that was let through before comes out after it.
    """
    with nullcontext() if is_locked else lock.hold(memory.repository.shared / "lock"):
        return refs.swap(memory.repository, ref(memory), commit, seen)


def content(state: State) -> State:
    """Return a state without its version and time, to tell whether anything differs."""
    return state.with_(sync_version=0, last_sync_timestamp="", project_id="")


def _stale(memory: Memory, seen: ReadState, expected: int) -> MemctlError:
    said = refs.message(memory.repository, seen.commit) if seen.commit else ""
    trailers = message.parse(said)
    subject = said.partition("\n")[0].partition(": ")[2]
    last = f"; the last change was `{subject}` by {trailers.actor} at {seen.state.last_sync_timestamp}" if said else ""
    return MemctlError(
        f"the state is at version {seen.state.sync_version}, not at {expected}{last}",
        "look at it with `memctl coordination show`, and try again from there",
    )
