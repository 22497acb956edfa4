"""Renumbering as one step: under the lock, in one commit or in the merge under way, and in what agents share."""

from __future__ import annotations

import msgspec

from memctl.errors import MemctlError
from memctl.git.authorship import Authorship
from memctl.record.change import Change, WriteOptions
from memctl.record.kinds import HANDOFF
from memctl.store import load
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence
from memctl.write import handoffs, renumber, transaction
from memctl.write.commit import Outcome
from memctl.write.renumber import Renumbering, StagedMerge


class Renumbered(msgspec.Struct, frozen=True):
    """What renumbering came to: what was renamed, its write, what became of a merge under way (None: there is none, or
    no commit was asked for), and a line for each ownership whose reason has the new ids."""

    made: Renumbering
    outcome: Outcome
    within: StagedMerge | None
    settled: tuple[str, ...]


def carry_out(memory: Memory, options: WriteOptions) -> Renumbered:
    """Give records and pages that share an id one each, and rewrite the references. Raises MemctlError."""
    made: list[Renumbering] = []

    def plan(_: Sequence) -> Change:
        history = Authorship(memory.repository, memory.prefix)
        snapshot = load.disk(memory)
        made.append(renumber.renumber(snapshot, history, renumber.conflicting(memory, snapshot)))
        return made[0].change

    outcome = transaction.carry_out(memory, plan, options)
    within = None if options.dry_run or options.no_commit else renumber.stage_merge(memory)
    return Renumbered(made[0], outcome, within, () if options.dry_run else tuple(_settled(memory, made[0])))


def _settled(memory: Memory, made: Renumbering) -> list[str]:
    """Let the reasons of ownerships have the new ids of handoffs."""
    if not any(one.record and one.record.memory_type == HANDOFF.name for one in made.renamed):
        return []
    try:
        return [f"ownership: {line}" for line in handoffs.settle(memory).lines]
    except MemctlError as error:
        return [f"warning: ownership has the old ids still: {error.message}"]
