"""Merging the values of one key of a front matter, by what the key is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memctl.git import threeway
from memctl.record import timestamps
from memctl.record.kinds import KINDS

Values = Mapping[str, Any]

COUNT = "access_count"
CONFLICT = object()  # for a value that a person has to choose


def merged(key: str, base: Values, ours: Values, theirs: Values) -> Any:
    """What becomes of the value of a key, None for nothing; CONFLICT if both sides changed it and no rule decides."""
    before, one, other = (values.get(key) for values in (base, ours, theirs))
    if same(other, before) or (same(one, other) and key != COUNT):
        return one
    if same(one, before):
        return other
    if all(value is None or _is_list(value) for value in (before, one, other)):
        if key == "reviewed" and "memory_type" not in ours:
            return _stamps(base, ours, theirs)
        return threeway.lists(before or [], one or [], other or [], key=lambda item: (type(item), item))
    rule = (_RECORD_RULES if "memory_type" in ours else _PAGE_RULES).get(key)
    return rule(key, base, ours, theirs) if rule else CONFLICT


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal: 1 and true are not."""
    return type(one) is type(other) and bool(one == other)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, (str, int, float)) for item in value)


def _stamps(base: Values, ours: Values, theirs: Values) -> list[str]:
    """One stamp a file: if both sides reviewed it, that of the page that was changed later, else ours.

    What the file itself will hold is not known yet; if neither stamp is for that, the page counts as suspect.
    """
    was, *sides = ({str(item).rsplit(" ", 1)[0]: item for item in v.get("reviewed", ())} for v in (base, ours, theirs))
    is_later = _later("timestamp", base, ours, theirs) == theirs.get("timestamp") != ours.get("timestamp")
    found = []
    for path in {**sides[0], **sides[1]}:
        stamps = [side.get(path) for side in (reversed(sides) if is_later else sides)]
        changed = [stamp for stamp in stamps if stamp != was.get(path)] or stamps
        found += [stamp for stamp in changed if stamp is not None][:1]
    return found


def _both_counts(key: str, base: Values, ours: Values, theirs: Values) -> Any:
    before, one, other = (values.get(key, 0) for values in (base, ours, theirs))
    if any(type(count) is not int for count in (before, one, other)):
        return CONFLICT
    return max(0, one + other - before)


def _later(key: str, _: Values, ours: Values, theirs: Values) -> Any:
    found = [values[key] for values in (ours, theirs) if key in values]
    try:
        return max(found, key=lambda value: timestamps.parse(str(value)))
    except ValueError:
        return CONFLICT


def _either(key: str, _: Values, ours: Values, theirs: Values) -> Any:
    found = [values.get(key, False) for values in (ours, theirs)]
    return any(found) if all(isinstance(value, bool) for value in found) else CONFLICT


def _furthest(key: str, _: Values, ours: Values, theirs: Values) -> Any:
    kind = KINDS.get(str(ours.get("memory_type")))
    one, other = (kind.step(str(values.get(key))) if kind else None for values in (ours, theirs))
    if one is None or other is None or one.rank == other.rank:
        return CONFLICT
    return (ours if one.rank > other.rank else theirs)[key]


def _who_came_later(key: str, base: Values, ours: Values, theirs: Values) -> Any:
    last = _later("timestamp", base, ours, theirs) if "timestamp" in ours and "timestamp" in theirs else CONFLICT
    found = [values.get(key) for values in (ours, theirs) if values.get("timestamp") == last]
    return found[0] if len(found) == 1 else CONFLICT


_Rule = Callable[[str, Values, Values, Values], Any]
_RECORD_RULES: dict[str, _Rule] = {
    "status": _furthest,
    "is_archived": _either,
    "archived_at": _later,
    COUNT: _both_counts,
    "last_accessed": _later,
}
_PAGE_RULES: dict[str, _Rule] = {"timestamp": _later, "agent_id": _who_came_later}  # of the last change to a page
