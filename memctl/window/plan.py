"""What is to be done about a window before a request: how many tokens are to go, and by which steps.

Below the orange zone nothing goes, unless the window fills so fast that red is less than two turns away: then old
results go at once (rules.md#window-pressure).
"""

from __future__ import annotations

import msgspec

from memctl.tokens.model_windows import ORANGE_AT, TARGET, YELLOW_AT
from memctl.window.budget import tracking
from memctl.window.budget.tracking import TokenBudgetManager
from memctl.window.compression.engine import CompressionEngine
from memctl.window.messages.content import ContentBlock, ContentType
from memctl.window.messages.conversation import Conversation
from memctl.window.pressure.monitor import PressureReading, PressureZone, Thresholds
from memctl.window.steps import ALL, EVICTION, RESULTS, SUB_AGENT

EMERGENCY = 0.95  # of what can be filled; rules.md#window-manager
SOON = 2  # turns until red, below which old results go although the zone is yellow


class Plan(msgspec.Struct, frozen=True):
    """What is to be done: the tokens to leave, in those of the conversation's counter, by which steps, and why.

    `most` are the tokens that a request may have at most; only an emergency has to keep to it at any cost.
    """

    target: int
    steps: tuple[str, ...]
    reason: str
    most: int
    is_emergency: bool = False


def is_unread(block: ContentBlock, current_turn: int) -> bool:
    """Whether a block is a result that the model was not sent yet."""
    return block.content_type is ContentType.TOOL_RESULT and block.turn_created >= current_turn - 1


def made_for(
    conversation: Conversation,
    reading: PressureReading,
    thresholds: Thresholds,
    budgets: TokenBudgetManager,
    engine: CompressionEngine,
    clear_at_least: int = 0,
) -> Plan | None:
    """The plan for a conversation at a reading; None if nothing is to go. At least `clear_at_least` tokens go."""
    utilization = reading.current_tokens / reading.max_tokens
    size = tracking.window(conversation, utilization)
    managed = tracking.managed_window(conversation, utilization, budgets)
    most = int(size * min(tracking.answer_line(budgets), EMERGENCY))
    is_emergency = utilization >= EMERGENCY or budgets.needs_emergency_compaction
    if is_emergency:
        short = "less than 4,000 tokens are left for the answer"
        reason = f"{EMERGENCY:.0%} are filled" if utilization >= EMERGENCY else short
        steps: tuple[str, ...] = (*ALL, SUB_AGENT)
        target = _target(managed, conversation, most)
    elif reading.zone in (PressureZone.ORANGE, PressureZone.RED):
        reason = f"{reading.zone.value} zone"
        steps = tuple(engine.steps_at(conversation.tokens / max(managed, 1)))
        target = _target(managed, conversation, most)
    elif reading.zone is PressureZone.YELLOW and (turns := turns_until_red(reading, thresholds)) < SOON:
        reason = f"red in {turns:.1f} turns at {reading.velocity_tokens_per_turn:,.0f} tokens a turn"
        steps = (RESULTS, EVICTION)
        share = conversation.tokens / max(reading.current_tokens, 1)
        room = thresholds.red * reading.max_tokens - SOON * reading.velocity_tokens_per_turn
        target = max(min(int(TARGET * managed), int(room * share)), int(YELLOW_AT * managed))
    else:
        return None
    target = min(target, conversation.tokens - clear_at_least)
    return Plan(max(target, 0), steps, reason, most, is_emergency) if conversation.tokens > target else None


def turns_until_red(reading: PressureReading, thresholds: Thresholds) -> float:
    """The turns until red at the present velocity, the mean of the last steps, which follows a sudden rise at once."""
    left = thresholds.red * reading.max_tokens - reading.current_tokens
    velocity = reading.velocity_tokens_per_turn
    return max(left, 0.0) / velocity if velocity > 0 else float("inf")


def _target(size: float, conversation: Conversation, most: int) -> int:
    """60 % of a window, or of what unread results leave of it if they take more than the zones between have room for.

    What the model is still to read is not to drive out all else: with 39,000 unread tokens in 64,000 nothing of the
    rest would stay.
    """
    turn = conversation.current_turn
    unread = sum(block.token_count for block in conversation.blocks if is_unread(block, turn))
    if unread <= (ORANGE_AT - TARGET) * size:
        return int(TARGET * size)
    return min(int(unread + TARGET * max(size - unread, 0)), most)
