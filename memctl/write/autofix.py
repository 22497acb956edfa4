"""`check --fix`: corrections of the findings that have one right answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from memctl.record.change import Change
from memctl.record.kinds import OTHER_END
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.write.edit import rewrite


def fix(snapshot: Snapshot, findings: Iterable[tuple[str, str]]) -> Change:
    """Return the Change that corrects those of `findings` that have one right answer; it is empty if none has.

    A finding is a pair: the code of a rule, such as "MEM107", and the path of a record. If a link between two records
    is missing in one of them, it is added there. A record that another one supersedes gets the status `superseded`.
    """
    by_path = {record.path: record for record in snapshot.records}
    values: dict[str, dict[str, Any]] = {}
    for code, path in dict.fromkeys(findings):
        record = by_path.get(path)
        if record is None:
            continue
        if code == "MEM402":
            values.setdefault(path, {})["status"] = "superseded"
        elif code == "MEM107":
            _add_ends(snapshot, record, values)
    ids = tuple(sorted(by_path[path].id for path in values))
    writes = tuple(rewrite(snapshot, by_path[path], values[path]) for path in sorted(values))
    return Change(op="fix", title=", ".join(ids[:3]) + (" …" if len(ids) > 3 else ""), ids=ids, writes=writes)


def _has_other_end(record: Record, other: Record, other_end: str) -> bool:
    """Return whether `other` has its end of the link to `record`, by the record's id or a former one."""
    return bool({record.id, *record.aliases} & set(getattr(other, other_end)))


def _is_uncertain(record: Record, other: Record, relation: str) -> bool:
    """Return whether it is uncertain which of two linked records is right, so that neither may be changed."""
    if other.id == record.id or record.id in getattr(other, relation):
        return relation != "relates_to" or other.id == record.id
    return "supersede" in relation and record.memory_type != other.memory_type


def _add_ends(snapshot: Snapshot, record: Record, values: dict[str, dict[str, Any]]) -> None:
    """Add to `values` the missing other ends of a record's links, by the path of the record that lacks them."""
    for relation, other_end in OTHER_END.items():
        for identifier in getattr(record, relation):
            other = snapshot.find(identifier)
            if other is None or _has_other_end(record, other, other_end) or _is_uncertain(record, other, relation):
                continue
            if snapshot.link_target_by_alias(record, identifier, other_end) is not None:
                continue  # the link has both ends, and names its record by a former id
            changes = values.setdefault(other.path, {})
            changes[other_end] = [*changes.get(other_end, getattr(other, other_end)), record.id]
            if other_end == "superseded_by" and other.status != "superseded":
                changes["status"] = "superseded"
