"""Delegation: a subtask in a window of its own, of which only a short summary comes back (rules.md#window-compression).

memctl starts no agents: the host gives the function that does. What comes back is a summary or it is refused: a
sub-agent whose whole output is taken in makes the window fuller.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from memctl.record import argument_checks
from memctl.window.compression.result import CompressionResult, CompressionStrategy, refusal, result_of

MOST_TOKENS = 2_000  # of the summary; rules.md#window-compression
_STRATEGY = CompressionStrategy.SUB_AGENT


class SubAgentAnswer(msgspec.Struct, frozen=True):
    """What a sub-agent gives back: its summary, the tokens that its own window took, and its calls of a model."""

    summary: str
    tokens_used: int
    llm_calls: int = 0


Dispatcher = Callable[[str, str], SubAgentAnswer]


def delegate(
    task: str, context: str, dispatcher: Dispatcher | None, count: Callable[[str], int], most: int = MOST_TOKENS
) -> CompressionResult:
    """Let a sub-agent do a task, given in one or two sentences, with the context that it needs.

    Refused without a dispatcher, if it fails, if it says nothing, and if its summary has more than `most` tokens.
    """
    before = count(task)
    if dispatcher is None:
        return refusal(_STRATEGY, before, "no sub-agent is configured")
    try:
        answer = dispatcher(task, context)
        argument_checks.instance(answer, SubAgentAnswer, "its answer", "a SubAgentAnswer")
        argument_checks.texts(summary=answer.summary)
        argument_checks.numbers(tokens_used=answer.tokens_used)
    except Exception as error:  # the host's own code: whatever it raises, the window stays as it is
        return refusal(_STRATEGY, before, f"the sub-agent failed: {type(error).__name__}: {error}")
    tokens = count(answer.summary)
    if not answer.summary.strip():
        return refusal(_STRATEGY, before, "the sub-agent said nothing", llm_calls_used=answer.llm_calls)
    if tokens > most:
        why = f"its summary has {tokens:,} tokens, more than {most:,}"
        return refusal(_STRATEGY, before, why, llm_calls_used=answer.llm_calls)
    used = max(answer.tokens_used, tokens)
    return result_of(_STRATEGY, used, tokens, answer.summary, llm_calls_used=answer.llm_calls)
