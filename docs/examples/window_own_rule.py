"""A rule of your own for what goes first: lists of files before all else, and answers of people never."""

from typing import Any

from memctl.window import ContentBlock, ContextWindowManager, EvictionEngine, ScoringInput, WindowConfig


class Mine:
    """Scores blocks from 0, which goes first, to 1."""

    def score(self, block: ContentBlock, situation: ScoringInput) -> float:
        if block.tool_name in ("ls", "glob"):
            return 0.0
        age = situation.current_turn - block.turn_created
        return 1.0 if block.tool_name == "ask_customer" else 0.9 - min(age, 50) / 100


def managed(messages: list[dict[str, Any]], tokens: int) -> tuple[Any, tuple[str, ...]]:
    """Messages within a window of so many tokens, and what went of them."""
    engine = EvictionEngine(scorer=Mine())
    manager = ContextWindowManager("claude", WindowConfig(max_context_tokens=tokens), eviction_engine=engine)
    start = manager.on_turn_start(messages)
    gone = [change.block_id for step in start.steps if step.policy == "Mine" for change in step.changes]
    return start.messages, tuple(gone)
