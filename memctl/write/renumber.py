"""`renumber`: giving each record, page and heading that shares a name a new name, and correcting the references.

If two records share an id, a reference to the id means the record that was in the Git history when the reference was
written: its writer could not know the other record. References to pages and headings are treated alike. If the
reference is a link between records, what it means is also seen from the other end, since both records have the link.
References that stay unclear are reported and left unchanged; from then on they mean the record that kept the id.

During a merge the renumbered files are staged, so that `git commit` concludes the merge with them. This is done only if
each file was on disk as it was staged, or in conflict: otherwise somebody is working on a file. The merge's commit then
contains the renumbering, which needs no commit of its own; `git merge --abort` undoes both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import msgspec

from memctl.errors import MemctlError
from memctl.git import commits, index, trees
from memctl.git.first_commits import FirstCommits, History
from memctl.git.index import Sides
from memctl.record import checkpoint, handoff, session_page
from memctl.record.change import RENUMBER, Change, Delete, RecordAction, Write, WriteOptions
from memctl.record.errors import InvalidRecord
from memctl.record.frontmatter import clean_newlines
from memctl.record.handoff import package_path
from memctl.record.kinds import HANDOFF
from memctl.record.parser import parse
from memctl.record.snapshot import Snapshot
from memctl.store import files, journal, load, lock, pending_state
from memctl.store.journal import PENDING
from memctl.store.memory import Memory
from memctl.write import documents, handoffs, id_collisions, merge, transaction
from memctl.write.commit import Outcome
from memctl.write.id_collisions import Holder, MemoryFile
from memctl.write.merge import LostValue
from memctl.write.references import Rewriting, UnclearReference

_SHOWN = 3  # of those renamed, in the subject of the commit


class SeparateRecord(msgspec.Struct, frozen=True):
    """A record without a file of its own, because a merge found another record at its `path`; `text` is its text.

    If the record is a handoff, `package` is the text of its package, which has no file then either.

    `base` is None for such a record. In a rarer case the record does have a file of its own, at another path, but Git
    has put one side's version of the record into the file at `path`, which is another record's. `text` is then this
    version, and `base` the ancestor that it was made from: with both it can be merged into the record's own file.
    """

    path: str
    text: str
    package: str | None = None
    base: str | None = None


class Renumbering(msgspec.Struct, frozen=True):
    """A planned renumbering: the change of files, what gets a new name, and the references that are unclear.

    `returned` is about records that were renumbered before, and have two files now, because a merge brought back the
    former file; only a person can say which is better. Each is a pair: the former file's path, and the record's present
    id.

    `lost` is about records of which Git put a version into another record's file. The version is merged into the
    record's own file, whose values win in a conflict. Each is a pair: the path of this file, and a value that gave way.
    """

    change: Change
    renamed: tuple[Holder, ...] = ()
    unclear: tuple[UnclearReference, ...] = ()
    returned: tuple[tuple[str, str], ...] = ()
    lost: tuple[tuple[str, LostValue], ...] = ()


def renumber(snapshot: Snapshot, history: History, apart: Sequence[SeparateRecord] = ()) -> Renumbering:
    """Plan new names for all but one of the records, pages and headings that share a name, and new references to them.

    `history` says which of them the writer of a reference could know. If an earlier renumbering has taken a name from a
    record or page, references with this name that came later from another clone are corrected, too. `apart` are records
    that a merge left without a file of their own: each gets one. If several of them have one path, the record with the
    earliest memory_id keeps the path.
    """
    strayed = [item for item in apart if item.base is not None]
    apart = [item for item in apart if item.base is None]
    records = list(_records(snapshot, apart))
    returned = _returned_files(snapshot)
    records = [file for file in records if file.path not in returned]
    pushed = history.pushed if snapshot.config.format > 1 else lambda _: ()
    holders = id_collisions.of_records([file.record for file in records if file.record], pushed)
    holders += [*id_collisions.of_pages(snapshot, history, pushed), *id_collisions.of_headings(snapshot, history)]
    if not holders and not apart:
        return Renumbering(Change(op=RENUMBER, title="nothing"), returned=tuple(returned.items()))
    renamed_packages = _packages(apart, holders)
    others = [file for file in _other_files(snapshot) if file.path not in renamed_packages]
    rewriting = Rewriting(holders, [*records, *others], history)
    packages = id_collisions.packages(holders)
    old: dict[str, str] = {}
    new = dict(renamed_packages)
    for file, moving, text in rewriting.texts():
        path = moving.new_path if moving else packages.get(file.path, file.path)
        if text != file.text or path != file.path or file.apart:
            new[path] = text
        if path != file.path and not file.apart:
            old[file.path] = file.text
    lost = tuple(_merge_strayed(snapshot, strayed, new))
    writes = tuple(Write(path, text, snapshot.try_read(path)) for path, text in sorted(new.items()))
    deletes = tuple(Delete(path, text) for path, text in sorted(old.items()) if path not in new)
    renamed = tuple(holder for holder in holders if holder.moves)
    change = msgspec.structs.replace(_commit_change(holders), writes=writes, deletes=deletes)
    return Renumbering(change, renamed, tuple(rewriting.unclear), tuple(returned.items()), lost)


def _merge_strayed(
    snapshot: Snapshot, strayed: Sequence[SeparateRecord], new: dict[str, str]
) -> Iterator[tuple[str, LostValue]]:
    """Merge versions of records that Git put into another record's file into the records' own files, in `new`.

    Yields the values that gave way to those in the records' own files, each with the path.
    """
    paths = {record.memory_id: record.path for record in snapshot.records}
    for item in strayed:
        path = paths[parse(item.text, item.path)[0].memory_id]
        merged = merge.merge(item.base or "", item.text, new.get(path) or snapshot.read(path), prefer="theirs")
        new[path] = merged.text
        yield from ((path, loss) for loss in merged.lost)


def _returned_files(snapshot: Snapshot) -> dict[str, str]:
    """Return the files of records from before they were renamed, each with its record's present id."""
    now = {(record.memory_id, alias): record.id for record in snapshot.records for alias in record.aliases}
    pairs = ((record.path, now.get((record.memory_id, record.id))) for record in snapshot.records)
    return {path: identifier for path, identifier in pairs if identifier}


def conflicting_records(memory: Memory, snapshot: Snapshot) -> list[SeparateRecord]:
    """Return the records that have no file of their own because a merge found two different records at one path.

    Git may also take a record for another record under a new name, and merge changes of one into the other's file. The
    changed version is then returned with `base` set (see SeparateRecord).
    """
    homes = {record.memory_id for record in snapshot.records}
    unmerged = index.conflicting_files(memory.repository, memory.prefix)
    versions = ((path, blob) for path, sides in unmerged.items() for blob in (sides.base, sides.ours, sides.theirs))
    wanted = {blob: path for path, blob in versions if blob}
    contents = trees.blobs(memory.repository, wanted, files.MAX_BYTES, wanted)
    records: list[SeparateRecord] = []
    for tracked, sides in unmerged.items():
        path = tracked[len(memory.prefix) + 1 :]
        if not files.is_record_path(path):
            continue
        with suppress(InvalidRecord):
            base, *texts = (
                files.decode(contents[blob] or b"", path) if blob else None
                for blob in (sides.base, sides.ours, sides.theirs)
            )
            memory_ids = [parse(text or "", path)[0].memory_id for text in texts]
            if len(set(memory_ids)) < len(memory_ids):
                continue
            before = parse(base, path)[0].memory_id if base else ""
            if before in memory_ids and before not in homes:
                continue  # one side deleted it, and only a person can tell whether it is to stay
            packages = _packages_of_both(memory, unmerged, contents, path)
            for text, memory_id, package in zip(texts, memory_ids, packages, strict=True):
                records.append(SeparateRecord(path, text or "", package, base if memory_id == before else None))
    return records


def _packages_of_both(
    memory: Memory, unmerged: Mapping[str, Sides], contents: Mapping[str, bytes | None], path: str
) -> tuple[str | None, str | None]:
    """Return the text of a handoff's package on both sides of a merge, None for none.

    Both sides have the same text if the package is not in conflict.
    """
    package = package_path(path)
    sides = unmerged.get(memory.tracked(package))
    if sides:
        return files.decode(contents[sides.ours] or b"", package), files.decode(contents[sides.theirs] or b"", package)
    text = files.read_if_there(memory.folder, package)
    return text, text


def _packages(apart: Sequence[SeparateRecord], holders: Sequence[Holder]) -> dict[str, str]:
    """Return the packages of handoffs that shared a path, by their new paths and with the new ids."""
    packages = {}
    for item in apart:
        record = parse(item.text, item.path)[0]
        own = (holder for holder in holders if (holder.path, holder.origin.mark) == (item.path, record.memory_id))
        mine = [holder for holder in own if holder.moves]
        if item.package is not None:
            text, path = item.package, mine[0].new_path if mine else item.path
            for holder in mine:
                text = re.sub(rf"(?<![\w-]){re.escape(holder.name)}(?![\w-])", holder.now, text)
            packages[package_path(path)] = text
    return packages


def _records(snapshot: Snapshot, apart: Sequence[SeparateRecord]) -> Iterator[MemoryFile]:
    gone = {item.path for item in apart}
    for record in snapshot.records:
        if record.path not in gone:
            yield MemoryFile(record.path, snapshot.read(record.path), record)
    for item in apart:
        yield MemoryFile(item.path, item.text, parse(item.text, item.path)[0], apart=True)


def _other_files(snapshot: Snapshot) -> Iterator[MemoryFile]:
    """Yield the other files with references: pages, pages of sessions, checkpoints and packages of handoffs."""
    for page in snapshot.outline.pages:
        yield MemoryFile(page.path, snapshot.read(page.path))
    packages = filter(handoff.record_path, snapshot.names(HANDOFF.folder))
    for path in (*snapshot.names(session_page.FOLDER), *snapshot.names(checkpoint.FOLDER), *packages):
        if (text := snapshot.try_read(path)) is not None:  # else `check` reports the fault
            yield MemoryFile(path, text)


def _commit_change(holders: Sequence[Holder]) -> Change:
    """Return a Change without files that says what was renamed, and what keeps each name."""
    renamed = [holder for holder in holders if holder.moves]
    titles = {holder.name: holder.title for holder in holders if holder.now == holder.name}
    names = [f"{holder.name} -> {holder.now}" for holder in renamed[:_SHOWN]]
    title = ", ".join([*names, *(["…"] if len(renamed) > _SHOWN else [])])
    if not renamed:
        meant = ", ".join(dict.fromkeys(holder.now for holder in holders if holder.now != holder.name))
        title = f"references to {meant}" if meant else "records that a merge had put into one file"
    deeds = tuple(
        RecordAction(
            RENUMBER, holder.now, f"{holder.title!r} had the id {holder.name}, which {titles[holder.name]!r} keeps"
        )
        for holder in renamed
    )
    named = [*(holder.now for holder in renamed), *(holder.name for holder in renamed)]
    return Change(op=RENUMBER, title=title, ids=tuple(dict.fromkeys(named)), deeds=deeds)


class StagedMerge(msgspec.Struct, frozen=True):
    """The result of staging a renumbering within a merge: the `staged` paths below `.memory/`.

    If nothing could be staged, `why` is the reason. `conflicts` are paths, relative to the worktree's top, that are
    still in conflict; `warning` is about documents that could not be rendered.
    """

    staged: tuple[str, ...] = ()
    why: str = ""
    conflicts: tuple[str, ...] = ()
    warning: str = ""


def stage_merge(memory: Memory) -> StagedMerge | None:
    """Stage the files of pending renumberings during a merge, and return the result.

    The result is None if no merge is unfinished, or if no renumbering is pending.
    """
    with lock.hold(memory.repository.shared / "lock"):
        waiting = [entry for entry in pending_state.open_entries(memory) if entry.stage == PENDING and not entry.undone]
        entries = [entry for entry in waiting if entry.change.op == RENUMBER]
        if not entries or not memory.repository.is_merging():
            return None
        paths = tuple(dict.fromkeys(path for entry in entries for path in entry.change.paths))
        held = _staged_texts(memory, paths)
        if odd := [path for entry in entries for path in _unstageable_files(memory, entry.change, held)]:
            return StagedMerge(why=f"{memory.tracked(odd[0])} has changes that are not staged")
        try:
            commits.update_index(memory.repository, [memory.tracked(path) for path in paths])
        except commits.CommitPending as error:
            return StagedMerge(why=error.why)
        for entry in entries:
            journal.drop(entry)
        warning = ""
        try:
            documents.render_index(memory)  # renders and stages the documents of what is staged, as memctl's hook does
        except MemctlError as error:
            warning = f"the documents could not be rendered: {error.message}"
        memory.asked = None
    return StagedMerge(paths, conflicts=index.conflicting_paths(memory.repository), warning=warning)


def _staged_texts(memory: Memory, paths: tuple[str, ...]) -> Mapping[str, str | None]:
    """Return the staged texts of some files by path, None for one in conflict; what is not in the index is left out."""
    wanted = {memory.tracked(path): path for path in paths}
    entries = [entry for entry in index.entries(memory.repository, memory.prefix) if entry.path in wanted]
    places = {entry.blob: entry.path for entry in entries}
    contents = trees.blobs(memory.repository, places, files.MAX_BYTES, places)
    texts = ((entry, (contents[entry.blob] or b"").decode(errors="replace")) for entry in entries)
    return {wanted[entry.path]: clean_newlines(text) if entry.is_regular else None for entry, text in texts}


def _unstageable_files(memory: Memory, change: Change, held: Mapping[str, str | None]) -> list[str]:
    """Return the files of a change that must not be staged.

    They had other contents on the disk than in the index before the change, or have by now.
    """
    old = {write.path: write.old for write in change.writes} | {delete.path: delete.old for delete in change.deletes}
    new = {write.path: write.text for write in change.writes}
    odd = []
    for path, before in old.items():
        is_staged = held[path] in (None, before, new.get(path)) if path in held else before is None
        odd += [] if is_staged and _on_disk(memory, path) == new.get(path) else [path]
    return odd


def _on_disk(memory: Memory, path: str) -> str | None:
    """Return the text of a file, None if it is missing, "" if it is not text."""
    try:
        return files.read_if_there(memory.folder, path)
    except InvalidRecord:
        return ""  # another file is there now


class RenumberingResult(msgspec.Struct, frozen=True):
    """The result of a renumbering: in `made` its plan, in `outcome` the outcome of its write.

    `within` says what was staged for a merge; it is None if no merge is unfinished, or if no commit was asked for.
    `settled` has a line for each ownership whose reason was changed to name the new ids.
    """

    made: Renumbering
    outcome: Outcome
    within: StagedMerge | None
    settled: tuple[str, ...]


def carry_out(memory: Memory, options: WriteOptions, *, only_unpushed: bool = False) -> RenumberingResult:
    """Give all but one of the records that share an id a new id, and rewrite the references to them.

    Pages and headings that share a § marker are treated alike. With `only_unpushed` nothing is renumbered if any of it
    was pushed. Returns what was renumbered. Raises MemctlError if the change is refused; then nothing is written.
    """
    renumberings: list[Renumbering] = []

    def plan(_: object) -> Change:
        history = FirstCommits(memory.repository, memory.prefix)
        snapshot = load.disk(memory)
        made = renumber(snapshot, history, conflicting_records(memory, snapshot))
        if only_unpushed and history.pushed([holder.origin for holder in made.renamed]):
            made = Renumbering(Change(op=RENUMBER, title="nothing"))
        renumberings.append(made)
        if history.is_cut_off([holder.origin for holder in made.renamed if not holder.record]):
            memory.remarks.append(
                "warning: this shallow clone lacks the commits that say which page or heading was first, so another "
                "clone may renumber the other one; `git fetch --unshallow` fetches them"
            )
        return made.change

    outcome = transaction.carry_out(memory, plan, options)
    within = None if options.dry_run or options.no_commit else stage_merge(memory)
    settled = [] if options.dry_run else _settle_ownership(memory, renumberings[0])
    return RenumberingResult(renumberings[0], outcome, within, tuple(settled))


def _settle_ownership(memory: Memory, renumbering: Renumbering) -> list[str]:
    """Write the new ids of handoffs into the reasons of ownerships; return a line for each."""
    if not any(holder.record and holder.record.memory_type == HANDOFF.name for holder in renumbering.renamed):
        return []
    try:
        return [f"ownership: {line}" for line in handoffs.settle(memory).lines]
    except MemctlError as error:
        return [f"warning: the owners of sections are still listed under the old markers: {error.message}"]
