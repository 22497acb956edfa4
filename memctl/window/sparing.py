"""Eviction that loses nothing that must survive: what would take it out of the window stays.

Policies score blocks and know nothing of decisions or errors in them. Of 1,000 tokens in a window few are such, so
sparing them costs little: without it a cascade would lose between its steps what each of its steps is held to keep.
"""

from __future__ import annotations

from collections.abc import Sequence

from memctl.window import preservation
from memctl.window.content import ContentBlock, TokenCounter
from memctl.window.conversation import Conversation
from memctl.window.eviction import EvictionEngine, EvictionResult
from memctl.window.preservation import Essential

WHY = "something that must survive stands only there"


def evict(
    engine: EvictionEngine, conversation: Conversation, free: int, counter: TokenCounter, wanted: Sequence[Essential]
) -> tuple[Conversation, EvictionResult]:
    """Free tokens of a conversation without losing any of `wanted` that it has; what was done is told as ever."""
    present = preservation.present(wanted, conversation.blocks)
    spared: dict[str, str] = {}
    while True:
        result = engine.evict(conversation.blocks, free, conversation.current_turn, spared=spared)
        new = conversation.changed(result.replacements, counter)
        lost = preservation.missing(present, new.blocks)
        if not lost:
            return new, result
        holding = {block.block_id for one in lost for block in _holders(one, result.blocks_evicted)}
        # What no block has alone stands in several: then all of these stay.
        spared |= dict.fromkeys(holding or [block.block_id for block in result.blocks_evicted], WHY)


def _holders(one: Essential, evicted: Sequence[ContentBlock]) -> list[ContentBlock]:
    """The newest of some blocks that has a thing, none if none has it alone."""
    having = [block for block in evicted if not preservation.missing([one], [block])]
    return having[-1:]
