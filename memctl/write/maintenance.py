"""Maintenance: what is due is archived and deleted, and access counts are folded in, in one commit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from memctl.errors import MemctlError
from memctl.git import commits
from memctl.record.change import Change, Deed, Delete, WriteOptions
from memctl.record.record import Record, parse
from memctl.record.snapshot import Snapshot
from memctl.store import access, entry_state, load, lock
from memctl.store.journal import PENDING
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence
from memctl.team import guard
from memctl.write import links, old_checkpoints, retention, transaction
from memctl.write.commit import Outcome
from memctl.write.edit import rewrite
from memctl.write.old_checkpoints import OldCheckpoint
from memctl.write.retention import Judgement, RetentionVerdict

Values = dict[str, dict[str, Any]]  # front matter that changes, by the path of the record
_UNCOMMITTED = "it has changes that are in no commit"
_WORDS = {"archive": "archived", "delete": "deleted", "date": "dated"}


class Maintained(msgspec.Struct, frozen=True):
    """What maintenance came to: the outcome of its change, the judgement that it carries out, the number of records
    whose access counts were folded in, and the checkpoints that were due and are kept."""

    outcome: Outcome
    judgement: Judgement
    folded: int
    kept_checkpoints: tuple[OldCheckpoint, ...] = ()


class _Folding(msgspec.Struct, frozen=True):
    """Counts on their way into front matter: by memory_id how many and the new total, and the values by path."""

    counts: dict[str, tuple[int, int]] = {}
    values: Values = {}

    @property
    def totals(self) -> dict[str, int]:
        return {memory_id: total for memory_id, (_, total) in self.counts.items()}


def maintain(memory: Memory, options: WriteOptions) -> Maintained:
    """Do what is due at `memory.now`, in one commit. Records with changes that are in no commit are left alone, and so
    are those in sections of others, unless `how` allows that.

    Raises MemctlError, having written nothing, while a commit can't be made: during a merge or rebase, in a hook.
    """
    judged, folding, old = Judgement(), _Folding(), list[OldCheckpoint]()

    def plan(_: Sequence) -> Change:
        nonlocal judged, folding, old
        if not options.dry_run:
            _refuse_if_unsafe(memory)
        snapshot = load.disk(memory)
        untouchable = _untouchable(memory, snapshot, options)
        judged = retention.judge(snapshot, memory.now, untouchable)
        gone = {verdict.record.path for verdict in judged.due if verdict.action == "delete"}
        folding = _fold(memory, snapshot, gone | untouchable.keys(), dry_run=options.dry_run)
        old = old_checkpoints.old(snapshot, memory.now, untouchable)
        return change(snapshot, judged, memory.now, folding.values, [one for one in old if not one.kept])

    outcome = transaction.carry_out(memory, plan, options)
    if folding.counts and not options.dry_run:
        access.finish_folding(memory.repository.shared, folding.totals)
    if outcome.change.is_empty and _left(memory):
        outcome = replace(outcome, pending="an earlier change is in no commit", hint="`memctl commit` makes it")
    return Maintained(outcome, judged, len(folding.counts), tuple(one for one in old if one.kept))


def _left(memory: Memory) -> bool:
    """Whether a change waits for its commit; under the lock, since what another process writes now does not."""
    with lock.hold(memory.repository.shared / "lock"):
        return any(entry.stage == PENDING and not entry.undone for entry in entry_state.outstanding(memory))


def _untouchable(memory: Memory, snapshot: Snapshot, options: WriteOptions) -> dict[str, str]:
    """The paths of files that are left alone, each with why."""
    owned = {} if options.allow_owned else guard.forbidden(memory, snapshot.records)
    return owned | dict.fromkeys(entry_state.uncommitted(memory, ignored=True), _UNCOMMITTED)


def change(
    snapshot: Snapshot,
    judged: Judgement,
    now: str,
    more: Mapping[str, Mapping[str, Any]],
    old: Iterable[OldCheckpoint] = (),
) -> Change:
    """The Change that carries out a judgement; `more` is front matter that changes besides, by path, and `old` are
    checkpoints that go.

    Links to what is deleted are taken out of all other records.
    """
    checkpoints = list(old)
    values: Values = {path: dict(found) for path, found in more.items()}
    gone = [verdict.record for verdict in judged.due if verdict.action == "delete"]
    for verdict in judged.due:
        if verdict.action != "delete":
            values.setdefault(verdict.record.path, {}).update({"is_archived": True, "archived_at": now})
    deeds = [_deed(verdict) for verdict in judged.due] + _unlink(snapshot, gone, values)
    deeds += [Deed("delete", one.id, one.reason) for one in checkpoints]
    records = {record.path: record for record in snapshot.records if record.path in values}
    paths = [*(record.path for record in gone), *(path for one in checkpoints for path in one.paths)]
    return Change(
        op="maintain",
        title=_title(judged, len(more), len(checkpoints)),
        ids=tuple(dict.fromkeys([*(deed.id for deed in deeds), *(record.id for record in records.values())])),
        writes=tuple(rewrite(snapshot, record, values[path]) for path, record in records.items()),
        deletes=tuple(Delete(path, snapshot.read(path)) for path in paths),
        deeds=tuple(deeds),
    )


def _unlink(snapshot: Snapshot, gone: list[Record], values: Values) -> list[Deed]:
    """Take the links to what is deleted out of the others."""
    if not gone:
        return []
    paths = {record.path for record in gone}
    names = {name for record in gone for name in (record.id, *record.aliases)}
    memory_ids = {record.memory_id: record.id for record in gone}
    deeds = []
    for record in snapshot.records:
        changed = {} if record.path in paths else links.unlinked(record, names, memory_ids.keys())
        if changed:
            values.setdefault(record.path, {}).update(changed)
            linked = {name for field in changed if field != "parent_memory_id" for name in getattr(record, field)}
            linked |= {memory_ids[record.parent_memory_id or ""]} if "parent_memory_id" in changed else set()
            targets = sorted(linked & (names | set(memory_ids.values())))
            deeds.append(Deed("unlink", record.id, f"{', '.join(targets)} deleted"))
    return deeds


def _fold(memory: Memory, snapshot: Snapshot, left: Collection[str], *, dry_run: bool) -> _Folding:
    """The counts of this clone that go into front matter, noted as on their way; those in the paths `left` stay."""
    shared = memory.repository.shared
    by_memory_id = {record.memory_id: record for record in reversed(snapshot.records)}
    if not dry_run:
        _settle(memory, snapshot, by_memory_id)
    folding = _Folding({}, {})
    for memory_id, (count, last) in access.counts(shared).items():
        record = by_memory_id.get(memory_id)
        if record is None or record.path in left:
            continue
        stored = _stored(snapshot, record)
        total = stored.access_count + count
        folding.counts[memory_id] = (count, total)
        latest = max(last, stored.last_accessed or "")
        folding.values[record.path] = {"access_count": total, "last_accessed": latest}
    if folding.counts and not dry_run and not access.start_folding(shared, folding.counts):
        return _Folding()  # the counters can't be written now; they stay as they are
    return folding


def _settle(memory: Memory, snapshot: Snapshot, by_memory_id: Mapping[str, Record]) -> None:
    """Bring a folding to its end that was interrupted, now that the door has finished its writes."""
    begun = access.unfinished_folding(memory.repository.shared)
    known = {name: total for name, total in begun.items() if name in by_memory_id}
    written = {
        name: total for name, total in known.items() if _stored(snapshot, by_memory_id[name]).access_count >= total
    }
    if begun:
        access.finish_folding(memory.repository.shared, written, forget_rest=True)


def _stored(snapshot: Snapshot, record: Record) -> Record:
    """A record as its file has it, without the counts of this clone."""
    return parse(snapshot.read(record.path), record.path)[0]


def _refuse_if_unsafe(memory: Memory) -> None:
    try:
        commits.forbid_if_unsafe(memory.repository)
    except commits.CommitPending as error:
        raise MemctlError(f"{error.why}, and maintenance can wait", "run it again once that is over") from None


def _deed(verdict: RetentionVerdict) -> Deed:
    return Deed(verdict.action, verdict.record.id, verdict.reason)


def _title(judged: Judgement, folded: int, checkpoints: int) -> str:
    numbers = {word: sum(verdict.action == action for verdict in judged.due) for action, word in _WORDS.items()}
    words = [f"{number:,} {word}" for word, number in numbers.items() if number]
    words += [f"{checkpoints:,} checkpoint{'' if checkpoints == 1 else 's'} deleted"] if checkpoints else []
    words += [f"{folded:,} access count{'' if folded == 1 else 's'} folded in"] if folded else []
    return ", ".join(words)
