"""Bringing a conversation down to a size, by one strategy or by all of them in turn, and what each step came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from memctl.window.compression.engine import CompressionEngine
from memctl.window.compression.result import CompressionResult, CompressionStep, CompressionStrategy
from memctl.window.compression.strategies import CASCADE, COMPACTION, PROGRESSIVE, RESULTS
from memctl.window.eviction.engine import EvictionEngine
from memctl.window.eviction.lossless import LosslessEviction
from memctl.window.messages.content import TokenCounter
from memctl.window.messages.conversation import Conversation
from memctl.window.preservation import checklist, essentials
from memctl.window.preservation.checklist import Entry
from memctl.window.preservation.essentials import Essential

EVICTION = "eviction"


class Stage(msgspec.Struct, frozen=True):
    """A step and what it came to, in tokens. `refused` says why nothing was changed, `note` what else is to be known.

    `fidelity` is the share of what must survive that did (0 to 1), `blocks` how many were changed, None for a
    compaction.
    """

    name: str
    before: int
    after: int
    refused: str = ""
    note: str = ""
    fidelity: float | None = None
    blocks: int | None = None
    llm_calls: int = 0


class Reduction(msgspec.Struct, frozen=True):
    """A conversation after its steps, what had to survive, and what of that did not; `target` is in tokens.

    `listed` and `missed` are the same by the list that is made for checking alone (`checklist`).
    """

    conversation: Conversation
    stages: tuple[Stage, ...]
    wanted: tuple[Essential, ...]
    lost: tuple[Essential, ...]
    target: int
    listed: tuple[Entry, ...] = ()
    missed: tuple[Entry, ...] = ()

    @property
    def is_reached(self) -> bool:
        """Whether the conversation has no more tokens than it was to have."""
        return self.conversation.tokens <= self.target

    @property
    def by_kind(self) -> dict[str, tuple[int, int]]:
        """Of each kind of thing that had to survive, how many there were, and how many did."""
        lost = set(self.lost)
        found: dict[str, tuple[int, int]] = {}
        for one in self.wanted:
            number, kept = found.get(one.kind, (0, 0))
            found[one.kind] = (number + 1, kept + (one not in lost))
        return found


def reduce(
    conversation: Conversation,
    target: int,
    engine: CompressionEngine,
    evictor: EvictionEngine,
    counter: TokenCounter,
    strategy: str = CASCADE,
) -> Reduction:
    """Bring a conversation down to `target` tokens, or as near as can be without losing what must survive.

    A conversation that fits already is left as it is.
    """
    wanted = essentials.of_blocks(conversation.blocks)
    if conversation.tokens <= target:
        return Reduction(conversation, (), tuple(wanted), (), target)
    alone: Mapping[str, Callable[[], CompressionStep]] = {
        RESULTS: lambda: engine.summarize_results(conversation, conversation.tokens - target),
        PROGRESSIVE: lambda: engine.progressive_summarize(conversation, free=conversation.tokens - target),
        COMPACTION: lambda: engine.compact_conversation(conversation, target=target),
    }
    if strategy in alone:
        step = alone[strategy]()
        new, stages = step.conversation, [_stage(step.result)]
    else:
        new, stages = _cascade(conversation, target, engine, evictor, counter)
    lost = tuple(essentials.missing(wanted, new.blocks))
    listed = checklist.of_blocks(conversation.blocks)
    missed = checklist.missing(listed, "\n".join(block.content for block in new.blocks))
    return Reduction(new, tuple(stages), tuple(wanted), lost, target, tuple(listed), tuple(missed))


def _cascade(
    conversation: Conversation, target: int, engine: CompressionEngine, evictor: EvictionEngine, counter: TokenCounter
) -> tuple[Conversation, list[Stage]]:
    """All steps that it takes, whatever the utilisation: the target is what was asked for."""
    sizes: list[tuple[int, int]] = []
    lossless = LosslessEviction(evictor, counter, essentials.of_blocks(conversation.blocks))

    def evict(given: Conversation, free: int) -> Conversation:
        new = lossless(given, free)
        sizes.append((given.tokens, new.tokens))
        return new

    done = engine.execute_cascade(conversation, None, target, evict)
    why = "" if lossless.number else "no block may go"
    policy = evictor.policy.value
    evictions = [Stage(EVICTION, *pair, refused=why, note=policy, blocks=lossless.number) for pair in sizes]
    stages = [_stage(result) for result in done.results]
    return done.conversation, [*stages[:1], *evictions, *stages[1:]]


def _stage(result: CompressionResult) -> Stage:
    told = ", ".join(str(result.metadata[key]) for key in ("provider", "note") if key in result.metadata)
    blocks = result.metadata.get("blocks")
    return Stage(
        result.strategy.value,
        result.original_tokens,
        result.compressed_tokens,
        refused=result.refused,
        note=told,
        fidelity=result.fidelity_score,
        blocks=None if result.strategy is CompressionStrategy.COMPACTION else len(blocks or ()),
        llm_calls=result.llm_calls_used,
    )
