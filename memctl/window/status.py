"""The state of a context window, read from a transcript or messages: `memctl context window status` and `health`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.text.credentials import redact
from memctl.text.fit import cut
from memctl.text.markdown import one_line
from memctl.transcript import claude_code, window
from memctl.window.budget import token_budget
from memctl.window.budget.profiles import BudgetComponent, limits_of
from memctl.window.config import WindowConfig
from memctl.window.health import HealthSnapshot
from memctl.window.messages import reading
from memctl.window.messages.content import ContentBlock, ContentType
from memctl.window.messages.conversation import Conversation
from memctl.window.pressure import curve as curves
from memctl.window.pressure.limits import Limit
from memctl.window.pressure.monitor import MODEL_REPORTED, ContextPressureMonitor, PressureReading

if TYPE_CHECKING:
    from memctl.tokens.count import Counter

LARGEST = 5  # results that are named
_LONGEST = 60  # characters of what a call was about
_FRAME = (BudgetComponent.SYSTEM_PROMPT, BudgetComponent.TOOL_DEFINITIONS)
_MISCOUNTED = 0.10  # of the parts: what is counted here may be that much less than what the model reported


class SeenConversation(msgspec.Struct, frozen=True):
    """A conversation that was read from a file, with what is known about it.

    `transcript` is the transcript, if the file is one, else None. `curve` has the tokens of each request. `model` is
    the name of the model in the file, "" if it has none, and `counter` counts the tokens of this model.
    """

    conversation: Conversation
    transcript: window.Window | None
    curve: curves.Curve
    model: str
    counter: Counter

    @property
    def is_transcript(self) -> bool:
        """Whether the file is an agent's transcript, and not a list of messages or a request."""
        return self.transcript is not None


class ComponentUse(msgspec.Struct, frozen=True):
    """How many tokens a component of the window uses (`used`), and how many it may use (`limit`).

    The system prompt and the definitions of tools are one component here if the conversation is from a transcript,
    because a transcript does not say how many tokens each of the two has. Without components it is what the model
    reported and the transcript does not contain, such as files that the host adds after a compaction; it has no limit.
    """

    components: tuple[BudgetComponent, ...]
    used: int
    limit: int

    @property
    def name(self) -> str:
        """The name of the component; for several that are counted as one, their names joined by " + "."""
        return " + ".join(component.value for component in self.components) or "not in the transcript"


class Large(msgspec.Struct, frozen=True):
    """One of the largest results of tools in a window.

    `tool` is the tool's name, `about` the main argument of its call (such as the command or the path), `tokens` the
    size of the result, `turn` the number of the turn in which it came, and `line` its line in the transcript, 0 if
    unknown.
    """

    tool: str
    about: str
    tokens: int
    turn: int
    line: int


class Status(msgspec.Struct, frozen=True):
    """The state of a window: how full it is, what each component uses, and the largest results.

    `reading` is the pressure at the last request, and `history` has a health snapshot for each request.
    """

    reading: PressureReading
    parts: tuple[ComponentUse, ...]
    largest: tuple[Large, ...]
    history: tuple[HealthSnapshot, ...]


def read(lines: Iterable[str], name: str, counter_for: Callable[[str], Counter]) -> SeenConversation:
    """Return the conversation in a file: a transcript, a list of messages or a request.

    `lines` are the lines of the file, and `name` is its name for error messages. `counter_for` is given the name of the
    model, "" if the file names none, and returns the counter of tokens for it. Raises MemctlError if the file has no
    conversation.
    """
    loaded = reading.load(lines, name)
    counter = counter_for(loaded.model)
    conversation = loaded.parse(counter)
    if loaded.transcript is not None and loaded.transcript.requests:
        curve = curves.of_transcript(loaded.transcript)
    else:
        curve = curves.of_blocks(conversation.blocks, conversation.overhead)
    return SeenConversation(conversation, loaded.transcript, curve, loaded.model, counter)


def usual_growth(file: str) -> float:
    """Return the number of tokens that a request usually adds: the median over the user's earlier Claude Code sessions.

    `file` is the path of a session's transcript; sessions of the same project that ended before it count. If fewer than
    five of them are long enough to measure, the result is 850.
    """
    sessions = []
    for path in claude_code.earlier_transcripts(file):
        with suppress(OSError), open(path, "rb") as lines:
            sessions.append(curves.of_transcript(window.read(lines)))
    return curves.usual_growth(sessions)


def judge(seen: SeenConversation, limit: Limit, config: WindowConfig, usual: float = 0) -> Status:
    """Return the state of the window that holds the conversation `seen`.

    `limit` has the size of the window, and `config` the settings for its zones and its budget. `usual` is the number of
    tokens that a request usually adds, 0 if it is not known; it is used if the setting `usual_growth` is not set.
    Raises MemctlError if the window is too small for its budget.
    """
    pressure = config.pressure
    monitor = ContextPressureMonitor(
        limit.usable, pressure.velocity_window, pressure.thresholds, usual_growth=pressure.usual_growth or usual
    )
    history: list[HealthSnapshot] = []
    last = monitor.measure(0) if not seen.curve.points else None
    cuts = {compaction.at: compaction for compaction in seen.curve.compactions}
    before = 0
    for number, tokens in enumerate(seen.curve.points):
        last = monitor.measure(0, tokens) if seen.curve.source == MODEL_REPORTED else monitor.measure(tokens)
        rate = monitor.burn_rate if number and number not in cuts else None
        moment = seen.curve.times[number] if number < len(seen.curve.times) else ""
        cut = cuts.get(number)  # the size after a compaction is measured, that before it is the host's
        uncut = (cut.before or before) if cut is not None else 0
        snapshot = HealthSnapshot(
            timestamp=moment,
            window_id=1 + sum(at <= number for at in cuts),
            turn=number + 1,
            utilization=monitor.utilization(),
            compression_ratio=uncut / tokens if uncut else None,
            burn_rate=rate,
        )
        history.append(snapshot)
        before = tokens
    assert last is not None
    parts = _parts(seen, last.current_tokens, limit, config)
    if history:
        results = next(part.used for part in parts if BudgetComponent.TOOL_RESULTS in part.components)
        bloat = results / last.current_tokens if last.current_tokens else None
        history[-1] = msgspec.structs.replace(history[-1], tool_result_bloat=bloat)
    return Status(last, parts, tuple(_largest(seen.conversation.blocks)), tuple(history))


def _parts(seen: SeenConversation, current: int, limit: Limit, config: WindowConfig) -> tuple[ComponentUse, ...]:
    """Return what each component uses. The parts of a window of which the model reported the whole sum to that.

    A difference of up to 10 % is spread over the parts, since tokens are counted inexactly; the rest is a part of its
    own.
    """
    try:
        limits = limits_of(limit.usable, config.budget.by_component())
    except ValueError as error:
        raise MemctlError(str(error), exit_code=USAGE) from None
    used = token_budget.use_by_component(seen.conversation)
    left = max(limit.usable - current, 0)
    used[BudgetComponent.OUTPUT_RESERVED] = max(limits[BudgetComponent.OUTPUT_RESERVED] - left, 0)
    others = tuple(component for component in BudgetComponent if component not in _FRAME)
    if seen.curve.source != MODEL_REPORTED:
        return tuple(ComponentUse((component,), used[component], limits[component]) for component in BudgetComponent)
    frame = _frame(seen)
    counted = sum(used[component] for component in others if component is not BudgetComponent.OUTPUT_RESERVED)
    scale = min(max(current - frame, 0) / counted, 1 + _MISCOUNTED) if counted else 0.0
    scaled = {c: used[c] if c is BudgetComponent.OUTPUT_RESERVED else round(used[c] * scale) for c in others}
    rest = int(current - frame - counted * scale) if counted else 0
    return (
        ComponentUse(_FRAME, frame if counted else current, sum(limits[component] for component in _FRAME)),
        *(ComponentUse((component,), scaled[component], limits[component]) for component in others),
        *([ComponentUse((), rest, 0)] if rest > 1 else []),
    )


def _frame(seen: SeenConversation) -> int:
    """Return the system prompt and the tools, which no transcript holds: what the first request had beside its text.

    No request has had less than that.
    """
    curve = seen.curve
    return max(min(curve.points[0] - seen.counter.tokens(curve.beginning, "chat"), *curve.points), 0)


def _largest(blocks: Sequence[ContentBlock]) -> list[Large]:
    calls = {block.call_id: block for block in blocks if block.is_call}
    results = [block for block in blocks if block.content_type is ContentType.TOOL_RESULT]
    largest = sorted(results, key=lambda block: -block.token_count)[:LARGEST]
    return [
        Large(
            tool=block.tool_name,
            about=_about(calls.get(block.call_id)),
            tokens=block.token_count,
            turn=block.turn_created,
            line=int(block.metadata.get("line") or 0),
        )
        for block in largest
        if block.token_count
    ]


def _about(call: ContentBlock | None) -> str:
    return cut(redact(one_line(call.main_argument[: 10 * _LONGEST])), _LONGEST) if call is not None else ""
