"""The command `memctl next`: show what to work on next, unblocked work first."""

from __future__ import annotations

import click

from memctl.cli import memory_access, output
from memctl.cli.command import command, limit_option, reading
from memctl.task import live_state
from memctl.team import next_work
from memctl.text.markdown import one_line
from memctl.text.phrases import some

_INDENT = " " * 6
_SHOWN, _STEPS = 3, 10  # pieces of others' work, and steps of one's own, to name


@command(
    "next",
    ("memctl next", "List the issues and states to work on next, best first."),
    ("memctl next --limit 1 --json", "Print the best issue or state to work on as JSON."),
)
@limit_option(5)
@reading
def next_command(ctx: click.Context, /, limit: int, as_json: bool, at: str | None) -> None:
    """Show what to work on next: unblocked work, best first.

    The open steps of the work that you are at, by your last checkpoint or the hooks, come first. Then open issues and
    active states are work. The order: critical issues; what you are working on or were assigned; what nobody has begun;
    what continues the work of the last day; issues of high severity; then by importance, nearness to the latest work,
    and how much other work waits for it. Packs have the same order of urgency. Work that other agents own, work on or
    were assigned is left out. The variable MEMCTL_AGENT says who you are.
    """
    memory, snapshot = memory_access.read(ctx, at)
    steps = live_state.open_steps(memory) if at is None else ()
    work = next_work.choose(memory, snapshot, limit, steps, is_now=at is None)
    if as_json:
        output.answer("next", work, snapshot.faults, memory)
    else:
        if work.steps:
            output.text(f"your open steps: {some(list(map(one_line, work.steps)), _STEPS, '; ')}")
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
