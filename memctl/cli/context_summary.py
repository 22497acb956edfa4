"""The command `memctl context summary`: shorten the result of one phase of a task to what the next phase needs."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from memctl.cli import memory_access, output, token_counter
from memctl.cli.command import command, flag_option, json_option, number_option
from memctl.cli.text_input import name_of, read
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.pack import context_summary, phase_summary
from memctl.pack.context_summary import BUDGET, DECISIONS, AgentResult, ContextSummary, Violation
from memctl.store.memory import Memory
from memctl.tokens.count import Counter

_DECIDE = "give --decision, or a line such as `Decision: PROCEED` in the text"


@command(
    "summary",
    ("memctl context summary", "Summarize the memory for the next phase, in 500 tokens."),
    ("memctl context summary returned.md", "Shorten what a sub-agent returned to 500 tokens."),
    (
        "agent | memctl context summary - --decision PROCEED",
        "Shorten standard input, and state PROCEED as its decision if the text states none.",
    ),
    (
        "memctl context summary returned.json --json",
        "Shorten a result that is a JSON object, and print how many tokens that saves.",
    ),
    (
        "memctl context summary summary.md --check",
        "List what does not belong in the summary, and what the summary lacks; shorten nothing.",
    ),
)
@click.argument("source", metavar="[FILE|-]", required=False)
@click.option(
    "--decision",
    type=click.Choice(DECISIONS, case_sensitive=False),
    help="The decision for the next phase. [default: the one in the text]",
)
@number_option("--budget", least=10, default=BUDGET, help="Maximum number of tokens of the summary.")
@token_counter.model_option
@flag_option(
    "--check",
    "checking",
    help="Only list what does not belong in a summary, and what the text lacks; exit with 1 if it lists anything.",
)
@json_option
def summary_command(
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

    The summary begins with the decision for the next phase: PROCEED, STOP or CLARIFY. Then it has findings, decisions,
    constraints, patterns and paths, in the sub-agent's own words.
    Searches, intermediate steps, file contents, resolved errors and rejected alternatives are left out, each with the
    reason. Without a file, the memory is summarized; the decision is STOP while an issue of critical severity is open,
    CLARIFY while one of high severity is open, something blocks the work or a decision is only proposed, else PROCEED.
    """
    memory = memory_access.memory_if_any(ctx) if source else memory_access.memory(ctx)
    counter = token_counter.counter(token_counter.model_of(model, memory), memory)
    if not source:
        assert memory is not None
        if checking:
            raise MemctlError("--check needs the file to check", "give a file, or - for standard input", USAGE)
        ctx.exit(_print_standing(memory, decision, budget, counter, as_json))
    text = read(source)
    result = context_summary.parse(text)
    decision = decision or result.decision or context_summary.find_decision(result.text)
    if checking:
        ctx.exit(_print_violations(context_summary.violations(result.text, decision, budget, counter.tokens), as_json))
    if not decision:
        raise MemctlError(
            f"{name_of(source)} states no decision for the next phase ({', '.join(DECISIONS)})", _DECIDE, USAGE
        )
    summary = context_summary.summarize(result.text, decision, budget, counter.tokens, result.paths)
    if not (summary.kept or summary.paths):
        reasons = "; ".join(dict.fromkeys(line.reason for line in summary.dropped))
        raise MemctlError(
            f"the text has nothing for the next phase: {reasons or 'the text is empty'}",
            "ask the sub-agent for its findings and next steps, and pass its answer to `memctl context summary`",
        )
    saved = _saved(text, result, summary, counter)
    if as_json:
        data = {"summary": summary, "result": result, **saved, "model": counter.family.name}
        output.answer("context-summary", data)
        return
    output.text(summary.text, newline=False)
    _print_notes(summary, saved)


def _print_standing(memory: Memory, decision: str | None, budget: int, counter: Counter, as_json: bool) -> int:
    snapshot = memory_access.readable(memory, None)
    from memctl.pack.item_sources import sources

    texts = sources(memory, snapshot, None)
    assessment = phase_summary.assess(snapshot, memory.now, texts.worked, blockers=texts.blockers())
    if decision is not None and decision != assessment.decision:
        assessment = msgspec.structs.replace(assessment, decision=decision, why="as given")
    text = phase_summary.summary(assessment, budget, counter.tokens)
    if as_json:
        data: dict[str, Any] = {"decision": assessment.decision, "why": assessment.why, "context_summary": text}
        data |= {"tokens": counter.tokens(text), "budget": budget, "files_of_interest": list(assessment.paths)}
        output.json("context-summary", {**data, "model": counter.family.name}, snapshot.faults, memory)
    else:
        output.text(text, newline=False)
    return output.finish(memory, snapshot)


def _print_violations(violations: list[Violation], as_json: bool) -> int:
    if as_json:
        output.json_list("context-summary-check", violations, name="violations")
    else:
        for violation in violations:
            where = f"line {violation.line}: " if violation.line else ""
            output.text(f"{where}{' '.join(violation.message.split())}")
    return REFUSED if violations else OK


def _saved(returned: str, result: AgentResult, summary: ContextSummary, counter: Counter) -> dict[str, Any]:
    returned_tokens = counter.tokens(returned, "json" if result.discarded else "markdown")
    saving = max(0.0, 1 - summary.tokens / returned_tokens) if returned_tokens else 0.0
    discarded = {name: counter.tokens(text, "json") for name, text in result.discarded.items()}
    return {"tokens_returned": returned_tokens, "saving": round(saving, 3), "discarded": discarded}


def _print_notes(summary: ContextSummary, saved: dict[str, Any]) -> None:
    notes = []
    for unit in summary.dropped:
        where = f", line {unit.line}" if unit.line else ""
        notes.append(f"left out{where}: {unit.reason}: {' '.join(unit.text.split())}")
    for line in summary.kept:
        if line.warning:
            notes.append(f"warning: line {line.line}: {line.warning}: {' '.join(line.text.split())}")
    if not summary.is_actionable:
        notes.append("warning: the summary has no decision, path or next step that the next phase could act on")
    notes += [
        f"left out: the field {name} of the JSON object ({tokens:,} tokens)"
        for name, tokens in saved["discarded"].items()
    ]
    output.note("\n".join(notes)) if notes else None
    output.note(
        f"the text has {saved['tokens_returned']:,} tokens, the summary {summary.tokens:,}: {saved['saving']:.0%} saved"
    )
