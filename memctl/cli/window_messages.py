"""Read conversations and write their messages, for the commands of `memctl context window` that change them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from memctl.cli import output, token_counter
from memctl.cli.command import choice_option, flag_option, number_option, options
from memctl.cli.text_input import lines
from memctl.errors import USAGE, MemctlError
from memctl.store import output_file
from memctl.store.memory import Memory
from memctl.text.phrases import quantity
from memctl.window import POLICIES

if TYPE_CHECKING:
    from memctl.tokens.count import Counter
    from memctl.transcript.window import Window
    from memctl.window import EvictionEngine, SeenConversation


# What both commands that make a conversation smaller are given.
sized = options(
    click.argument("source", metavar="FILE|-"),
    number_option("--target", metavar="N", help="Leave at most N tokens of messages."),
    number_option("--free", metavar="N", help="Free at least N tokens of messages."),
    choice_option(
        "--policy", among=POLICIES, default="hybrid", help="The policy that decides which blocks to evict first."
    ),
)
window_option = number_option(
    "--window", help="Size of the context window in tokens. [default: MEMCTL_CONTEXT_WINDOW, or the model's size]"
)
# The options of every command that gives messages back.
written = options(
    click.option(
        "--output",
        "-o",
        "target_file",
        metavar="FILE",
        help="Write the messages to this file instead of standard output.",
    ),
    click.option(
        "--model",
        help="Count tokens as this model does. [default: the model that FILE names, model in config.yaml, or claude]",
    ),
    flag_option("--json", "as_json", help="Print the report as JSON; needs --output FILE for the messages."),
)


def read(
    source: str, memory: Memory | None, *, model: str | None, target_file: str | None, as_json: bool
) -> SeenConversation:
    """Return the conversation in a file, or in standard input if `source` is `-`, with its token counter.

    `model`, `target_file` (--output) and `as_json` are options of the command. Raises MemctlError if the file has no
    conversation, or if both the report and the messages would go to standard output. It is also raised if `target_file`
    is the transcript itself: the messages must not replace it, since an agent may continue it.
    """
    from memctl.window import status

    if as_json and target_file is None:
        raise MemctlError(
            "--json prints the report on standard output, so the messages need a file", "give --output FILE", USAGE
        )
    with lines(source) as stream:
        seen = status.read(stream, source, lambda named: token_counter.counter_for(model, named, memory))
    if seen.is_transcript and target_file is not None and os.path.realpath(target_file) == os.path.realpath(source):
        raise MemctlError(
            f"--output names the transcript that is read, {target_file}", "give another file by --output", USAGE
        )
    return seen


def evictor(policy: str, counter: Counter, memory: Memory | None, **more: Any) -> EvictionEngine:
    """Return the engine that removes blocks from a window by the eviction policy of this name.

    The policy `semantic_merge` also compares texts by meaning, if the user has set up an embedding model. `more` are
    other arguments of the engine.
    """
    from memctl.window import EvictionEngine

    if policy == "semantic_merge" and memory is not None and memory.semantic_model:
        from memctl.search import embeddings

        try:
            more["embed"] = embeddings.load(memory.semantic_model).vectors
        except MemctlError as error:
            output.note(f"warning: texts are compared by words, not by meaning: {error.with_hint}")
    return EvictionEngine(policy, counter=counter, **more)


def write(given: Any, target_file: str | None) -> None:
    """Write messages as JSON to a file (atomically), or to standard output if `target_file` is None."""
    text = msgspec.json.format(msgspec.json.encode(given), indent=2).decode()
    if target_file is None:
        output.json_text(text)
    else:
        output_file.write(Path(target_file), text + "\n")


def broken_in(transcript: Window | None) -> int:
    """Return how many lines of a transcript can't be read; 0 if the file is not a transcript (None)."""
    return transcript.broken if transcript else 0


def warn_of_broken(number: int, name: str = "") -> None:
    """Print a warning on standard error that a number of lines can't be read; nothing is printed if it is 0.

    `name` is the name of the transcript, "" to name none.
    """
    if number:
        of = f" of {output.plain(name)}" if name else ""
        output.note(f"warning: {quantity(number, 'line')}{of or ' of the transcript'} can't be read")


def note_window(name: str, since: int) -> None:
    """Print on standard error that only the part of a transcript after its last compaction is read.

    `name` is the transcript's name, and `since` the line of the compaction; if it is 0, nothing is printed.
    """
    if since:
        output.note(
            f"only the last window of {output.plain(name)} is read, which begins after the compaction in line {since:,}"
        )


def warn_of_rest(seen: SeenConversation) -> None:
    """Print on standard error which parts of a conversation's file were not counted or did not become messages."""
    if uncounted := seen.conversation.uncounted:
        shown = ", ".join(f"{name} ({count})" for name, count in sorted(uncounted.items()))
        output.note(f"these parts are not counted, because they have no text: {shown}")
    if left_out := seen.transcript.left_out if seen.transcript else 0:
        many = "tool call without a result, or result without a call, is left out" if left_out == 1 else None
        many = many or "tool calls without a result, or results without a call, are left out"
        output.note(f"{left_out:,} {many}")
    warn_of_broken(broken_in(seen.transcript))
