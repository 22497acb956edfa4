"""The commands `memctl hook …`: hosts (agents' programs) call them at events, and people read the log of the events."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from memctl.cli import memory_access, output
from memctl.cli.command import Command, Group, command, json_option, limit_option
from memctl.errors import REFUSED, MemctlError
from memctl.hooks import dispatch, log, statistics
from memctl.hooks.hosts import HOSTS, Host
from memctl.hooks.statistics import CompactionCount
from memctl.store import session_dir
from memctl.text.phrases import quantity


def _answering(host: Host) -> Command:
    """Return the command that a host calls; an error in it goes to memctl's own log, not to the host."""

    @command(
        host.name,
        (f"memctl hook {host.name} <event.json", f"What {host.title} calls, after `memctl install {host.name}`."),
    )
    @click.pass_context
    def answer(ctx: click.Context, /) -> None:
        if sys.stdin is not None and sys.stdin.isatty():
            raise MemctlError("a hook reads an event from its standard input", f"`memctl install {host.name}`", REFUSED)
        dispatch.run(host, os.environ, ctx.obj.folder if ctx.find_root().params.get("folder") else None)

    answer.context_settings.update({"ignore_unknown_options": True, "allow_extra_args": True})  # of a later memctl
    answer.help = (
        f"Answer an event of {host.title}, given as JSON on standard input.\n\nDoes nothing outside of a memory."
        " An error goes to a log (`memctl hook log --faults`), and never stops the agent."
    )
    return answer


@command(
    "log",
    ("memctl hook log", "List the latest compactions of agents' contexts, newest first."),
    ("memctl hook log --faults", "List errors of the hooks."),
    ("memctl hook log --limit 0 --json", "List all compactions, for a program."),
)
@click.option("--faults", is_flag=True, help="List errors of the hooks instead.")
@limit_option(20)
@json_option
@click.pass_context
def log_command(ctx: click.Context, /, faults: bool, limit: int, as_json: bool) -> None:
    """List compactions: when, in which session, by whom, tokens before and after, tool calls since the last compaction.

    A dash means unknown: tokens after a compaction are known once the agent has stopped again.
    """
    root = _root(ctx)
    if faults:
        _print_faults(list(log.entries(root, log.FAULTS)), limit, as_json=as_json)
        return
    found = statistics.compactions(root)[::-1]
    shown = found[: limit or None]
    if as_json:
        output.json("compactions", {"total": len(found), "compactions": [msgspec.to_builtins(one) for one in shown]})
        return
    output.columns([("at", "session", "trigger", "before", "after", "calls", "suggested"), *map(_row, shown)])
    output.rest(len(found), len(shown), "no compaction is logged")


def _print_faults(found: list[dict[str, object]], limit: int, *, as_json: bool) -> None:
    shown = found[::-1][: limit or None]
    if as_json:
        output.json("faults", {"total": len(found), "faults": shown})
        return
    names = ("at", "event", "session", "where", "fault")
    output.columns([tuple(str(one.get(name, "")) for name in names) for one in shown])
    output.rest(len(found), len(shown), "no error is logged")


@command(
    "stats",
    ("memctl hook stats", "Show how often contexts are compacted, and how full they are then."),
    ("memctl hook stats --json", "Print JSON, for a program."),
)
@json_option
@click.pass_context
def stats_command(ctx: click.Context, /, as_json: bool) -> None:
    """Summarize the logged compactions: per trigger, median tool calls and tokens, and how many were suggested."""
    found = statistics.figures(statistics.compactions(_root(ctx)))
    if as_json:
        output.json("compaction-figures", msgspec.to_builtins(found))
        return
    triggers = ", ".join(f"{number:,} {name}" for name, number in found.by_trigger.items())
    share = "-" if found.suggested_before is None else f"{found.suggested_before:.0%}"
    rows = [
        (
            "compactions",
            f"{found.compactions:,} in {quantity(found.sessions, 'session')}{f' ({triggers})' if triggers else ''}",
        ),
        ("tool calls since the last compaction", _figure(found.median_calls)),
        ("tokens before", _figure(found.median_tokens_before)),
        ("tokens after", _figure(found.median_tokens_after)),
        ("suggested by memctl before", share),
    ]
    output.columns(rows)


def _row(one: CompactionCount) -> Sequence[str]:
    numbers = [_figure(one.before, ""), _figure(one.after, ""), _figure(one.calls, "")]
    return one.at, one.session[:8], one.trigger or "-", *numbers, ", ".join(one.suggested) or "-"


def _figure(value: float | None, label: str = "median ") -> str:
    return "-" if value is None else f"{label}{value:,.0f}"


def _root(ctx: click.Context) -> Path:
    """Return the folder with the state of the hooks, after finishing their jobs.

    A memory that can't be opened has this folder too; a warning then gives the reason.
    """
    try:
        memory = memory_access.memory(ctx)
    except MemctlError as error:
        found = session_dir.find_root(ctx.obj.folder)
        if found is None:
            raise
        output.note(f"warning: hooks can do nothing here: {error.message}")
        return found[2]
    return memory.hooks


class _Hooks(Group):
    """A group whose unknown commands end with exit code 1, since a host reads 2, the code of wrong usage, as a veto."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise MemctlError(error.format_message(), "`memctl hook -h` lists the programs", REFUSED) from None


hook_command = _Hooks("hook", help="Answer the hook events of Claude Code, Codex and Gemini CLI, and show their log.")
for member in (*map(_answering, HOSTS.values()), log_command, stats_command):
    hook_command.add_command(member)
