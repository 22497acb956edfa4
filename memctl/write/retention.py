"""What is due to be archived or deleted, and why: the tables of rules.md#lifecycle, record by record.

A superseded state is deleted by its age and not by how long it is archived. Age is counted from `timestamp`, for
resolved issues too: a record does not say when it was resolved. An issue that nobody will fix (`wontfix`) is closed
like a resolved one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import msgspec

from memctl.record import timestamps
from memctl.record.config import Lifecycle
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.write import backlinks

Action = Literal["archive", "delete", "date"]


class RetentionVerdict(msgspec.Struct, frozen=True):
    """What is due for a record, and by which rule. To `date` is to note that an archived record is archived since now.

    That is for one archived by hand, without `archived_at`: nobody knows how long it has been, so it is not deleted.
    """

    record: Record
    action: Action
    reason: str


class Spared(msgspec.Struct, frozen=True):
    """A record for which something is due, and why it is not done."""

    verdict: RetentionVerdict
    why: str


class Judgement(msgspec.Struct, frozen=True):
    """What is due in a memory, and what is spared, in the order of the records' paths."""

    due: tuple[RetentionVerdict, ...] = ()
    spared: tuple[Spared, ...] = ()


def judge(snapshot: Snapshot, now: str, untouchable: Mapping[str, str] | None = None) -> Judgement:
    """Judge all records of a memory. `untouchable` are the paths of files that must stay as they are, each with why.

    A record is not deleted while one that stays open, or is kept for ever, or a page refers to it (`holders` says how);
    it is archived instead. A second judgement after the first was carried out, at the same moment, finds nothing due.
    """
    rules, records = snapshot.config.lifecycle, snapshot.records
    untouchable = untouchable or {}
    found = [verdict for record in records if (verdict := due(record, rules, now)) is not None]
    latest = latest_states(records)
    twice = {identifier for identifier, count in Counter(record.id for record in records).items() if count > 1}
    spared, kept = dict[str, Spared](), list[RetentionVerdict]()
    for verdict in found:
        why = _protected(verdict.record, rules, latest, verdict.action)
        if verdict.record.path in untouchable:
            why = untouchable[verdict.record.path]
        elif verdict.action == "delete" and verdict.record.id in twice:
            why = "another record has the same id"
        if why:
            spared[verdict.record.path] = Spared(verdict, why)
        else:
            kept.append(verdict)
    going = [verdict.record for verdict in kept if verdict.action == "delete"]
    if going:
        closing = {verdict.record.path for verdict in kept}
        lasting = [r for r in records if _lasts(r, rules, latest, closing) or r.path in untouchable]
        held = backlinks.find(snapshot, going, lasting, untouchable.keys())
        kept = [_held(verdict, held, spared) for verdict in kept]
    return Judgement(
        tuple(verdict for verdict in kept if not (verdict.action == "archive" and verdict.record.is_archived)),
        tuple(spared[path] for path in sorted(spared)),
    )


def due(record: Record, rules: Lifecycle, now: str) -> RetentionVerdict | None:
    """What the tables say of a record, without regard to what protects it."""
    if rules.delete and (reason := _delete_reason(record, rules, now)):
        return RetentionVerdict(record, "delete", reason)
    if not record.is_archived and (reason := _archive_reason(record, rules, now)):
        return RetentionVerdict(record, "archive", reason)
    if record.is_archived and record.archived_at is None and _counts_since_archived(record, rules):
        return RetentionVerdict(record, "date", "archived, and nothing said since when")
    return None


def latest_states(records: Sequence[Record]) -> set[str]:
    """The paths of the latest state, and of the latest that is still open."""
    states = sorted((r for r in records if r.memory_type == "state"), key=lambda r: (r.timestamp, r.id))
    still_open = [state for state in states if state.is_open]
    return {found[-1].path for found in (states, still_open) if found}


def _archive_reason(record: Record, rules: Lifecycle, now: str) -> str:
    if record.expires_at is not None and record.expires_at <= now:
        return f"it expired at {record.expires_at}"
    age = timestamps.days_between(record.timestamp, now)
    if record.memory_type in ("decision", "state") and record.status == "superseded":
        return "superseded" + (f" by {', '.join(record.superseded_by)}" if record.superseded_by else "")
    if record.memory_type == "decision":
        is_due = record.importance <= rules.archive_decision_importance and age > rules.archive_decision_days
        return f"importance {record.importance}, {_days(age)} old" if is_due else ""
    if record.memory_type == "issue" and record.status in record.kind.closed:
        return f"{record.status}, {_days(age)} old" if age > rules.archive_issue_days else ""
    if record.memory_type == "learning" and not record.access_count:
        return f"never retrieved, {_days(age)} old" if age > rules.archive_learning_days else ""
    return ""


def _delete_reason(record: Record, rules: Lifecycle, now: str) -> str:
    age = timestamps.days_between(record.timestamp, now)
    if record.memory_type == "state" and record.status == "superseded":
        return f"superseded, {_days(age)} old" if age > rules.delete_state_days else ""
    if record.memory_type == "learning" and not record.access_count:
        return f"never retrieved, {_days(age)} old" if age > rules.delete_learning_days else ""
    if not record.is_archived or record.archived_at is None or not _counts_since_archived(record, rules):
        return ""
    since = timestamps.days_between(record.archived_at, now)
    if record.memory_type == "issue":
        return f"{record.status}, archived for {_days(since)}" if since > rules.delete_issue_days else ""
    is_due = since > rules.delete_decision_days
    return f"importance {record.importance}, archived for {_days(since)}" if is_due else ""


def _counts_since_archived(record: Record, rules: Lifecycle) -> bool:
    """Whether a record is of those that are deleted some time after they were archived."""
    if record.memory_type == "issue":
        return record.status in record.kind.closed
    return record.memory_type == "decision" and record.importance <= rules.delete_decision_importance


def _protected(record: Record, rules: Lifecycle, latest: Collection[str], action: Action = "delete") -> str:
    """Return why an action may not be done to a record, "" if it may.

    What has weight is kept for ever, which an archived issue still is: a closed one is archived whatever its severity.
    """
    is_issue, is_closed = record.memory_type == "issue", record.status in record.kind.closed
    if record.importance >= rules.keep_importance and not (is_issue and is_closed and action == "archive"):
        return f"it has importance {record.importance}"
    if is_issue and not is_closed:
        return "it is an open issue"
    return "it is the latest state" if record.path in latest else ""


def _lasts(record: Record, rules: Lifecycle, latest: Collection[str], closing: Collection[str]) -> bool:
    return (record.is_open and record.path not in closing) or bool(_protected(record, rules, latest))


def _held(verdict: RetentionVerdict, held: dict[str, str], spared: dict[str, Spared]) -> RetentionVerdict:
    """A verdict, or if its record is held, to archive that at least; then it is among the spared."""
    holder = held.get(verdict.record.path)
    if holder is None or verdict.action != "delete":
        return verdict
    spared[verdict.record.path] = Spared(verdict, f"{holder} refers to it")
    return RetentionVerdict(verdict.record, "archive", verdict.reason)


def _days(days: float) -> str:
    return f"{int(days):,} day{'' if int(days) == 1 else 's'}"
