"""The command `memctl next`: show what to work on next, unblocked work first."""

from __future__ import annotations

from typing import Any

import click

from memctl.cli import memory_access, output
from memctl.cli.command import command, limit_option, reading
from memctl.store.memory import Memory
from memctl.team import next_work
from memctl.team.next_work import NextWork
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
@click.pass_context
def next_command(ctx: click.Context, /, limit: int, as_json: bool, at: str | None) -> None:
    """Show what to work on next: unblocked work, best first.

    Open issues and active states are work. The order: what you are working on or were assigned; critical issues; what
    nobody has begun; what continues the work of the last day; then by importance, severity, and how much other work
    waits for it. Work that other agents own, work on or were assigned is left out. The variable MEMCTL_AGENT says who
    you are.
    """
    memory, snapshot = memory_access.read(ctx, at)
    found = next_work.choose(memory, snapshot, limit, is_now=at is None)
    if as_json:
        output.json("next", _data(memory, found), snapshot.faults, memory)
    else:
        below = [
            f"{_INDENT}{output.plain('; '.join(one.because))}  `{output.plain(one.command)}`" for one in found.choices
        ]
        output.columns([output.record_row(one.record) for one in found.choices], output.RECORD_STYLES, below)
        _print_rest(found)
    ctx.exit(output.finish(memory, snapshot))


def _print_rest(found: NextWork) -> None:
    for line in found.everywhere:
        output.note(f"something blocks all agents: {line}")
    left = found.total - len(found.choices)
    output.rest(
        found.total,
        len(found.choices),
        "there is no unblocked work (open issues and active states)",
        f"more {'issue or state is' if left == 1 else 'issues and states are'} ready: --limit 0 shows all",
    )
    if found.blocked:
        output.note(f"blocked work: {found.blocked:,} (`memctl list --blocked` shows what blocks it)")
    if found.elsewhere:
        others = some([f"{record.id} ({who})" for record, who in found.elsewhere], _SHOWN)
        output.note(f"left out, because other agents work on it: {others}")


def _data(memory: Memory, found: NextWork) -> dict[str, Any]:
    return {
        "total": found.total,
        "choices": [
            {
                "record": output.record_data(memory, one.record),
                "because": list(one.because),
                "command": one.command,
                "is_own": one.is_own,
                "unblocks": list(one.unblocks),
            }
            for one in found.choices
        ],
        "blocked": found.blocked,
        "elsewhere": [{"id": record.id, "because": who} for record, who in found.elsewhere],
        "everywhere": list(found.everywhere),
    }
