"""The compression engine: makes conversations smaller by five strategies, of which it tries the cheapest first.

The rules are in rules.md#window-compression.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from memctl.record import argument_checks
from memctl.text.phrases import quantity
from memctl.window import steps
from memctl.window.compression.notes import MAX_TOKENS, Notes
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
from memctl.window.messages.content import ContentBlock, TokenCounter
from memctl.window.messages.conversation import Conversation, check

# What compresses is imported when it is called for: most turns of a loop compress nothing.
if TYPE_CHECKING:
    from memctl.providers.provider import Provider
    from memctl.window.compression.model import Ask, Instructions, Model
    from memctl.window.compression.sub_agent import Dispatcher
    from memctl.window.eviction.engine import EvictionEngine
    from memctl.window.preservation.checklist import Entry
    from memctl.window.preservation.essentials import Essential

HOLDS_ESSENTIAL = "the block is the only one with something that must be kept"
_TRIALS = 3  # of a step: with nothing marked, and twice with what the trial before had lost


def expect_result(tool_name: object, output: object, arguments: object) -> None:
    """Check the types of what a host says about a tool's result; raise MemctlError for a wrong type.

    The tool's name and the output are to be texts, and the arguments of the call a mapping or None.
    """
    argument_checks.texts(tool_name=tool_name, result=output)
    hint = "if the arguments are JSON text, decode them with json.loads"
    argument_checks.instance(arguments, (Mapping, type(None)), "arguments", "a mapping", hint)


class CompressionEngine:
    """Compresses conversations and single results of tools, by rules or by a model.

    `provider` is the model: a function `(system, user) -> str`, or an object with `name` and `answer(prompt)`. A text
    of the model that loses something important, such as an error, is not used; rules shorten the original instead.
    `instructions` are added to each request to the model. `dispatcher` starts sub-agents, and `notes` are the agent's
    notes.

    Results of up to `threshold` tokens stay as they are. `cascade` has the names of steps by the utilisation (0 to 1)
    from which each may run, such as `{0.75: "tool_result_summarization"}`. A compaction never runs below the
    utilisation `compaction_from`, and leaves at least the last `kept_turns` turns as they are.
    """

    def __init__(
        self,
        counter: TokenCounter,
        *,
        provider: Provider | Ask | None = None,
        instructions: Instructions | None = None,
        dispatcher: Dispatcher | None = None,
        threshold: int = steps.LARGE,
        cascade: Mapping[float, str] = steps.STEPS,
        compaction_from: float = steps.COMPACTION_FROM,
        kept_turns: int = steps.KEPT_TURNS,
        notes: Notes | None = None,
    ) -> None:
        argument_checks.instance(counter, TokenCounter, "counter", "an object with a method `tokens`")
        argument_checks.instance(
            cascade, Mapping, "cascade", "a mapping from shares of the window, such as 0.8, to steps"
        )
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
        self, tool_name: str, output: str, arguments: Mapping[str, Any] | None = None, whole: str = ""
    ) -> CompressionResult:
        """Sum up one result of a tool before it goes into the window.

        `output` is the result, and `arguments` are those of the call. `whole` is a sentence on how to get the whole
        result; it becomes part of the shorter text if rules make it, not a model. The compression is refused, and the
        text stays as it is, if the result has at most as many tokens as the engine's `threshold`, or if less than 10 %
        would be saved.
        """
        from memctl.window.compression.model import Text, call_counts, result_by
        from memctl.window.results import summary

        expect_result(tool_name, output, arguments)
        strategy, before = CompressionStrategy.TOOL_RESULT, self._count(output)
        if before <= self._threshold:
            why = f"the output has only {before:,} tokens; outputs of up to {self._threshold:,} are not compressed"
            return refusal(strategy, before, why, output)
        if self.model is not None:
            self.model.begin()
            what = f"the output of the tool {tool_name!r}"
            request = Text("1", what, output, before, max(int(before * summary.GOAL), 1))
            answer = self.model.shorten([request]).get("1", "")
            text = result_by(answer, self.model.name, tool_name, arguments or {}, output) if answer else ""
            tokens = self._count(text)
            is_used = bool(text) and tokens <= before * (1 - steps.LEAST_GAIN)
            self.model.count(used=is_used, refused=bool(answer) and not is_used)
            if is_used:
                return result_of(strategy, before, tokens, text, **call_counts(self.model))
        calls = call_counts(self.model)
        made = summary.summarize(tool_name, arguments or {}, output, self._count, whole=whole)
        if made is None:
            return refusal(strategy, before, "a summary would save less than 10 % of the tokens", output, **calls)
        return result_of(strategy, before, made.tokens, made.text, **calls)

    def summarize_results(
        self, conversation: Conversation, free: int | None = None, *, is_unread: bool = False
    ) -> CompressionStep:
        """Sum up large results of tools in a conversation, the largest first, until `free` tokens are saved.

        With None for `free`, all large results are summed up. Only results that the model has read already are summed
        up, or with `is_unread` only those that it has not read yet.
        """
        from memctl.window.compression.strategies import Shortener

        argument_checks.numbers_or_none(free=free)
        shortener = Shortener(conversation, self.counter, self.model)
        return shortener.summarize_results(self._threshold, free, is_unread=is_unread)

    def progressive_summarize(
        self, conversation: Conversation, earlier: Sequence[Essential] = (), free: int | None = None
    ) -> CompressionStep:
        """Shorten answers of the model and results of tools, the oldest first, until `free` tokens are saved.

        With None for `free`, all of them are shortened. The older a text is, the shorter it becomes. `earlier` lists
        the things that an earlier step had to keep, such as decisions; this step must keep them, too.
        """
        from memctl.window.compression.strategies import Shortener

        argument_checks.numbers_or_none(free=free)
        return Shortener(conversation, self.counter, self.model, earlier).progressive(free)

    def compact_conversation(
        self, conversation: Conversation, earlier: Sequence[Essential] = (), target: int | None = None
    ) -> CompressionStep:
        """Replace the beginning of a conversation by a digest, which is a summary with headings; the last turns stay.

        At least the engine's `kept_turns` last turns stay. If there is a `target`, more turns stay, as long as the
        conversation then has at most `target` tokens. `earlier` lists the things that an earlier step had to keep, such
        as decisions; this step must keep them, too.
        """
        from memctl.window.compression.strategies import Compactor

        argument_checks.numbers_or_none(target=target)
        return Compactor(conversation, self.counter, self.model, earlier).compact(self._kept_turns, target)

    def about(self, goal: str) -> None:
        """Set the goal of the task, which becomes part of each request to the model."""
        if self.model is not None:
            self.model.instructions = msgspec.structs.replace(self.model.instructions, goal=goal)

    def take_notes(self, max_tokens: int = MAX_TOKENS) -> CompressionResult:
        """Return the agent's notes on the task as a text for the window, of at most `max_tokens` tokens.

        The text is the result's `compressed_content`; it is "" if there are no notes. The result's `original_tokens` is
        the size that all notes would have.
        """
        text = self.notes.for_context(self._count, max_tokens)
        whole = self.notes.for_context(self._count, 1 << 40)
        return result_of(CompressionStrategy.NOTE_TAKING, self._count(whole), self._count(text), text)

    def dispatch_to_sub_agent(self, task_spec: str, required_context: str = "") -> CompressionResult:
        """Have a sub-agent do a task in a window of its own, and return its summary as the result of a compression.

        `task_spec` is the task in one or two sentences, and `required_context` is what the sub-agent has to know. In
        the result, `original_tokens` are the tokens that the sub-agent used, and `compressed_tokens` those of its
        summary. The result has a reason in `refused` if there is no dispatcher, if the sub-agent fails, or if its
        summary is empty or exceeds 2,000 tokens.
        """
        from memctl.window.compression import sub_agent

        argument_checks.texts(task_spec=task_spec, required_context=required_context)
        return sub_agent.dispatch(task_spec, required_context, self.dispatcher, self._count)

    def execute_cascade(
        self, conversation: Conversation, max_tokens: int | None, target: int, evictor: EvictionEngine | None = None
    ) -> Cascade:
        """Make a conversation smaller until it has at most `target` tokens, by the steps that its utilisation allows.

        The utilisation is the conversation's tokens as a fraction of `max_tokens`; the fuller the window, the more
        steps are allowed. None for `max_tokens` allows all steps. The steps run in this order, as long as the target is
        not reached: results are summed up, the `evictor` takes blocks out, older turns are shortened, and the beginning
        is replaced by a digest.
        """
        check(conversation)
        argument_checks.numbers(target=target)
        argument_checks.numbers_or_none(max_tokens=max_tokens)
        utilization = 1.0 if max_tokens is None else conversation.tokens / max(max_tokens, 1)
        return self.run_steps(conversation, target, self.steps_at(utilization), evictor)

    def run_steps(
        self,
        conversation: Conversation,
        target: int,
        allowed: Collection[str] = steps.ALL,
        evictor: EvictionEngine | None = None,
        *,
        is_guarded: bool = False,
    ) -> Cascade:
        """Make a conversation smaller until it has at most `target` tokens, by the `allowed` steps, cheapest first.

        If the target can't be reached, all allowed steps run, and no error is raised. `evictor` takes blocks out of the
        conversation; without an evictor the step `eviction` is skipped. If `is_guarded`, a step is also refused if it
        loses a thing on the list of the module `preservation.checklist`. An agent's loop leaves `is_guarded` False,
        because a small window would overflow if too many steps were refused.
        """
        if conversation.tokens <= target:
            return Cascade(conversation, target)
        from memctl.window.preservation import checklist, essentials

        wanted = essentials.of_blocks(conversation.blocks)
        blocks = conversation.blocks
        listed = checklist.present(checklist.of_blocks(blocks), blocks) if is_guarded else []
        ran: list[Step] = []
        for name in steps.ALL:
            free = conversation.tokens - target
            if free <= 0 or name not in allowed or (name == steps.EVICTION and evictor is None):
                continue
            if name == steps.EVICTION:
                assert evictor is not None
                conversation, step = self._evict(evictor, conversation, free, wanted, listed)
            else:
                compress = {
                    steps.RESULTS: partial(self.summarize_results, free=free),
                    steps.PROGRESSIVE: partial(self.progressive_summarize, earlier=wanted, free=free),
                    steps.COMPACTION: partial(self.compact_conversation, earlier=wanted, target=target),
                }[name]
                conversation, step = _compress(compress, conversation, free, listed)
            ran.append(step)
        return Cascade(conversation, target, tuple(ran))

    def _evict(
        self,
        evictor: EvictionEngine,
        conversation: Conversation,
        free: int,
        wanted: Sequence[Essential],
        listed: Sequence[Entry],
    ) -> tuple[Conversation, Step]:
        from memctl.window.compression.model import call_counts
        from memctl.window.preservation import checklist, essentials

        present = essentials.present(wanted, conversation.blocks)
        spared: dict[str, str] = {}
        while True:
            result = evictor.evict(conversation.blocks, free, conversation.current_turn, spared=spared)
            new = conversation.changed(result.replacements, self.counter)
            lost = essentials.missing(present, new.blocks)
            missed = checklist.missing(listed, checklist.text_of(new.blocks))
            if not lost and not missed:
                break
            evicted = result.blocks_evicted
            # What no single block holds is spread over several: then all of these stay.
            holding = _holders(lost, missed, evicted) or {block.block_id for block in evicted}
            spared |= dict.fromkeys(holding, HOLDS_ESSENTIAL)
        calls, refused = call_counts(self.model), "" if result.evictions else "no block may be evicted"
        return new, Step(
            steps.EVICTION, conversation.tokens, new.tokens, free, refused,
            note=result.policy_name, blocks=len(result.evictions), policy=result.policy_name,
            changes=tuple(result.evictions), llm_calls=calls.get("llm_calls_used", 0),
            llm_used=calls.get("llm_answers_used", 0), llm_refused=calls.get("llm_answers_refused", 0),
        )  # fmt: skip

    def steps_at(self, utilization: float) -> list[str]:
        """Return the names of the steps of the cascade that may run at a utilisation of the window (0 to 1).

        The step `eviction` may always run.
        """
        return [*steps.steps_at(utilization, self._cascade, self._compaction_from), steps.EVICTION]

    def _count(self, text: str) -> int:
        return self.counter.tokens(text, "log")


def _compress(
    compress: Callable[[Conversation], CompressionStep], conversation: Conversation, free: int, listed: Sequence[Entry]
) -> tuple[Conversation, Step]:
    """Compress a conversation without a loss, of what is `listed` either; refused if that does not succeed."""
    from memctl.window.preservation import checklist

    marked = conversation
    for _ in range(_TRIALS):
        made = compress(marked)
        result, lost = made.result, made.result.metadata.get("lost", ())
        missed = () if result.refused else checklist.missing(listed, checklist.text_of(made.conversation.blocks))
        if not lost and not missed:
            break
        marked = marked.with_marks(_holders(lost, missed, marked.blocks))
    if missed:
        examples = "; ".join(f"{entry.kind} {entry.text[:80]!r}" for entry in missed[:5])
        why = f"{quantity(len(missed), 'thing')} on the checklist of what must survive would be lost: {examples}"
        result = refusal(result.strategy, conversation.tokens, why)
    after = conversation if result.refused else made.conversation
    return after, step_of(CompressionStep(after, result), free, conversation)


def _holders(lost: Iterable[Essential], missed: Iterable[Entry], blocks: Sequence[ContentBlock]) -> set[str]:
    from memctl.window.preservation import checklist, essentials

    holders = [[block for block in blocks if not essentials.missing([thing], [block])][-1:] for thing in lost]
    holders += [[block for block in blocks if not checklist.missing([thing], checklist.text_of([block]))][-1:]
              for thing in missed]  # fmt: skip
    return {block.block_id for holding in holders for block in holding}
