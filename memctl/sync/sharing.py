"""What a sync of the branch means for the state that agents share: who owns sections that got another number."""

from __future__ import annotations

import msgspec

from memctl.errors import MemctlError
from memctl.store.memory import Memory
from memctl.sync import agreeing
from memctl.sync.synced import Synced
from memctl.team import exchange, ownership, shared
from memctl.team.state import Ownership, State


def share(memory: Memory, done: Synced, *, push: bool, dry_run: bool) -> Synced:
    """Bring the coordination state together too. The branch is done: what goes wrong here is a warning."""
    remote = done.upstream.remote
    try:
        follow = ownership.follow(owned_before(memory, done)) if dry_run else None  # else the branch has done it
        before = shared.read(memory).state
        before = follow(before).state if follow else before
        agreed = agreeing.agree(memory, remote, done, follow, push=push)
        state, theirs = agreed.state, shared.at(memory, agreed.theirs).state
        return msgspec.structs.replace(
            done,
            coordination=shared.read(memory).commit,
            taken=shared.content(state) != shared.content(before),
            given=push and shared.content(state) != shared.content(theirs),
            gave_way=(*agreed.lost, *_left_behind(memory, done, state)),
            settled=agreed.settled,
        )
    except MemctlError as error:
        words = [done.warning] if done.warning else []
        why = f"the coordination state is not in step with {remote}: {error.message}"
        return msgspec.structs.replace(done, warning="; ".join([*words, why]))


def owned_before(memory: Memory, planned: Synced) -> tuple[tuple[Ownership, str], ...]:
    """The ownerships, known only here, of sections of ours that get another number."""
    sections = _sections(planned)
    if not sections:
        return ()
    try:
        published = exchange.published(memory, planned.upstream.remote).section_ownership_map
        owned = shared.read(memory).state.section_ownership_map
    except MemctlError:
        return ()  # `share` says what is wrong with it
    return tuple((owned[old], new) for old, new in sections if old in owned and owned[old] != published.get(old))


def _sections(done: Synced) -> list[tuple[str, str]]:
    """The old and the new number of each page of ours that was renumbered."""
    return [(one.name, one.now) for one in done.made.renamed if one.record is None] if done.made else []


def _left_behind(memory: Memory, done: Synced, state: State) -> list[str]:
    """Ownerships of the acting agent that the remote knows under the old number of a section of ours.

    Which of the two sections they were taken for, only the agent knows.
    """
    return [
        f"section {old} is yours, and is another section now: if you meant {new}, "
        f"`memctl own release {old[1:]}` and `memctl own acquire {new[1:]}`"
        for old, new in _sections(done)
        if (held := state.live(old, memory.now))
        and held.owner_agent_id == memory.actor
        and not state.live(new, memory.now)
    ]
