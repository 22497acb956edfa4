"""The compression engine: five strategies, and a cascade of them, the cheapest first (rules.md#window-compression)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from memctl.providers.provider import Provider
from memctl.record import argument_checks
from memctl.window.compression import compaction, delegation, shortening, worded
from memctl.window.compression.delegation import Dispatcher
from memctl.window.compression.notes import MAX_TOKENS, Notes
from memctl.window.compression.result import (
    LEAST_GAIN,
    CompressionResult,
    CompressionStep,
    CompressionStrategy,
    refusal,
    result_of,
)
from memctl.window.compression.strategies import COMPACTION_FROM, KEPT_TURNS, STEPS, called_for
from memctl.window.messages.content import TokenCounter
from memctl.window.messages.conversation import Conversation, check
from memctl.window.preservation import essentials
from memctl.window.preservation.essentials import Essential
from memctl.window.results import summary

Evict = Callable[[Conversation, int], Conversation]


class Cascade(msgspec.Struct, frozen=True):
    """What a cascade came to: the conversation, its tokens, what each step did, and whether the target is reached.

    `evicted` are the tokens that eviction freed between the steps.
    """

    conversation: Conversation
    tokens: int
    results: tuple[CompressionResult, ...]
    evicted: int
    is_reached: bool


def expect_result(tool_name: object, output: object, arguments: object) -> None:
    """Raise MemctlError unless these are a tool's name, a text, and a mapping or None."""
    argument_checks.texts(tool_name=tool_name, result=output)
    hint = "json.loads decodes arguments that are JSON"
    argument_checks.instance(arguments, (Mapping, type(None)), "arguments", "a mapping", hint)


class CompressionEngine:
    """Compresses conversations and single results.

    Everything is made by rules unless there is a `provider`. What that says is checked, and made by rules if it loses
    something. `dispatcher` starts sub-agents, if the host has any.
    """

    def __init__(
        self,
        counter: TokenCounter,
        *,
        provider: Provider | None = None,
        dispatcher: Dispatcher | None = None,
        threshold: int = summary.THRESHOLD,
        cascade: Mapping[float, str] = STEPS,
        compaction_from: float = COMPACTION_FROM,
        kept_turns: int = KEPT_TURNS,
        notes: Notes | None = None,
    ) -> None:
        argument_checks.instance(counter, TokenCounter, "counter", "something with a method `tokens`")
        argument_checks.instance(cascade, Mapping, "cascade", "a mapping of utilisations to steps")
        argument_checks.numbers(threshold=threshold, compaction_from=compaction_from, kept_turns=kept_turns)
        self.notes = notes if notes is not None else Notes()
        self._counter = counter
        self._provider = provider
        self._dispatcher = dispatcher
        self._threshold = threshold
        self._cascade = dict(cascade)
        self._compaction_from = compaction_from
        self._kept_turns = kept_turns

    def compress_tool_result(
        self,
        tool_name: str,
        output: str,
        arguments: Mapping[str, Any] | None = None,
        needed: Collection[str] = (),
    ) -> CompressionResult:
        """Sum up one result before it goes into the window; `needed` are strings that must stay.

        Refused if it has no more than the threshold's tokens, or if nothing worth it can be saved.
        """
        expect_result(tool_name, output, arguments)
        strategy, before = CompressionStrategy.TOOL_RESULT, self._count(output)
        if before <= self._threshold:
            return refusal(strategy, before, f"it has no more than {self._threshold:,} tokens", output)
        calls = 0
        if self._provider is not None:
            calls = 1
            sizes = before, max(int(before * summary.GOAL), 1)
            said = worded.result(self._provider, tool_name, arguments or {}, output, sizes, needed)
            tokens = self._count(said)
            if said and tokens <= before * (1 - LEAST_GAIN):
                return result_of(strategy, before, tokens, said, llm_calls_used=calls)
        made = summary.summarize(tool_name, arguments or {}, output, self._count, needed=needed)
        if made is None:
            return refusal(strategy, before, "it would save less than 10 %", output, llm_calls_used=calls)
        return result_of(strategy, before, made.tokens, made.text, llm_calls_used=calls)

    def summarize_results(self, conversation: Conversation, free: int | None = None) -> CompressionStep:
        """Sum up large results, the largest first, until `free` tokens are saved (all of them if None)."""
        check(conversation)
        argument_checks.numbers_or_none(free=free)
        return shortening.summarize_results(
            conversation, self._counter, threshold=self._threshold, provider=self._provider, free=free
        )

    def progressive_summarize(
        self, conversation: Conversation, earlier: Sequence[Essential] = (), free: int | None = None
    ) -> CompressionStep:
        """Tell older turns in less, the oldest first, until `free` tokens are saved (all of them if None).

        `earlier` is what had to survive in the conversation before it was made shorter.
        """
        check(conversation)
        argument_checks.numbers_or_none(free=free)
        return shortening.progressive(conversation, self._counter, provider=self._provider, earlier=earlier, free=free)

    def compact_conversation(
        self, conversation: Conversation, earlier: Sequence[Essential] = (), target: int | None = None
    ) -> CompressionStep:
        """Put a digest in the place of all but the last turns, of which `target` tokens say how many; `earlier` as
        above."""
        check(conversation)
        argument_checks.numbers_or_none(target=target)
        return compaction.compact(
            conversation,
            self._counter,
            kept_turns=self._kept_turns,
            provider=self._provider,
            earlier=earlier,
            target=target,
        )

    def take_notes(self, max_tokens: int = MAX_TOKENS) -> CompressionResult:
        """The notes as a text for the window."""
        text = self.notes.for_context(self._count, max_tokens)
        whole = self.notes.for_context(self._count, 1 << 40)
        return result_of(CompressionStrategy.NOTE_TAKING, self._count(whole), self._count(text), text)

    def dispatch_to_sub_agent(self, task_spec: str, required_context: str = "") -> CompressionResult:
        """Let a sub-agent do a task; only its summary comes back."""
        argument_checks.texts(task_spec=task_spec, required_context=required_context)
        return delegation.delegate(task_spec, required_context, self._dispatcher, self._count)

    def execute_cascade(
        self,
        conversation: Conversation,
        max_tokens: int | None,
        target: int,
        evict: Evict | None = None,
        task: str = "",
    ) -> Cascade:
        """Bring a conversation down to `target` tokens by what its utilisation of `max_tokens` calls for.

        None for `max_tokens` calls for every step. In the order of cost: results are summed up, then `evict` frees what
        is still missing (it gets the conversation and that number), then older turns are told shorter, then the
        beginning is compacted, then `task` is delegated, which frees nothing here but saves what it would have taken. A
        step is only made if the target is not reached.
        """
        check(conversation)
        argument_checks.numbers(target=target)
        argument_checks.numbers_or_none(max_tokens=max_tokens)
        utilization = 1.0 if max_tokens is None else conversation.tokens / max(max_tokens, 1)
        allowed = called_for(utilization, self._cascade, self._compaction_from)
        wanted = essentials.of_blocks(conversation.blocks)
        results: list[CompressionResult] = []
        evicted = 0
        steps: tuple[tuple[str, Callable[[Conversation], CompressionStep]], ...] = (
            ("tool_result_summarization", lambda c: self.summarize_results(c, c.tokens - target)),
            ("progressive", lambda c: self.progressive_summarize(c, wanted, c.tokens - target)),
            ("conversation_compaction", lambda c: self.compact_conversation(c, wanted, target)),
        )
        for name, step in steps:
            if conversation.tokens > target and name in allowed:
                made = step(conversation)
                conversation = made.conversation
                results.append(made.result)
            if name == steps[0][0] and evict is not None and conversation.tokens > target:
                before = conversation.tokens
                conversation = evict(conversation, before - target)
                evicted = before - conversation.tokens
        if task and "sub_agent" in allowed and conversation.tokens > target:
            results.append(self.dispatch_to_sub_agent(task))
        tokens = conversation.tokens
        return Cascade(conversation, tokens, tuple(results), evicted, tokens <= target)

    def _count(self, text: str) -> int:
        return self._counter.tokens(text, "log")
