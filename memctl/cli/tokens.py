"""The command `memctl context tokens`: count tokens, and correct later counts by those that models have reported."""

from __future__ import annotations

import os
from collections import Counter as Tally
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from memctl.cli import memory_access, output, token_counter
from memctl.cli.command import choice_option, command, flag_option, json_option
from memctl.cli.text_input import read
from memctl.errors import USAGE, MemctlError
from memctl.store import load, token_samples
from memctl.store.memory import Memory
from memctl.text import phrases
from memctl.tokens import count as tokens_count
from memctl.tokens import messages
from memctl.tokens.count import GOAL, Calibration, Count, Counter, calibrate, name_of
from memctl.tokens.families import family_of, kind_of_text
from memctl.transcript.messages import json_lines

if TYPE_CHECKING:
    from memctl.tokens.reports import RejectedLine

_RULE = (
    f"{messages.PER_TOOL_CALL} a tool call, {messages.PER_PARAMETER} a parameter, {messages.PER_MESSAGE} a message, "
    f"{messages.PER_SEVERAL_CALLS} for several calls, {messages.PER_EMPTY_RESULT} an empty result, "
    f"{messages.PER_REQUEST} a request, images by their size"
)


class _Row(msgspec.Struct, frozen=True):
    """A figure: the counted text, its kind, the tokens, and the source of the count (None for an addition by a
    rule)."""

    name: str
    kind: str
    tokens: int
    count: Count | None

    @property
    def source(self) -> str:
        return self.count.source if self.count else _RULE

    @property
    def band(self) -> str:
        if self.count is None:
            return "rule"
        return "exact" if self.count.error == 0 else f"± {self.count.error:.0%}"


@command(
    "tokens",
    ("memctl context tokens src/*.py README.md", "Count the tokens of files, as the default model counts them."),
    (
        "git diff | memctl context tokens - --model gpt-5",
        "Count the tokens of standard input, as one model counts them.",
    ),
    (
        "memctl context tokens request.json --messages",
        "Count the messages of a request, with the tokens that they need beside their text.",
    ),
    (
        "memctl context tokens --calibrate usage.jsonl",
        "Learn to correct memctl's counts, from the counts that models have reported.",
    ),
    (
        "memctl context tokens a.md --source anthropic --model claude-sonnet-4-5",
        "Send the text to Anthropic to be counted; the key is in ANTHROPIC_API_KEY.",
    ),
)
@click.argument("sources", metavar="[FILE…|-]", nargs=-1)
@token_counter.model_option
@flag_option("--messages", "as_messages", help="Read the files as requests, or as messages in JSON or JSON Lines.")
@choice_option(
    "--source",
    "counted_by",
    among=["here", "anthropic"],
    default="here",
    help="Who counts: memctl (here), or Anthropic, to which the text is then sent.",
)
@flag_option("--allow-secret", help="Also send text to Anthropic that looks like a credential.")
@click.option(
    "--calibrate",
    metavar="FILE",
    help="Learn to correct the counts, from a usage log, a transcript or JSON Lines of observations.",
)
@flag_option("--forget", help="Forget what --calibrate learned about the model given by --model, or about all.")
@flag_option("--dry-run", "-n", help="Show what would be learned or forgotten, and change nothing.")
@json_option
def tokens_command(
    ctx: click.Context,
    /,
    sources: tuple[str, ...],
    model: str | None,
    as_messages: bool,
    counted_by: str,
    allow_secret: bool,
    calibrate: str | None,
    forget: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Count the tokens of files; each figure comes with its source and with how far it may be off.

    What --calibrate learns, a factor for each model, stays in the Git directory of this clone.
    """
    if sum(map(bool, (sources, calibrate, forget))) != 1:
        raise MemctlError(
            "give exactly one of these: files to count, --calibrate FILE, or --forget",
            "`memctl context tokens FILE`",
            USAGE,
        )
    if calibrate or forget:
        memory = memory_access.memory(ctx)
        _calibrate(memory, calibrate, dry_run, as_json) if calibrate else _forget(memory, model, dry_run)
        return
    if as_messages and counted_by == "anthropic":
        raise MemctlError(
            "--messages can't be combined with --source anthropic", "leave out --messages or --source anthropic", USAGE
        )
    around = memory_access.memory_if_any(ctx)
    if counted_by == "anthropic":
        model = token_counter.model_of(model, around)
        _print(_count_remotely(sources, model, around, allow_secret), family_of(model).name, as_json, as_messages)
        return
    rows, families = [], dict[str, None]()
    for source in sources:
        text = read(source)
        request = _parse_request(source, text) if as_messages else None
        counter = token_counter.counter_for(model, request.model if request else "", around, tokens_count.tokenizer_of)
        families[counter.family.name] = None
        rows += _of_request(source, request, counter) if request else [_of_text(source, text, counter)]
    _print(rows, ", ".join(families), as_json, as_messages)


def _count_remotely(sources: tuple[str, ...], model: str, memory: Memory | None, allow_secret: bool) -> list[_Row]:
    from memctl.tokens.endpoint import Endpoint

    endpoint = Endpoint(model, os.environ, load.open_cache(memory) if memory else None)
    texts = [(source, read(source)) for source in sources]
    counts = [endpoint.count(text, allow_secret=allow_secret) for _, text in texts]
    pairs = zip(texts, counts, strict=True)
    return [_Row(source, kind_of_text(source, text), count.tokens, count) for (source, text), count in pairs]


def _of_text(source: str, text: str, counter: Counter) -> _Row:
    kind = kind_of_text(source, text)
    count = counter.count(text, kind)
    return _Row(source, kind, count.tokens, count)


def _parse_request(source: str, text: str) -> messages.Conversation:
    conversation = messages.parse(_request(text))
    if conversation is None:
        raise MemctlError(
            f"{name_of(source)} is neither a request nor a list of messages",
            "give the JSON that you send to a model's API",
        )
    return conversation


def _of_request(source: str, request: messages.Conversation, counter: Counter) -> list[_Row]:
    rows = []
    for part in request.parts:
        place = f"message {part.message}, {part.role}" if part.message else part.role
        count = counter.count(part.text, part.kind)
        rows.append(_Row(f"{source}: {place}, {part.what}", part.kind, count.tokens, count))
    for name, number in request.uncounted.items():
        output.note(
            f"warning: parts of {name_of(source)} are not counted, because they are not text: {name} ({number})"
        )
    calls = phrases.quantity(request.tool_calls, "tool call")
    beside = f"{phrases.quantity(request.messages, 'message')} and {calls}, beside their text"
    return [*rows, _Row(f"{source}: {beside}", "", request.overhead, None)]


def _request(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        lines = [line for _, line in json_lines(text)]
    return [line.get("message", line) if isinstance(line, dict) else line for line in lines]


def _print(rows: list[_Row], family: str, as_json: bool, as_messages: bool) -> None:
    total = sum(row.tokens for row in rows)
    if as_json:
        output.answer("tokens", {"model": family, "total": total, "files": rows})
        return
    shown = [(f"{row.tokens:,}", row.band, row.source, f"as {row.kind}", row.name) for row in rows]
    if len(rows) > 1 or as_messages:
        shown.append((f"{total:,}", "", "", "", "total"))
    output.columns(shown)


def _calibrate(memory: Memory, source: str, dry_run: bool, as_json: bool) -> None:
    from memctl.tokens.reports import observe

    observed = observe(read(source), lambda name: _read_beside(source, name))
    if not observed.by_model:
        reasons = "; ".join(f"line {aside.line}: {aside.reason}" for aside in observed.asides[:3])
        raise MemctlError(f"{name_of(source)} has no line to learn from", reasons or "the file is empty")
    folder = memory.repository.shared
    rows = []
    for model, samples in sorted(observed.by_model.items()):
        known = token_samples.samples_of(folder, model)
        seen = {sample.digest for sample in known}
        new = list({sample.digest: sample for sample in samples if sample.digest not in seen}.values())
        if not dry_run:
            token_samples.add(folder, model, new)
        learnt = calibrate(model, [*known, *new][-token_samples.MOST_KEPT :], family_of(model))
        if learnt is not None:
            rows.append((model, len(new), learnt))
    if as_json:
        data = {"dry_run": dry_run, "models": rows, "left_aside": observed.asides}
        output.answer("calibration", data)
        return
    output.columns([_row(*row) for row in rows])
    _print_calibrations(rows, observed.asides)


def _forget(memory: Memory, model: str | None, dry_run: bool) -> None:
    folder = memory.repository.shared
    learned = token_samples.models(folder)
    names = learned if model is None else [name for name in learned if name == name_of(model)]
    if not names:
        raise MemctlError(
            "nothing was learned" + (f" of {model}" if model else ""),
            f"memctl has learned about {', '.join(learned)}" if learned else None,
        )
    for name in names:
        if not dry_run:
            token_samples.forget(folder, name)
        output.text(f"{'would forget' if dry_run else 'forgot'} {name}")


def _read_beside(source: str, name: str) -> str:
    """The file must be below the folder of the observations."""
    folder = Path("." if source == "-" else source).resolve()
    folder = folder if folder.is_dir() else folder.parent
    file = (folder / name).resolve()
    if not file.is_relative_to(folder):
        raise MemctlError(f"the file {name} is not below the folder of the file that names it: move it there")
    return read(str(file))


def _row(model: str, new: int, learnt: Calibration) -> tuple[str, ...]:
    total = phrases.quantity(learnt.observations, "observation") + (
        f" ({new} new)" if new != learnt.observations else ""
    )
    return model, f"x {learnt.ratio:.2f}", total, f"median error {learnt.before:.1%} before, {learnt.after:.1%} now"


def _print_calibrations(rows: list[tuple[str, int, Calibration]], asides: list[RejectedLine]) -> None:
    for model, _, learnt in rows:
        if not learnt.is_within_goal:
            output.note(
                f"warning: counts for {model} are still off by {learnt.after:.0%} (median); the goal is {GOAL:.0%}"
            )
    if asides:
        reasons = Tally(aside.reason for aside in asides).most_common()
        output.note(f"skipped: {len(asides)}")
        for reason, number in reasons:
            output.note(f"    {number}: {reason}")
