"""What commands have in common that change the state which agents share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from memctl.cli import output
from memctl.cli.command import json_option
from memctl.cli.write_options import said
from memctl.store.memory import Memory
from memctl.team import ref_state, remote_state
from memctl.team.ref_state import Plan, ReadState, StateOutcome, Terms
from memctl.write import transaction, two_phase


def agreeing(function: Any) -> Any:
    """The options of every command that changes the shared state."""
    for option in reversed(
        (
            click.option("--reason", callback=said, help="Why; the history of the state keeps it."),
            click.option("--remote", metavar="NAME", help="Agree with a remote too: fetch, change, push."),
            click.option(
                "--expect-version", "expected", type=click.IntRange(min=0), metavar="N",
                help="Only if the state is at this version still.",
            ),
            click.option("--dry-run", "-n", is_flag=True, help="Say what would change, and change nothing."),
        )
    ):  # fmt: skip
        function = option(function)
    return json_option(function)


def seen(memory: Memory, remote: str | None) -> ReadState:
    """The state as this clone has it, with what a remote has taken in if one is named."""
    if remote is None:
        return ref_state.read(memory)
    taken = remote_state.take_in(memory, remote)
    _tell(taken.lost)
    return taken.seen


def carry_out(
    memory: Memory, plan: Plan, given: dict[str, Any], then: Callable[[StateOutcome], str] | None = None
) -> None:
    """Change the shared state and say what came of it: as JSON, or in the lines that `then` makes of it."""
    remote = given["remote"]
    if not given["dry_run"]:
        two_phase.recover(memory, transaction.write, ask_remote=bool(remote))
    terms = Terms(given["reason"] or "", given["dry_run"], given["expected"])
    alone = remote is None  # "" is the slip of a script, and not the wish to agree with nobody
    result = ref_state.update(memory, plan, terms) if alone else remote_state.update(memory, remote, plan, terms)
    _tell(result.lost)
    if given["as_json"]:
        data = {
            "op": result.step.op,
            "title": result.step.title,
            "changed": result.changed,
            "sync_version": result.step.state.sync_version,
            "commit": result.commit or None,
            "lost": list(result.lost),
        }
        output.json("coordination-change", data)
        return
    done = f"{result.step.op} {result.step.title}"
    output.text(f"would {done}" if terms.dry_run else then(result) if then else done)
    if not result.changed:
        output.note("nothing to change")


def _tell(lost: tuple[str, ...]) -> None:
    output.warnings(lost)
