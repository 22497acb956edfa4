"""Maintenance: archiving and deleting records that are due for it, and adding retrieval counts, in one commit.

The tables of rules.md#lifecycle say when a record is due. No record is deleted that was not archived long before. The
age begins at the field `timestamp` or at the first commit (`retention_dates`), for resolved issues too, since a record
does not say when it was resolved. An issue that nobody will fix (`wontfix`) counts as resolved.

A record is not deleted while another record's front matter links to it, or while the text of a record or page has its
id, since the link or id would lead nowhere. The link `supersedes` is the exception, and is removed: that a record is
superseded is the very reason why it may be deleted.

Checkpoints are deleted, too. Each is complete, so only the newest of a workflow is needed to continue; earlier ones are
for looking back and for going back. No rule says how many to keep: settings do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from memctl.errors import MemctlError
from memctl.git import commits
from memctl.record import checkpoint, mentions
from memctl.record.change import Change, Delete, RecordAction, WriteOptions
from memctl.record.checkpoint import Checkpoint, Version
from memctl.record.config import Lifecycle
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import OTHER_END
from memctl.record.parser import parse
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store import load, lock, pending_state, retrieval_counts, retrieval_folding, sequence
from memctl.store.journal import PENDING
from memctl.store.memory import Memory
from memctl.team import guard
from memctl.text import timestamps
from memctl.text.phrases import quantity
from memctl.write import links, transaction
from memctl.write.commit import Outcome
from memctl.write.edit import rewrite
from memctl.write.retention_dates import Action, RetentionDates, read_dates

Values = dict[str, dict[str, Any]]  # front matter that changes, by the path of the record
_UNCOMMITTED = "its file has uncommitted changes"
_LEAST_ARCHIVED = 30  # days that a learning is archived before it is deleted, whatever the settings (chosen by us)
_WORDS = {"archive": "archived", "delete": "deleted", "date": "dated"}


class MaintenanceResult(msgspec.Struct, frozen=True):
    """The result of maintenance: the outcome of its write, and in `judgement` which records were due to be changed.

    `folded` is the number of records that got new retrieval counts. `kept_checkpoints` are checkpoints that were due to
    be deleted, but had to be kept.
    """

    outcome: Outcome
    judgement: DueChanges
    folded: int
    kept_checkpoints: tuple[OldCheckpoint, ...] = ()


class _Folding(msgspec.Struct, frozen=True):
    """Counts that are being written into front matter: by memory_id the count and the new total, and values by path."""

    counts: dict[str, tuple[int, int]] = {}
    values: Values = {}


def maintain(memory: Memory, options: WriteOptions) -> MaintenanceResult:
    """Archive and delete the records that are due for it at `memory.now`, in one commit.

    Records with uncommitted changes are left alone. So are records in other agents' sections, unless `options` allow to
    change them. Raises MemctlError before anything is written if no commit can be made: during a merge or rebase, or in
    a Git hook.
    """
    judged, folding, old = DueChanges(), _Folding(), list[OldCheckpoint]()

    def plan(_: sequence.Sequence) -> Change:
        nonlocal judged, folding, old
        if not options.dry_run:
            why, hint = commits.why_unsafe(memory.repository)
            if why:
                raise MemctlError(f"`memctl maintain` can't commit now: {why}", hint)
        snapshot = load.disk(memory)
        owned = {} if options.allow_owned else guard.forbidden_records(memory, snapshot)
        untouchable = owned | dict.fromkeys(pending_state.uncommitted(memory, ignored=True), _UNCOMMITTED)
        dates = _dates(memory, snapshot)
        judged = judge(snapshot, dates, untouchable)
        gone = {verdict.record.path for verdict in judged.due if verdict.action == "delete"}
        folding = _fold(memory, snapshot, gone | untouchable.keys(), dry_run=options.dry_run)
        old = old_checkpoints(snapshot, dates, untouchable)
        return change(
            snapshot, judged, memory.now, folding.values, [checkpoint for checkpoint in old if not checkpoint.kept]
        )

    outcome = transaction.carry_out(memory, plan, options)
    if folding.counts and not options.dry_run:
        totals = {memory_id: total for memory_id, (_, total) in folding.counts.items()}
        retrieval_folding.finish(memory.repository.shared, totals)
    if outcome.change.is_empty:
        with lock.hold(memory.repository.shared / "lock"):  # excludes changes that another process writes now
            entries = pending_state.open_entries(memory)
        if any(entry.stage == PENDING and not entry.undone for entry in entries):
            outcome = replace(outcome, pending="an earlier change is not committed", hint="`memctl commit` commits it")
    return MaintenanceResult(
        outcome, judged, len(folding.counts), tuple(checkpoint for checkpoint in old if checkpoint.kept)
    )


def _dates(memory: Memory, snapshot: Snapshot) -> RetentionDates:
    """Return the dates that decide; those of commits are only read if something is old by its own dates."""
    own = RetentionDates(memory.now)
    paths = [record.path for record in snapshot.records if verdict_of(record, snapshot.config.lifecycle, own)]
    return read_dates(memory, paths) if paths or old_checkpoints(snapshot, own, {}) else own


def change(
    snapshot: Snapshot,
    judged: DueChanges,
    now: str,
    more: Mapping[str, Mapping[str, Any]],
    old: Iterable[OldCheckpoint] = (),
) -> Change:
    """Return the Change that archives and deletes the records that are due, and deletes the checkpoints `old`.

    `judged` has the records that are due. `more` are other front matter values to change, such as retrieval counts: by
    the path of a record, the new values by key. Links to deleted records are removed from all other records.
    """
    checkpoints = list(old)
    values: Values = {path: dict(fields) for path, fields in more.items()}
    gone = [verdict.record for verdict in judged.due if verdict.action == "delete"]
    for verdict in judged.due:
        if verdict.action != "delete":
            values.setdefault(verdict.record.path, {}).update({"is_archived": True, "archived_at": now})
    deeds = [RecordAction(verdict.action, verdict.record.id, verdict.reason) for verdict in judged.due]
    deeds += _unlink(snapshot, gone, values)
    deeds += [RecordAction("delete", checkpoint.id, checkpoint.reason) for checkpoint in checkpoints]
    records = {record.path: record for record in snapshot.records if record.path in values}
    paths = [*(record.path for record in gone), *(path for checkpoint in checkpoints for path in checkpoint.paths)]
    return Change(
        op="maintain",
        title=_title(judged, len(more), len(checkpoints)),
        ids=tuple(dict.fromkeys([*(deed.id for deed in deeds), *(record.id for record in records.values())])),
        writes=tuple(rewrite(snapshot, record, values[path]) for path, record in records.items()),
        deletes=tuple(Delete(path, snapshot.read(path)) for path in paths),
        deeds=tuple(deeds),
    )


def _unlink(snapshot: Snapshot, deleted: list[Record], values: Values) -> list[RecordAction]:
    """Remove links to deleted records from all others, in `values`; return the deeds."""
    if not deleted:
        return []
    paths = {record.path for record in deleted}
    names = {name for record in deleted for name in (record.id, *record.aliases)}
    memory_ids = {record.memory_id: record.id for record in deleted}
    deeds = []
    for record in snapshot.records:
        changed = {} if record.path in paths else links.without_links(record, names, memory_ids.keys())
        if changed:
            values.setdefault(record.path, {}).update(changed)
            linked = {name for field in changed if field != "parent_memory_id" for name in getattr(record, field)}
            linked |= {memory_ids[record.parent_memory_id or ""]} if "parent_memory_id" in changed else set()
            targets = sorted(linked & (names | set(memory_ids.values())))
            reason = f"{', '.join(targets)} {'was' if len(targets) == 1 else 'were'} deleted"
            deeds.append(RecordAction("unlink", record.id, reason))
    return deeds


def _fold(memory: Memory, snapshot: Snapshot, skipped: Collection[str], *, dry_run: bool) -> _Folding:
    """Return the retrieval counts of this clone to write into front matter, after noting that this has begun.

    Records at the paths in `skipped` keep their counts for later, and with `dry_run` nothing is noted.
    """
    shared = memory.repository.shared
    by_memory_id = {record.memory_id: record for record in reversed(snapshot.records)}
    if not dry_run:
        _settle(memory, snapshot, by_memory_id)
    folding = _Folding({}, {})
    for memory_id, (count, last) in retrieval_counts.counts(shared).items():
        record = by_memory_id.get(memory_id)
        if record is None or record.path in skipped:
            continue
        stored = _record_in_file(snapshot, record)
        total = stored.access_count + count
        folding.counts[memory_id] = (count, total)
        latest = max(last, stored.last_accessed or "")
        folding.values[record.path] = {"access_count": total, "last_accessed": latest}
    if folding.counts and not dry_run and not retrieval_folding.start(shared, folding.counts):
        return _Folding()  # the counters can't be written now; they stay as they are
    return folding


def _settle(memory: Memory, snapshot: Snapshot, by_memory_id: Mapping[str, Record]) -> None:
    """Finish a folding that was interrupted; the caller has finished interrupted writes."""
    begun = retrieval_folding.unfinished(memory.repository.shared)
    known = {name: total for name, total in begun.items() if name in by_memory_id}
    written = {
        name: total
        for name, total in known.items()
        if _record_in_file(snapshot, by_memory_id[name]).access_count >= total
    }
    if begun:
        retrieval_folding.finish(memory.repository.shared, written, forget_rest=True)


def _record_in_file(snapshot: Snapshot, record: Record) -> Record:
    """Return a record as its file has it, without this clone's retrieval counts."""
    return parse(snapshot.read(record.path), record.path)[0]


def _title(judged: DueChanges, folded: int, checkpoints: int) -> str:
    numbers = {word: sum(verdict.action == action for verdict in judged.due) for action, word in _WORDS.items()}
    words = [f"{number:,} {word}" for word, number in numbers.items() if number]
    words += [f"{quantity(checkpoints, 'checkpoint')} deleted"] if checkpoints else []
    words += [f"{quantity(folded, 'access count')} updated"] if folded else []
    return ", ".join(words)


class RetentionVerdict(msgspec.Struct, frozen=True):
    """The `action` that rules.md#lifecycle demands for a `record`, and the `reason`, such as "superseded, 91 days old".

    The action is "archive", "delete" or "date". To "date" a record sets its `archived_at` to now: it was archived by
    hand without that value. Nobody knows how long it has been archived, so it is not deleted yet.
    """

    record: Record
    action: Action
    reason: str


class SparedRecord(msgspec.Struct, frozen=True):
    """A record that is due to be archived, deleted or dated (its `verdict` says which), and `why` this is not done."""

    verdict: RetentionVerdict
    why: str


class DueChanges(msgspec.Struct, frozen=True):
    """The records that are due to be archived, deleted or dated (see RetentionVerdict), in the order of paths.

    To those in `due` this is done, to those in `spared` it is not.
    """

    due: tuple[RetentionVerdict, ...] = ()
    spared: tuple[SparedRecord, ...] = ()


def judge(snapshot: Snapshot, dates: RetentionDates, untouchable: Mapping[str, str] | None = None) -> DueChanges:
    """Return which records are due to be archived, deleted or dated (see RetentionVerdict), and which are spared.

    `untouchable` are paths of files that must not change, each with the reason. A record that is due to be deleted is
    only archived as long as something refers to it: a page, or a record that stays open, is kept for ever or must not
    change. If the result is carried out, a second call with the same time finds nothing due.
    """
    rules, records = snapshot.config.lifecycle, snapshot.records
    untouchable = untouchable or {}
    result = [verdict for record in records if (verdict := verdict_of(record, rules, dates)) is not None]
    latest = latest_states(records)
    twice = {identifier for identifier, count in Counter(record.id for record in records).items() if count > 1}
    spared, verdicts = _spare_new(records, rules, dates, result), list[RetentionVerdict]()
    for verdict in result:
        why = _protection(verdict.record, rules, latest, verdict.action)
        if verdict.record.path in untouchable:
            why = untouchable[verdict.record.path]
        elif verdict.action == "delete" and verdict.record.id in twice:
            why = "another record has the same id"
        elif verdict.action == "delete" and not why:
            why = dates.doubt(verdict.record.archived_at or "")
        if why:
            spared[verdict.record.path] = SparedRecord(verdict, why)
        else:
            verdicts.append(verdict)
    going = [verdict.record for verdict in verdicts if verdict.action == "delete"]
    if going:
        closing = {verdict.record.path for verdict in verdicts}
        lasting = [r for r in records if _stays(r, rules, latest, closing) or r.path in untouchable]
        held = find_backlinks(snapshot, going, lasting, untouchable.keys())
        verdicts = [_spare_held(verdict, held, spared) for verdict in verdicts]
    return DueChanges(
        tuple(verdict for verdict in verdicts if not (verdict.action == "archive" and verdict.record.is_archived)),
        tuple(spared[path] for path in sorted(spared)),
    )


def _spare_new(
    records: Sequence[Record], rules: Lifecycle, dates: RetentionDates, due: Iterable[RetentionVerdict]
) -> dict[str, SparedRecord]:
    """Return the records that are due by their own dates alone, and not by those of their commits, by path."""
    own, actions = RetentionDates(dates.now), {verdict.record.path: verdict.action for verdict in due}
    verdicts = (verdict for record in records if (verdict := verdict_of(record, rules, own)) is not None)
    return {
        verdict.record.path: SparedRecord(verdict, dates.newness(verdict.record, verdict.action))
        for verdict in (verdicts if dates.is_known else ())
        if actions.get(verdict.record.path) != verdict.action
    }


def verdict_of(record: Record, rules: Lifecycle, dates: RetentionDates) -> RetentionVerdict | None:
    """Return the action that rules.md#lifecycle demands for a record by its own values; None if nothing is due.

    Whether something refers to the record or protects it does not count here: `judge` looks at that.
    """
    if rules.delete and (reason := _delete_reason(record, rules, dates)):
        return RetentionVerdict(record, "delete", reason)
    if not record.is_archived and (reason := _archive_reason(record, rules, dates)):
        return RetentionVerdict(record, "archive", reason)
    if record.is_archived and record.archived_at is None and _may_be_deleted(record, rules):
        return RetentionVerdict(record, "date", "archived without a date")
    return None


def latest_states(records: Sequence[Record]) -> set[str]:
    """Return the paths of the latest record of type `state` and of the latest open one: two, one or none.

    Maintenance never archives or deletes these.
    """
    states = sorted((r for r in records if r.memory_type == "state"), key=lambda r: (r.timestamp, r.id))
    still_open = [state for state in states if state.is_open]
    return {records[-1].path for records in (states, still_open) if records}


def _archive_reason(record: Record, rules: Lifecycle, dates: RetentionDates) -> str:
    if record.expires_at is not None and record.expires_at <= dates.now:
        return f"it expired at {record.expires_at}"
    age = dates.age(record)
    if record.memory_type in ("decision", "state") and record.status == "superseded":
        return "superseded" + (f" by {', '.join(record.superseded_by)}" if record.superseded_by else "")
    if record.memory_type == "decision":
        is_due = record.importance <= rules.archive_decision_importance and age > rules.archive_decision_days
        return f"importance {record.importance}, {quantity(int(age), 'day')} old" if is_due else ""
    if record.memory_type == "issue" and record.status in record.kind.closed_statuses:
        return f"{record.status}, {quantity(int(age), 'day')} old" if age > rules.archive_issue_days else ""
    if record.memory_type == "learning" and not record.access_count:
        return f"never retrieved, {quantity(int(age), 'day')} old" if age > rules.archive_learning_days else ""
    return ""


def _delete_reason(record: Record, rules: Lifecycle, dates: RetentionDates) -> str:
    if not _may_be_deleted(record, rules):
        return ""
    since, what, is_old = dates.archived_for(record), record.status, True
    if record.memory_type == "learning":
        least = max(rules.delete_learning_days - rules.archive_learning_days, _LEAST_ARCHIVED)
        what = "never retrieved"
        is_old = dates.age(record) > rules.delete_learning_days
    elif record.memory_type == "decision":
        least, what = rules.delete_decision_days, f"importance {record.importance}"
    else:
        least = rules.delete_issue_days if record.memory_type == "issue" else rules.delete_state_days
    is_due = is_old and since > least
    return f"{what}, archived for {quantity(int(since), 'day')}" if is_due else ""


def _may_be_deleted(record: Record, rules: Lifecycle) -> bool:
    """Return whether a record is deleted when it has been archived for long enough."""
    if record.memory_type == "issue":
        return record.status in record.kind.closed_statuses
    if record.memory_type == "decision":
        return record.importance <= rules.delete_decision_importance
    is_state = record.memory_type == "state"
    return record.status == "superseded" if is_state else record.memory_type == "learning" and not record.access_count


def _protection(record: Record, rules: Lifecycle, latest: Collection[str], action: Action = "delete") -> str:
    """Return the reason why an action may not be done to a record, "" if it may.

    A record of high importance is never deleted. A closed one, such as a superseded decision, may be archived.
    """
    is_closed = record.status in record.kind.closed_statuses
    if record.importance >= rules.keep_importance and not (is_closed and action == "archive"):
        return f"it has importance {record.importance}"
    if record.memory_type == "issue" and not is_closed:
        return "it is an open issue"
    return "it is the latest state" if record.path in latest else ""


def _stays(record: Record, rules: Lifecycle, latest: Collection[str], closing: Collection[str]) -> bool:
    """Return whether a record stays: it is open and nothing is due for it, or it is protected from deletion."""
    return (record.is_open and record.path not in closing) or bool(_protection(record, rules, latest))


def _spare_held(verdict: RetentionVerdict, held: dict[str, str], spared: dict[str, SparedRecord]) -> RetentionVerdict:
    """Return a verdict, lowered from deletion to archiving if something refers to its record.

    `held` names who refers to a record, by its path. A lowered verdict is added to `spared`.
    """
    holder = held.get(verdict.record.path)
    if holder is None or verdict.action != "delete":
        return verdict
    spared[verdict.record.path] = SparedRecord(verdict, f"{holder} refers to it")
    return RetentionVerdict(verdict.record, "archive", verdict.reason)


def find_backlinks(
    snapshot: Snapshot, targets: Sequence[Record], lasting: Sequence[Record], untouchable: Collection[str]
) -> dict[str, str]:
    """Return for each record in `targets` one record or page that refers to it.

    The keys are the targets' paths, and the values ids of records and markers of pages. All pages are searched, but of
    the records only those in `lasting`. A target to which nothing refers is left out.

    That a record supersedes the target does not count, since this link is removed when the target is deleted. But it
    counts if the record's path is in `untouchable`, the paths of files that must not change, since the link can't be
    removed there.
    """
    paths = {name: record.path for record in targets for name in (record.id, *record.aliases, record.memory_id)}
    held: dict[str, str] = {}
    for record in lasting:
        _note_holder(held, paths, _link_targets(record, everything=record.path in untouchable), record.id, record.path)
    texts = snapshot.catalogue.mentions()
    for record in lasting:
        _note_holder(held, paths, (mention.text for mention in texts.get(record.path, ())), record.id, record.path)
    for page in snapshot.outline.pages:
        _note_holder(held, paths, (mention.text for mention in mentions.in_text(page.body)), page.id, page.path)
    return held


def _note_holder(held: dict[str, str], paths: dict[str, str], names: Iterable[str], holder: str, own: str) -> None:
    """Note in `held` that `holder` refers to the records with these names, but not to itself."""
    for name in names:
        path = paths.get(name)
        if path is not None and path != own:
            held.setdefault(path, holder)


def _link_targets(record: Record, *, everything: bool) -> list[str]:
    """Return the ids that a record links to; without `everything` not those that it supersedes."""
    # The link `supersedes` does not prevent deletion.
    linked = [name for field in OTHER_END if everything or field != "supersedes" for name in getattr(record, field)]
    return [*linked, record.parent_memory_id] if record.parent_memory_id else linked


class OldCheckpoint(msgspec.Struct, frozen=True):
    """A checkpoint that is due to be deleted: its id, its files, and the reason.

    If it is not deleted nevertheless, `kept` is the reason; otherwise it is "".
    """

    id: str
    paths: tuple[str, ...]
    reason: str
    kept: str = ""


def old_checkpoints(snapshot: Snapshot, dates: RetentionDates, untouchable: Mapping[str, str]) -> list[OldCheckpoint]:
    """Return the checkpoints that are due to be deleted, by workflow, oldest first.

    Three kinds are not due: the newest checkpoint of each workflow; while its task is not finished, also the last few
    before that; and checkpoints younger than some days. config.yaml has the numbers. Unreadable checkpoints are left to
    `check`. `untouchable` are paths that must not change, each with the reason.
    """
    rules = snapshot.config.lifecycle
    if not rules.delete:
        return []
    names = set(snapshot.names(checkpoint.FOLDER))
    workflows: dict[str, list[Version]] = {}
    for path in names:
        if version := checkpoint.version_at(path):
            workflows.setdefault(version.workflow, []).append(version)
    result = []
    for _, versions in sorted(workflows.items()):
        newest = max(versions)
        last = _read(snapshot, newest)
        is_finished = last is not None and last.is_finished
        most = 1 if is_finished else rules.keep_checkpoints
        kept_versions = sorted({version.version for version in versions}, reverse=True)[:most]
        for version in sorted(version for version in versions if version.version not in kept_versions):
            one = _read(snapshot, version)
            age = timestamps.days_between(one.saved_at, dates.now) if one else 0
            if one is not None and age > rules.delete_checkpoint_days:
                paths = tuple(path for path in (version.path, version.page) if path in names)
                state = "the task is finished" if is_finished else f"{newest.id} is the newest"
                why = f"{state}, {quantity(int(age), 'day')} old"
                spared = next((untouchable[path] for path in paths if path in untouchable), dates.doubt(one.saved_at))
                result.append(OldCheckpoint(version.id, paths, why, spared))
    return result


def _read(snapshot: Snapshot, version: Version) -> Checkpoint | None:
    try:
        return checkpoint.parse(snapshot.read(version.path), version.path)
    except (InvalidRecord, FileNotFoundError):
        return None
