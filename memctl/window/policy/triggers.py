"""When to compress, and when to escalate (rules.md#compression-triggers).

Beside the triggers: the smallest summary that does, and the ways to make a context smaller, the best first.
"""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from memctl.task.events import MOST_EVENTS
from memctl.text.markdown import first_sentence
from memctl.window.policy.blocks import CountTokens, TextBlock
from memctl.window.policy.contexts import BURST, Burst, Context, ContextState, Debt, Slice
from memctl.window.policy.measures import Measured, Measures
from memctl.window.policy.pieces import CODE, DATA, LIST, TEXT

TIERS = (("micro", 50), ("phase", 300), ("macro", 800))  # the most tokens of each
REDUCTION = 0.12  # of the shared slice, at least
MACRO_AWS = 8_000  # tokens of a working set above which a macro summary is mandatory
_VERBOSE = 60  # tokens of a paragraph; a shorter one has no reasoning to collapse
_EXCERPT = 200  # tokens of code that are worth an anchor
_ANCHOR = 25  # tokens of a hash with its lines
_PATH = re.compile(r"(?<![\w./-])(?:[\w.-]+/)+[\w.-]+\.\w{1,8}\b")
_SECURITY = re.compile(
    r"\b(?:auth\w*|passw\w+|secret|token|crypt\w*|permission\w*|sql|saniti[sz]\w*|csrf|xss)\b", re.IGNORECASE
)


class Tier(msgspec.Struct, frozen=True):
    """The summary to make: its tier and limit, tokens that its outcome lines need, and the part of the slice saved."""

    name: str
    most: int
    needs: int
    reduction: float
    why: str

    @property
    def is_enough(self) -> bool:
        return self.reduction >= REDUCTION


class Strategy(msgspec.Struct, frozen=True):
    """A way to make the context smaller: what it does, on which lines, and the tokens it would save."""

    number: int
    name: str
    saves: int
    lines: list[int]


def choose(shared: Slice, working_set: int, count: CountTokens) -> Tier:
    """The smallest tier that can hold an outcome line for each block of the slice that says more than a line."""
    long = [block for block in shared.blocks if block.piece.kind in (TEXT, LIST)]
    outcomes = {block.piece.text: count(first_sentence(block.piece.text), "markdown") for block in long}
    # What stands there a second time needs no outcome of its own.
    gains = [(block, min(outcomes.pop(block.piece.text, 0), block.tokens)) for block in long]
    gains = [(block, outcome) for block, outcome in gains if outcome < block.tokens]
    needs = sum(outcome for _, outcome in gains)
    name, most = next(((name, most) for name, most in TIERS if needs <= most), TIERS[-1])
    why = f"{len(gains)} blocks come to {needs:,} tokens of outcomes"
    if needs > most:
        why += ", more than it holds: the least of them have to go"
    if working_set > MACRO_AWS:
        name, most = TIERS[-1]
        why = f"mandatory: the working set has {working_set:,} tokens, more than {MACRO_AWS:,}; {why}"
    saved = sum(block.tokens for block, _ in gains) - min(needs, most)
    return Tier(name, most, needs, saved / shared.tokens if shared.tokens else 0.0, why)


def strategies(found: Measures, count: CountTokens) -> list[Strategy]:
    """What each way would save in a working set, in the order of preference."""
    content = found.content
    repeated = [item for item in content if item.overlap.earlier >= 0 and item.overlap.share >= 0.5]
    verbose = [item for item in content if item.block.piece.kind == TEXT and item.block.tokens > _VERBOSE]
    verbose = [item for item in verbose if item not in repeated and not item.stale.share]
    stale = [item for item in content if item.stale.share]
    over = [
        item for item in stale if any(word in item.stale.why for word in ("resolved", "done", "archived", "expired"))
    ]
    pruned = [item for item in stale if item not in over]
    code = [item for item in content if _is_excerpt(item.block)]
    return [
        _strategy(
            1, "deduplicate unchanged plans and checklists", [(i, i.block.tokens * i.overlap.share) for i in repeated]
        ),
        _strategy(
            2,
            "collapse reasoning into outcome lines",
            [(i, i.block.tokens - count(first_sentence(i.block.piece.text), "markdown")) for i in verbose],
        ),
        _paths(found, count),
        _strategy(4, "move resolved rationale into the memory", [(i, i.block.tokens * i.stale.share) for i in over]),
        _strategy(5, "prune superseded tasks", [(i, i.block.tokens * i.stale.share) for i in pruned]),
        _strategy(6, "replace long code by hash and lines", [(i, i.block.tokens - _ANCHOR) for i in code]),
    ]


def _strategy(number: int, name: str, items: list[tuple[Measured, float]]) -> Strategy:
    useful = [(item, saved) for item, saved in items if saved >= 1]
    return Strategy(number, name, int(sum(saved for _, saved in useful)), [item.block.piece.line for item, _ in useful])


def _is_excerpt(block: TextBlock) -> bool:
    """Long code, unless it bears on security: that is kept as it is."""
    is_long = block.piece.kind in (CODE, DATA) and block.tokens > _EXCERPT
    return is_long and not _SECURITY.search(block.piece.text)


def _paths(found: Measures, count: CountTokens) -> Strategy:
    """Paths that are named more than twice, put into an index of anchors (three tokens each)."""
    counted = Counter(_PATH.findall(found.parsed.text))
    often = {path: number for path, number in counted.items() if number > 2}
    saved = sum((number - 1) * count(path, "markdown") - 3 * number for path, number in often.items())
    lines = [i.block.piece.line for i in found.content if any(path in i.block.piece.text for path in often)]
    return Strategy(3, "abstract repeated paths into an index", max(saved, 0), lines if saved > 0 else [])


SCS_SHARE, DEBT, GROWTH, BATCHES = 0.70, 0.25, 0.10, 3
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
    state, debt, growth = now.state, now.debt.ratio, now.burst.growth
    said = "reached" if state.phase_boundary else "not declared"
    less = "micro or phase summary that takes at least 12 % off the slice"
    pruned, loaded = "compress: prune what is owed first", "compress before it is loaded"
    prune = "emergency: prune stale anchors, then " + ", ".join(FALLBACK)
    return [
        _made(1, "phase boundary", said, "always", state.phase_boundary, "", "summarise as `phase_complete`"),
        _beyond(2, "shared slice", now.shared.tokens, int(SCS_SHARE * now.threshold), less),
        _made(3, "context debt", f"{debt:.1%}", ">= 25 %", debt >= DEBT, _points(debt - DEBT), pruned),
        _made(4, "token burst", f"{growth:.1%}", "> 15 %", now.burst.is_burst, _points(growth - BURST), loaded),
        _batches(now),
        _beyond(6, "working set", now.aws, MACRO_AWS, "macro summary, mandatory"),
        _beyond(7, "projected shared slice", now.projected, now.threshold, prune),
        _beyond(8, "event stream", now.events, MOST_EVENTS, "compress to checkpoints"),
        _stateless(now),
    ]


def _batches(now: TriggerInput) -> Trigger:
    batches, growth = now.state.batches_since_compression, now.growth
    name, limit = "batches without compression", ">= 3, growth > 10 %"
    if growth is None:
        is_open = batches >= BATCHES
        action = "say aws_before" if is_open else ""
        return Trigger(5, name, f"{batches}, growth not known", limit, None if is_open else False, "", action)
    fired = batches >= BATCHES and growth > GROWTH
    return _made(5, name, f"{batches}, growth {growth:.1%}", limit, fired, _points(growth - GROWTH), "compress")


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


def _points(share: float) -> str:
    return f"{share * 100:.1f} points"


def _beyond(number: int, name: str, measured: int, limit: int, action: str) -> Trigger:
    over = measured - limit
    return _made(number, name, f"{measured:,}", f"> {limit:,}", over > 0, f"{over:,}", action)


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
