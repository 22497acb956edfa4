"""The command `memctl context-summary`: shorten the result of one phase of a task to what the next phase needs."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from memctl.cli import memory_access, output, token_counter
from memctl.cli.command import command, json_option
from memctl.cli.text_input import name_of, read
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.pack import context_summary, phase_summary
from memctl.pack.context_summary import BUDGET, DECISIONS, AgentResult, ContextSummary, Violation
from memctl.store.memory import Memory
from memctl.tokens.count import Counter

_DECIDE = "give --decision, or a line such as `Decision: PROCEED` in the text"


@command(
    "context-summary",
    ("memctl context-summary", "Summarize the memory for the next phase, in 500 tokens."),
    ("memctl context-summary returned.md", "Shorten what a sub-agent returned to 500 tokens."),
    (
        "agent | memctl context-summary - --decision PROCEED",
        "Shorten standard input, with a decision that the text lacks.",
    ),
    (
        "memctl context-summary returned.json --json",
        "Shorten a result given as a JSON object; print the tokens saved, for a program.",
    ),
    ("memctl context-summary summary.md --check", "List what breaks the rules, and shorten nothing."),
)
@click.argument("source", metavar="[FILE|-]", required=False)
@click.option(
    "--decision",
    type=click.Choice(DECISIONS, case_sensitive=False),
    help="The decision for the next phase. [default: the one in the text]",
)
@click.option(
    "--budget", type=click.IntRange(min=10), default=BUDGET, show_default=True, help="Maximum number of tokens."
)
@token_counter.model_option
@click.option(
    "--check", "checking", is_flag=True, help="Only list what breaks the rules; exit code 1 if anything does."
)
@json_option
@click.pass_context
def context_summary_command(
    ctx: click.Context,
    /,
    source: str | None,
    decision: str | None,
    budget: int,
    model: str | None,
    checking: bool,
    as_json: bool,
) -> None:
    """Shorten a sub-agent's result to what the next phase needs.

    First comes the decision; then findings, decisions, constraints, patterns and paths, in the sub-agent's own words.
    Searches, intermediate steps, file contents, resolved errors and rejected alternatives are left out, each with the
    reason. Without a file, the memory is summarized: STOP while a critical issue is open; CLARIFY while a high one is
    open, something blocks the work or a decision is only proposed; else PROCEED.
    """
    memory = memory_access.memory_if_any(ctx) if source else memory_access.memory(ctx)
    counter = token_counter.counter(token_counter.model_of(model, memory), memory)
    if not source:
        assert memory is not None
        if checking:
            raise MemctlError("no file was given to check", "name a file, or - for standard input", USAGE)
        ctx.exit(_print_standing(memory, decision, budget, counter, as_json))
    given = read(source)
    found = context_summary.parse(given)
    decision = decision or found.decision or context_summary.find_decision(found.text)
    if checking:
        ctx.exit(_print_violations(context_summary.violations(found.text, decision, budget, counter.tokens), as_json))
    if not decision:
        raise MemctlError(f"{name_of(source)} states no decision ({', '.join(DECISIONS)})", _DECIDE, USAGE)
    enforced = context_summary.summarize(found.text, decision, budget, counter.tokens, found.paths)
    if not (enforced.kept or enforced.paths):
        reasons = "; ".join(dict.fromkeys(one.reason for one in enforced.dropped))
        raise MemctlError(
            f"the text has nothing for the next phase: {reasons or 'the text is empty'}",
            "ask the sub-agent for its findings and for what to do next",
        )
    saved = _saved(given, found, enforced, counter)
    if as_json:
        output.json("context-summary", {**_data(enforced, found), **saved, "model": counter.family.name})
        return
    output.text(enforced.text, newline=False)
    _print_notes(enforced, saved)


def _print_standing(memory: Memory, decision: str | None, budget: int, counter: Counter, as_json: bool) -> int:
    snapshot = memory_access.readable(memory, None)
    from memctl.pack.item_sources import sources

    given = sources(memory, snapshot, None)
    found = phase_summary.assess(snapshot, memory.now, given.worked, blockers=given.blockers())
    if decision is not None and decision != found.decision:
        found = msgspec.structs.replace(found, decision=decision, why="as given")
    text = phase_summary.summary(found, budget, counter.tokens)
    if as_json:
        data: dict[str, Any] = {"decision": found.decision, "why": found.why, "context_summary": text}
        data |= {"tokens": counter.tokens(text), "budget": budget, "files_of_interest": list(found.paths)}
        output.json("context-summary", {**data, "model": counter.family.name}, snapshot.faults, memory)
    else:
        output.text(text, newline=False)
    return output.finish(memory, snapshot)


def _print_violations(violations: list[Violation], as_json: bool) -> int:
    if as_json:
        found = map(msgspec.structs.asdict, violations)
        output.json_list("context-summary-check", found, name="violations")
    else:
        for violation in violations:
            where = f"line {violation.line}: " if violation.line else ""
            output.text(f"{where}{' '.join(violation.message.split())}")
    return REFUSED if violations else OK


def _saved(given: str, found: AgentResult, enforced: ContextSummary, counter: Counter) -> dict[str, Any]:
    """Return the number of tokens that were returned, that are passed on, and that were left out, by type."""
    returned_tokens = counter.tokens(given, "json" if found.discarded else "markdown")
    saving = max(0.0, 1 - enforced.tokens / returned_tokens) if returned_tokens else 0.0
    discarded = {name: counter.tokens(text, "json") for name, text in found.discarded.items()}
    return {"tokens_returned": returned_tokens, "saving": round(saving, 3), "discarded": discarded}


def _data(enforced: ContextSummary, found: AgentResult) -> dict[str, Any]:
    return {
        "decision": enforced.decision,
        "context_summary": enforced.text,
        "tokens": enforced.tokens,
        "budget": enforced.budget,
        "task_id": found.task_id,
        "phase": found.phase,
        "is_actionable": enforced.is_actionable,
        "files_of_interest": enforced.files,
        "kept": [msgspec.structs.asdict(one) for one in enforced.kept],
        "dropped": [msgspec.structs.asdict(one) for one in enforced.dropped],
    }


def _print_notes(enforced: ContextSummary, saved: dict[str, Any]) -> None:
    """Print on stderr what was left out and why, which rules are broken, and how much was saved."""
    notes = []
    for one in enforced.dropped:
        where = f", line {one.line}" if one.line else ""
        notes.append(f"left out{where}: {one.reason}: {' '.join(one.text.split())}")
    for kept in enforced.kept:
        if kept.warning:
            notes.append(f"warning: line {kept.line}: {kept.warning}: {' '.join(kept.text.split())}")
    if not enforced.is_actionable:
        notes.append("warning: the summary has nothing that the next phase could act on")
    notes += [f"discarded: {name} ({tokens:,} tokens)" for name, tokens in saved["discarded"].items()]
    output.note("\n".join(notes)) if notes else None
    output.note(
        f"{saved['tokens_returned']:,} tokens returned, {enforced.tokens:,} passed on: {saved['saving']:.0%} saved"
    )
