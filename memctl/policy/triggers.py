"""When to compress, and when to escalate (rules.md#compression-triggers)."""

from __future__ import annotations

import re

import msgspec

from memctl.policy.contexts import Burst, Context, Debt, Slice
from memctl.policy.state import ContextState
from memctl.policy.tiers import MACRO_AWS

SCS_SHARE, DEBT, GROWTH, BATCHES, EVENTS = 0.70, 0.25, 0.10, 3, 50
ESCALATE_SCS, ESCALATE_TIMES, ESCALATE_WINDOW = 0.80, 2, 4  # of the threshold, twice within four batches
ESCALATE_PHASE = 0.50  # of the shared slice, added by the next phase
DENIALS, DENIED_DEBT = 3, 0.30
_EVENT = re.compile(r"<(?:event|action|agent_context|agent_handoff|context_transition)\b|\"event_type\"\s*:")
FALLBACK = (
    "remove duplicate plans",
    "collapse reasoning",
    "trim unchanged code blocks",
    "summarise the earliest resolved phases (macro)",
)


class Trigger(msgspec.Struct, frozen=True):
    """One trigger: its number in rules.md#compression-triggers, what was measured, its limit, whether it fired (None:
    not known), by how much, and what to do."""

    number: int
    name: str
    measured: str
    limit: str
    fired: bool | None
    over: str = ""
    action: str = ""


class Escalation(msgspec.Struct, frozen=True):
    """To whom to escalate, and why."""

    to: str
    why: str


class TriggerInput(msgspec.Struct, frozen=True):
    """What the triggers look at: working sets, the shared slice, the largest debt, the planned batch, what was said."""

    contexts: list[Context]
    shared: Slice
    debt: Debt
    burst: Burst
    growth: float | None  # of the working set since the last batch
    validated: int  # contexts that are events
    lacking: list[str]  # those of them from which an agent could not resume
    events: int
    threshold: int
    state: ContextState

    @property
    def aws(self) -> int:
        """The largest working set."""
        return max((context.tokens for context in self.contexts), default=0)

    @property
    def projected(self) -> int:
        """The shared slice after the next phase, or after the branches come back."""
        added = (self.state.next_phase_scs or 0, self.state.delta_payload or 0)
        return self.shared.tokens + max(added)


def judge(now: TriggerInput) -> list[Trigger]:
    """All nine triggers."""
    return [_phase(now), _slice(now), _debt(now), _burst(now), _batches(now), _macro(now), *_urgent(now)]


def _phase(now: TriggerInput) -> Trigger:
    said = "reached" if now.state.phase_boundary else "not declared"
    return _made(1, "phase boundary", said, "always", now.state.phase_boundary, "", "summarise as `phase_complete`")


def _slice(now: TriggerInput) -> Trigger:
    limit = int(SCS_SHARE * now.threshold)
    over = now.shared.tokens - limit
    action = "micro or phase summary that takes at least 12 % off the slice"
    return _made(2, "shared slice", f"{now.shared.tokens:,}", f"> {limit:,}", over > 0, f"{over:,}", action)


def _debt(now: TriggerInput) -> Trigger:
    ratio = now.debt.ratio
    over = f"{(ratio - DEBT) * 100:.1f} points"
    return _made(
        3, "context debt", f"{ratio:.1%}", ">= 25 %", ratio >= DEBT, over, "compress: prune what is owed first"
    )


def _burst(now: TriggerInput) -> Trigger:
    growth = now.burst.growth
    over = f"{(growth - 0.15) * 100:.1f} points"
    return _made(4, "token burst", f"{growth:.1%}", "> 15 %", now.burst.is_burst, over, "compress before it is loaded")


def _batches(now: TriggerInput) -> Trigger:
    batches, growth = now.state.batches_since_compression, now.growth
    name, limit = "batches without compression", ">= 3, growth > 10 %"
    if growth is None:
        fired = None if batches >= BATCHES else False
        return Trigger(
            5, name, f"{batches}, growth not known", limit, fired, "", "say aws_before" if fired is None else ""
        )
    measured = f"{batches}, growth {growth:.1%}"
    fired = batches >= BATCHES and growth > GROWTH
    return _made(5, name, measured, limit, fired, f"{(growth - GROWTH) * 100:.1f} points", "compress")


def _macro(now: TriggerInput) -> Trigger:
    over = now.aws - MACRO_AWS
    return _made(
        6, "working set", f"{now.aws:,}", f"> {MACRO_AWS:,}", over > 0, f"{over:,}", "macro summary, mandatory"
    )


def _urgent(now: TriggerInput) -> list[Trigger]:
    beyond, overflow = now.projected - now.threshold, now.events - EVENTS
    prune = "emergency: prune stale anchors, then " + ", ".join(FALLBACK)
    return [
        _made(
            7, "projected shared slice", f"{now.projected:,}", f"> {now.threshold:,}", beyond > 0, f"{beyond:,}", prune
        ),
        _made(
            8, "event stream", str(now.events), f"> {EVENTS}", overflow > 0, str(overflow), "compress to checkpoints"
        ),
        _stateless(now),
    ]


def _stateless(now: TriggerInput) -> Trigger:
    """What is no event is not meant to be resumed from, unless somebody says so."""
    name, limit = "stateless validation", "each can resume"
    if now.state.resumable is not None:
        failed, said = int(not now.state.resumable), "declared"
    elif now.validated:
        failed, said = len(now.lacking), f"{now.validated - len(now.lacking)} of {now.validated} complete"
    else:
        return Trigger(9, name, "no context is an event", limit, None, "", "say resumable")
    rebuild = "rebuild the context" + (f": {'; '.join(now.lacking)}" if now.lacking else "")
    return _made(9, name, said, limit, failed > 0, str(failed), rebuild)


def _made(number: int, name: str, measured: str, limit: str, fired: bool, over: str, action: str) -> Trigger:
    return Trigger(number, name, measured, limit, fired, over if fired else "", action if fired else "")


def escalations(now: TriggerInput) -> list[Escalation]:
    """Whom to ask, and why."""
    found = []
    history = [*now.state.scs_history, now.shared.tokens][-ESCALATE_WINDOW:]
    high = sum(1 for tokens in history if tokens > ESCALATE_SCS * now.threshold)
    if high >= ESCALATE_TIMES:
        why = f"the shared slice was above 80 % of the threshold {high} times within {len(history)} batches"
        found.append(Escalation("context agent", why))
    added = now.state.next_phase_scs
    if added is not None and added > 0 and added >= ESCALATE_PHASE * now.shared.tokens:
        why = f"the next phase adds {added:,} tokens to a shared slice of {now.shared.tokens:,}"
        found.append(Escalation("context agent", why))
    if now.state.parallel_denials >= DENIALS and now.debt.ratio > DENIED_DEBT:
        why = f"parallel work was refused {now.state.parallel_denials} times, and context debt is {now.debt.ratio:.0%}"
        found.append(Escalation("alpha", why))
    if now.state.unresolved_details:
        why = f"a compression would drop what is unresolved: {'; '.join(now.state.unresolved_details)}"
        found.append(Escalation("user", why))
    return found


def count_events(context: Context) -> int:
    """The events in a context: elements or objects that are named so, messages; what names itself an event."""
    return len(_EVENT.findall(context.measures.parsed.text))
