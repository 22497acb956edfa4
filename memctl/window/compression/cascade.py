"""The cascade: a conversation is brought down to a size step by step, the cheapest first (rules.md#window-compression).

Each step is made only while tokens are still wanted. Eviction between the steps loses nothing that must survive:
policies score blocks and know nothing of decisions or errors in them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import msgspec

from memctl.window.compression.result import CompressionResult, CompressionStep, CompressionStrategy
from memctl.window.compression.strategies import ALL, COMPACTION, EVICTION, PROGRESSIVE, RESULTS
from memctl.window.eviction.engine import EvictionEngine, EvictionResult, Gone
from memctl.window.messages.content import TokenCounter
from memctl.window.messages.conversation import Conversation

if TYPE_CHECKING:
    from memctl.window.preservation.checklist import Entry
    from memctl.window.preservation.essentials import Essential

WHY = "something that must survive stands only there"


class Compressor(Protocol):
    """What makes the steps of a cascade, as CompressionEngine does; `free` and `target` are tokens."""

    counter: TokenCounter

    def summarize_results(
        self, conversation: Conversation, free: int | None = None, *, is_unread: bool = False
    ) -> CompressionStep: ...

    def progressive_summarize(
        self, conversation: Conversation, earlier: Sequence[Essential] = (), free: int | None = None
    ) -> CompressionStep: ...

    def compact_conversation(
        self, conversation: Conversation, earlier: Sequence[Essential] = (), target: int | None = None
    ) -> CompressionStep: ...


class Step(msgspec.Struct, frozen=True):
    """A step and what it came to, in tokens: `wanted` is how many were to be freed when it began.

    `refused` says why nothing was changed, `note` what else is to be known. `fidelity` is the share of what must
    survive that did (0 to 1), `blocks` how many were changed, None for a compaction. `llm_calls` is how often a model
    was asked, `llm_used` and `llm_refused` how many of its texts were. `changes` has each block that was changed, with
    its score if a `policy` chose it.
    """

    name: str
    before: int
    after: int
    wanted: int
    refused: str = ""
    note: str = ""
    fidelity: float | None = None
    blocks: int | None = None
    llm_calls: int = 0
    llm_used: int = 0
    llm_refused: int = 0
    policy: str = ""
    changes: tuple[Gone, ...] = ()


class Cascade(msgspec.Struct, frozen=True):
    """What a cascade came to: the conversation, the size that it was to have in tokens, and its steps."""

    conversation: Conversation
    target: int
    steps: tuple[Step, ...] = ()

    @property
    def tokens(self) -> int:
        return self.conversation.tokens

    @property
    def is_reached(self) -> bool:
        """Whether the conversation has no more tokens than it was to have."""
        return self.tokens <= self.target

    @property
    def evicted(self) -> int:
        """How many blocks were evicted."""
        return sum(step.blocks or 0 for step in self.steps if step.name == EVICTION)


def run(
    engine: Compressor,
    conversation: Conversation,
    target: int,
    allowed: Collection[str] = ALL,
    evictor: EvictionEngine | None = None,
) -> Cascade:
    """Bring a conversation down to `target` tokens by the steps that are `allowed`, or as near as can be."""
    if conversation.tokens <= target:
        return Cascade(conversation, target)
    from memctl.window.preservation import essentials

    wanted = essentials.of_blocks(conversation.blocks)
    table: dict[str, Callable[[Conversation, int], tuple[Conversation, Step]]] = {
        RESULTS: lambda c, free: _compressed(c, free, engine.summarize_results(c, free)),
        EVICTION: lambda c, free: _evicted(engine, evictor, c, free, wanted),
        PROGRESSIVE: lambda c, free: _compressed(c, free, engine.progressive_summarize(c, wanted, free)),
        COMPACTION: lambda c, free: _compressed(c, free, engine.compact_conversation(c, wanted, c.tokens - free)),
    }
    steps: list[Step] = []
    for name, make in table.items():
        free = conversation.tokens - target
        if free > 0 and name in allowed and (name != EVICTION or evictor is not None):
            conversation, step = make(conversation, free)
            steps.append(step)
    return Cascade(conversation, target, tuple(steps))


def unread(engine: Compressor, done: Cascade, target: int) -> Cascade:
    """What came of a cascade after its last resort: results that the model has not read yet are summed up."""
    before = done.conversation
    if before.tokens <= target:
        return done
    made = engine.summarize_results(before, before.tokens - target, is_unread=True)
    conversation, step = _compressed(before, before.tokens - target, made)
    return Cascade(conversation, done.target, (*done.steps, msgspec.structs.replace(step, name="unread_results")))


def _compressed(before: Conversation, free: int, made: CompressionStep) -> tuple[Conversation, Step]:
    return made.conversation, step_of(made.result, free, _changes(before, made))


def step_of(result: CompressionResult, wanted: int, changes: Sequence[Gone] = ()) -> Step:
    """A compression as a step."""
    is_compaction = result.strategy is CompressionStrategy.COMPACTION
    return Step(
        result.strategy.value,
        result.original_tokens,
        result.compressed_tokens,
        wanted,
        refused=result.refused,
        note=", ".join(str(result.metadata[key]) for key in ("provider", "note") if key in result.metadata),
        fidelity=result.fidelity_score,
        blocks=None if is_compaction else len(result.metadata.get("blocks", ())),
        llm_calls=result.llm_calls_used,
        llm_used=result.llm_answers_used,
        llm_refused=result.llm_answers_refused,
        changes=tuple(changes),
    )


def _changes(before: Conversation, made: CompressionStep) -> list[Gone]:
    """The blocks that a compression changed, with their tokens; those of a compaction are gone."""
    names = set(made.result.metadata.get("blocks", ()))
    is_compaction = made.result.strategy is CompressionStrategy.COMPACTION
    after = {} if is_compaction else {block.block_id: block.token_count for block in made.conversation.blocks}
    return [
        Gone(b.block_id, b.content_type, b.tool_name, b.turn_created, b.token_count, after.get(b.block_id, 0))
        for b in before.blocks
        if b.block_id in names
    ]


def _evicted(
    engine: Compressor,
    evictor: EvictionEngine | None,
    conversation: Conversation,
    free: int,
    wanted: Sequence[Essential],
) -> tuple[Conversation, Step]:
    """Free tokens without losing any of `wanted` that the conversation still has, or as many as can be freed."""
    from memctl.window.preservation import essentials

    assert evictor is not None
    present = essentials.present(wanted, conversation.blocks)
    spared: dict[str, str] = {}
    while True:
        result = evictor.evict(conversation.blocks, free, conversation.current_turn, spared=spared)
        new = conversation.changed(result.replacements, engine.counter)
        lost = essentials.missing(present, new.blocks)
        if not lost:
            return new, _step_of_eviction(result, conversation.tokens, new.tokens, free)
        holding = [
            block.block_id
            for one in lost
            for block in [b for b in result.blocks_evicted if not essentials.missing([one], [b])][-1:]  # the newest
        ]
        # What no block has alone stands in several: then all of these stay.
        spared |= dict.fromkeys(holding or [block.block_id for block in result.blocks_evicted], WHY)


def _step_of_eviction(result: EvictionResult, before: int, after: int, wanted: int) -> Step:
    why = "" if result.evictions else "no block may go"
    policy = result.policy_name
    return Step(
        EVICTION, before, after, wanted, refused=why, note=policy, blocks=len(result.evictions), policy=policy,
        changes=tuple(result.evictions),
    )  # fmt: skip


@dataclass(frozen=True)
class Reduction:
    """A conversation after its steps, what had to survive, and what of that did not.

    `listed` and `missed` are the same by the list that is made for checking alone (`checklist`).
    """

    cascade: Cascade
    wanted: tuple[Essential, ...]
    lost: tuple[Essential, ...] = ()
    listed: tuple[Entry, ...] = ()
    missed: tuple[Entry, ...] = ()

    @property
    def conversation(self) -> Conversation:
        return self.cascade.conversation

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
    engine: Compressor,
    evictor: EvictionEngine,
    steps: Collection[str] = ALL,
) -> Reduction:
    """Bring a conversation down to `target` tokens by some steps, and check what is left of what must survive."""
    from memctl.window.preservation import checklist, essentials

    wanted = tuple(essentials.of_blocks(conversation.blocks))
    done = run(engine, conversation, target, steps, evictor)
    if not done.steps:
        return Reduction(done, wanted)
    lost = tuple(essentials.missing(wanted, done.conversation.blocks))
    listed = checklist.of_blocks(conversation.blocks)
    missed = checklist.missing(listed, "\n".join(block.content for block in done.conversation.blocks))
    return Reduction(done, wanted, lost, tuple(listed), tuple(missed))
