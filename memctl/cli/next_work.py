"""The command `memctl next`: show what to work on next, unblocked work first."""

from __future__ import annotations

import click

from memctl.cli import memory_access, output
from memctl.cli.command import command, limit_option, reading
from memctl.team import next_work
from memctl.text.phrases import some

_INDENT = " " * 6
_SHOWN = 3  # pieces of others' work to name


@command(
    "next",
    ("memctl next", "List the issues and states to work on next, best first."),
    ("memctl next --limit 1 --json", "Print the best issue or state to work on as JSON."),
)
@limit_option(5)
@reading
def next_command(ctx: click.Context, /, limit: int, as_json: bool, at: str | None) -> None:
    """Show what to work on next: unblocked work, best first.

    Open issues and active states are work. The order: what you are working on or were assigned; critical issues; what
    nobody has begun; what continues the work of the last day; then by importance, severity, and how much other work
    waits for it. Work that other agents own, work on or were assigned is left out. The variable MEMCTL_AGENT says who
    you are.
    """
    memory, snapshot = memory_access.read(ctx, at)
    work = next_work.choose(memory, snapshot, limit, is_now=at is None)
    if as_json:
        output.answer("next", work, snapshot.faults, memory)
    else:
        below = [
            f"{_INDENT}{output.plain('; '.join(choice.because))}  `{output.plain(choice.command)}`"
            for choice in work.choices
        ]
        output.columns([output.record_row(choice.record) for choice in work.choices], output.RECORD_STYLES, below)
        _print_rest(work)
    ctx.exit(output.finish(memory, snapshot))


def _print_rest(work: next_work.NextWork) -> None:
    for line in work.everywhere:
        output.note(f"something blocks all agents: {line}")
    left = work.total - len(work.choices)
    output.rest(
        work.total,
        len(work.choices),
        "there is no unblocked work (open issues and active states)",
        f"more {'issue or state is' if left == 1 else 'issues and states are'} ready: --limit 0 shows all",
    )
    if work.blocked:
        output.note(f"blocked work: {work.blocked:,} (`memctl list --blocked` shows what blocks it)")
    if work.elsewhere:
        others = some([f"{record.id} ({who})" for record, who in work.elsewhere], _SHOWN)
        output.note(f"left out, because other agents work on it: {others}")
