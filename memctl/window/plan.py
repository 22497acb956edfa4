"""The decisions of a window's manager: which steps run before a request, and how much of a new result goes in.

Below the orange zone nothing is freed. There is one exception: in the yellow zone, old results are taken out at once if
the window fills so fast that the red zone is less than two turns away (rules.md#window-pressure).

A new result goes into the window whole, if the window can hold it beside the blocks that can never be taken out; older
results are taken out for it before the next request. A larger result is shortened. If the agent then repeats the call,
the result goes in whole, if the window can hold it at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

import msgspec

from memctl.tokens.model_windows import ORANGE_AT, TARGET, YELLOW_AT
from memctl.window.budget import token_budget
from memctl.window.compression.engine import CompressionEngine
from memctl.window.compression.result import Step
from memctl.window.health import HealthSnapshot, Trend
from memctl.window.messages.content import COMMAND_ARGUMENTS, PATH_ARGUMENTS, ContentType
from memctl.window.messages.conversation import Conversation
from memctl.window.pressure.monitor import PressureReading, PressureZone, Thresholds
from memctl.window.steps import ALL, EVICTION, RESULTS, SUB_AGENT

EMERGENCY = 0.95  # of what can be filled; rules.md#window-manager
SOON = 2  # turns until red, below which old results go although the zone is yellow
_RESERVE = 0.03  # of the window: what placeholders and the last calls take; what does not fit then is shortened late
_LOOKS = re.compile(r"read|view|cat|open|file", re.IGNORECASE)


class Plan(msgspec.Struct, frozen=True):
    """A plan to free tokens before a request: `steps` run until the conversation has at most `target` tokens.

    `steps` are names of steps of the cascade, and `reason` says why they run. `most` is the largest number of tokens
    that a request may have; in an emergency even results that the model has not read yet are shortened to keep to it.
    """

    target: int
    steps: tuple[str, ...]
    reason: str
    most: int
    is_emergency: bool = False


def make_plan(
    conversation: Conversation,
    reading: PressureReading,
    thresholds: Thresholds,
    budgets: token_budget.TokenBudgetManager,
    engine: CompressionEngine,
    clear_at_least: int = 0,
) -> Plan | None:
    """Return a plan to free tokens before the next request; None if nothing is to be freed.

    `reading` has the tokens of the whole request, `thresholds` has the zones, and `budgets` the room that is kept for
    the answer; `engine` says which steps a zone allows.

    The plan's target is usually 60 % of the window, and always at least `clear_at_least` tokens below the
    conversation's present size. If the results that the model has not read yet take more than 15 % of the window, the
    target is higher: the tokens of these results, plus 60 % of the rest of the window. With 60 % of the whole window,
    which are 38,400 of 64,000 tokens, unread results of 39,000 tokens would leave no room for anything else.

    Except in an emergency, there is a plan in the yellow zone only if the red zone is less than two turns away. These
    turns are computed from the velocity (tokens a turn): the forecast in `reading` shows a sudden rise too late.
    """
    utilization = reading.current_tokens / reading.max_tokens
    managed = token_budget.managed_window(conversation, utilization, budgets)
    most = int(token_budget.window(conversation, utilization) * min(token_budget.answer_line(budgets), EMERGENCY))
    is_emergency = utilization >= EMERGENCY or budgets.needs_emergency_compaction
    velocity, red_at = reading.velocity_tokens_per_turn, thresholds.red * reading.max_tokens
    turns = max(red_at - reading.current_tokens, 0.0) / velocity if velocity > 0 else float("inf")
    last = conversation.current_turn - 1
    results = (block for block in conversation.blocks if block.content_type is ContentType.TOOL_RESULT)
    unread = sum(block.token_count for block in results if block.turn_created >= last)
    target = int(TARGET * managed)
    if unread > (ORANGE_AT - TARGET) * managed:
        target = min(int(unread + TARGET * max(managed - unread, 0)), most)
    steps: tuple[str, ...]
    if is_emergency:
        short = "fewer than 4,000 tokens are left for the answer"
        reason = f"{EMERGENCY:.0%} of the window is filled" if utilization >= EMERGENCY else short
        steps = (*ALL, SUB_AGENT)
    elif reading.zone in (PressureZone.ORANGE, PressureZone.RED):
        reason, steps = f"{reading.zone.value} zone", tuple(engine.steps_at(conversation.tokens / max(managed, 1)))
    elif reading.zone is PressureZone.YELLOW and turns < SOON:
        reason = f"the window reaches the red zone in {turns:.1f} turns at {velocity:,.0f} tokens a turn"
        steps = (RESULTS, EVICTION)
        room = (red_at - SOON * velocity) * conversation.tokens / max(reading.current_tokens, 1)
        target = max(min(int(TARGET * managed), int(room)), int(YELLOW_AT * managed))
    else:
        return None
    target = min(target, conversation.tokens - clear_at_least)
    return Plan(max(target, 0), steps, reason, most, is_emergency) if conversation.tokens > target else None


class Room(msgspec.Struct):
    """The room for tools' results in a window until the next request, in tokens.

    `window` is the size of the window, after the tokens kept for the answer are subtracted. `frame` is the size of all
    blocks that can never be taken out of the window. `taken` is the size of the results that came since the last
    request.
    """

    window: int
    frame: int = 0
    taken: int = 0

    @classmethod
    def beside(cls, conversation: Conversation, window: int) -> Room:
        """Return the room in a window for results, beside the blocks of a conversation that can never be taken out.

        `window` is the size of the window in tokens, after the tokens kept for the answer are subtracted. Results that
        the model has read can be taken out, so their place counts as free.
        """
        return cls(window, conversation.overhead + sum(b.token_count for b in conversation.blocks if b.is_fixed))

    def holds(self, tokens: int, *, is_again: bool = False) -> bool:
        """Return whether a new result of `tokens` tokens fits into the window, beside other new results.

        New are the results that came since the last request. 3 % of the window are kept as a reserve, unless the result
        comes from a repeated call (`is_again`).
        """
        reserve = 0 if is_again else int(_RESERVE * self.window)
        return tokens <= self.free - self.taken - reserve

    @property
    def free(self) -> int:
        """The number of tokens for results, beside the blocks that can never be taken out of the window.

        Results that came since the last request (`taken`) are not subtracted.
        """
        return self.window - self.frame


def key_of(tool: str, arguments: Mapping[str, Any] | None) -> str:
    """Return a key for a tool's call: two calls have equal keys if they call the same tool with equal arguments."""
    try:
        return f"{tool} {msgspec.json.encode(arguments or {}, order='sorted', enc_hook=str).decode()}"
    except (TypeError, ValueError, RecursionError, UnicodeError):
        return f"{tool} {arguments!r}"


def range_hint(tool: str, arguments: Mapping[str, Any] | None, output: str, tokens: int, room: int) -> str:
    """Return a sentence that tells the agent how to get the rest of a tool's result that was shortened.

    The sentence names a call for a range of lines, such as `Read with path='a.py', offset=1, limit=200`. It also says
    whether a repetition of the same call gives the whole result. `output` is the whole result and `tokens` its size;
    `room` is how many tokens of results the window can hold.
    """
    lines = output.count("\n") + 1
    most = max(int(lines * min(room / max(tokens, 1), 1) * 0.8), 1)
    part = _range(tool, arguments or {}, min(most, lines))
    if tokens <= room:
        return f"repeat the call for the whole result of {lines:,} lines, or get a part of it: {part}"
    return f"the whole result has {tokens:,} tokens, more than the window can hold; get a part of it: {part}"


def _range(tool: str, arguments: Mapping[str, Any], lines: int) -> str:
    command = next((str(arguments[name]) for name in COMMAND_ARGUMENTS if arguments.get(name)), "")
    if command:
        shown = command if len(command) <= 80 else "…"
        return f"{tool}: {shown} | sed -n '1,{lines}p'"
    path = next((name for name in PATH_ARGUMENTS if arguments.get(name)), "")
    if path and _LOOKS.search(tool):
        return f"{tool} with {path}={arguments[path]!r}, offset=1, limit={lines}"
    return f"{tool} with arguments that ask for less, such as {lines:,} of the {'entries' if lines > 1 else 'parts'}"


class WindowStatus(Enum):
    """What the manager is doing about a window; there is a status for each pressure zone (rules.md#window-manager)."""

    HEALTHY = "healthy"  # green: nothing to do
    PREPARING = "preparing"  # yellow: what could go is known
    ACTIVE_MANAGEMENT = "active"  # orange: evicting and compressing
    EMERGENCY = "emergency"  # red: compacting, or leaving the window


STATUS_OF = {
    PressureZone.GREEN: WindowStatus.HEALTHY,
    PressureZone.YELLOW: WindowStatus.PREPARING,
    PressureZone.ORANGE: WindowStatus.ACTIVE_MANAGEMENT,
    PressureZone.RED: WindowStatus.EMERGENCY,
}


class Action(Enum):
    """What the manager did at the start of a turn.

    NONE and EVALUATE leave the messages as they are; EVALUATE says that the window is in the yellow zone. MANAGE freed
    tokens, and EMERGENCY_COMPACTION freed them in an emergency. CROSS_WINDOW_SAVE saved the state of the task, because
    the conversation can only go on in a new window.
    """

    NONE = "none"
    EVALUATE = "evaluate"
    MANAGE = "manage"
    EMERGENCY_COMPACTION = "emergency_compaction"
    CROSS_WINDOW_SAVE = "cross_window_save"


class TurnStart(msgspec.Struct, frozen=True):
    """The result of `on_turn_start` or `on_overflow`: the `messages` to send, and the `action` that was taken.

    The messages have the shape in which they were given. `reading` is what was measured before the action: the window's
    tokens, zone and growth. `utilization_before` and `utilization_after` say how full the window was before and after
    the action, as a fraction of the tokens that can be filled. `steps` are the steps of the cascade that ran to free
    tokens, and `evicted_blocks` is how many blocks they evicted. `reason` says why tokens were freed, or why they were
    not although the window is full enough for it; otherwise it is "".

    With the action CROSS_WINDOW_SAVE the conversation can't go on in this window: begin a new one with the text
    `bootstrap`. `checkpoint` is then the id under which the task's state was saved; it is "" if the state was not
    saved, and `reason` then says why.
    """

    action: Action
    messages: Any
    reading: PressureReading
    utilization_before: float
    utilization_after: float
    evicted_blocks: int = 0
    steps: tuple[Step, ...] = ()
    checkpoint: str = ""
    bootstrap: str = ""
    reason: str = ""


class ToolResult(msgspec.Struct, frozen=True):
    """What goes into the window for a tool's result: a text, its tokens, and the tokens of the whole result.

    A text that is not the whole result says how to get the rest. `allowed` is False if even the shortest text exceeds
    the budget; the agent's loop then decides whether to add it. `note` is a warning, or the reason why the result was
    shortened or not allowed; "" for none.
    """

    text: str
    tokens: int
    original_tokens: int
    allowed: bool = True
    note: str = ""


class TaskEnd(msgspec.Struct, frozen=True):
    """What an agent's loop gets when a task ends: a summary of the task, and how healthy the window was.

    `checkpoint` is the id under which the task's state was saved; it is "" if the state was not saved, and `reason`
    then says why. `snapshot` has the window's health metrics at the end, such as the share of it that is used. `trends`
    says for each metric, by name, whether it rose or fell during the task.
    """

    summary: str
    checkpoint: str
    snapshot: HealthSnapshot
    trends: Mapping[str, Trend]
    reason: str = ""
