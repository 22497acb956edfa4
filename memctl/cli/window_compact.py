"""The commands `memctl context window compact` and `memctl context window evict`: make a conversation smaller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from memctl.cli import memory_access, output, transcript_input, window_limit
from memctl.cli import window_messages as messages
from memctl.cli.command import choice_option, command, number_option, text_option
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.store.memory import Memory
from memctl.text.phrases import quantity
from memctl.window import CASCADE, KEPT_TURNS, STRATEGIES

if TYPE_CHECKING:
    from memctl.tokens.count import Counter
    from memctl.window import EvictionResult, Reduction, SeenConversation, Step


_BOLD = 0.5  # the share of a context from which compacting it is too much; rules.md#compaction


@command(
    "compact",
    (
        "memctl context window compact messages.json > smaller.json",
        "Make a conversation smaller, to 60 % of what fits; the report goes to standard error.",
    ),
    (
        "memctl context window compact session.jsonl --target 80000 --output messages.json",
        "Take the last window of a transcript, and make it smaller than 80,000 tokens.",
    ),
    (
        "memctl context window compact messages.json --strategy results --free 20000 --json -o small.json",
        "Free 20,000 tokens by one strategy alone, and print the report as JSON.",
    ),
)
@messages.sized
@choice_option(
    "--strategy",
    among=STRATEGIES,
    default=CASCADE,
    help="Use this strategy alone; cascade uses all in turn until the target is reached.",
)
@number_option(
    "--keep-turns",
    default=KEPT_TURNS,
    help="Keep at least this many of the last turns unchanged, more if the target leaves room.",
)
@messages.window_option
@transcript_input.no_llm
@messages.written
def compact_command(
    ctx: click.Context, /, source: str, target: int | None, free: int | None, strategy: str, policy: str,
    keep_turns: int, window: int | None, no_llm: bool, **to: Any,
) -> None:  # fmt: skip
    """Make a conversation smaller, and keep what must not be lost.

    FILE has a request's body or messages as JSON, in the shape of Anthropic's or OpenAI's interface, or is a transcript
    of Claude Code, whose last window is taken. Messages are printed in the shape of the input, and stay valid.

    The steps, in this order: results of tools are summarized, blocks are evicted, older turns are shortened, the
    beginning becomes a digest. Blocks stay if a step would otherwise lose the task, words of the user, the proposal
    that a "yes" or "2, please" answers, a decision, an open issue or error, a file at work, a number that they name, or
    something on the list below; a step that loses it all the same is refused. So a small target may be out of reach. If
    you have set up a language model (`git config --global memctl.llm.provider`; MEMCTL_LLM_PROVIDER outside a memory),
    it words the summaries, and its words are checked.

    Each step and the result are checked against a separate list: each line with a label, each short message of the
    user, names and figures in what it agrees to, each edited path, and each error of the last ten results. Whatever is
    missing is named. Exit code 1: something is missing, the target is out of reach, or every step was refused.
    """
    if target is not None and free is not None:
        raise MemctlError("--target and --free can't be combined", "give one of them", USAGE)
    from memctl.window import CompressionEngine, cascade

    memory = memory_access.memory_if_any(ctx)
    seen = messages.read(source, memory, **to)
    counter = seen.counter
    if free is not None:
        target = max(seen.conversation.tokens - free, 0)
    elif target is None:
        target = _target(seen, to["model"], window, memory)
    provider = transcript_input.provider_if_any(memory, no_llm=no_llm)
    engine = CompressionEngine(counter, provider=provider, kept_turns=keep_turns)
    merge = engine.model.merge_texts if engine.model else None
    evictor = messages.evictor(policy, counter, memory, merge=merge)
    reduction = cascade.reduce(seen.conversation, target, engine, evictor, STRATEGIES[strategy])
    messages.write(reduction.conversation.given, to["target_file"])
    if to["as_json"]:
        before, after = seen.conversation.tokens, reduction.conversation.tokens
        data = {"seen": seen, "reduction": reduction, "model": counter.family.name}
        output.answer("compaction", data | {"saved": round(1 - after / before, 3) if before else 0.0})
    else:
        _report(source, seen, reduction, counter)
    ctx.exit(OK if reduction.cascade.is_reached and not reduction.missed else REFUSED)


def _target(seen: SeenConversation, model: str | None, window: int | None, memory: Memory | None) -> int:
    """A transcript reports tokens beside its messages; without these, 60 % of the usable window are the target."""
    from memctl.tokens import model_windows

    _, usable = window_limit.settings(None, memory)
    limit = window_limit.of_conversation(seen, usable, memory, model=model, window=window)
    window_limit.warn_of(limit)
    transcript = seen.transcript
    frame = max(transcript.reported - seen.conversation.tokens, 0) if transcript else 0
    return max(int(model_windows.TARGET * limit.usable) - frame, 1)


def _report(source: str, seen: SeenConversation, reduction: Reduction, counter: Counter) -> None:
    before, after = seen.conversation.tokens, reduction.conversation.tokens
    share = f" ({1 - after / before:.0%} less)" if before else ""
    output.note(
        f"{before:,} -> {after:,} tokens of {counter.family.name}{share}; the target is {reduction.cascade.target:,}"
    )
    _note_origin(source, seen)
    for step in reduction.cascade.steps:
        output.note(_describe_step(step))
    kept = ", ".join(f"{kind} {survived} of {number}" for kind, (number, survived) in reduction.by_kind.items())
    if kept:
        output.note(f"of what must not be lost, this is kept: {kept}")
    for essential in reduction.lost:
        output.note(f"lost in the result: {essential.kind} {essential.text[:80]!r}")
    for entry in reduction.missed:
        output.note(f"missing in the result, found by a second check: {entry.kind} {entry.text[:80]!r}")
    if reduction.listed and not reduction.missed:
        output.note(
            f"a second check found nothing missing (it looked for {quantity(len(reduction.listed), 'item')}: labelled"
            " lines, short messages of the user, names in what they agreed to, edited paths and the last errors)"
        )
    messages.warn_of_rest(seen)
    if after < before * (1 - _BOLD):
        output.note(
            f"warning: more than {_BOLD:.0%} of the tokens were removed; a larger --target, or compacting earlier, "
            "keeps more"
        )
    if not reduction.cascade.is_reached:
        output.note(f"the result is {after - reduction.cascade.target:,} tokens larger than the target")


def _note_origin(source: str, seen: SeenConversation) -> None:
    """The messages that are written name no model, so that the next command would count them as another one's."""
    if (transcript := seen.transcript) is None:
        return
    output.note("only the messages of the transcript's last window are counted, without system prompt and tools")
    if transcript.reported:
        output.note(
            f"the model reported {transcript.reported:,} tokens for the whole window, as "
            "`memctl context window status` shows"
        )
    if seen.model:
        output.note(
            f"hint: the written messages do not name their model; give --model {output.plain(seen.model)} to commands"
            " that read them"
        )
    messages.note_window(source, transcript.since)


def _describe_step(step: Step) -> str:
    more = [quantity(step.blocks, "block")] if step.blocks else []
    more += [f"fidelity {step.fidelity:.2f}"] if step.fidelity is not None else []
    if step.llm_calls:
        more += [f"{quantity(step.llm_calls, 'model call')}: answers used {step.llm_used}, refused {step.llm_refused}"]
    more += [step.note] if step.note else []
    shown = f"refused: {output.plain(step.refused)}" if step.refused else ", ".join(more)
    return f"  {step.name:<26}{step.before:>9,} -> {step.after:>9,}  {shown}".rstrip()


_HELD = 6  # reasons that are listed


@command(
    "evict",
    (
        "memctl context window evict messages.json --free 20000 > smaller.json",
        "Free 20,000 tokens; the report goes to standard error.",
    ),
    (
        "memctl context window evict session.jsonl --target 80000 --output messages.json",
        "Take the last window of a transcript, and make it smaller than 80,000 tokens.",
    ),
    (
        "memctl context window evict messages.json --policy lru --target 50000 --json --output small.json",
        "Evict by the policy lru, and print what is evicted, what is kept, and why, as JSON.",
    ),
)
@messages.sized
@text_option("--task", help="The task of the conversation. [default: the user's first message]")
@number_option(
    "--placeholder",
    least=0,
    default=50,
    metavar="N",
    help="Maximum tokens of the text that replaces an evicted block; 0 for no text.",
)
@messages.written
def evict_command(
    ctx: click.Context, /, source: str, target: int | None, free: int | None, policy: str, task: str,
    placeholder: int, **to: Any,
) -> None:  # fmt: skip
    """Evict what a conversation can spare, and list what was evicted.

    FILE has a request's body or messages as JSON, in the shape of Anthropic's or OpenAI's interface, or is a transcript
    of Claude Code. Messages are printed in the shape of the input, and stay valid: a placeholder replaces each block
    that is evicted. The system prompt, the task, the current message and unanswered results stay. Exit code 1: the
    target is out of reach; everything that can be evicted is evicted then.
    """
    if (free is None) == (target is None):
        raise MemctlError("the number of tokens to free is missing", "give either --free or --target", USAGE)
    memory = memory_access.memory_if_any(ctx)
    seen = messages.read(source, memory, **to)
    counter = seen.counter
    conversation = seen.conversation
    need = free if free is not None else max(0, conversation.tokens - (target or 0))
    engine = messages.evictor(policy, counter, memory, placeholder_max_tokens=placeholder)
    body, result = engine.evict_from(conversation, need, task=task)
    messages.write(body, to["target_file"])
    model, after = counter.family.name, conversation.tokens - result.tokens_freed
    if to["as_json"]:
        output.answer("eviction", {"seen": seen, "result": result, "model": model, "tokens_after": after})
    else:
        output.note(
            f"{conversation.tokens:,} -> {after:,} tokens of {model}: {result.tokens_freed:,} freed, "
            f"{result.target_free_tokens:,} asked for, {quantity(len(result.evictions), 'block')} evicted "
            f"({result.policy_used.value})"
        )
        _evict_report(source, seen, result)
    ctx.exit(OK if result.is_reached else REFUSED)


def _evict_report(source: str, seen: SeenConversation, result: EvictionResult) -> None:
    number = len(result.evictions)
    _note_origin(source, seen)
    for eviction in sorted(result.evictions, key=lambda eviction: eviction.after - eviction.before)[:12]:
        what = f"{eviction.content_type.value} {eviction.tool_name}".strip()
        change = f"{eviction.before:>7,} -> {eviction.after:>3,}"
        output.note(f"  turn {eviction.turn:>3}  {change}  {what}  (score {eviction.score:.2f})")
    if number > 12:
        output.note(f"  and {quantity(number - 12, 'more block')}: --json lists all")
    messages.warn_of_rest(seen)
    if not result.is_reached:
        missed = result.target_free_tokens - result.tokens_freed
        output.note(f"{quantity(missed, 'more token')} should have been freed, but these blocks can't be evicted:")
        for why, tokens in list(result.held.items())[:_HELD]:
            output.note(f"  {tokens:>7,}  {why}")
