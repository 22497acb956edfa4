"""The compression engine: five strategies, and a cascade of them, the cheapest first (rules.md#window-compression)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from memctl.record import argument_checks
from memctl.window.compression.notes import MAX_TOKENS, Notes
from memctl.window.compression.result import (
    CompressionResult,
    CompressionStep,
    CompressionStrategy,
    refusal,
    result_of,
)
from memctl.window.messages.content import TokenCounter
from memctl.window.messages.conversation import Conversation, check
from memctl.window.steps import COMPACTION_FROM, EVICTION, KEPT_TURNS, LARGE, LEAST_GAIN, STEPS, steps_at

# What compresses is imported when it is called for: most turns of a loop compress nothing.
if TYPE_CHECKING:
    from memctl.providers.provider import Provider
    from memctl.window.compression.cascade import Dispatcher
    from memctl.window.compression.model import Ask, Instructions, Model
    from memctl.window.compression.result import Cascade
    from memctl.window.eviction.engine import EvictionEngine
    from memctl.window.preservation.essentials import Essential


def expect_result(tool_name: object, output: object, arguments: object) -> None:
    """Raise MemctlError unless these are a tool's name, a text, and a mapping or None."""
    argument_checks.texts(tool_name=tool_name, result=output)
    hint = "json.loads decodes arguments that are JSON"
    argument_checks.instance(arguments, (Mapping, type(None)), "arguments", "a mapping", hint)


class CompressionEngine:
    """Compresses conversations and single results.

    Everything is made by rules unless there is a `provider`: a function `(system, user) -> str`, or an object with a
    `name` and `answer(prompt)`. What that says is checked, and made by rules if it loses something. `instructions` are
    added to what it is asked. `dispatcher` starts sub-agents, if the host has any.
    """

    def __init__(
        self,
        counter: TokenCounter,
        *,
        provider: Provider | Ask | None = None,
        instructions: Instructions | None = None,
        dispatcher: Dispatcher | None = None,
        threshold: int = LARGE,
        cascade: Mapping[float, str] = STEPS,
        compaction_from: float = COMPACTION_FROM,
        kept_turns: int = KEPT_TURNS,
        notes: Notes | None = None,
    ) -> None:
        argument_checks.instance(counter, TokenCounter, "counter", "something with a method `tokens`")
        argument_checks.instance(cascade, Mapping, "cascade", "a mapping of utilisations to steps")
        argument_checks.numbers(threshold=threshold, compaction_from=compaction_from, kept_turns=kept_turns)
        self.notes = notes if notes is not None else Notes()
        self.counter = counter
        self.model: Model | None = None
        if provider is not None:
            from memctl.window.compression.model import Model

            self.model = Model(provider, instructions)
        self.dispatcher = dispatcher
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
        whole: str = "",
    ) -> CompressionResult:
        """Sum up one result before it goes into the window; `needed` are strings that must stay, `whole` says how the
        rest is got.

        Refused if it has no more than the threshold's tokens, or if nothing worth it can be saved.
        """
        from memctl.window.compression.model import Text, counted, result_by
        from memctl.window.results import summary

        expect_result(tool_name, output, arguments)
        strategy, before = CompressionStrategy.TOOL_RESULT, self._count(output)
        if before <= self._threshold:
            return refusal(strategy, before, f"it has no more than {self._threshold:,} tokens", output)
        if self.model is not None:
            self.model.begin()
            what = f"the output of the tool {tool_name!r}"
            asked = Text("1", what, output, before, max(int(before * summary.GOAL), 1))
            answer = self.model.shorter([asked]).get("1", "")
            text = result_by(answer, self.model.name, tool_name, arguments or {}, output, needed) if answer else ""
            tokens = self._count(text)
            is_used = bool(text) and tokens <= before * (1 - LEAST_GAIN)
            self.model.count(used=is_used, refused=bool(answer) and not is_used)
            if is_used:
                return result_of(strategy, before, tokens, text, **counted(self.model))
        calls = counted(self.model)
        made = summary.summarize(tool_name, arguments or {}, output, self._count, needed=needed, whole=whole)
        if made is None:
            return refusal(strategy, before, "it would save less than 10 %", output, **calls)
        return result_of(strategy, before, made.tokens, made.text, **calls)

    def summarize_results(
        self, conversation: Conversation, free: int | None = None, *, is_unread: bool = False
    ) -> CompressionStep:
        """Sum up large results, the largest first, until `free` tokens are saved (all of them if None): those that the
        model has read, or with `is_unread` the others."""
        from memctl.window.compression import shortening

        check(conversation)
        argument_checks.numbers_or_none(free=free)
        return shortening.summarize_results(
            conversation, self.counter, threshold=self._threshold, model=self.model, free=free, is_unread=is_unread
        )

    def progressive_summarize(
        self, conversation: Conversation, earlier: Sequence[Essential] = (), free: int | None = None
    ) -> CompressionStep:
        """Tell older turns in less, the oldest first, until `free` tokens are saved (all of them if None).

        `earlier` is what had to survive in the conversation before it was made shorter.
        """
        from memctl.window.compression import shortening

        check(conversation)
        argument_checks.numbers_or_none(free=free)
        return shortening.progressive(conversation, self.counter, model=self.model, earlier=earlier, free=free)

    def compact_conversation(
        self, conversation: Conversation, earlier: Sequence[Essential] = (), target: int | None = None
    ) -> CompressionStep:
        """Put a digest in the place of all but the last turns, of which `target` tokens say how many; `earlier` as
        above."""
        from memctl.window.compression import compaction

        check(conversation)
        argument_checks.numbers_or_none(target=target)
        kept = self._kept_turns
        return compaction.compact(conversation, self.counter, kept, self.model, earlier, target)

    def about(self, goal: str) -> None:
        """Tell the model what the task is, from now on."""
        if self.model is not None:
            self.model.instructions = msgspec.structs.replace(self.model.instructions, goal=goal)

    def take_notes(self, max_tokens: int = MAX_TOKENS) -> CompressionResult:
        """Return the notes as a text for the window."""
        text = self.notes.for_context(self._count, max_tokens)
        whole = self.notes.for_context(self._count, 1 << 40)
        return result_of(CompressionStrategy.NOTE_TAKING, self._count(whole), self._count(text), text)

    def dispatch_to_sub_agent(self, task_spec: str, required_context: str = "") -> CompressionResult:
        """Let a sub-agent do a task; only its summary comes back."""
        from memctl.window.compression import cascade

        argument_checks.texts(task_spec=task_spec, required_context=required_context)
        return cascade.dispatch(task_spec, required_context, self.dispatcher, self._count)

    def execute_cascade(
        self,
        conversation: Conversation,
        max_tokens: int | None,
        target: int,
        evictor: EvictionEngine | None = None,
    ) -> Cascade:
        """Bring a conversation down to `target` tokens by what its utilisation of `max_tokens` calls for.

        None for `max_tokens` calls for every step. In the order of cost: results are summed up, then the `evictor`
        frees what is still missing, then older turns are shortened, then the beginning is compacted. A step is only
        made if the target is not reached.
        """
        from memctl.window.compression import cascade

        check(conversation)
        argument_checks.numbers(target=target)
        argument_checks.numbers_or_none(max_tokens=max_tokens)
        utilization = 1.0 if max_tokens is None else conversation.tokens / max(max_tokens, 1)
        return cascade.run(self, conversation, target, self.steps_at(utilization), evictor)

    def steps_at(self, utilization: float) -> list[str]:
        """Return the steps that a utilisation allows; eviction goes with any."""
        return [*steps_at(utilization, self._cascade, self._compaction_from), EVICTION]

    def _count(self, text: str) -> int:
        return self.counter.tokens(text, "log")
