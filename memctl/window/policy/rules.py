"""The rules on parallel work and compression as tables (rules.md#parallel-work, rules.md#compression-triggers).

A rule measures a value of the agents' contexts, and says by how much the value exceeds its limit. The consequence
depends on the rule's table: parallel work is refused, a compression is triggered, or a person or another agent is
asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from memctl.task.events import MOST_EVENTS
from memctl.task.resume import hidden_reference
from memctl.window.policy import measures
from memctl.window.policy.blocks import ParsedText
from memctl.window.policy.contexts import BURST, MACRO_AWS, Burst, Context, ContextState, Debt, Slice

DELTA_SHARE, POST_MERGE = 0.40, 0.90  # of what is left of the threshold; of the threshold
BACKLOG = 2  # deferred compressions that refuse
EVENT_FORMATS = ("xml", "json")
EXPECTED_BACK = 300  # tokens of each branch, the most that a phase summary has
SCS_SHARE, DEBT, GROWTH, BATCHES = 0.70, 0.25, 0.10, 3
ESCALATE_SCS, ESCALATE_TIMES, ESCALATE_WINDOW = 0.80, 2, 4  # of the threshold, twice within four batches
ESCALATE_PHASE = 0.50  # of the shared slice, added by the next phase
DENIALS, DENIED_DEBT = 3, 0.30
# What each agent's first context must say; rules.md#parallel-work.
COMPLETE = {
    "mission": "a clear objective",
    "inputs": "its inputs",
    "outputs": "its outputs",
    "constraints": "constraints",
}
_EVENT = re.compile(r"<(?:event|action|agent_context|agent_handoff|context_transition)\b|\"event_type\"\s*:")


class Facts(msgspec.Struct, frozen=True):
    """What the rules measure: the contexts of the agents and what is known about them.

    `shared` is the shared slice, which is what the contexts have in common, and `threshold` its limit in tokens. `debt`
    is the largest context debt of an agent: the part of its context that is repeated or outdated. `burst` is how much a
    context will grow by the planned work. `state` has all other values that were declared or measured. `events` is the
    number of events in the workflow since the last checkpoint.
    """

    contexts: Sequence[Context]
    shared: Slice
    threshold: int
    state: ContextState = ContextState()
    debt: Debt = Debt(0, 0.0, [])
    burst: Burst = Burst(0, 0.0, -1)
    events: int = 0

    @property
    def aws(self) -> int:
        """The tokens of the largest context of an agent."""
        return max((context.tokens for context in self.contexts), default=0)

    @property
    def growth(self) -> float | None:
        """How much the largest context grew since the last batch of parallel work, as a fraction; None if unknown."""
        before = self.state.aws_before
        if before is None:
            return None
        return (self.aws - before) / before if before else float(self.aws > 0)

    @property
    def aws_delta(self) -> int | None:
        """By how many tokens the largest context grew since the last batch of parallel work; None if unknown."""
        return None if self.state.aws_before is None else self.aws - self.state.aws_before

    @property
    def is_delta_assumed(self) -> bool:
        """Whether `delta` is only a guess, because it was neither declared nor measured."""
        return self.state.delta_payload is None

    @property
    def delta(self) -> int:
        """The tokens of the results that all parallel agents together will return.

        The number was declared or measured; otherwise it is 300 tokens for each agent.
        """
        expected = self.state.delta_payload
        return EXPECTED_BACK * len(self.contexts) if expected is None else expected

    @property
    def projected(self) -> int:
        """The size, in tokens, that the shared slice of the contexts will have after the next phase or batch of work.

        It is the present size, plus what the next phase or the agents' results will add, whichever is more.
        """
        return self.shared.tokens + max(self.state.next_phase_scs or 0, self.state.delta_payload or 0)

    @property
    def structured(self) -> list[Context]:
        """The contexts that are written in XML or JSON, and so may be structured events."""
        return [context for context in self.contexts if context.measures.parsed.format in EVENT_FORMATS]


class Reading(NamedTuple):
    """What a rule measured: the value and its limit, both as text, and by how much the value exceeds the limit.

    `over` is this excess as a number: above 0 if the limit is exceeded, 0 or less if it is kept, None if the value is
    not known. `shown` is the excess as text; with None the number is shown. `help` says what to do; with "" the rule's
    own `help` is used.
    """

    measured: str
    limit: str
    over: float | None
    shown: str | None = None
    help: str = ""  # in place of the rule's


class Judgement(msgspec.Struct, frozen=True):
    """The verdict of a rule: the value and its limit as text, whether the value exceeds the limit, and what to do.

    `exceeded` is None if the value is not known. `over` is the excess as text, "" if the limit is kept. `help` says
    what to do, "" if there is nothing to do.
    """

    number: int
    name: str
    measured: str
    limit: str
    exceeded: bool | None
    over: str = ""
    help: str = ""

    @property
    def passed(self) -> bool:
        """Whether the value does not exceed the limit, as far as it is known."""
        return not self.exceeded


class Rule(NamedTuple):
    """A rule with a limit, on a value of the agents' contexts.

    `measure` is the function that measures the value, and `help` says what to do if it exceeds the limit.
    """

    number: int
    name: str
    measure: Callable[[Facts], Reading]
    help: str

    def judge(self, facts: Facts) -> Judgement:
        """Return whether the agents' contexts exceed the limit of this rule, and what to do then."""
        measured, limit, over, shown, help_ = self.measure(facts)
        exceeded = None if over is None else over > 0
        if not exceeded:
            return Judgement(self.number, self.name, measured, limit, exceeded, "", help_ if over is None else "")
        excess = f"{over:,.0f}" if shown is None else shown
        return Judgement(self.number, self.name, measured, limit, exceeded, excess, help_ or self.help)


def judge(rules: Sequence[Rule], facts: Facts) -> list[Judgement]:
    """Return the verdict of each rule in `rules`, in their order."""
    return [rule.judge(facts) for rule in rules]


def _at_most(measured: int, limit: int, help_: str = "", sign: str = "<=") -> Reading:
    return Reading(f"{measured:,}", f"{sign} {limit:,}", measured - limit, None, help_)


def _none_of(there: Sequence[str]) -> Reading:
    return Reading("; ".join(there) or "none declared", "none", len(there))


def _share(measured: float, least: float, limit: str) -> Reading:
    over = measured - least
    return Reading(f"{measured:.1%}", limit, over, f"{over * 100:.1f} points")


def _delta(facts: Facts) -> Reading:
    room = int(DELTA_SHARE * max(facts.threshold - facts.shared.tokens, 0))
    assumed = (
        f"assumed: {EXPECTED_BACK} tokens for each of {len(facts.contexts)} contexts; give --delta if the results are "
        "shorter"
    )
    return _at_most(facts.delta, room, assumed if facts.is_delta_assumed else "")


def _backlog(facts: Facts) -> Reading:
    deferred = facts.state.deferred_compressions or 0
    return Reading(str(deferred), f"< {BACKLOG}", deferred - BACKLOG + 1)


def _schema(facts: Facts) -> Reading:
    declared, limit = facts.state.event_schema, "every context is an event"
    if declared is not None:
        return Reading(
            "declared" if declared else "declared as not ready", limit, int(not declared), None, "define the events"
        )
    loose = [context.name for context in facts.contexts if context not in facts.structured]
    help_ = f"write these contexts as XML or JSON events: {', '.join(loose)}; or declare event_schema (--state)"
    return Reading(f"{len(facts.structured)} of {len(facts.contexts)}", limit, len(loose), None, help_)


def _incomplete(contexts: Sequence[Context]) -> list[str]:
    gaps = [(context.name, lacks(context.measures.parsed)) for context in contexts]
    return [f"{name} lacks {', '.join(own)}" for name, own in gaps if own]


def _complete(facts: Facts) -> Reading:
    bad, number = _incomplete(facts.contexts), len(facts.contexts)
    return Reading(f"{number - len(bad)} of {number}", "each context is complete", len(bad), None, "; ".join(bad))


PARALLEL = (
    Rule(1, "shared context slice", lambda facts: _at_most(facts.shared.tokens, facts.threshold),
         "summarize what all agents share; `memctl context policy triggers FILE…` lists what can be shortened"),
    Rule(2, "delta payload", _delta, "fewer branches, shorter results, or a smaller shared slice"),
    Rule(3, "no unresolved dependencies", lambda facts: _none_of(facts.state.unresolved_dependencies or ()),
         "settle which task comes first, or do the tasks one after the other"),
    Rule(4, "no pending escalation", lambda facts: _none_of(facts.state.pending_escalations or ()),
         "wait until the escalation is reviewed"),
    Rule(5, "compression backlog", _backlog, "make the deferred compressions first"),
    Rule(6, "event schema ready", _schema, ""),
    Rule(7, "complete context", _complete, ""),
    Rule(0, "shared slice after the merge",
         lambda facts: _at_most(facts.shared.tokens + facts.delta, int(POST_MERGE * facts.threshold)),
         "compress before the work is divided among agents"),
)  # fmt: skip


def _phase(facts: Facts) -> Reading:
    ended = bool(facts.state.phase_boundary)
    return Reading("reached" if ended else "not declared", "always", int(ended), "")


def _batches(facts: Facts) -> Reading:
    batches, growth, limit = facts.state.batches_since_compression or 0, facts.growth, ">= 3, growth > 10 %"
    if growth is None:
        is_open = batches >= BATCHES
        help_ = "declare aws_before" if is_open else ""
        return Reading(f"{batches}, growth not known", limit, None if is_open else 0, None, help_)
    over = growth - GROWTH if batches >= BATCHES else 0
    return Reading(f"{batches}, growth {growth:.1%}", limit, over, f"{over * 100:.1f} points")


def _stateless(facts: Facts) -> Reading:
    """What is no event counts only if that is declared."""
    limit, resumable, structured = "an agent can resume from each context", facts.state.resumable, facts.structured
    bad = _incomplete(structured)
    rebuild = "rebuild the context" + (f": {'; '.join(bad)}" if bad else "")
    if resumable is not None:
        return Reading("declared", limit, int(not resumable), None, rebuild)
    if not structured:
        return Reading("none of the contexts is an event", limit, None, None, "declare resumable")
    return Reading(f"{len(structured) - len(bad)} of {len(structured)} complete", limit, len(bad), None, rebuild)


_EMERGENCY = (
    "emergency: prune stale references, then remove duplicate plans, replace reasoning by its outcome, trim unchanged "
    "code blocks, make a macro summary of the earliest finished phases"
)
TRIGGERS = (
    Rule(1, "phase boundary", _phase, "summarise as `phase_complete`"),
    Rule(2, "shared slice", lambda facts: _at_most(facts.shared.tokens, int(SCS_SHARE * facts.threshold), sign=">"),
         "make a micro or phase summary that shortens the slice by at least 12 %"),
    Rule(3, "context debt", lambda facts: _share(facts.debt.ratio, DEBT - 1e-9, ">= 25 %"),
         "compress: prune repeated and superseded text first"),
    Rule(4, "token burst", lambda facts: _share(facts.burst.growth, BURST, "> 15 %"),
         "compress the new text before it is loaded"),
    Rule(5, "batches without compression", _batches, "compress"),
    Rule(6, "working set", lambda facts: _at_most(facts.aws, MACRO_AWS, sign=">"),
         "make a macro summary, which is mandatory here"),
    Rule(7, "projected shared slice", lambda facts: _at_most(facts.projected, facts.threshold, sign=">"), _EMERGENCY),
    Rule(8, "event stream", lambda facts: _at_most(facts.events, MOST_EVENTS, sign=">"),
         "compress the events to checkpoints"),
    Rule(9, "stateless validation", _stateless, ""),
)  # fmt: skip


def _high_slice(facts: Facts) -> Reading:
    history = [*(facts.state.scs_history or ()), facts.shared.tokens][-ESCALATE_WINDOW:]
    high = sum(1 for tokens in history if tokens > ESCALATE_SCS * facts.threshold)
    why = f"the shared slice was above 80 % of the threshold {high} times within {len(history)} batches"
    return Reading(str(high), f"< {ESCALATE_TIMES}", high - ESCALATE_TIMES + 1, None, why)


def _large_phase(facts: Facts) -> Reading:
    added = facts.state.next_phase_scs or 0
    is_large = added > 0 and added >= ESCALATE_PHASE * facts.shared.tokens
    why = f"the next phase adds {added:,} tokens to a shared slice of {facts.shared.tokens:,}"
    return Reading(f"{added:,}", "< 50 % of the slice", int(is_large), None, why)


def _denied(facts: Facts) -> Reading:
    denials, debt = facts.state.parallel_denials or 0, facts.debt.ratio
    why = f"parallel work was refused {denials} times, and context debt is {debt:.0%}"
    return Reading(str(denials), f"< {DENIALS}", denials - DENIALS + 1 if debt > DENIED_DEBT else 0, None, why)


def _loss(facts: Facts) -> Reading:
    details = facts.state.unresolved_details or ()
    why = f"a compression would drop unresolved details: {'; '.join(details)}"
    return Reading(str(len(details)), "none", len(details), None, why)


# The name is that of whom to ask.
ESCALATIONS = (
    Rule(1, "context agent", _high_slice, ""),
    Rule(2, "context agent", _large_phase, ""),
    Rule(3, "alpha", _denied, ""),
    Rule(4, "user", _loss, ""),
)


def lacks(context: ParsedText) -> list[str]:
    """Return what is missing in a context for an agent that knows nothing else, such as ["its inputs", "constraints"].

    If a line refers to something that the context does not contain, such as "see above", the result names this line.
    """
    there = {part for block in context.blocks for part in measures.parts(block)}
    gaps = [what for part, what in COMPLETE.items() if part not in there]
    for block in context.blocks:
        if hidden := hidden_reference(block.text):
            gaps.append(f"what line {block.line} means by {hidden!r}")
    return gaps


def count_events(context: Context) -> int:
    """Return the number of events in a context.

    Events are XML elements such as `<event>` or `<agent_handoff>`, and JSON objects with a field `event_type`.
    """
    return len(_EVENT.findall(context.measures.parsed.text))
