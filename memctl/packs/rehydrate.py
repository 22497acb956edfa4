"""Rehydration: what somebody needs to know who starts to work on the project (S0, "Memory Rehydration Process").

The seed's rules: the latest state; decisions of importance 7 and more from 30 days (10 of them); critical and high
issues, the worst and oldest first (15); learnings from 60 days, the most used first (5). Two of its rules are mended: a
decision of importance 10, which the seed itself keeps for ever, always competes; and a record too large for the
budget is skipped and listed, where the seed stops at it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest

import msgspec

from memctl.model import moments
from memctl.model.record import Record
from memctl.model.snapshot import Snapshot
from memctl.packs import markdown
from memctl.search import ranking
from memctl.search.filters import ORDERS, Filters, select, severity_rank

LATEST_STATES = 1
DECISIONS, DECISION_IMPORTANCE, DECISION_DAYS = 10, 7, 30
ISSUES, ISSUE_SEVERITIES = 15, ("critical", "high")
LEARNINGS, LEARNING_DAYS = 5, 60
_FOREVER = 10  # importance at which a decision competes at any age
_LIST_SHARE = 0.15  # of the budget goes to the list of what was left out, while there are records to pack

CountTokens = Callable[[str], int]


class Pack(msgspec.Struct, frozen=True):
    """A finished pack: its text and tokens, the ids per part, and every open record that is not in it."""

    text: str
    tokens: int
    budget: int
    parts: dict[str, list[str]]
    left_out: list[Record]

    def included(self) -> list[str]:
        return [identifier for part in self.parts.values() for identifier in part]


def rehydrate(snapshot: Snapshot, now: str, budget: int, count: CountTokens, task: str = "") -> Pack:
    """Pack a memory into at most `budget` tokens as `count` counts them.

    With a `task` the records that match it compete at any age, and the best match comes first.
    """
    chosen = choose(snapshot, now, task)
    texts = {record.path: markdown.record(record, snapshot.body(record)) for record in _flat(chosen)}
    candidates = [record for record in snapshot.records if record.is_open and not _expired(record, now)]
    candidates.sort(key=ORDERS["importance"][0], reverse=True)
    draft = _Draft(markdown.head(snapshot, candidates, task), chosen, texts, candidates)
    kept = _fill(draft, budget, count)
    return _shrink(draft, kept, budget, count)


def choose(snapshot: Snapshot, now: str, task: str = "") -> dict[str, list[Record]]:
    """The records that the rules select, by part, most important first."""
    records = [record for record in snapshot.records if record.is_open and not _expired(record, now)]
    by_type = {
        name: [r for r in records if r.memory_type == name] for name in ("state", "decision", "issue", "learning")
    }
    recent = moments.days_before(now, DECISION_DAYS)
    decisions = [
        r
        for r in by_type["decision"]
        if r.importance >= _FOREVER or (r.importance >= DECISION_IMPORTANCE and r.timestamp >= recent)
    ]
    issues = [r for r in by_type["issue"] if r.severity in ISSUE_SEVERITIES]
    learnings = [r for r in by_type["learning"] if r.timestamp >= moments.days_before(now, LEARNING_DAYS)]
    orders: dict[str, Callable[[Iterable[Record]], list[Record]]] = {
        "state": lambda found: select(found, Filters()),
        "decision": lambda found: select(found, Filters(), "importance"),
        "issue": lambda found: sorted(found, key=lambda r: (severity_rank(r), r.timestamp, r.id)),
        "learning": lambda found: sorted(found, key=lambda r: (-r.access_count, -r.importance, r.id)),
    }
    found = {"state": by_type["state"], "decision": decisions, "issue": issues, "learning": learnings}
    if task:
        scores = {r.record.id: r.score for r in ranking.search(snapshot, task, Filters(), now)}
        found["state"] = orders["state"](found["state"])
        for name in ("decision", "issue", "learning"):
            matching = [r for r in by_type[name] if r.id in scores]
            rest = [r for r in orders[name](found[name]) if r.id not in scores]
            found[name] = [*sorted(matching, key=lambda r: (-scores[r.id], r.id)), *rest]
    else:
        found = {name: orders[name](records) for name, records in found.items()}
    limits = {"state": LATEST_STATES, "decision": DECISIONS, "issue": ISSUES, "learning": LEARNINGS}
    return {name: found[name][: limits[name]] for name in limits}


class _Draft(msgspec.Struct):
    head: str
    chosen: dict[str, list[Record]]
    texts: dict[str, str]
    candidates: list[Record]

    def text(self, kept: set[str], listed: int) -> str:
        """The pack with some of the chosen records, and as many lines of what is left out."""
        parts = {name: [self.texts[r.path] for r in records if r.path in kept] for name, records in self.chosen.items()}
        left_out = self.left_out(kept)
        return markdown.pack(self.head, parts, left_out[:listed], len(left_out) - listed)

    def left_out(self, kept: set[str]) -> list[Record]:
        """What is open and not packed: first what was chosen and did not fit, then the rest by importance."""
        first = {record.path: record for record in _flat(self.chosen)}
        rest = {record.path: record for record in self.candidates}
        return [record for name, record in {**first, **rest}.items() if name not in kept]


def _fill(draft: _Draft, budget: int, count: CountTokens) -> list[str]:
    """Take whole records, turn by turn from every part, as long as they fit."""
    room = budget - count(draft.text(set(), 0)) - int(budget * _LIST_SHARE)
    kept = []
    for turn in zip_longest(*draft.chosen.values()):
        for record in turn:
            if record is not None and (cost := count(draft.texts[record.path])) <= room:
                room -= cost
                kept.append(record.path)
    return kept


def _shrink(draft: _Draft, kept: list[str], budget: int, count: CountTokens) -> Pack:
    """List as much of what is left out as fits, and make sure of the budget by counting the whole text."""
    while True:
        listed = _most_lines(draft, set(kept), budget, count)
        if listed is not None:
            break
        if not kept:
            return _smallest(draft, budget, count)
        kept.pop()
    if not kept:
        kept, listed = _fill_tight(draft, budget, count, listed)
    text = draft.text(set(kept), listed)
    return _packed(draft, text, set(kept), budget, count)


def _most_lines(draft: _Draft, kept: set[str], budget: int, count: CountTokens) -> int | None:
    """The largest number of lines of what is left out that fits, or None if not even none of them do."""
    total = len(draft.left_out(kept))
    low, high = 0, min(total, 2 + budget // 8)  # a line has at least eight tokens
    if count(draft.text(kept, 0)) > budget:
        return None
    while low < high:
        middle = (low + high + 1) // 2
        if count(draft.text(kept, middle)) <= budget:
            low = middle
        else:
            high = middle - 1
    return low


def _fill_tight(draft: _Draft, budget: int, count: CountTokens, listed: int) -> tuple[list[str], int]:
    """In a budget too small for the list's share, one record is worth more than any list."""
    for record in _flat(draft.chosen):
        if count(draft.text({record.path}, 0)) <= budget:
            return [record.path], _most_lines(draft, {record.path}, budget, count) or 0
    return [], listed


def _smallest(draft: _Draft, budget: int, count: CountTokens) -> Pack:
    """A budget below the frame's own size gets the frame's first lines, as many as fit."""
    lines = draft.text(set(), 0).split("\n")
    while lines and count("\n".join(lines)) > budget:
        lines.pop()
    text = "\n".join(lines) or draft.head.split("\n")[0]
    while len(text) > 1 and count(text) > budget:
        text = text[: len(text) // 2]
    return _packed(draft, text, set(), budget, count)


def _packed(draft: _Draft, text: str, kept: set[str], budget: int, count: CountTokens) -> Pack:
    parts = {name: [r.id for r in records if r.path in kept] for name, records in draft.chosen.items()}
    return Pack(text, count(text) if text else 0, budget, parts, draft.left_out(kept))


def _flat(chosen: dict[str, list[Record]]) -> Sequence[Record]:
    return [record for records in chosen.values() for record in records]


def _expired(record: Record, now: str) -> bool:
    return record.expires_at is not None and record.expires_at <= now
