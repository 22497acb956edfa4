"""`handoff`: what one agent hands to another, with the ownership of sections."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from memctl.cli import handoff_answers, opening, output
from memctl.cli.command import Defaulting, json_option, write_options
from memctl.cli.packing import Packing, counter_of, deliver, packing, refuse_undeliverable
from memctl.errors import REFUSED, USAGE, MemctlError
from memctl.pack import handoff
from memctl.pack.formats.choice import AUTO
from memctl.pack.handoff_offer import HandoffRefused, HandoffTerms, Offering
from memctl.pack.handoff_said import EMERGENCY, HandoffText
from memctl.pack.supply import sources
from memctl.record.change import Change
from memctl.record.handoff import OFFERED
from memctl.sources import recency
from memctl.store.memory import Memory
from memctl.task import emitting
from memctl.team import ownership
from memctl.write import transaction, two_phase
from memctl.write.two_phase import Done

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
    sections, said = _sections(memory, given.pop("sections")), _said(given, flags["reason"])
    pack_options = Packing(**given)
    wish = HandoffTerms(
        giver=_giver(memory, giver, kind),
        taker=ownership.agent_name(taker),
        kind=kind,
        sections=sections,
        said=said,
        form=pack_options.form,
        budget=_budget(pack_options.budget, kind),
        changes=_changes(memory, sections),
    )
    _refuse_same(wish)
    refuse_undeliverable(pack_options)
    offering = Offering(
        memory,
        wish,
        lambda: opening.readable(memory, None),
        lambda snapshot: sources(memory, snapshot, None),
        counter_of(memory, pack_options).tokens,
    )
    try:
        offering.prepare()
        done = two_phase.carry_out(
            memory, transaction.write, offering.plan, offering.make, write_options(flags), remote
        )
    except HandoffRefused as error:
        if not flags["as_json"]:
            raise
        output.json("handoff-findings", {"findings": msgspec.to_builtins(error.findings)})
        ctx.exit(REFUSED)
    _tell(memory, offering, wish, done, pack_options, flags)


for member in handoff_answers.COMMANDS:
    handoff_command.add_command(member)


def _said(given: dict[str, Any], reason: str) -> HandoffText:
    values = {name: given.pop(name) for name in _LINES}
    values["observation"] += given.pop("observation_too")
    return HandoffText(reason=reason, summary=given.pop("summary"), task=given.pop("task"), **values)


def _giver(memory: Memory, given: str, kind: str) -> str:
    name = ownership.agent_name(given) if given else memory.actor
    if name != memory.actor and kind != EMERGENCY:
        raise MemctlError(
            f"only {name} can hand over its work", "for an agent that failed: --type emergency --reason WHY", USAGE
        )
    return name


def _sections(memory: Memory, given: tuple[str, ...]) -> tuple[str, ...]:
    if not given:
        return ()
    snapshot = opening.readable(memory, None)
    return tuple(dict.fromkeys(ownership.section_id(opening.section(snapshot, section)) for section in given))


def _changes(memory: Memory, sections: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The files that were changed last, of those that the sections cover if they cover any."""
    outline = opening.readable(memory, None).outline if sections else None
    pages = [page for section in sections if outline and (page := outline.find(section))]
    parents = [outline.find(page.section) for page in pages if outline and page.section]
    globs = tuple(glob for page in (*pages, *filter(None, parents)) for glob in page.paths)
    return tuple(recency.last_files(memory.repository, globs=globs))


def _budget(given: int | None, kind: str) -> int:
    most = handoff.BUDGETS[kind]
    if given is not None and given > most:
        raise MemctlError(f"a handoff of type {kind} has at most {most:,} tokens", exit_code=USAGE)
    return given or most


def _refuse_same(wish: HandoffTerms) -> None:
    if wish.giver == wish.taker and wish.kind != "continuation":
        raise MemctlError(
            f"{wish.taker} would hand over to itself", "--type continuation goes on in a fresh window", USAGE
        )


def _tell(
    memory: Memory, offering: Offering, wish: HandoffTerms, done: Done, options: Packing, flags: dict[str, Any]
) -> None:
    """The package on stdout, and on stderr what became of it."""
    change, package = done.written.change, offering.package
    assert package is not None
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
    for line in done.agreed.lost:
        output.note(f"warning: {output.plain(line)}")
    if not flags["dry_run"] and (wrong := emitting.handed(memory, change.ids[0], OFFERED, wish.taker, wish.sections)):
        output.note(f"warning: {output.plain(wrong)}")
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
        output.note(output.plain(line))
    moved = f", {', '.join(wish.sections)} {'would be' if dry_run else 'is'} {wish.taker}'s" if wish.sections else ""
    verb = "would record" if dry_run else "recorded"
    output.note(output.plain(f"{verb} {change.title}{moved}"))
