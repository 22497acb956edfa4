"""A plain function words the summaries: what it says is checked, and rules take its place where it does not do."""

from collections.abc import Callable
from typing import Any

from memctl.window import ContextWindowManager, Decision

Ask = Callable[[str, str], str]  # system prompt, request -> answer


def compacted(messages: list[dict[str, Any]], ask: Ask, tokens: int) -> tuple[list[dict[str, Any]], list[Decision]]:
    """Messages within a window of so many tokens, and the decisions that led there."""
    decisions: list[Decision] = []
    settings = {"max_context_tokens": tokens, "compression": {"preserve": ["names of customers, as written"]}}
    manager = ContextWindowManager.from_config(
        settings, "claude-sonnet-4-5", provider=ask, audit=decisions.append, task_goal="Answer the customer's letter"
    )
    start = manager.on_turn_start(messages)
    for step in start.steps:
        print(f"{step.name}: {step.wanted:,} wanted, {step.before:,} -> {step.after:,}, {step.llm_calls} calls")
    kept: list[dict[str, Any]] = start.messages
    return kept, decisions
