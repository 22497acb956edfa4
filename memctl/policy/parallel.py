"""Whether agents may work at once (rules.md#parallel-work): seven criteria, and one rule for breaking off.

What nobody said is taken on the safe side where it can be guessed: of each branch a phase summary is expected back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from memctl.policy import importance
from memctl.policy.blocks import ParsedText
from memctl.policy.contexts import Context, Slice
from memctl.policy.state import ContextState

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
_HIDDEN = re.compile(
    r"\b(?:as (?:we )?(?:discussed|agreed|mentioned|said)(?: (?:above|before|earlier|previously))?|"
    r"see (?:the )?previous (?:message|conversation|chat)|"
    r"(?:from|in) (?:our|the) (?:last|previous|earlier) (?:conversation|chat|session|message)|"
    r"you already know|like last time|same as before)\b",
    re.IGNORECASE,
)


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
    criteria = [
        _slice(shared, threshold),
        _delta(shared, delta, threshold, assumed=assumed, branches=len(contexts)),
        _none_of(
            3, "no unresolved dependencies", state.unresolved_dependencies, "settle the order, or work one by one"
        ),
        _none_of(4, "no pending escalation", state.pending_escalations, "have it reviewed first"),
        _backlog(state.deferred_compressions),
        _schema(contexts, state),
        _stateless(contexts),
        _post_merge(shared, delta, threshold),
    ]
    return ParallelVerdict(delta, assumed, criteria)


def _slice(shared: Slice, threshold: int) -> Criterion:
    help_ = "summarise what all agents share; `memctl policy triggers` says where"
    return _numbers(1, "shared context slice", shared.tokens, threshold, help_)


def _delta(shared: Slice, delta: int, threshold: int, *, assumed: bool, branches: int) -> Criterion:
    most = int(DELTA_SHARE * max(threshold - shared.tokens, 0))
    help_ = "fewer branches, shorter results, or a smaller shared slice"
    if assumed:
        help_ = f"assumed: {EXPECTED_BACK} for each of {branches}; say --delta if it is less"
    return _numbers(2, "delta payload", delta, most, help_)


def _numbers(number: int, name: str, measured: int, limit: int, help_: str) -> Criterion:
    over = measured - limit
    return Criterion(
        number,
        name,
        f"{measured:,}",
        f"<= {limit:,}",
        over <= 0,
        f"{over:,}" if over > 0 else "",
        help_ if over > 0 else "",
    )


def _none_of(number: int, name: str, there: Sequence[str], help_: str) -> Criterion:
    if not there:
        return Criterion(number, name, "none declared", "none", True)
    return Criterion(number, name, "; ".join(there), "none", False, str(len(there)), help_)


def _backlog(deferred: int) -> Criterion:
    over = deferred - BACKLOG + 1
    help_ = "carry the deferred compressions out" if over > 0 else ""
    return Criterion(
        5, "compression backlog", str(deferred), f"< {BACKLOG}", over <= 0, str(over) if over > 0 else "", help_
    )


def _schema(contexts: Sequence[Context], state: ContextState) -> Criterion:
    name, limit = "event schema ready", "every context an event"
    if state.event_schema is not None:
        said = "declared" if state.event_schema else "declared as not ready"
        help_ = "" if state.event_schema else "define the events"
        return Criterion(6, name, said, limit, state.event_schema, "" if state.event_schema else "1", help_)
    loose = [context.name for context in contexts if context.measures.parsed.format not in EVENT_FORMATS]
    if not loose:
        return Criterion(6, name, f"{len(contexts)} of {len(contexts)}", limit, True)
    measured = f"{len(contexts) - len(loose)} of {len(contexts)}"
    help_ = f"give as XML or JSON events: {', '.join(loose)}; or declare event_schema"
    return Criterion(6, name, measured, limit, False, str(len(loose)), help_)


def _stateless(contexts: Sequence[Context]) -> Criterion:
    name, limit = "complete context", "each says all it needs"
    lacking = {context.name: lacks(context.measures.parsed) for context in contexts}
    bad = {key: found for key, found in lacking.items() if found}
    measured = f"{len(contexts) - len(bad)} of {len(contexts)}"
    help_ = "; ".join(f"{key} lacks {', '.join(found)}" for key, found in bad.items())
    return Criterion(7, name, measured, limit, not bad, str(len(bad)) if bad else "", help_)


def lacks(context: ParsedText) -> list[str]:
    """What a context does not say although an agent that knows nothing else needs it."""
    there = {part for block in context.blocks for part in importance.parts(block)}
    found = [what for part, what in COMPLETE.items() if part not in there]
    for block in context.blocks:
        if hidden := hidden_reference(block.piece.text):
            found.append(f"what line {block.piece.line} refers to ({hidden!r})")
    return found


def hidden_reference(text: str) -> str:
    """The words by which a text refers to what only those know who were there; "" if it has none."""
    match = _HIDDEN.search(text)
    return match[0] if match else ""


def _post_merge(shared: Slice, delta: int, threshold: int) -> Criterion:
    most = int(POST_MERGE * threshold)
    return _numbers(0, "shared slice after the merge", shared.tokens + delta, most, "compress before the fan-out")
