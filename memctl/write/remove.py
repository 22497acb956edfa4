"""Deleting records, and restoring deleted records and earlier versions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from difflib import unified_diff

import msgspec

from memctl.errors import MemctlError
from memctl.git import history, trees
from memctl.record import checkpoint, ids
from memctl.record.change import Change, Delete, Write, WriteOptions
from memctl.record.checkpoint import Version
from memctl.record.errors import InvalidRecord
from memctl.record.handoff import package_path
from memctl.record.kinds import HANDOFF
from memctl.record.parser import parse, parse_new
from memctl.record.snapshot import Snapshot
from memctl.store import changes_ref, files, journal, lock, pending_state, sessions_ref
from memctl.store.journal import PendingEntry
from memctl.store.memory import Memory
from memctl.write import links, merge, recovery, transaction
from memctl.write.commit import Outcome
from memctl.write.edit import change_of_all, refuse_offered, rewrite


def delete(snapshot: Snapshot, references: Sequence[str], *, unlink: bool = False) -> Change:
    """Return the Change that deletes records, which stay in Git's history.

    `references` are the records' ids, as a person typed them. Raises MemctlError for a record to which others link;
    with `unlink` these links are removed instead.
    """
    records = [snapshot.resolve(reference) for reference in references]
    change = change_of_all("delete", records)
    refuse_offered(snapshot, records)
    gone = {record.path for record in records}
    packages = {package_path(record.path) for record in records if record.memory_type == HANDOFF.name}
    packages = {path for path in packages if snapshot.try_read(path)}
    writes: dict[str, Write] = {}
    for record in records:
        users = [user for user in links.linked_from(snapshot, record) if user.path not in gone]
        if users and not unlink:
            raise MemctlError(
                f"{record.id} can't be deleted: {', '.join(user.id for user in users)} "
                f"{'link' if len(users) > 1 else 'links'} to it",
                f"run `memctl archive {record.id}` instead, or remove the links in the same commit with --unlink",
            )
        for user in users:
            if user.path in writes:
                raise MemctlError(
                    f"{user.id} links to several of the records to be deleted",
                    "delete the records one by one",
                )
            values = links.without_links(user, {record.id}, {record.memory_id})
            writes[user.path] = rewrite(snapshot, user, values)
    concerned = (*change.ids, *(ids.id_in_path(path) or "" for path in writes))
    deletes = tuple(Delete(path, snapshot.read(path)) for path in sorted(gone | packages))
    return msgspec.structs.replace(change, ids=concerned, writes=tuple(writes.values()), deletes=deletes)


def restore(memory: Memory, snapshot: Snapshot, reference: str, revision: str | None) -> Change:
    """Return the Change that restores a deleted record or checkpoint, or an earlier version of a record.

    `reference` is the id, as a person typed it. `revision` is the commit whose version is restored; None stands for the
    last version before the deletion. Raises MemctlError if there is no such version, or if `revision` is None and the
    record still exists.
    """
    if version := checkpoint.version_in(reference.strip()):
        return _restore_checkpoint(memory, version, revision)
    if checkpoint.is_id_prefix(reference.strip()):
        raise MemctlError(
            f"{reference!r} is only a part of a checkpoint's id",
            "give the whole id; `memctl checkpoint list --all` lists deleted checkpoints, too",
        )
    path = path_of(memory, snapshot, reference)
    identifier = ids.id_in_path(path) or reference
    try:
        current = files.read_if_there(memory.folder, path)
    except InvalidRecord:
        current = ""  # invalid on disk; the restored text replaces it
    if revision is None and current is not None:
        name = snapshot.canonical(reference)
        state = f"{name}, whose id is {identifier} now," if ids.kind_of(name) and name != identifier else identifier
        raise MemctlError(
            f"{state} still exists, so there is no deletion to undo",
            f"to restore an earlier version, give --at REV; `memctl log {identifier}` lists revisions",
        )
    text = text_at(memory, path, revision)
    record, _ = parse(text, path)
    writes = [Write(path, text, current)]
    if record.memory_type == HANDOFF.name and not os.path.lexists(memory.folder / package_path(path)):
        with suppress(MemctlError):
            writes.append(Write(package_path(path), _file_at(memory, package_path(path), revision)))
    return Change(op="restore", title=f"{identifier} {record.title}", ids=(identifier,), writes=tuple(writes))


def _restore_checkpoint(memory: Memory, version: Version, revision: str | None) -> Change:
    """Return the Change that restores a deleted checkpoint, with its page if it had one; it has only one version."""
    if sessions_ref.has(memory, version.path):
        raise MemctlError(
            f"{version.id} still exists, so there is no deletion to undo",
            "a checkpoint has one version, so there is no earlier one to restore",
        )
    text = _file_at(memory, version.path, revision)
    try:
        restored = checkpoint.parse(text, version.path)
    except InvalidRecord as error:
        raise MemctlError(f"the version to restore of {version.id} is not a valid checkpoint:\n" + str(error)) from None
    writes = [Write(version.path, text)]
    with suppress(MemctlError):
        writes.append(Write(version.page, _file_at(memory, version.page, revision)))
    title = f"{version.id} {restored.goal}"
    return Change(op="restore", title=title, ids=(version.id,), writes=tuple(writes))


def path_of(memory: Memory, snapshot: Snapshot, reference: str) -> str:
    """Return the present or last path of a record; raises MemctlError if the record never existed.

    `reference` is the record's id, or a beginning or an end of one. If several records had the id, the first of these
    is taken: one that has the id now, a deleted one that had it, one that had it before it was renumbered.
    """
    wanted = snapshot.canonical(reference)
    kind = ids.kind_of(wanted)
    target = snapshot.find(wanted)
    if kind is None:
        try:
            return snapshot.resolve(reference).path
        except MemctlError as error:
            if error.kind != "not-found" or not (path := _deleted_path(memory, snapshot, wanted)):
                raise
            return path
    if target is not None and target.id == wanted:
        return snapshot.resolve(reference).path
    for fault in snapshot.faults:
        if ids.id_in_path(fault.path) == wanted:
            return fault.path
    snapshot.withheld.refuse_record(wanted)
    renamed = {record.memory_id for record in snapshot.catalogue.with_alias(wanted)}
    folder = f"{memory.prefix}/{kind.folder}/{wanted[4:11]}"
    for tracked in history.paths_gone(memory.repository, folder, changes_ref.tip(memory)):
        path = tracked[len(memory.prefix) + 1 :]
        if ids.id_in_path(path) == wanted and not (renamed and _memory_id(memory, path) in renamed):
            return path
    try:
        return snapshot.resolve(reference).path
    except MemctlError as error:
        if error.kind != "not-found":
            raise
    hint = "`memctl log` lists all commits of the memory"
    raise MemctlError(f"there is no record {reference!r}, and no commit deleted one", hint, kind="not-found")


def _deleted_path(memory: Memory, snapshot: Snapshot, part: str) -> str:
    """Return the last path of the deleted record whose id begins or ends with `part`, "" if there is none.

    Raises MemctlError if there are several.
    """
    gone = history.paths_gone(memory.repository, memory.prefix, changes_ref.tip(memory))
    paths = {name: path for path in gone[::-1] if ids.is_part(part, name := ids.id_in_path(path) or "")}
    if len(paths) > 1:
        lines = "".join(f"\n  {name}" for name in sorted(paths)[:_CANDIDATES])
        raise MemctlError(f"{part!r} matches several deleted records:{lines}", "give the whole id")
    for name, path in paths.items():
        snapshot.withheld.refuse_record(name)
        return path[len(memory.prefix) + 1 :]
    return ""


def _memory_id(memory: Memory, path: str) -> str:
    """Return the memory_id of a deleted record in its last version in Git, "" if that is not a valid record."""
    try:
        return parse(text_at(memory, path, None), path)[0].memory_id
    except MemctlError:
        return ""


def text_at(memory: Memory, path: str, revision: str | None) -> str:
    """Return the text of the record at `path` in a revision; if `revision` is None, its last text in Git.

    Raises MemctlError if the record did not exist in the revision, or if that text is not a valid record.
    """
    text = _file_at(memory, path, revision)
    parse_new(text, path, f"the version to restore of {memory.tracked(path)}")
    return text


def _other_commit(memory: Memory, path: str, revision: str | None = None) -> str:
    """Return the commit outside of HEAD's history that may have a file, "" if there is none.

    For a file of a session it is the commit of the sessions' ref, now or as of a revision, otherwise the newest change
    of refs/memctl/changes.
    """
    if not path.startswith(sessions_ref.FOLDERS):
        return "" if revision else changes_ref.tip(memory)
    return sessions_ref.as_of(memory, revision) if revision else sessions_ref.head(memory)


def _file_at(memory: Memory, path: str, revision: str | None) -> str:
    """Return the text of a file at a revision, or with None its last text in Git. Raises MemctlError."""
    tracked = memory.tracked(path)
    if revision is None:
        version = history.last_version(memory.repository, tracked, _other_commit(memory, path))
        if version is None:
            raise MemctlError(
                f"{tracked} can't be restored: it was deleted before it was committed, so Git has no text of it"
            )
        blob = version[1]
    else:
        commits = [memory.repository.resolve(revision), _other_commit(memory, path, revision)]
        folder = tracked.rpartition("/")[0]
        entries = (entry for commit in commits if commit for entry in trees.entries(memory.repository, commit, folder))
        blob = next((entry.blob for entry in entries if entry.path == tracked), "")
        if not blob:
            raise MemctlError(
                f"the revision {revision} has no {ids.id_in_path(path) or tracked}",
                f"`memctl log {ids.id_in_path(path) or tracked}` lists the revisions that have it",
            )
    content = trees.blobs(memory.repository, [blob], files.MAX_BYTES, {blob: tracked})[blob]
    if content is None:
        raise MemctlError(f"the version to restore of {path} has more than {files.MAX_BYTES:,} bytes")
    try:
        return files.decode(content, path)
    except InvalidRecord as error:
        raise MemctlError(f"the version to restore of {path} is not text:\n" + str(error)) from None


_CANDIDATES = 5  # deleted records that a message names
_SHOWN = 200  # lines of a difference that a message shows


def reinstate(memory: Memory, record_ids: Sequence[str], *, dry_run: bool = False) -> list[Outcome]:
    """Write changes again that were undone outside of memctl, such as by `git reset --hard`, and commit them.

    Each gets a commit with its own message. `record_ids` says of which records; without ids all undone changes are
    written. If a file has another text now, both are merged. Returns the outcomes. Raises MemctlError with both texts
    if a change can't be merged; then nothing is written.
    """
    entries = _select_undone(memory, record_ids, dry_run=dry_run)
    texts: dict[str, str | None] = {}
    changes = [_rebase(memory, entry, texts) for entry in entries]
    if dry_run:
        return [Outcome(change) for change in changes]
    outcomes = []
    for entry in entries:
        # Credentials that were allowed in the first write are allowed again.
        options = WriteOptions(allow_secret=True, discard=True)
        outcomes.append(transaction.carry_out(memory, lambda _, entry=entry: _rebase(memory, entry, {}), options))  # type: ignore[misc]
        journal.drop(entry)
    return outcomes


def forget(memory: Memory, record_ids: Sequence[str], *, dry_run: bool = False) -> list[Change]:
    """Give up changes that were undone outside of memctl: delete their journal entries, and return the changes.

    `record_ids` says of which records; without ids all undone changes are given up.
    """
    entries = _select_undone(memory, record_ids, dry_run=dry_run)
    for entry in () if dry_run else entries:
        journal.drop(entry)
    return [entry.change for entry in entries]


def _select_undone(memory: Memory, record_ids: Sequence[str], *, dry_run: bool) -> list[PendingEntry]:
    """Return the undone changes of some records (no ids: all); raises MemctlError for an id that has none."""
    with lock.hold(memory.repository.shared / "lock"):
        if not dry_run:
            recovery.recover(memory, remark=False)
        undone = [entry for entry in pending_state.open_entries(memory) if entry.undone]
    record_ids = [memory.last_id if name == ids.LAST else name for name in record_ids]
    for identifier in record_ids:
        if not any(_concerns(entry, identifier) for entry in undone):
            raise MemctlError(
                f"no change of {identifier} was undone outside memctl",
                "`memctl status` lists the changes that were undone",
            )
    return [
        entry for entry in undone if not record_ids or any(_concerns(entry, identifier) for identifier in record_ids)
    ]


def _concerns(entry: PendingEntry, part: str) -> bool:
    """Return whether a change concerns a record whose id begins or ends with `part`."""
    return any(ids.is_part(part, name) for name in entry.change.ids or (entry.change.title,))


def _rebase(memory: Memory, entry: PendingEntry, texts: dict[str, str | None]) -> Change:
    """Return a change as it applies to the current files, with both edits merged where a file has changed.

    `texts` are the texts by path after changes that are planned before this one; the change's own are added. Other
    files are read from the disk. Raises MemctlError with both texts of each file that can't be merged.
    """
    clashes: list[str] = []
    writes, deletes = [], []
    for write in entry.change.writes:
        now = texts[write.path] if write.path in texts else journal.text_at(memory.folder, write.path)
        is_known = now in (write.old, write.text)
        text = write.text if is_known else merge.merge_cleanly(write.old, now, write.text)
        if text is None:
            clashes += _difference(memory.tracked(write.path), ("now", now), ("undone", write.text))
        else:
            writes.append(Write(write.path, text, now))
            texts[write.path] = text
    for delete in entry.change.deletes:
        now = texts[delete.path] if delete.path in texts else journal.text_at(memory.folder, delete.path)
        if now not in (None, delete.old):
            clashes += _difference(memory.tracked(delete.path), ("deleted", delete.old), ("now", now))
        elif now is not None:
            deletes.append(delete)
            texts[delete.path] = None
    if clashes:
        first = entry.change.ids[0] if entry.change.ids else entry.change.title
        what = f"{pending_state.describe(entry)} can't be written again, since its files have changed:"
        raise MemctlError(
            "\n".join([what, *clashes]),
            f"make the changes you want (`memctl edit`, `memctl delete`), then `memctl commit --drop {first}`",
        )
    return msgspec.structs.replace(entry.change, writes=tuple(writes), deletes=tuple(deletes))


def _difference(name: str, one: tuple[str, str | None], other: tuple[str, str | None]) -> list[str]:
    """Return the difference of two texts of a file as lines; each text comes with a word for what it is."""
    (before, old), (after, new) = one, other
    lines = (old or "").splitlines(), (new or "").splitlines()
    diff = list(unified_diff(*lines, f"{name} ({before})", f"{name} ({after})", lineterm=""))
    more = [f"… and {len(diff) - _SHOWN:,} more lines"] if len(diff) > _SHOWN else []
    return [*diff[:_SHOWN], *more]
