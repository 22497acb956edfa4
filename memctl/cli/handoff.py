"""`handoff`: what one agent hands to another, with the ownership of sections."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from memctl.cli import handoff_answers, opening, output
from memctl.cli.command import json_option
from memctl.cli.groups import Defaulting
from memctl.cli.packing import Packing, counter_of, deliver, packing, refuse_undeliverable
from memctl.cli.write_options import write_options
from memctl.errors import REFUSED, USAGE, MemctlError
from memctl.pack import handoff, handoff_offer
from memctl.pack.formats.choice import AUTO
from memctl.pack.handoff_offer import HandoffRefused, HandoffTerms, Offered
from memctl.pack.handoff_said import HandoffText
from memctl.record.change import Change
from memctl.record.handoff import OFFERED
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory
from memctl.task import events

_FLAGS = ("reason", "dry_run", "allow_secret", "as_json")
_LINES = ("immediate", "short_term", "success_criteria", "observation", "approach", "pitfall", "resource")
_EXAMPLES = (
    (
        'memctl handoff --to codex --section 2.1 --reason "Schema is done" --success "All tests pass"',
        "Record it, hand §2.1 over, print the package; next actions come from your latest state.",
    ),
    ('memctl handoff --to dba --type specialist --section 2.1 --task "A schema for refunds" -n', "Only show it."),
    ('memctl handoff --to lead --from codex --type emergency --reason "It stopped answering"', "For one that failed."),
    ("memctl handoff list", "What waits for an answer, yours first."),
    ("memctl handoff accept HND-2025-11-04-001", "Take it over."),
)


def _split(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part for value in given for part in value.replace(",", " ").split())


def _saying(function: Any) -> Any:
    """The options by which the giver says something."""
    for name, to, what in reversed(
        (
            ("--immediate", "immediate", "What to do first. [default: next actions of your states]"),
            ("--short-term", "short_term", "What to reach next. [default: remaining steps of your states]"),
            ("--success", "success_criteria", "How to tell that it is done. [default: the tasks of your states]"),
            ("--observation", "observation", "Something you noticed."),
            ("--note", "observation_too", "The same."),
            ("--approach", "approach", "How you would go about it."),
            ("--pitfall", "pitfall", "What to beware of."),
            ("--resource", "resource", "Where to look."),
        )
    ):
        function = click.option(name, to, multiple=True, metavar="TEXT", help=f"{what} Repeatable.")(function)
    function = click.option("--task", default="", metavar="TEXT", help="What the other agent is to do.")(function)
    return click.option(
        "--summary", default="", metavar="TEXT", help="Where it stands. [default: what the memory says, 500 tokens]"
    )(function)


@click.group("handoff", cls=Defaulting, examples=_EXAMPLES)
@click.option("--to", "taker", default="", metavar="AGENT", help="Who takes over.")
@click.option("--from", "giver", default="", metavar="AGENT", help="Who gives, if it failed: for type emergency.")
@click.option(
    "--type",
    "kind",
    type=click.Choice(list(handoff.BUDGETS)),
    default="complete",
    show_default=True,
    help="What for; it sets budget and compaction.",
)
@click.option(
    "--section", "--sections", "sections", multiple=True, callback=_split, metavar="§2.N…",
    help="A section to hand over; the package is about these. [default: all of the memory, no section moves]",
)  # fmt: skip
@click.option("--reason", default="", metavar="TEXT", help="Why it is handed over.")
@_saying
@packing(AUTO, budget=", ".join(f"{name} {budget}" for name, budget in handoff.BUDGETS.items()))
@click.option("--remote", default="", metavar="NAME", help="Move ownership at a remote too: fetch, change, push.")
@click.option("--dry-run", "-n", is_flag=True, help="Print the package; record nothing, move nothing.")
@click.option("--allow-secret", is_flag=True, help="Let text pass that looks like a credential.")
@json_option
@click.pass_context
def handoff_command(ctx: click.Context, /, taker: str, giver: str, **given: Any) -> None:
    """Hand work to another agent: package, record and ownership in one step.

    The package is printed and recorded, and the sections become the other's: all of it or none. Refused if a section is
    somebody else's, if reason, summary, first actions or success criteria say nothing (an emergency needs only the
    reason), or if what must stay of the sections has no room; of all of the memory, or in an emergency, the weightiest
    goes in then. Within the budget the context is compacted by 20 %, for a continuation by 40 %.
    """
    if ctx.invoked_subcommand is not None:
        if taker:
            raise MemctlError(f"--to does not go with {ctx.invoked_subcommand}", exit_code=USAGE)
        return
    if not taker:
        raise MemctlError("--to is missing", "`memctl handoff --to AGENT`, or `memctl handoff list`", USAGE)
    flags = {name: given.pop(name) for name in _FLAGS}
    memory = opening.memory(ctx)
    remote, kind = given.pop("remote"), given.pop("kind")
    said, named = _said(given, flags["reason"]), given.pop("sections")
    pack_options = Packing(**given)

    def read() -> Snapshot:
        return opening.readable(memory, None)

    wish = handoff_offer.terms(
        memory,
        read,
        giver=giver,
        taker=taker,
        kind=kind,
        sections=[opening.section(read(), one) for one in named],
        said=said,
        form=pack_options.form,
        budget=pack_options.budget,
    )
    refuse_undeliverable(pack_options)
    count = counter_of(memory, pack_options).tokens
    try:
        offered = handoff_offer.offer(memory, wish, read, count, write_options(flags), remote)
    except HandoffRefused as error:
        if not flags["as_json"]:
            raise
        output.json("handoff-findings", {"findings": msgspec.to_builtins(error.findings)})
        ctx.exit(REFUSED)
    _tell(memory, offered, wish, pack_options, flags)


for member in handoff_answers.COMMANDS:
    handoff_command.add_command(member)


def _said(given: dict[str, Any], reason: str) -> HandoffText:
    values = {name: given.pop(name) for name in _LINES}
    values["observation"] += given.pop("observation_too")
    return HandoffText(reason=reason, summary=given.pop("summary"), task=given.pop("task"), **values)


def _tell(memory: Memory, offered: Offered, wish: HandoffTerms, options: Packing, flags: dict[str, Any]) -> None:
    """The package on stdout, and on stderr what became of it."""
    done, package = offered.done, offered.package
    change = done.written.change
    more = {
        "id": change.ids[0],
        "path": memory.tracked(change.writes[0].path),
        "type": wish.kind,
        "from": wish.giver,
        "to": wish.taker,
        "sections": list(wish.sections),
        "commit": done.written.commit or None,
        "coordination_commit": done.agreed.commit or None,
        "report": msgspec.to_builtins(package.report),
        "dry_run": flags["dry_run"],
    }
    snapshot = opening.snapshot(memory, None)
    output.warnings(done.agreed.lost)
    if not flags["dry_run"] and (
        wrong := events.note_handoff(memory, change.ids[0], OFFERED, wish.taker, wish.sections)
    ):
        output.note(f"warning: {wrong}")
    try:  # what is recorded is told by now: a package that goes nowhere, or a reader that goes away, ends the command
        deliver(memory, snapshot, package.pack, options, "handoff", as_json=flags["as_json"], more=more)
    except MemctlError as error:
        if flags["dry_run"]:
            raise
        raise MemctlError(
            f"{change.title} is recorded, and its package went nowhere: {error.message}",
            f"`memctl handoff show {change.ids[0]}` prints it",
        ) from None
    _note(change, wish, package.report.lines, dry_run=flags["dry_run"])
    output.warn(memory, snapshot)


def _note(change: Change, wish: HandoffTerms, lines: list[str], *, dry_run: bool) -> None:
    for line in lines:
        output.note(line)
    moved = f", {', '.join(wish.sections)} {'would be' if dry_run else 'is'} {wish.taker}'s" if wish.sections else ""
    verb = "would record" if dry_run else "recorded"
    output.note(f"{verb} {change.title}{moved}")
