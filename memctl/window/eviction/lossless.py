"""Eviction that loses nothing that must survive: what would take it out of the window stays.

Policies score blocks and know nothing of decisions or errors in them: without this a cascade would lose between its
steps what each of its steps is held to keep.
"""

from __future__ import annotations

from collections.abc import Sequence

from memctl.window.eviction.engine import EvictionEngine, EvictionResult
from memctl.window.messages.content import ContentBlock, TokenCounter
from memctl.window.messages.conversation import Conversation
from memctl.window.preservation import essentials
from memctl.window.preservation.essentials import Essential

WHY = "something that must survive stands only there"


class LosslessEviction:
    """Evicts between the steps of a cascade, without losing any of `wanted` that the conversation still has.

    `results` are what its evictions came to.
    """

    def __init__(self, engine: EvictionEngine, counter: TokenCounter, wanted: Sequence[Essential]) -> None:
        self.results: list[EvictionResult] = []
        self._engine = engine
        self._counter = counter
        self._wanted = wanted

    @property
    def number(self) -> int:
        """How many blocks went."""
        return sum(len(result.blocks_evicted) for result in self.results)

    def __call__(self, conversation: Conversation, free: int) -> Conversation:
        """Free tokens of a conversation, or as many as can be freed."""
        present = essentials.present(self._wanted, conversation.blocks)
        spared: dict[str, str] = {}
        while True:
            result = self._engine.evict(conversation.blocks, free, conversation.current_turn, spared=spared)
            new = conversation.changed(result.replacements, self._counter)
            lost = essentials.missing(present, new.blocks)
            if not lost:
                self.results.append(result)
                return new
            holding = [block.block_id for one in lost for block in _holders(one, result.blocks_evicted)]
            # What no block has alone stands in several: then all of these stay.
            spared |= dict.fromkeys(holding or [block.block_id for block in result.blocks_evicted], WHY)


def _holders(one: Essential, evicted: Sequence[ContentBlock]) -> list[ContentBlock]:
    """The newest of some blocks that has a thing, none if none has it alone."""
    having = [block for block in evicted if not essentials.missing([one], [block])]
    return having[-1:]
