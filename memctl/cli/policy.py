"""The commands `memctl context policy …`: judge when agents should work in parallel, and when to compress a context.

`memctl context policy threshold` judges whether `scs_threshold` in config.yaml fits: the limit, in tokens, for what the
contexts of all agents at work have in common (the shared slice).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from memctl import window
from memctl.cli import memory_access, output, token_counter, window_limit
from memctl.cli.command import Group, command, flag_option, json_option, number_option, options, reading, text_option
from memctl.cli.text_input import read
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.record.event import WorkflowEvent
from memctl.search.readiness import open_work
from memctl.store import event_stream
from memctl.task import events as workflows
from memctl.tokens.families import kind_of_text

policy_command = Group(
    "policy", help="Judge when agents may work in parallel, and when to compress a context.", no_args_is_help=False
)
_threshold_option = number_option(
    "--threshold",
    help="The most tokens that the shared slice may have. [default: scs_threshold in config.yaml, or 2000]",
)


@command(
    "threshold",
    ("memctl context policy threshold", "Judge whether the threshold of the shared slice fits, by memctl's log."),
    ("memctl context policy threshold scs.jsonl", "Judge whether the threshold fits, by a log of your own."),
    ("memctl context policy threshold - --json", "Read a log from standard input, and print the review as JSON."),
    group=policy_command,
    cls=token_counter.MultiFileCommand,
)
@click.argument("source", metavar="[FILE|-]", required=False)
@_threshold_option
@json_option
def threshold_command(ctx: click.Context, /, source: str | None, threshold: int | None, as_json: bool) -> None:
    """Review the threshold of the shared slice against a log of observations, and suggest what to do next.

    Without a FILE, the log is the one that `policy parallel` and `policy triggers` write in this memory. Each line of a
    log is a JSON object with date and scs (tokens of the shared slice). It may have threshold, requests (to work in
    parallel), denied (requests), macro_summaries and no_ops (summaries that saved nothing). Only the last seven days of
    the log count.
    """
    memory = memory_access.memory_if_any(ctx)
    if source is not None:
        log = window.observations.parse(read(source), source)
    elif memory is not None:
        log = window.observations.read(memory)
    else:
        raise MemctlError("there is no memory here, so there is no log to read", "give a FILE with observations", USAGE)
    review = window.observations.review(log, threshold or token_counter.threshold_of(memory))
    steps = list(window.observations.STEPS) if review.decision != "keep" else []
    if as_json:
        output.json("threshold", {**msgspec.structs.asdict(review), "steps": steps})
        return
    span = f" from {review.since[:10]} to {review.until[:10]}" if review.observations else ""
    used = "-" if review.median is None else f"{review.median:.0%} of {review.threshold:,}"
    denied = "-" if review.denial_rate is None else f"{review.denial_rate:.0%} of {review.requests}"
    rows = [
        ("observations", f"{review.observations}{span}"),
        ("share of the threshold that the shared slice fills (median)", used),
        ("largest change of the shared slice", f"{review.largest_delta:,}"),
        ("requests denied", denied),
        ("macro summaries", f"{review.macro_summaries}, of which {review.no_ops} saved nothing"),
    ]
    output.columns(rows)
    to = f" to {review.proposal:,}" if review.proposal else ""
    output.text(f"\n{review.decision}{to}: {review.why}")
    for number, step in enumerate(steps, 1):
        output.text(f"  {number}. {step}")


# The options of both commands that look at contexts.
_inputs = options(
    reading,
    click.option(
        "--shared",
        metavar="FILE",
        help="A file with the text that all contexts share. [default: the text that all of them have]",
    ),
    token_counter.files_option("plan", "Files and prompts that the next step will add to the contexts."),
    number_option("--remaining", least=0, help="Tokens left in the window. [default: computed from the contexts]"),
    number_option("--delta", least=0, help="Tokens that all parallel agents will return together."),
    click.option(
        "--state",
        "described",
        metavar="FILE",
        help="A YAML or JSON file with values to use instead; `memctl context policy parallel -h` lists its keys.",
    ),
    text_option(
        "--workflow",
        metavar="NAME",
        help="The workflow whose events are counted. [default: the workflow of the branch]",
    ),
    _threshold_option,
    token_counter.model_option,
)


class _Batch:
    """The contexts of a batch, the values given for it, and the memory's."""

    def __init__(self, ctx: click.Context, sources: tuple[str, ...], inputs: dict[str, Any]) -> None:
        if not sources:
            hint = "give one file for each agent, with the content of its window"
            raise MemctlError("the files with the contexts to judge are missing", hint, USAGE)
        self.around = around = token_counter.surroundings(ctx, inputs["model"], inputs["at"])
        self.memory = None if inputs["at"] else around.memory  # nothing of the past is logged
        self.contexts = [_context(source, around) for source in sources]
        self.debts = [(context, window.contexts.debt(context.measures)) for context in self.contexts]
        events = sum(map(window.rules.count_events, self.contexts))
        declared = _declared(inputs)
        self.measured = self._measured(inputs["workflow"], events)
        self.measured_keys = [key for key in self.measured.known() if key not in declared.known()]
        state = msgspec.structs.replace(self.measured, **declared.known())
        count, shared = around.counter.tokens, inputs["shared"]
        aws = max(context.tokens for context in self.contexts)
        planned = sum(count(text, kind_of_text(name, text)) for name in inputs["plan"] if (text := read(name)))
        self.remaining = state.remaining_budget
        if self.remaining is None:
            usable = window_limit.of_model(inputs["model"], None, window.limits.NO_HOST, around.memory).usable
            self.remaining = max(usable - aws, 0)
        parsed = [context.measures.parsed for context in self.contexts]
        self.facts = window.Facts(
            self.contexts,
            window.contexts.shared_slice(parsed, window.take_apart(read(shared), shared, count) if shared else None),
            state.threshold or around.scs_threshold,
            state,
            max((debt for _, debt in self.debts), key=lambda debt: debt.ratio),
            window.contexts.burst(planned, aws, self.remaining),
            events if state.events is None else state.events,
        )

    def _measured(self, named: str, in_contexts: int) -> window.ContextState:
        self.workflow = self.since = ""
        self.events: tuple[WorkflowEvent, ...] = ()
        if self.memory is None:
            return window.ContextState()
        self.workflow = workflows.workflow(self.memory, named)
        self.events = event_stream.read(self.memory).events
        log = window.observations.read(self.memory)
        self.since = max((entry.date for entry in log if entry.workflow == self.workflow), default="")
        state = window.observations.measure_state(log, self.events, self.workflow)
        if state.events is not None:
            state = msgspec.structs.replace(state, events=max(state.events, in_contexts))
        if self.around.snapshot is not None:
            waiting = window.contexts.dependencies(self.contexts, open_work(self.around.snapshot))
            state = msgspec.structs.replace(state, unresolved_dependencies=waiting or None)
        return state

    def note(self, fired: Sequence[int] = (), **counts: int) -> None:
        if self.memory is None:
            return
        facts, before = self.facts, self.measured.aws_before
        texts = "\0".join(context.measures.parsed.text for context in self.contexts)
        compressed = window.observations.compressions(self.events, self.workflow, self.since)
        batch = window.observations.Observation(
            date=self.around.now,
            scs=facts.shared.tokens,
            threshold=facts.threshold,
            macro_summaries=len(compressed),
            no_ops=window.observations.no_ops(compressed),
            aws=facts.aws,
            delta=None if before is None else facts.aws - before,
            debt=round(facts.debt.ratio, 4),
            fired=tuple(fired),
            workflow=self.workflow,
            batch=hashlib.sha256(texts.encode(errors="replace")).hexdigest()[:16],
            **counts,
        )
        window.observations.note(self.memory, batch)

    @property
    def measured_values(self) -> dict[str, Any]:
        """The values that were measured and not declared, by their keys."""
        return {key: getattr(self.facts.state, key) for key in self.measured_keys}

    def show(self) -> None:
        facts = self.facts
        output.text(
            f"shared slice (SCS): {facts.shared.tokens:,} of at most {facts.threshold:,} tokens "
            f"({facts.shared.source}); fullest window (AWS): {facts.aws:,} tokens; "
            f"planned: {facts.burst.planned:,} more ({facts.burst.growth:.0%} growth), "
            f"with {self.remaining:,} left in the window"
        )
        for item, debt in self.debts:
            output.text(
                f"  {item.name}: {item.tokens:,} tokens, {debt.tokens:,} of them repeated or superseded "
                f"(context debt {debt.ratio:.0%})"
            )
        if self.measured_keys:
            output.text(f"  values from the memory: {', '.join(self.measured_keys)}")
        output.text()


_OPTIONS = {
    "threshold": "threshold", "delta": "delta_payload", "remaining": "remaining_budget", "events": "events",
    "phase_boundary": "phase_boundary",
}  # fmt: skip


def _declared(inputs: dict[str, Any]) -> window.ContextState:
    """Values of options come before those of the --state file."""
    named = inputs["described"]
    state = window.contexts.parse(read(named), named) if named else window.ContextState()
    options = {key: inputs[name] for name, key in _OPTIONS.items() if inputs.get(name) not in (None, False)}
    return msgspec.structs.replace(state, **options)


def _context(source: str, around: token_counter.Surroundings) -> window.Context:
    parsed = window.take_apart(read(source), source, around.counter.tokens)
    return window.Context(source, window.measures.measure(parsed, around.known, around.now, around.counter.tokens))


@command(
    "parallel",
    (
        "memctl context policy parallel agent-a.xml agent-b.xml",
        "Judge whether two agents may start together; exit with 1 if not.",
    ),
    (
        "memctl context policy parallel *.xml --delta 500 --plan src/*.py",
        "Judge whether agents may start if they will read these files and together return 500 tokens.",
    ),
    (
        "memctl context policy parallel *.xml --state state.yaml --json",
        "Judge with values that memctl can't measure, from a file, and print JSON.",
    ),
    group=policy_command,
    cls=token_counter.MultiFileCommand,
)
@click.argument("sources", metavar="FILE…", nargs=-1)
@_inputs
def parallel_command(ctx: click.Context, /, sources: tuple[str, ...], as_json: bool, **inputs: Any) -> None:
    """Judge whether agents may work in parallel; each FILE is the context of one agent.

    Seven criteria are judged, each with its number, its limit, and by how much it is missed. The shared context slice
    (SCS) is what all files have in common, block by block. In a repository with a memory, the result is logged; figures
    of earlier requests are taken from the log and the workflow events, and unresolved dependencies from the records.
    The file of --state has values that replace measured ones, under any of these keys: threshold, remaining_budget,
    delta_payload, unresolved_dependencies, pending_escalations, deferred_compressions, event_schema, resumable,
    phase_boundary, batches_since_compression, aws_before, events, scs_history, next_phase_scs, parallel_denials,
    unresolved_details.
    """
    batch = _Batch(ctx, sources, inputs)
    criteria = window.rules.judge(window.rules.PARALLEL, batch.facts)
    refused = [criterion.name for criterion in criteria if criterion.exceeded]
    if as_json:
        data = {"granted": not refused, "criteria": criteria, "batch": batch}
        output.answer("parallel", data, batch.around.faults, batch.around.memory)
    else:
        batch.show()
        output.columns([_row(criterion, {True: "refused", False: "passed"}, "over by {}") for criterion in criteria])
        output.text("\n" + (f"refused: {', '.join(refused)}" if refused else "granted"))
    batch.note(requests=1, denied=int(bool(refused)))
    ctx.exit(REFUSED if refused else OK)


def _row(judgement: window.Judgement, states: dict[bool | None, str], over: str) -> tuple[str, ...]:
    shown = over.format(judgement.over) if judgement.over else ""
    return (
        states[judgement.exceeded],
        str(judgement.number or "-"),
        judgement.name,
        judgement.measured,
        judgement.limit,
        shown,
        judgement.help,
    )


@command(
    "triggers",
    ("memctl context policy triggers window.md", "Show which triggers for a compression fire, and how to compress."),
    (
        "memctl context policy triggers window.md --plan src/*.py",
        "Show which triggers would fire once these files are read.",
    ),
    ("memctl context policy triggers window.md --state state.yaml --strict", "Exit with 1 if any trigger fires."),
    group=policy_command,
    cls=token_counter.MultiFileCommand,
)
@click.argument("sources", metavar="FILE…", nargs=-1)
@_inputs
@number_option(
    "--events",
    least=0,
    help="The number of the workflow's events since its last checkpoint; above 50, trigger 8 fires. "
    "[default: counted by memctl]",
)
@flag_option("--phase-boundary", help="Judge as at the end of a phase.")
@flag_option("--strict", help="Exit with 1 if a trigger fires.")
def triggers_command(
    ctx: click.Context, /, sources: tuple[str, ...], strict: bool, as_json: bool, **inputs: Any
) -> None:
    """Judge when to compress a context, by how much, how, and whom to ask; FILE is the context.

    The answer has nine triggers; the smallest kind of summary that is enough (micro up to 50 tokens, phase up to 300,
    macro up to 800); and the ways to make the context smaller, best first, with what each saves. In a repository with a
    memory, the result is logged. `memctl context policy parallel -h` lists the keys of a --state file.
    """
    batch = _Batch(ctx, sources, inputs)
    count = batch.around.counter.tokens
    judged = window.rules.judge(window.rules.TRIGGERS, batch.facts)
    escalations = window.rules.judge(window.rules.ESCALATIONS, batch.facts)
    escalated = [judgement for judgement in escalations if judgement.exceeded]
    fired = [judgement.number for judgement in judged if judgement.exceeded]
    tier = window.contexts.choose(batch.facts.shared, batch.facts.aws, count) if fired else None
    ways = {context.name: window.contexts.strategies(context.measures, count) for context in batch.contexts}
    if as_json:
        data = {"fired": fired, "triggers": judged, "tier": tier, "strategies": ways, "escalations": escalated}
        output.answer("triggers", data | {"batch": batch}, batch.around.faults, batch.around.memory)
    else:
        batch.show()
        output.columns(
            [_row(judgement, {True: "fires", False: "quiet", None: "unknown"}, "{}") for judgement in judged]
        )
        _print_ways(tier, ways)
        for item in escalated:
            output.text(f"\nwho should decide: {item.name}, because {item.help}")
    batch.note(fired)
    ctx.exit(REFUSED if (strict and fired) or batch.around.faults else OK)


def _print_ways(tier: window.contexts.Tier | None, ways: dict[str, list[window.contexts.Strategy]]) -> None:
    if tier is not None:
        short = "less than the goal of 12 %: shorten the slice in other ways, too"
        enough = "which is enough" if tier.is_enough else short
        output.text(f"\n{tier.name} summary (at most {tier.most} tokens): {tier.why}")
        output.text(f"  makes the shared slice {tier.reduction:.0%} smaller, {enough}")
    for name, strategies in ways.items():
        useful = [way for way in strategies if way.saves]
        if useful:
            output.text(f"\nWays to make {name} smaller, with the tokens that each saves")
            output.columns([(f"  {way.number}", f"-{way.saves:,}", way.name, _lines(way.lines)) for way in useful])


def _lines(lines: list[int]) -> str:
    shown = ", ".join(map(str, lines[:8])) + (" …" if len(lines) > 8 else "")
    return f"lines {shown}" if lines else ""
