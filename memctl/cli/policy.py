"""`policy`: when to work in parallel, when to compress, and whether the threshold fits."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from memctl.cli import counting, opening, output, window_limit
from memctl.cli.command import Group, command, json_option, options, reading
from memctl.cli.counting import Several, Surroundings, files_option, model_option
from memctl.cli.source import read
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.tokens.families import kind_of_text
from memctl.window import (
    Context,
    ContextState,
    Debt,
    Slice,
    contexts,
    limits,
    measures,
    parallel,
    take_apart,
    triggers,
)
from memctl.window import (
    threshold as control,
)


@command(
    "threshold",
    ("memctl policy threshold scs.jsonl", "Whether the threshold of the shared slice should be changed."),
    ("memctl policy threshold - --json", "From standard input, for a program."),
)
@click.argument("source", metavar="FILE|-")
@click.option("--threshold", type=click.IntRange(min=1), help="[default: scs_threshold in config.yaml, or 2000]")
@json_option
@click.pass_context
def threshold_command(ctx: click.Context, /, source: str, threshold: int | None, as_json: bool) -> None:
    """Review the threshold of the shared slice by a log of observations, and say what to do next.

    FILE has a line of JSON for each batch or day: date and scs (tokens); if there were any, threshold, requests and
    denied (fan-outs), macro_summaries and no_ops (those that saved nothing). The last seven days count.
    """
    limit = threshold or counting.threshold_of(opening.memory_if_any(ctx))
    found = control.review(control.parse(read(source), source), limit)
    if as_json:
        output.json("threshold", {**msgspec.structs.asdict(found), "steps": _steps(found)})
        return
    rows = [
        (
            "observations",
            f"{found.observations} from {found.since[:10]} to {found.until[:10]}" if found.observations else "0",
        ),
        ("median use of the threshold", "-" if found.median is None else f"{found.median:.0%} of {found.threshold:,}"),
        ("largest change of the SCS", f"{found.largest_delta:,}"),
        ("denied", "-" if found.denial_rate is None else f"{found.denial_rate:.0%} of {found.requests}"),
        ("macro summaries", f"{found.macro_summaries}, {found.no_ops} saved nothing"),
    ]
    output.columns(rows)
    to = f" to {found.proposal:,}" if found.proposal else ""
    output.text(f"\n{found.decision}{to}: {found.why}")
    for number, step in enumerate(_steps(found), 1):
        output.text(f"  {number}. {step}")


def _steps(found: control.Review) -> list[str]:
    return list(control.STEPS) if found.decision != "keep" else []


policy_command = Group(
    "policy",
    help="Say when to work in parallel, when to compress, and whether the threshold fits.",
    no_args_is_help=False,
)


# The options of both commands that look at contexts.
_inputs = options(
    reading,
    click.option("--shared", metavar="FILE", help="The shared context slice. [default: found in the contexts]"),
    files_option("plan", "Files and prompts that the next batch will add."),
    click.option("--remaining", type=click.IntRange(min=0), help="Tokens that are left. [default: of the window]"),
    click.option("--delta", type=click.IntRange(min=0), help="Tokens that the branches will bring back together."),
    click.option("--state", "described", metavar="FILE", help="YAML or JSON: what can't be measured. See below."),
    click.option("--threshold", type=click.IntRange(min=1), help="[default: scs_threshold in config.yaml, or 2000]"),
    model_option,
)


class _Inputs:
    """The contexts and what was said of them, read and measured."""

    def __init__(self, ctx: click.Context, sources: tuple[str, ...], given: dict[str, Any]) -> None:
        around = counting.surroundings(ctx, given["model"], given["at"])
        self.around, count = around, around.counter.tokens
        named = given["described"]
        self.state = contexts.parse(read(named), named) if named else ContextState()
        if given["delta"] is not None:
            self.state = msgspec.structs.replace(self.state, delta_payload=given["delta"])
        self.contexts = [_context(source, around) for source in sources]
        shared = given["shared"]
        parsed = take_apart(read(shared), shared, count) if shared else None
        self.shared: Slice = contexts.shared_slice([item.measures.parsed for item in self.contexts], parsed)
        self.threshold = given["threshold"] or self.state.threshold or around.scs_threshold
        planned = sum(count(text, kind_of_text(name, text)) for name in given["plan"] if (text := read(name)))
        self.aws = max((item.tokens for item in self.contexts), default=0)
        remaining = given["remaining"] if given["remaining"] is not None else self.state.remaining_budget
        if remaining is None:
            limit = window_limit.of_model(given["model"], None, limits.NO_HOST, around.memory)
            remaining = max(limit.usable - self.aws, 0)
        self.remaining = remaining
        self.burst = contexts.burst(planned, self.aws, self.remaining)
        self.growth = contexts.growth(self.state.aws_before, self.aws)
        self.debts = [contexts.debt(item.measures) for item in self.contexts]

    def data(self) -> dict[str, Any]:
        """The numbers, for JSON."""
        return {
            "threshold": self.threshold,
            "scs": {"tokens": self.shared.tokens, "source": self.shared.source},
            "contexts": [
                {"file": item.name, "aws": item.tokens, "debt": _debt_data(debt)}
                for item, debt in zip(self.contexts, self.debts, strict=True)
            ],
            "burst": {
                "planned": self.burst.planned,
                "growth": self.burst.growth,
                "over_remaining": self.burst.over,
                "is_burst": self.burst.is_burst,
            },
            "remaining": self.remaining,
            "growth": self.growth,
            "delta_since_last_batch": None if self.state.aws_before is None else self.aws - self.state.aws_before,
        }

    def show(self) -> None:
        output.text(
            f"SCS {self.shared.tokens:,} of {self.threshold:,} ({self.shared.source}); largest AWS {self.aws:,}; "
            f"planned {self.burst.planned:,} ({self.burst.growth:.0%} growth), {self.remaining:,} remain"
        )
        for item, debt in zip(self.contexts, self.debts, strict=True):
            output.text(f"  {item.name}: AWS {item.tokens:,}, context debt {debt.tokens:,} ({debt.ratio:.0%})")
        output.text()


def _debt_data(debt: Debt) -> dict[str, Any]:
    return {"tokens": debt.tokens, "ratio": debt.ratio, "lines": [item.block.piece.line for item in debt.blocks]}


def _context(source: str, around: Surroundings) -> Context:
    parsed = take_apart(read(source), source, around.counter.tokens)
    return Context(source, measures.measure(parsed, around.known, around.now, around.counter.tokens))


@policy_command.command(
    "parallel",
    cls=Several,
    examples=(
        ("memctl policy parallel agent-a.xml agent-b.xml", "May these two start at once? Exit code 1 if not."),
        ("memctl policy parallel *.xml --delta 500 --plan src/*.py", "With what they will bring back and read."),
        ("memctl policy parallel *.xml --state state.yaml --json", "With what can't be measured, for a program."),
    ),
)
@click.argument("sources", metavar="FILE…", nargs=-1)
@_inputs
@click.pass_context
def parallel_command(ctx: click.Context, /, sources: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Say whether agents may work at once; each FILE is what one agent has in its window.

    Seven criteria, each with its number, its limit, and by how much it is missed. The shared context slice (SCS) is
    what all files have, block by block. --state is a file with any of these keys: threshold, remaining_budget,
    delta_payload, unresolved_dependencies, pending_escalations, deferred_compressions, event_schema, resumable,
    phase_boundary, batches_since_compression, aws_before, events, scs_history, next_phase_scs, parallel_denials,
    unresolved_details.
    """
    found = _Inputs(ctx, _some(sources), given)
    verdict = parallel.judge(found.contexts, found.shared, found.state, found.threshold)
    if as_json:
        criteria = [msgspec.structs.asdict(criterion) for criterion in verdict.criteria]
        more = {"delta": verdict.delta, "is_delta_assumed": verdict.is_delta_assumed}
        data = {"granted": verdict.is_granted, "criteria": criteria, **more, **found.data()}
        output.json("parallel", data, found.around.faults, found.around.memory)
    else:
        found.show()
        output.columns([_criterion_row(criterion) for criterion in verdict.criteria])
        refused = [criterion.name for criterion in verdict.criteria if not criterion.passed]
        output.text("\n" + (f"refused: {', '.join(refused)}" if refused else "granted"))
    ctx.exit(OK if verdict.is_granted else REFUSED)


def _some(sources: tuple[str, ...]) -> tuple[str, ...]:
    if not sources:
        raise MemctlError("no context was given", "name a file for each agent, with what it has in its window", USAGE)
    return sources


def _criterion_row(found: parallel.Criterion) -> tuple[str, ...]:
    over = f"over by {found.over}" if found.over else ""
    state = "passed" if found.passed else "refused"
    return (state, str(found.number or "-"), found.name, found.measured, found.limit, over, found.help)


@policy_command.command(
    "triggers",
    cls=Several,
    examples=(
        ("memctl policy triggers window.md", "Which triggers for a compression fire, and how to compress."),
        ("memctl policy triggers window.md --plan src/*.py", "Before the next batch of reads."),
        ("memctl policy triggers window.md --state state.yaml --strict", "Exit code 1 if any fires."),
    ),
)
@click.argument("sources", metavar="FILE…", nargs=-1)
@_inputs
@click.option("--events", type=click.IntRange(min=0), help="Events in the stream. [default: counted in the contexts]")
@click.option("--phase-boundary", is_flag=True, help="A phase has just ended.")
@click.option("--strict", is_flag=True, help="Exit code 1 if a trigger fires.")
@click.pass_context
def triggers_command(
    ctx: click.Context, /, sources: tuple[str, ...], events: int | None, phase_boundary: bool, strict: bool,
    as_json: bool, **given: Any,
) -> None:  # fmt: skip
    """Say when to compress a context, by how much and how, and whom to ask; FILE is what is in a window.

    Nine triggers; the smallest summary that does (micro to 50 tokens, phase to 300, macro to 800); the ways to make the
    context smaller, best first, with what each saves. `memctl policy parallel -h` lists the keys of a --state file.
    """
    found = _Inputs(ctx, _some(sources), given)
    now = _situation(found, events, phase_boundary)
    judged, escalated = triggers.judge(now), triggers.escalations(now)
    tier = triggers.choose(found.shared, found.aws, found.around.counter.tokens)
    ways = {item.name: triggers.strategies(item.measures, found.around.counter.tokens) for item in found.contexts}
    fired = [trigger for trigger in judged if trigger.fired]
    if as_json:
        data = {
            "fired": [trigger.number for trigger in fired],
            "triggers": [msgspec.structs.asdict(trigger) for trigger in judged],
            "tier": {**msgspec.structs.asdict(tier), "is_enough": tier.is_enough} if fired else None,
            "strategies": {name: [msgspec.structs.asdict(way) for way in found_] for name, found_ in ways.items()},
            "escalations": [msgspec.structs.asdict(item) for item in escalated],
        }
        output.json("triggers", {**data, **found.data()}, found.around.faults, found.around.memory)
    else:
        found.show()
        _print_triggers(judged, tier if fired else None, ways, escalated)
    ctx.exit(REFUSED if (strict and fired) or found.around.faults else OK)


def _situation(found: _Inputs, events: int | None, phase_boundary: bool) -> triggers.TriggerInput:
    state = found.state
    if phase_boundary:
        state = msgspec.structs.replace(state, phase_boundary=True)
    if events is None:
        events = state.events if state.events is not None else sum(map(triggers.count_events, found.contexts))
    structured = [item for item in found.contexts if item.measures.parsed.format in parallel.EVENT_FORMATS]
    lacking = [
        f"{item.name} lacks {', '.join(lacks)}"
        for item in structured
        if (lacks := parallel.lacks(item.measures.parsed))
    ]
    return triggers.TriggerInput(
        contexts=found.contexts,
        shared=found.shared,
        debt=max(found.debts, key=lambda debt: debt.ratio),
        burst=found.burst,
        growth=found.growth,
        validated=len(structured),
        lacking=lacking,
        events=events,
        threshold=found.threshold,
        state=state,
    )


def _print_triggers(
    judged: list[triggers.Trigger],
    tier: triggers.Tier | None,
    ways: dict[str, list[triggers.Strategy]],
    escalated: list[triggers.Escalation],
) -> None:
    states = {True: "fires", False: "quiet", None: "unknown"}
    rows = [
        (states[item.fired], str(item.number), item.name, item.measured, item.limit, item.over, item.action)
        for item in judged
    ]
    output.columns(rows)
    if tier is not None:
        enough = "enough" if tier.is_enough else "12 % are wanted: make it smaller in other ways, too"
        output.text(f"\n{tier.name} summary (at most {tier.most} tokens): {tier.why}")
        output.text(f"  takes {tier.reduction:.0%} off the shared slice; {enough}")
    for name, found in ways.items():
        useful = [way for way in found if way.saves]
        if useful:
            output.text(f"\nTo make {name} smaller")
            output.columns([(f"  {way.number}", f"-{way.saves:,}", way.name, _lines(way.lines)) for way in useful])
    for item in escalated:
        output.text(f"\nescalate to {item.to}: {item.why}")


def _lines(lines: list[int]) -> str:
    shown = ", ".join(map(str, lines[:8])) + (" …" if len(lines) > 8 else "")
    return f"lines {shown}" if lines else ""


policy_command.add_command(threshold_command)
