"""`renumber`: giving every record, page and heading a name of its own again, and mending the references.

A reference means the one that its writer could know: whoever wrote it did not have the other in the history. A link
between records tells more, since it stands at both ends. What stays unclear is named and left: it then means the one
that kept the name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec

from memctl.journal import index, trees
from memctl.lifecycle import naming
from memctl.lifecycle.naming import File, Holder
from memctl.lifecycle.referring import Rewriting, Unclear
from memctl.model import checkpoint, handoff, session_page
from memctl.model.change import RENUMBER, Change, Deed, Delete, Write
from memctl.model.faults import InvalidRecord
from memctl.model.kinds import BY_FOLDER, HANDOFF
from memctl.model.provenance import History
from memctl.model.record import parse
from memctl.model.snapshot import Snapshot
from memctl.store import files
from memctl.store.memory import Memory

_SHOWN = 3  # of those renamed, in the subject of the commit


class Apart(msgspec.Struct, frozen=True):
    """A record that no file has, because a merge found another one in its path: that path, and its text."""

    path: str
    text: str


class Renumbering(msgspec.Struct, frozen=True):
    """What is to be done: the change, who is renamed, and the references of which it can't be told whom they mean.

    `returned` are pairs of a path and an id: a file of a record from before it was renamed, which a merge has brought
    back, and what the record is called now. Which of the two says more, only a person can tell.
    """

    change: Change
    renamed: tuple[Holder, ...] = ()
    unclear: tuple[Unclear, ...] = ()
    returned: tuple[tuple[str, str], ...] = ()


def renumber(snapshot: Snapshot, history: History, apart: Sequence[Apart] = ()) -> Renumbering:
    """Rename all but one of those that share a name, and rewrite the references to them.

    It also mends references that another clone made, under the old name, to what was renamed before. What `apart` has
    is put into files; of several with one path that goes to the record whose memory_id is first.
    """
    records = list(_records(snapshot, apart))
    returned = _returned(snapshot)
    records = [file for file in records if file.path not in returned]
    holders = naming.of_records([file.record for file in records if file.record])
    holders += [*naming.of_pages(snapshot, history), *naming.of_headings(snapshot, history)]
    if not holders and not apart:
        return Renumbering(Change(op=RENUMBER, title="nothing"), returned=tuple(returned.items()))
    rewriting = Rewriting(holders, [*records, *_others(snapshot)], history)
    packages = naming.packages(holders)
    old: dict[str, str] = {}
    new: dict[str, str] = {}
    for file, moving, text in rewriting.texts():
        path = naming.new_path(moving) if moving else packages.get(file.path, file.path)
        if text != file.text or path != file.path or file.apart:
            new[path] = text
        if path != file.path and not file.apart:
            old[file.path] = file.text
    writes = tuple(Write(path, text, _text(snapshot, path)) for path, text in sorted(new.items()))
    deletes = tuple(Delete(path, text) for path, text in sorted(old.items()) if path not in new)
    renamed = tuple(holder for holder in holders if holder.moves)
    change = msgspec.structs.replace(_told(holders), writes=writes, deletes=deletes)
    return Renumbering(change, renamed, tuple(rewriting.unclear), tuple(returned.items()))


def _returned(snapshot: Snapshot) -> dict[str, str]:
    """The files of records from before they were renamed, each with the id that its record has now."""
    now = {(record.memory_id, alias): record.id for record in snapshot.records for alias in record.aliases}
    pairs = ((record.path, now.get((record.memory_id, record.id))) for record in snapshot.records)
    return {path: identifier for path, identifier in pairs if identifier}


def conflicting(memory: Memory) -> list[Apart]:
    """The records of both sides in files where a merge under way found two different records in one path."""
    found: list[Apart] = []
    for tracked, blobs in index.unmerged(memory.repository, memory.prefix).items():
        path = tracked[len(memory.prefix) + 1 :]
        if not files.is_record_path(path, BY_FOLDER):
            continue
        contents = trees.blobs(memory.repository, blobs, files.MAX_BYTES)
        with suppress(InvalidRecord):
            texts = [files.decode(contents[blob] or b"", path) for blob in blobs]
            if len({parse(text, path)[0].memory_id for text in texts}) == len(texts):
                found += [Apart(path, text) for text in texts]
    return found


def _records(snapshot: Snapshot, apart: Sequence[Apart]) -> Iterator[File]:
    gone = {item.path for item in apart}
    for record in snapshot.records:
        if record.path not in gone:
            yield File(record.path, snapshot.read(record.path), record)
    for item in apart:
        yield File(item.path, item.text, parse(item.text, item.path)[0], apart=True)


def _others(snapshot: Snapshot) -> Iterator[File]:
    """Pages, what is written of sessions and tasks, and packages; documents are rendered from the rest."""
    for page in snapshot.outline.pages:
        yield File(page.path, snapshot.read(page.path))
    packages = filter(handoff.record_path, snapshot.names(HANDOFF.folder))
    for path in (*snapshot.names(session_page.FOLDER), *snapshot.names(checkpoint.FOLDER), *packages):
        with suppress(InvalidRecord, OSError):  # `check` says what it is
            yield File(path, snapshot.read(path))


def _text(snapshot: Snapshot, path: str) -> str | None:
    try:
        return snapshot.read(path)
    except (InvalidRecord, OSError):
        return None


def _told(holders: Sequence[Holder]) -> Change:
    """What the commit says: who was renamed, and who keeps the name."""
    renamed = [holder for holder in holders if holder.moves]
    kept = {holder.name: holder.title for holder in holders if holder.now == holder.name}
    names = [f"{holder.name} -> {holder.now}" for holder in renamed[:_SHOWN]]
    title = ", ".join([*names, *(["…"] if len(renamed) > _SHOWN else [])])
    if not renamed:
        title = "references to " + ", ".join(
            dict.fromkeys(holder.now for holder in holders if holder.now != holder.name)
        )
    deeds = tuple(
        Deed(RENUMBER, holder.now, f"{holder.title!r} was {holder.name}, which is {kept[holder.name]!r} alone now")
        for holder in renamed
    )
    named = [*(holder.now for holder in renamed), *(holder.name for holder in renamed)]
    return Change(op=RENUMBER, title=title, ids=tuple(dict.fromkeys(named)), deeds=deeds)
