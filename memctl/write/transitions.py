"""Which status may follow which.

The statuses of decisions are those of the MADR and Nygard forms; an issue can come back, and so can a task.
"""

from __future__ import annotations

from memctl.errors import MemctlError
from memctl.record.record import Record, found_allowed

_ALLOWED: dict[str, dict[str, tuple[str, ...]]] = {
    "decision": {
        "proposed": ("accepted", "rejected", "superseded"),
        "accepted": ("deprecated", "superseded"),
        "rejected": ("proposed",),
        "deprecated": ("accepted", "superseded"),
        "superseded": (),
    },
    "issue": {
        "open": ("in-progress", "resolved", "wontfix"),
        "in-progress": ("open", "resolved", "wontfix"),
        "resolved": ("open",),
        "wontfix": ("open",),
    },
    "state": {"active": ("done", "superseded"), "done": ("active", "superseded"), "superseded": ()},
    "learning": {"active": ("superseded", "retracted"), "retracted": ("active",), "superseded": ()},
    # Ownership moves with these: `memctl handoff` makes them, and `edit` does not.
    "handoff": {"offered": (), "accepted": (), "declined": (), "withdrawn": ()},
}


def check(record: Record, status: str) -> None:
    """Raise MemctlError unless the record may go to `status` (staying where it is always may)."""
    if status not in record.kind.statuses:
        raise MemctlError(f"status: {found_allowed(status, 'one of ' + ', '.join(record.kind.statuses))}")
    following = _ALLOWED[record.memory_type][record.status]
    if status != record.status and status not in following:
        what = f"from {record.status} it can become {' or '.join(following)}" if following else "nothing follows that"
        raise MemctlError(f"{record.id} is {record.status} and can't become {status}", what)
