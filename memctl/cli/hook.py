"""The commands `memctl hook …`: hosts (agents' programs) call them at events, and people read the log of the events."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from memctl.cli import memory_access, output
from memctl.cli.command import Command, Group, command, flag_option, json_option, limit_option
from memctl.errors import REFUSED, MemctlError
from memctl.hooks import dispatch, log, statistics
from memctl.hooks.hosts import HOSTS, Host
from memctl.store import session_dir
from memctl.text.phrases import quantity


def _answering(host: Host) -> Command:
    """An error in the command goes to memctl's own log, not to the host."""

    @command(
        host.name,
        (
            f"memctl hook {host.name} <event.json",
            f"Answer an event; {host.title} runs this command, once `memctl install {host.name}` has set it up.",
        ),
    )
    def answer(ctx: click.Context, /) -> None:
        if sys.stdin is not None and sys.stdin.isatty():
            raise MemctlError(
                f"`memctl hook {host.name}` reads an event from standard input, so only {host.title} can use it",
                f"`memctl install {host.name}` sets up the hooks of {host.title}",
                REFUSED,
            )
        dispatch.run(host, os.environ, ctx.obj.folder if ctx.find_root().params.get("folder") else None)

    answer.context_settings.update({"ignore_unknown_options": True, "allow_extra_args": True})  # of a later memctl
    answer.help = (
        f"Answer an event of {host.title}, given as JSON on standard input.\n\nThe command does nothing where there"
        " is no memory. An error goes to a log (`memctl hook log --faults`), and never stops the agent."
    )
    return answer


@command(
    "log",
    ("memctl hook log", "List the latest compactions of agents' contexts, newest first."),
    ("memctl hook log --faults", "List errors that hooks have had."),
    ("memctl hook log --limit 0 --json", "List all compactions as JSON."),
)
@flag_option("--faults", help="List errors of the hooks instead of compactions.")
@limit_option(20)
@json_option
def log_command(ctx: click.Context, /, faults: bool, limit: int, as_json: bool) -> None:
    """List compactions: when, in which session, by whom, tokens before and after, tool calls since the last compaction.

    A dash means that a number is unknown; the tokens after a compaction are known once the agent has stopped again.
    """
    root = _root(ctx)
    if faults:
        _print_faults(list(log.entries(root, log.FAULTS)), limit, as_json=as_json)
        return
    compactions = statistics.compactions(root)[::-1]
    shown = compactions[: limit or None]
    if as_json:
        output.json("compactions", {"total": len(compactions), "compactions": msgspec.to_builtins(shown)})
        return
    output.columns([("at", "session", "trigger", "before", "after", "calls", "suggested"), *map(_row, shown)])
    output.rest(len(compactions), len(shown), "no compaction of a context is logged yet")


def _print_faults(faults: list[dict[str, object]], limit: int, *, as_json: bool) -> None:
    shown = faults[::-1][: limit or None]
    if as_json:
        output.json("faults", {"total": len(faults), "faults": shown})
        return
    names = ("at", "event", "session", "where", "fault")
    output.columns([tuple(str(fault.get(name, "")) for name in names) for fault in shown])
    output.rest(len(faults), len(shown), "the log of the hooks has no errors")


@command(
    "stats",
    ("memctl hook stats", "Show how often contexts are compacted, and how full they are then."),
    ("memctl hook stats --json", "Print the same figures as JSON."),
)
@json_option
def stats_command(ctx: click.Context, /, as_json: bool) -> None:
    """Summarize the logged compactions: how many by trigger, median calls and tokens, share that memctl suggested."""
    figures = statistics.figures(statistics.compactions(_root(ctx)))
    if as_json:
        output.json("compaction-figures", msgspec.to_builtins(figures))
        return
    triggers = ", ".join(f"{number:,} {name}" for name, number in figures.by_trigger.items())
    share = "-" if figures.suggested_before is None else f"{figures.suggested_before:.0%}"
    rows = [
        (
            "compactions",
            f"{figures.compactions:,} in {quantity(figures.sessions, 'session')}{f' ({triggers})' if triggers else ''}",
        ),
        ("tool calls since the last compaction", _figure(figures.median_calls)),
        ("tokens before the compaction", _figure(figures.median_tokens_before)),
        ("tokens after the compaction", _figure(figures.median_tokens_after)),
        ("share of compactions that memctl had suggested", share),
    ]
    output.columns(rows)


def _row(compaction: statistics.CompactionCount) -> Sequence[str]:
    numbers = [_figure(compaction.before, ""), _figure(compaction.after, ""), _figure(compaction.calls, "")]
    suggested = ", ".join(compaction.suggested) or "-"
    return compaction.at, compaction.session[:8], compaction.trigger or "-", *numbers, suggested


def _figure(value: float | None, label: str = "median ") -> str:
    return "-" if value is None else f"{label}{value:,.0f}"


def _root(ctx: click.Context) -> Path:
    """A memory that can't be opened has the folder of the hooks' state, too; then a warning says why."""
    try:
        memory = memory_access.memory(ctx)
    except MemctlError as error:
        places = session_dir.find_root(ctx.obj.folder)
        if places is None:
            raise
        output.note(f"warning: the hooks of agents can do nothing in this folder: {error.message}")
        return places[2]
    return memory.hooks


class _Hooks(Group):
    """A group whose unknown commands end with exit code 1, since a host reads 2, the code of wrong usage, as a veto."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise MemctlError(error.format_message(), "`memctl hook -h` lists the subcommands", REFUSED) from None


hook_command = _Hooks("hook", help="Answer the hook events of Claude Code, Codex and Gemini CLI, and show their log.")
for member in (*map(_answering, HOSTS.values()), log_command, stats_command):
    hook_command.add_command(member)
