"""Rank records: which are important or urgent, and how much they weigh in a pack."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from memctl.pack import items
from memctl.pack.draft import PROPOSED, Item
from memctl.pack.items import TaskMatches
from memctl.record.record import Record
from memctl.search.urgency import Near, by_urgency
from memctl.text import timestamps

DECISIONS, DECISION_IMPORTANCE, DECISION_DAYS = 10, 7, 30
ISSUES, ISSUE_SEVERITIES = 15, ("critical", "high")
LEARNINGS, LEARNING_DAYS = 5, 60
LIMITS = {"decision": DECISIONS, "issue": ISSUES, "learning": LEARNINGS}
# The weight from which a record goes to the front of a pack; lower for records that match the task. A record that
# matches almost as well as the best one is first with any weight.
CRITICAL, WEIGHTY_FOR_TASK = 9, 7
_CLOSEST, _BEST = 0.965, 11
_AT_FIRST = 1_000  # records of a list that may be whole
_GRAVE = [("severity", severity) for severity in ISSUE_SEVERITIES]
_OLD_DAYS, _OLD_SHARE = 365, 3  # of the records at any place of a list at most a third are older, if there are younger


def weighty(by_type: dict[str, list[Record]], now: str) -> dict[str, list[Record]]:
    """Return the records within the limits of age, importance and severity of rules.md#rehydration, by type."""
    recent, of_late = timestamps.days_before(now, DECISION_DAYS), timestamps.days_before(now, LEARNING_DAYS)
    limits: dict[str, Callable[[Record], bool]] = {
        "decision": lambda r: r.importance >= DECISION_IMPORTANCE and r.timestamp >= recent,
        "issue": lambda r: r.severity in ISSUE_SEVERITIES,
        "learning": lambda r: r.timestamp >= of_late,
    }
    return {name: [r for r in by_type[name] if r.importance >= CRITICAL or fits(r)] for name, fits in limits.items()}


def by_nearness(records: Sequence[Record], fits: Mapping[str, float], near: Near, now: str) -> list[Record]:
    """Sort records: the best matches of the task first, proposed ones last, others by urgency."""
    urgent = by_urgency(records, near)
    ordered = sorted(urgent, key=lambda record: (-fits.get(record.path, 0.0), record.status == PROPOSED))
    return young_first(ordered, now)


def young_first(records: Sequence[Record], now: str) -> list[Record]:
    """Return records in their order, but of those of a type at most a third older than a year while there are younger.

    Records of importance 9 and more keep their place at any age.
    """
    since = timestamps.days_before(now, _OLD_DAYS)
    by_type: dict[str, tuple[deque[Record], deque[Record]]] = {}
    head, tail = records[:_AT_FIRST], records[_AT_FIRST:]
    for record in head:
        is_old = record.timestamp < since and items.weight(record) < CRITICAL
        by_type.setdefault(record.memory_type, (deque(), deque()))[is_old].append(record)
    places = {record.path: place for place, record in enumerate(head)}
    taken, old_ones = Counter[str](), Counter[str]()

    def following(name: str) -> Record:
        young, old = by_type[name]
        taken[name] += 1
        may_be_old = old_ones[name] < taken[name] // _OLD_SHARE
        is_old = bool(old) and (not young or (may_be_old and places[old[0].path] < places[young[0].path]))
        old_ones[name] += is_old
        return (old if is_old else young).popleft()

    return [*(following(record.memory_type) for record in head), *tail]


def placed(item: Item, about: TaskMatches, today: Collection[str]) -> Item:
    """Return an item with its weight: the best match of a task leads, a bad one has none; today's grave issues lead."""
    is_recent, weight = item.key in today, item.weight
    if is_recent and any(fact in item.facts for fact in _GRAVE):
        weight = max(weight, CRITICAL) if weight else 0
    if about.is_met and weight:
        fit = about.fits.get(item.key, 0.0)
        weight = weight if fit >= items.POSSIBLE else 0
        weight = _BEST if fit >= _CLOSEST else weight
    return msgspec.structs.replace(item, weight=weight, is_recent=is_recent)


def is_urgent(record: Record, today: Collection[str]) -> bool:
    """Return whether no pack may lose the title of a record while it has room for titles."""
    return record.status != PROPOSED and (items.weight(record) >= CRITICAL or record.path in today)
