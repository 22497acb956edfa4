"""The cascade: steps make a conversation smaller until it has a target size (rules.md#window-compression).

The cheapest step is first, and a step runs only while tokens are still to be freed. Policies of eviction know nothing
of decisions or errors, so that the cascade has them spare blocks which hold something that must survive.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import msgspec

from memctl.record import argument_checks
from memctl.record.task_state import DONE, PLANNED
from memctl.window.compression import model
from memctl.window.compression.model import Model
from memctl.window.compression.result import (
    Cascade,
    CompressionResult,
    CompressionStep,
    CompressionStrategy,
    Step,
    refusal,
    result_of,
    step_of,
)
from memctl.window.eviction.engine import ChangedBlock, EvictionEngine
from memctl.window.messages.content import ContentBlock, TokenCounter
from memctl.window.messages.conversation import Conversation
from memctl.window.preservation import checklist, essentials, events
from memctl.window.preservation.checklist import Entry
from memctl.window.preservation.essentials import Essential
from memctl.window.steps import ALL, COMPACTION, EVICTION, PROGRESSIVE, RESULTS, SUB_AGENT

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
    """A sub-agent's answer: its summary, the tokens that its own window took, and its calls of a model."""

    summary: str
    tokens_used: int
    llm_calls: int = 0


Dispatcher = Callable[[str, str], SubAgentAnswer]


class Effort(msgspec.Struct, frozen=True):
    """The likely effort of a subtask: the calls of tools and the tokens that earlier ones took on average."""

    calls: float
    tokens: float


def reason_against(subtask: str, effort: Effort) -> str:
    """Return why a subtask is better done in the main window, "" if it is worth a window of its own.

    It is worth one if its text alone tells what to do, and if it takes much exploration.
    """
    text = subtask.strip()
    if not text:
        return "there is no open subtask"
    if len(_SENTENCE.split(text.rstrip(".!?;"))) > MOST_SENTENCES:
        return f"its text has more than {MOST_SENTENCES} sentences"
    if found := _REFERS.search(text):
        return f"it depends on the conversation ({found[0]!r})"
    if effort.calls < LEAST_CALLS and effort.tokens < LEAST_TOKENS:
        return f"it is likely to take only {effort.calls:.0f} calls and {effort.tokens:,.0f} tokens"
    return ""


def choose_subtask(blocks: Sequence[ContentBlock], goal: str, done: Collection[str]) -> tuple[str, str, str]:
    """Return the first open subtask that is worth a sub-agent, the context that it needs, and "".

    If there is none, return "", "" and the reason. `done` are subtasks that were delegated before.
    """
    happened = events.of_blocks(blocks)
    finished = max(sum(task.status == DONE for task in happened.tasks), 1)
    calls = sum(block.is_call for block in blocks)
    effort = Effort(calls / finished, sum(block.token_count for block in blocks) / finished)
    why = reason_against("", effort)
    for task in happened.tasks:
        if task.status != PLANNED or task.text in done:
            continue
        why = reason_against(task.text, effort)
        if not why:
            wishes = [line for prompt in happened.prompts for line in essentials.binding(prompt)]
            parts = [goal or (happened.prompts[0] if happened.prompts else ""), *dict.fromkeys(wishes)]
            return task.text, "\n".join(parts), ""
    return "", "", why


def dispatch(
    task: str, context: str, dispatcher: Dispatcher | None, count: Callable[[str], int], most: int = MOST_TOKENS
) -> CompressionResult:
    """Have a sub-agent do a task, and return its summary as a compression of the tokens that it took.

    `task` is one or two sentences. Refused without a dispatcher, if the sub-agent fails or says nothing, and if its
    summary has more than `most` tokens.
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


WHY = "it alone has something that must survive"


class Compressor(Protocol):
    """What the cascade needs of a compression engine; `free` and `target` are tokens."""

    counter: TokenCounter
    model: Model | None
    dispatcher: Dispatcher | None

    def summarize_results(
        self, conversation: Conversation, free: int | None = None, *, is_unread: bool = False
    ) -> CompressionStep: ...
    def progressive_summarize(
        self, conversation: Conversation, earlier: Sequence[Essential] = (), free: int | None = None
    ) -> CompressionStep: ...
    def compact_conversation(
        self, conversation: Conversation, earlier: Sequence[Essential] = (), target: int | None = None
    ) -> CompressionStep: ...
    def dispatch_to_sub_agent(self, task_spec: str, required_context: str = "") -> CompressionResult: ...


def run(
    engine: Compressor,
    conversation: Conversation,
    target: int,
    allowed: Collection[str] = ALL,
    evictor: EvictionEngine | None = None,
) -> Cascade:
    """Make a conversation smaller by the `allowed` steps until it has at most `target` tokens, or as near as they
    get.
    """
    if conversation.tokens <= target:
        return Cascade(conversation, target)
    wanted = essentials.of_blocks(conversation.blocks)
    steps: list[Step] = []
    for name in ALL:
        free = conversation.tokens - target
        if free <= 0 or name not in allowed or (name == EVICTION and evictor is None):
            continue
        if name == EVICTION:
            assert evictor is not None
            conversation, step = _evicted(engine, evictor, conversation, free, wanted)
        else:
            compress = {
                RESULTS: partial(engine.summarize_results, free=free),
                PROGRESSIVE: partial(engine.progressive_summarize, earlier=wanted, free=free),
                COMPACTION: partial(engine.compact_conversation, earlier=wanted, target=target),
            }[name]
            conversation, step = _compressed(conversation, free, compress(conversation))
        steps.append(step)
    return Cascade(conversation, target, tuple(steps))


def unread(engine: Compressor, done: Cascade, most: int) -> Cascade:
    """Sum up results that the model has not read, until at most `most` tokens are left: the last resort after
    `done`.
    """
    before, free = done.conversation, done.tokens - most
    if free <= 0:
        return done
    conversation, step = _compressed(before, free, engine.summarize_results(before, free, is_unread=True))
    step = msgspec.structs.replace(step, name="unread_results")
    return msgspec.structs.replace(done, conversation=conversation, steps=(*done.steps, step))


def delegate(engine: Compressor, done: Cascade, goal: str, given: set[str]) -> Cascade:
    """Have a sub-agent do the first open subtask that is worth it, and put its summary behind the last message.

    Nothing is done if the target is reached, or without a dispatcher. `goal` is the task's; the subtask is added to
    `given`, which has those delegated before.
    """
    conversation = done.conversation
    size, wanted = conversation.tokens, conversation.tokens - done.target
    if engine.dispatcher is None or wanted <= 0:
        return done
    subtask, context, why = choose_subtask(conversation.blocks, goal, given)
    step, text = Step(SUB_AGENT, size, size, wanted, refused=why), ""
    if subtask:
        given.add(subtask)
        made = engine.dispatch_to_sub_agent(subtask, context)
        step = step_of(made, wanted, name=SUB_AGENT, note=subtask)
        if not made.refused:
            text = f"[Summary of a sub-agent that did: {subtask}]\n{made.compressed_content}"
            conversation = conversation.with_text(text, engine.counter)
    return Cascade(conversation, done.target, (*done.steps, step), text)


def _compressed(before: Conversation, free: int, made: CompressionStep) -> tuple[Conversation, Step]:
    """Return a compression as a step, with the blocks that it changed; those of a compaction are gone."""
    names = set(made.result.metadata.get("blocks", ()))
    is_compaction = made.result.strategy is CompressionStrategy.COMPACTION
    after = {} if is_compaction else {block.block_id: block.token_count for block in made.conversation.blocks}
    changes = [
        ChangedBlock(b.block_id, b.content_type, b.tool_name, b.turn_created, b.token_count, after.get(b.block_id, 0))
        for b in before.blocks
        if b.block_id in names
    ]
    return made.conversation, step_of(made.result, free, tuple(changes))


def _evicted(
    engine: Compressor,
    evictor: EvictionEngine,
    conversation: Conversation,
    free: int,
    wanted: Sequence[Essential],
) -> tuple[Conversation, Step]:
    """Free tokens without losing any of `wanted` that the conversation still has, or as many as can be freed."""
    present = essentials.present(wanted, conversation.blocks)
    spared: dict[str, str] = {}
    while True:
        result = evictor.evict(conversation.blocks, free, conversation.current_turn, spared=spared)
        new = conversation.changed(result.replacements, engine.counter)
        lost = essentials.missing(present, new.blocks)
        if not lost:
            break
        holding = [
            block.block_id
            for one in lost
            for block in [b for b in result.blocks_evicted if not essentials.missing([one], [b])][-1:]  # the newest
        ]
        # What no single block holds is spread over several: then all of these stay.
        spared |= dict.fromkeys(holding or [block.block_id for block in result.blocks_evicted], WHY)
    calls = model.call_counts(engine.model)
    return new, Step(
        EVICTION, conversation.tokens, new.tokens, free, refused="" if result.evictions else "no block may be evicted",
        note=result.policy_name, blocks=len(result.evictions), policy=result.policy_name,
        changes=tuple(result.evictions), llm_calls=calls.get("llm_calls_used", 0),
        llm_used=calls.get("llm_answers_used", 0), llm_refused=calls.get("llm_answers_refused", 0),
    )  # fmt: skip


@dataclass(frozen=True)
class Reduction:
    """A conversation made smaller, with two checks of what it lost.

    `wanted` is what had to survive and `lost` what of it did not. `listed` and `missed` are the same by an independent
    list (`checklist`), which no step of compression uses.
    """

    cascade: Cascade
    wanted: tuple[Essential, ...]
    lost: tuple[Essential, ...] = ()
    listed: tuple[Entry, ...] = ()
    missed: tuple[Entry, ...] = ()

    @property
    def conversation(self) -> Conversation:
        """The conversation that is left."""
        return self.cascade.conversation

    @property
    def by_kind(self) -> dict[str, tuple[int, int]]:
        """For each kind of thing that had to survive: how many there were, and how many are left."""
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
    """Make a conversation smaller until it has at most `target` tokens, and check what of it must have survived.

    A target out of reach is no error: all `steps` run then.
    """
    wanted = tuple(essentials.of_blocks(conversation.blocks))
    done = run(engine, conversation, target, steps, evictor)
    if not done.steps:
        return Reduction(done, wanted)
    lost = tuple(essentials.missing(wanted, done.conversation.blocks))
    listed = checklist.of_blocks(conversation.blocks)
    missed = checklist.missing(listed, "\n".join(block.content for block in done.conversation.blocks))
    return Reduction(done, wanted, lost, tuple(listed), tuple(missed))
