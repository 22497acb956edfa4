"""`window evict`: taking out of a conversation what it can spare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from memctl.cli import opening, output
from memctl.cli import window_messages as messages
from memctl.cli.command import command
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.text.phrases import count
from memctl.window.eviction.policies import POLICIES

if TYPE_CHECKING:
    from memctl.tokens.count import Counter
    from memctl.window.eviction.engine import EvictionResult
    from memctl.window.messages.reading import Opened

_HELD = 6  # reasons that are listed


@command(
    "evict",
    ("memctl window evict messages.json --free 20000 > smaller.json", "Free 20,000 tokens; the report is on stderr."),
    (
        "memctl window evict session.jsonl --target 80000 --output messages.json",
        "The last window of a transcript, as messages of at most 80,000 tokens.",
    ),
    (
        "memctl window evict messages.json --policy lru --target 50000 --json --output small.json",
        "What goes, what stays and why, for a program.",
    ),
)
@click.argument("source", metavar="FILE|-")
@click.option("--policy", type=click.Choice(POLICIES), default="hybrid", show_default=True, help="What goes first.")
@click.option("--free", type=click.IntRange(min=1), metavar="N", help="Free at least N tokens.")
@click.option("--target", type=click.IntRange(min=1), metavar="N", help="Leave at most N tokens.")
@click.option("--task", default="", metavar="TEXT", help="What it is all for. [default: the user's first message]")
@click.option("--placeholder", type=click.IntRange(min=0), default=50, show_default=True, metavar="N",
              help="Tokens of a placeholder at most; 0 for none.")  # fmt: skip
@messages.written
@click.pass_context
def evict_command(
    ctx: click.Context,
    /,
    source: str,
    policy: str,
    free: int | None,
    target: int | None,
    task: str,
    placeholder: int,
    target_file: str | None,
    model: str | None,
    as_json: bool,
) -> None:
    """Take out of a conversation what it can spare, and say what was there.

    FILE has a request's body or messages as JSON, in the shape of Anthropic's or OpenAI's interface, or is a transcript
    of Claude Code. Messages are printed in the shape in which they came, and stay valid: a placeholder stands for what
    went. The system prompt, the task, the current message and results that are not answered yet stay. Exit code 1: the
    target is out of reach; as much as could be went.
    """
    from memctl.window.eviction.engine import EvictionEngine

    if (free is None) == (target is None):
        raise MemctlError("how much is to go?", "give either --free or --target", USAGE)
    messages.check(target_file, as_json=as_json)
    opened, counter = messages.read(source, model, opening.memory_if_any(ctx))
    messages.check_target(opened, source, target_file)
    conversation = opened.conversation
    need = free if free is not None else max(0, conversation.tokens - (target or 0))
    engine = EvictionEngine(policy, counter=counter, placeholder_max_tokens=placeholder)
    given, result = engine.evict_from(conversation, need, task=task)
    messages.write(given, target_file)
    data = _data(opened, result, counter)
    if as_json:
        output.json("eviction", data)
    else:
        _report(opened, result, data)
    ctx.exit(OK if result.is_reached else REFUSED)


def _data(opened: Opened, result: EvictionResult, counter: Counter) -> dict[str, Any]:
    conversation = opened.conversation
    return {
        "reached": result.is_reached,
        "policy": result.policy_used.value,
        "model": counter.family.name,
        "tokens_before": conversation.tokens,
        "tokens_after": conversation.tokens - result.tokens_freed,
        "tokens_wanted": result.target_free_tokens,
        "tokens_freed": result.tokens_freed,
        "placeholders": result.placeholders_generated,
        "similar_by": result.similar_by or None,
        "evicted": [msgspec.to_builtins(one) for one in result.evictions],
        "kept": [msgspec.to_builtins(one) for one in result.kept],
        "held": result.held,
        **messages.rest(opened),
    }


def _report(opened: Opened, result: EvictionResult, data: dict[str, Any]) -> None:
    number = len(result.evictions)
    output.note(
        f"{data['tokens_before']:,} -> {data['tokens_after']:,} tokens of {data['model']}: "
        f"{result.tokens_freed:,} freed of {result.target_free_tokens:,} wanted, "
        f"{count(number, 'block')} evicted ({data['policy']})"
    )
    for one in sorted(result.evictions, key=lambda one: one.after - one.before)[:12]:
        what = f"{one.content_type.value} {one.tool_name}".strip()
        output.note(f"  turn {one.turn:>3}  {one.before:>7,} -> {one.after:>3,}  {what}  (worth {one.score:.2f})")
    if number > 12:
        output.note(f"  and {number - 12:,} more: --json lists all")
    messages.tell_rest(opened)
    if not result.is_reached:
        output.note(
            f"the target is out of reach by {result.target_free_tokens - result.tokens_freed:,} tokens; what holds:"
        )
        for why, tokens in list(result.held.items())[:_HELD]:
            output.note(f"  {tokens:>7,}  {why}")
