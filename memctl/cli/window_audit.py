"""The command `memctl context window audit`: summarize the log of what a manager of context windows has done."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from memctl.cli import memory_access, output
from memctl.cli.command import command, json_option
from memctl.errors import OK, USAGE, MemctlError
from memctl.text.phrases import quantity

if TYPE_CHECKING:
    from memctl.window import Summary

_WRITTEN = (
    "give the FILE that a program names as `audit` of its `ContextWindowManager`, or in the setting audit_file; without"
    " a FILE, memctl reads the log in this memory"
)
_SHOWN = 12  # kinds of blocks that are listed


@command(
    "audit",
    (
        "memctl context window audit",
        "Summarize what programs with `ContextWindowManager` did with windows in this clone.",
    ),
    ("memctl context window audit window.jsonl", "Summarize a log in a file of your own."),
    (
        "memctl context window audit window.jsonl --json",
        "Print the summary as JSON, for a program that tunes the weights of eviction.",
    ),
)
@click.argument("file", required=False)
@json_option
def audit_command(ctx: click.Context, /, file: str | None, as_json: bool) -> None:
    """Summarize the decisions of a window's manager: steps, tokens wanted and freed, calls of language models, and
    evicted blocks that were needed again.

    For each kind of block that a policy evicted, you see the mean score of the evicted blocks (0: evict first, 1:
    keep), how many of them an agent asked for again by the same call, and the mean score of these. If that is lower
    than the mean of all, the policy evicted the wrong blocks: change its weights (the setting `eviction.weights`).
    """
    from memctl.window import AuditLog, audit

    path = Path(file) if file else _own(ctx)
    if not os.path.isfile(path):
        raise MemctlError(f"there is no audit log {path}", _WRITTEN, USAGE)
    decisions = list(AuditLog(path, now=str).read())
    if not decisions and path.stat().st_size:
        raise MemctlError(f"{path} is not an audit log of `ContextWindowManager`", _WRITTEN, USAGE)
    summary = audit.summary(decisions)
    if as_json:
        output.json("window_audit", msgspec.to_builtins(summary))
    else:
        _print(summary, path)
    ctx.exit(OK)


def _own(ctx: click.Context) -> Path:
    from memctl.window import LOG

    memory = memory_access.memory_if_any(ctx)
    if memory is None:
        raise MemctlError(
            "there is no memory here, so there is no audit log to read", "`memctl context window audit FILE`", USAGE
        )
    return memory.private / LOG


def _print(summary: Summary, path: Path) -> None:
    output.text(
        f"{output.plain(str(path))}: {quantity(summary.decisions, 'decision')} in {quantity(summary.turns, 'turn')}"
    )
    whole, cut = summary.results["whole"], summary.results["summed up"]
    if whole or cut:
        output.text(
            f"results of tools: {whole:,} kept whole, {cut:,} summarized; the agent asked"
            f" again for {summary.results['again']:,}"
        )
    for name, tally in summary.steps.items():
        refused = f", {tally.refused:,} refused" if tally.refused else ""
        shown = f"{quantity(tally.times, 'time'):>11}{refused}"
        output.text(f"  {name:<26} {shown}: {tally.freed:,} tokens freed of {tally.wanted:,} wanted")
    for reason, times in sorted(summary.reasons.items(), key=lambda item: -item[1])[:_SHOWN]:
        output.text(f"reason for freeing tokens: {output.plain(reason)} ({quantity(times, 'time')})")
    if summary.model["asked"]:
        calls, used, refused_texts = (summary.model[name] for name in ("asked", "used", "refused"))
        output.text(
            f"language model: {quantity(calls, 'call')}, {used:,} of the returned texts used, {refused_texts:,} refused"
        )
    for name, worth in sorted(summary.worth.items(), key=lambda item: -item[1].tokens)[:_SHOWN]:
        scores = "" if worth.score is None else f", score {worth.score:.2f}"
        again = f"; the agent asked again for {worth.again:,}" if worth.again else ""
        again += f", score {worth.score_again:.2f}" if worth.score_again is not None else ""
        output.text(
            f"  {output.plain(name)}: {quantity(worth.blocks, 'block')} evicted, "
            f"{worth.tokens:,} tokens freed{scores}{again}"
        )
    others = {name: times for name, times in summary.events.items() if name.split(":")[0] in _SHOWN_EVENTS}
    for name, times in others.items():
        output.text(f"{output.plain(name)} ({times:,})")


_SHOWN_EVENTS = ("alert", "budget", "pressure", "checkpoint", "overflow", "model", "task", "audit")
