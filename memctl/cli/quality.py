"""The command `memctl context quality`: judge a pack or a prompt by relevance, redundancy, staleness and more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memctl.cli import output, token_counter
from memctl.cli.command import command, flag_option, reading, text_option
from memctl.cli.text_input import lines, read
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.text.phrases import quantity

if TYPE_CHECKING:
    from memctl.window import Advice, Measures, Performance, QualityMetric, QualityReport

_SHOWN = 12  # changes, unless all are asked for
_STATES = {None: "-", True: "ok", False: "missed"}  # of a target


@command(
    "quality",
    ("memctl rehydrate | memctl context quality -", "Judge a pack before you paste it into a prompt."),
    (
        'memctl context quality prompt.md --task "fix the checkout timeout"',
        "Judge how much of a prompt is relevant to a task.",
    ),
    ("memctl context quality context.xml --blocks", "List the blocks of a text, each with its measured values."),
    (
        "memctl context quality messages.json --json --strict",
        "Judge messages, print JSON, and exit with 1 if a metric misses its target.",
    ),
)
@click.argument("source", metavar="FILE|-")
@text_option("--task", help="The task that the text is for. [default: the task that the text states]")
@click.option(
    "--transcript",
    metavar="FILE",
    help="A transcript of Claude Code; adds how the model performed as the context grew.",
)
@token_counter.model_option
@flag_option("--blocks", "with_blocks", help="List the blocks of the text, each with its measured values.")
@flag_option("--all", "everything", help=f"List all advice on what to change, not only the first {_SHOWN} lines.")
@flag_option("--strict", help="Exit with 1 if a metric misses its target.")
@reading
def quality_command(
    ctx: click.Context,
    /,
    source: str,
    task: str,
    transcript: str | None,
    model: str | None,
    with_blocks: bool,
    everything: bool,
    strict: bool,
    as_json: bool,
    at: str | None,
) -> None:
    """Judge a pack or a prompt: relevance, placement, redundancy, staleness, density, blocks, boundaries.

    The answer says what to change, line by line, and which triggers for a compression fire. Markdown, XML, YAML, JSON
    messages and plain text are split into blocks by their format. Relevance is measured by words, not by meaning. In a
    repository with a memory, the records say what is outdated.
    """
    from memctl.window import measures, quality, take_apart

    around = token_counter.surroundings(ctx, model, at)
    parsed = take_apart(read(source), source, around.counter.tokens)
    if not parsed.blocks:
        raise MemctlError(f"{source} is empty: there is nothing to judge", "give a pack, a prompt or messages")
    task = task or measures.stated_task(parsed)
    measured = measures.measure(parsed, around.known, around.now, around.counter.tokens, task)
    done = _performance(transcript) if transcript else None
    report = quality.judge(measured, around.counter.family.name, done)
    if as_json:
        output.json("quality", report, around.faults, around.memory)
    elif with_blocks:
        _print_blocks(measured)
    else:
        _print(report, len(parsed.content), None if everything else _SHOWN)
        if done is not None:
            print_performance(done)
    is_missed = strict and any(metric.is_met is False for metric in report.metrics)
    ctx.exit(REFUSED if is_missed or around.faults else OK)


def _performance(transcript: str) -> Performance:
    from memctl.window import performance, reading

    with lines(transcript) as stream:
        window = reading.load(stream, transcript).transcript
    if window is None:
        raise MemctlError(
            f"{transcript} is not a transcript of Claude Code",
            "performance is measured from times and tool results, which only such a transcript has",
            USAGE,
        )
    return performance.measure(window)


def print_performance(performance: Performance) -> None:
    """Print how a model performed as its context grew: seconds for a request, and the share of tool calls that failed.

    Then it prints what can't be measured from a transcript.
    """
    rows = [
        (
            f"  {quantity(part.requests, 'request')}",
            f"{part.tokens:,} tokens",
            "-" if part.seconds is None else f"{part.seconds:.1f} s",
            "-" if part.error_rate is None else f"{part.error_rate:.1%} of {part.results} calls failed",
        )
        for part in performance.parts
    ]
    output.text(
        "\nHow the model performed as the context grew"
        if rows
        else "\nThe transcript has too few requests to show how the model performed"
    )
    output.columns(rows)
    output.text(f"  not measured: {', '.join(performance.not_measured)}; only a language model can judge them")


def _print(report: QualityReport, blocks: int, most: int | None) -> None:
    output.text(f"{report.format}: {report.tokens:,} tokens in {blocks:,} blocks")
    if report.task:
        output.text(f"task: {' '.join(report.task.split())[:100]}")
    output.text()
    rows = [
        (_STATES[metric.is_met], metric.name, _value(metric), metric.wanted, metric.how) for metric in report.metrics
    ]
    output.columns([("", "metric", "value", "target", "measured as"), *rows])
    fired = [signal for signal in report.triggers if signal.fired]
    if fired:
        output.text("\nCompress, because")
        output.columns([(f"  {item.name}", item.measured, item.limit, item.why) for item in fired])
    if report.changes:
        changes = report.changes[:most]
        output.text("\nWhat to change")
        output.columns([_change(item) for item in changes])
        if left := len(report.changes) - len(changes):
            output.text(f"  and {quantity(left, 'more change')}: --all lists all")


def _value(metric: QualityMetric) -> str:
    if metric.value is None:
        return "-"
    return f"{metric.value * 100:.1f} %" if metric.unit == "share" else f"{metric.value:.0f}"


def _change(item: Advice) -> tuple[str, ...]:
    saves = f"-{item.saves:,}" if item.saves else ""
    return (f"  {item.line}-{item.end}", saves, item.action, f"{item.title[:60]}: {item.why}")


def _print_blocks(measured: Measures) -> None:
    rows = []
    for item in measured.blocks:
        block = item.block
        bears = {None: "-", True: "yes", False: "no"}[item.is_relevant]
        marks = (str(item.weight), bears, f"{item.overlap.share:.0%}", f"{item.stale.share:.0%}")
        rows.append((f"{block.line}-{block.end}", block.kind, f"{block.tokens:,}", *marks, block.name))
    output.columns([("lines", "kind", "tokens", "weight", "task", "repeated", "stale", "title"), *rows])
