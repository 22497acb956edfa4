"""Sub-agents: which subtask is worth a sub-agent, and the summary that a sub-agent returns.

The rules are in rules.md#window-compression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

import msgspec

from memctl.record import argument_checks
from memctl.record.task_state import DONE, PLANNED
from memctl.window.compression.result import CompressionResult, CompressionStrategy, refusal, result_of
from memctl.window.messages.content import ContentBlock
from memctl.window.preservation import essentials, events

MOST_TOKENS = 2_000  # of the summary; rules.md#window-compression
# What makes a subtask worth a window of its own: its text has so few sentences, and takes so many calls or tokens.
MOST_SENTENCES, LEAST_CALLS, LEAST_TOKENS = 2, 10, 50_000  # rules.md#window-compression
# Words that refer to an earlier part: anywhere, or as the object of the first verb.
_REFERS = re.compile(
    r"\b(?:above|again|earlier|previous(?:ly)?|the same|the rest|remaining)\b"
    r"|^\W*(?:\w+\W+){0,2}(?:it|this|that|these|those|them)\b(?=\W*(?:$|as\b|and\b|[.,;]))",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?;]\s+(?=\S)|\n")
_STRATEGY = CompressionStrategy.SUB_AGENT


class SubAgentAnswer(msgspec.Struct, frozen=True):
    """A sub-agent's answer: its summary, how many tokens its own window took, and how often it called a model."""

    summary: str
    tokens_used: int
    llm_calls: int = 0


Dispatcher = Callable[[str, str], SubAgentAnswer]


def reason_against(subtask: str, calls: float, tokens: float) -> str:
    """Return the reason why a subtask is better done in the main window; "" if it is worth a window of its own.

    It is worth one if its text has at most two sentences and does not refer to the conversation, and if it is likely to
    take at least 10 calls of tools or 50,000 tokens. As an estimate of that, `calls` and `tokens` are how many the
    finished subtasks took on average.
    """
    text = subtask.strip()
    if not text:
        return "there is no open subtask"
    if len(_SENTENCE.split(text.rstrip(".!?;"))) > MOST_SENTENCES:
        return f"the subtask has more than {MOST_SENTENCES} sentences"
    if reference := _REFERS.search(text):
        return f"the subtask refers to the conversation ({reference[0]!r})"
    if calls < LEAST_CALLS and tokens < LEAST_TOKENS:
        return f"the subtask is likely to take only {calls:.0f} calls and {tokens:,.0f} tokens"
    return ""


def choose_subtask(blocks: Sequence[ContentBlock], goal: str, done: Collection[str]) -> tuple[str, str, str]:
    """Return the first open subtask that is worth a sub-agent, the context that the sub-agent needs, and "".

    If no subtask is worth it, return "", "" and the reason. `goal` is the goal of the whole task, with which the
    context begins; `done` has the subtasks that were delegated before.
    """
    happened = events.of_blocks(blocks)
    finished = max(sum(task.status == DONE for task in happened.tasks), 1)
    effort = sum(block.is_call for block in blocks) / finished, sum(block.token_count for block in blocks) / finished
    why = reason_against("", *effort)
    for task in [task for task in happened.tasks if task.status == PLANNED and task.text not in done]:
        why = reason_against(task.text, *effort)
        if not why:
            wishes = [line for prompt in happened.prompts for line in essentials.binding(prompt)]
            parts = [goal or (happened.prompts[0] if happened.prompts else ""), *dict.fromkeys(wishes)]
            return task.text, "\n".join(parts), ""
    return "", "", why


def dispatch(task: str, context: str, dispatcher: Dispatcher | None, count: Callable[[str], int]) -> CompressionResult:
    """Have a sub-agent do a task in a window of its own, and return its summary as the result of a compression.

    `task` is one or two sentences, `context` is what the sub-agent has to know, `dispatcher` is the function that
    starts it, and `count` counts the tokens of a text. In the result, `original_tokens` are the tokens that the
    sub-agent used, and `compressed_tokens` those of its summary. The result has a reason in `refused` if there is no
    dispatcher, if the sub-agent fails, or if its summary is empty or has more than 2,000 tokens.
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
        return refusal(_STRATEGY, before, "the sub-agent gave no answer", llm_calls_used=answer.llm_calls)
    if tokens > MOST_TOKENS:
        why = f"the sub-agent's summary has {tokens:,} tokens, more than {MOST_TOKENS:,}"
        return refusal(_STRATEGY, before, why, llm_calls_used=answer.llm_calls)
    used = max(answer.tokens_used, tokens)
    return result_of(_STRATEGY, used, tokens, answer.summary, llm_calls_used=answer.llm_calls)
