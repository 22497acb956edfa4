"""The command `memctl next`: show what to work on next, unblocked work first."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from memctl.cli import memory_access, output
from memctl.cli.command import command, limit_option, reading
from memctl.store.memory import Memory
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
    work = next_work.choose(memory, snapshot, limit, is_now=at is None)
    steps = _own_steps(memory) if at is None else ()
    if as_json:
        output.json("next", {"steps": list(steps), **_data(memory, work)}, snapshot.faults, memory)
    else:
        if steps:
            output.text(f"your open steps: {some(list(map(one_line, steps)), _STEPS, '; ')}")
        below = [
            f"{_INDENT}{output.plain('; '.join(choice.because))}  `{output.plain(choice.command)}`"
            for choice in work.choices
        ]
        output.columns([output.record_row(choice.record) for choice in work.choices], output.RECORD_STYLES, below)
        _print_rest(work)
    ctx.exit(output.finish(memory, snapshot))


def _own_steps(memory: Memory) -> tuple[str, ...]:
    """Return the open steps of the work that the agent or person is at, by its live state."""
    from memctl.task import live_state

    state = live_state.read(live_state.folder_of(memory))
    return state.task.ahead if state is not None else ()


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


def _data(memory: Memory, work: next_work.NextWork) -> dict[str, Any]:
    return {
        "total": work.total,
        "choices": [
            {**msgspec.structs.asdict(choice), "record": output.record_data(memory, choice.record)}
            for choice in work.choices
        ],
        "blocked": work.blocked,
        "elsewhere": [{"id": record.id, "because": who} for record, who in work.elsewhere],
        "everywhere": list(work.everywhere),
    }
