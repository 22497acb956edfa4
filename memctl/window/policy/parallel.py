"""Whether agents may work at once (rules.md#parallel-work): seven criteria, and one rule for breaking off.

What nobody said is taken on the safe side where it can be guessed: of each branch a phase summary is expected back.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from memctl.task.resume import hidden_reference
from memctl.window.policy import importance
from memctl.window.policy.blocks import ParsedText
from memctl.window.policy.contexts import Context, ContextState, Slice

DELTA_SHARE = 0.40  # of what remains of the threshold
BACKLOG = 2  # deferred compressions that refuse
POST_MERGE = 0.90  # of the threshold
EVENT_FORMATS = ("xml", "json")
EXPECTED_BACK = 300  # tokens of each branch, the most that a phase summary has
# What each agent's first context must say; rules.md#parallel-work.
COMPLETE = {
    "mission": "a clear objective",
    "inputs": "its inputs",
    "outputs": "its outputs",
    "constraints": "constraints",
}


class Criterion(msgspec.Struct, frozen=True):
    """One criterion: its number in rules.md#parallel-work (0 for breaking off), what was measured, its limit, by how
    much it was missed, and what would help."""

    number: int
    name: str
    measured: str
    limit: str
    passed: bool
    over: str = ""
    help: str = ""


class ParallelVerdict(msgspec.Struct, frozen=True):
    """All criteria for some contexts; `delta` is what the branches will bring back, said or assumed."""

    delta: int
    is_delta_assumed: bool
    criteria: list[Criterion]

    @property
    def is_granted(self) -> bool:
        return all(criterion.passed for criterion in self.criteria)


def judge(contexts: Sequence[Context], shared: Slice, state: ContextState, threshold: int) -> ParallelVerdict:
    """Judge whether agents with these contexts may work at once."""
    assumed = state.delta_payload is None
    delta = EXPECTED_BACK * len(contexts) if state.delta_payload is None else state.delta_payload
    helps = "fewer branches, shorter results, or a smaller shared slice"
    if assumed:
        helps = f"assumed: {EXPECTED_BACK} for each of {len(contexts)}; say --delta if it is less"
    summarise = "summarise what all agents share; `memctl policy triggers` says where"
    room = int(DELTA_SHARE * max(threshold - shared.tokens, 0))
    order, review = "settle the order, or work one by one", "have it reviewed first"
    deferred, after = state.deferred_compressions, shared.tokens + delta
    criteria = [
        _at_most(1, "shared context slice", shared.tokens, threshold, summarise),
        _at_most(2, "delta payload", delta, room, helps),
        _none_of(3, "no unresolved dependencies", state.unresolved_dependencies, order),
        _none_of(4, "no pending escalation", state.pending_escalations, review),
        _made(
            5,
            "compression backlog",
            str(deferred),
            f"< {BACKLOG}",
            deferred - BACKLOG + 1,
            "carry the deferred compressions out",
        ),
        _schema(contexts, state),
        _stateless(contexts),
        _at_most(0, "shared slice after the merge", after, int(POST_MERGE * threshold), "compress before the fan-out"),
    ]
    return ParallelVerdict(delta, assumed, criteria)


def _made(number: int, name: str, measured: str, limit: str, missed: int, help_: str) -> Criterion:
    """A criterion that is `missed` by so much; by nothing or less it passes."""
    if missed <= 0:
        return Criterion(number, name, measured, limit, True)
    return Criterion(number, name, measured, limit, False, f"{missed:,}", help_)


def _at_most(number: int, name: str, measured: int, limit: int, help_: str) -> Criterion:
    return _made(number, name, f"{measured:,}", f"<= {limit:,}", measured - limit, help_)


def _none_of(number: int, name: str, there: Sequence[str], help_: str) -> Criterion:
    return _made(number, name, "; ".join(there) or "none declared", "none", len(there), help_)


def _schema(contexts: Sequence[Context], state: ContextState) -> Criterion:
    if state.event_schema is not None:
        measured = "declared" if state.event_schema else "declared as not ready"
        missed, help_ = int(not state.event_schema), "define the events"
    else:
        loose = [context.name for context in contexts if context.measures.parsed.format not in EVENT_FORMATS]
        measured, missed = f"{len(contexts) - len(loose)} of {len(contexts)}", len(loose)
        help_ = f"give as XML or JSON events: {', '.join(loose)}; or declare event_schema"
    return _made(6, "event schema ready", measured, "every context an event", missed, help_)


def _stateless(contexts: Sequence[Context]) -> Criterion:
    lacking = {context.name: lacks(context.measures.parsed) for context in contexts}
    bad = {key: found for key, found in lacking.items() if found}
    measured = f"{len(contexts) - len(bad)} of {len(contexts)}"
    help_ = "; ".join(f"{key} lacks {', '.join(found)}" for key, found in bad.items())
    return _made(7, "complete context", measured, "each says all it needs", len(bad), help_)


def lacks(context: ParsedText) -> list[str]:
    """What a context does not say although an agent that knows nothing else needs it."""
    there = {part for block in context.blocks for part in importance.parts(block)}
    found = [what for part, what in COMPLETE.items() if part not in there]
    for block in context.blocks:
        if hidden := hidden_reference(block.piece.text):
            found.append(f"what line {block.piece.line} refers to ({hidden!r})")
    return found
