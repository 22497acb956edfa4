"""Views of the search index: the entries that belong to a worktree, an index or a revision, with their paths.

The process that searches in a view updates it first. A view is up to date if the token that is stored with it equals
the token of the files to search (SearchSource).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping

import msgspec

from memctl.record.errors import InvalidRecord
from memctl.record.kinds import CHECKPOINTS, SESSIONS
from memctl.store import vocabulary
from memctl.store.cache import Cache, discard
from memctl.store.memory import Memory
from memctl.store.search_index import SearchIndex
from memctl.text.words import InnerWords

_CHECKOUT, _OTHER = "checkout", "other"
# Seconds to wait for another process that builds the index, where there is none yet: to wait costs nobody anything, and
# several that build one in memory at once delay each other. 10,000 records take 3 s, and hooks have 10.
_BUILD = 8
_OTHERS = 4  # views of revisions and of indexes that are kept beside those of the checkouts
_EMBEDDINGS = 50_000  # vectors that are kept; most are of texts that will not be seen again
_INSERT = "INSERT INTO texts (rowid, title, body, terms, parts) VALUES (?, ?, ?, ?, ?)"
_KNOWN = "SELECT DISTINCT path, blob FROM live JOIN entries USING (number) WHERE view = ?"


class SearchSource(msgspec.Struct, frozen=True):
    """The files to search: all files of `cache`, and the files that `others` returns.

    `name` is the name of the view with the entries of these files; `token` is a string that changes whenever one of the
    files does. `read` gets a path and a blob id, and returns the text; it raises OSError if the file has changed.
    `others` returns the blob ids, by path, of files that the cache does not have.
    """

    name: str
    token: str
    cache: Cache
    read: Callable[[str, str], str]
    others: Callable[[], Mapping[str, str]] = dict


def of_checkout(memory: Memory) -> str:
    """Return the name of the search index's view for the files on the disk in a worktree."""
    return f"{_CHECKOUT} {_place(memory)} {memory.prefix}"


def of_index(memory: Memory) -> str:
    """Return the name of the search index's view for the files in Git's index of a worktree."""
    return f"{_OTHER} {_place(memory)} {memory.prefix}"


def of_revision(memory: Memory, commit: str) -> str:
    """Return the name of the search index's view for the commit or tree with the id `commit`."""
    return f"{_OTHER} {commit} {memory.prefix}"


def _place(memory: Memory) -> str:
    return os.path.relpath(memory.repository.git_dir, memory.repository.common_dir)


def open_view(memory: Memory, source: SearchSource) -> tuple[SearchIndex, int]:
    """Update the view of a source's files in the search index; return the index and the view's number in it.

    If another process is writing for too long, the view stays as it was. If there is no view yet then, or if the index
    can't be written, an index in memory is made and returned. In both cases a line in `memory.remarks` says so.
    """
    index = SearchIndex.open(memory)
    try:
        row = _view(index.database, source.name)
        if row is not None and row[1] == source.token:
            return index, row[0]
        if index.file is None:
            return _in_memory(memory, index, source)
        try:
            if row is None:
                index.wait(_BUILD)
            return index, _update(memory, index, source)
        except sqlite3.OperationalError as error:
            if row is not None and "locked" in str(error):
                _remark(memory, "another process is writing to the search index: recent changes are not found yet")
                return index, row[0]
            return _in_memory(
                memory, SearchIndex.in_memory(f"the search index {index.file} can't be written ({error})"), source
            )
    except sqlite3.OperationalError:
        return replacement_index(memory, index, source, is_damaged=False)
    except sqlite3.DatabaseError:
        return replacement_index(memory, index, source, is_damaged=True)


def count_missing(memory: Memory, cache: Cache) -> int:
    """Return about how many files of the cache a checkout's view in the search index lacks: what a search has to add.

    Neither of the two is brought up to date.
    """
    index = SearchIndex.open(memory)
    try:
        row = _view(index.database, of_checkout(memory))
    finally:
        index.database.close()
    changed = cache.blobs_since(row[1].partition(" ")[0]) if row is not None else None
    return len(cache.blobs() if changed is None else changed)


def replacement_index(
    memory: Memory, index: SearchIndex, source: SearchSource, *, is_damaged: bool
) -> tuple[SearchIndex, int]:
    """Make a search index in memory in place of a locked or damaged one; return it and the number of the source's view.

    `index` is the old index, which is closed; with `is_damaged` its file is deleted.
    """
    file = index.file
    index.database.close()
    remark = "" if is_damaged else f"the search index {file} is in use by another process"
    if is_damaged and file is not None:
        try:
            discard(file)
        except OSError as error:
            remark = f"the search index {file} is damaged and can't be deleted ({error.strerror})"
    return _in_memory(memory, SearchIndex.in_memory(remark), source)


def _in_memory(memory: Memory, index: SearchIndex, source: SearchSource) -> tuple[SearchIndex, int]:
    if index.remark:
        _remark(memory, f"{index.remark}; memctl read the files instead, which takes longer")
    return index, _update(memory, index, source)


def _remark(memory: Memory, text: str) -> None:
    if text not in memory.remarks:
        memory.remarks.append(text)


def _view(database: sqlite3.Connection, name: str) -> tuple[int, str] | None:
    row: tuple[int, str] | None = database.execute("SELECT view, token FROM views WHERE name = ?", (name,)).fetchone()
    return row


def _update(memory: Memory, index: SearchIndex, source: SearchSource) -> int:
    database = index.database
    with index.transaction():
        row = _view(database, source.name)
        if row is not None and row[1] == source.token:  # another process has just done it
            return row[0]
        view = row[0] if row is not None else _add(memory, database, source.name)
        changed, gone = _differences(database, view, source, row[1] if row is not None else "")
        left = _remove_rows(database, "view = ? AND path = ?", [(view, path) for path in gone])
        numbers = _numbers(database, source, changed)
        added = [(view, number, path) for path, blob in changed.items() for number in numbers.get(blob, ())]
        database.executemany("INSERT OR IGNORE INTO live (view, number, path) VALUES (?, ?, ?)", added)
        _forget(database, left, is_deleted=not changed.keys() >= set(gone))
        database.execute("UPDATE views SET token = ? WHERE view = ?", (source.token, view))
        return view


def _differences(
    database: sqlite3.Connection, view: int, source: SearchSource, before: str
) -> tuple[dict[str, str], list[str]]:
    """Return the blobs of files that are new in a view or changed, by path, and the paths of those that changed or are
    gone.

    With the token that the view had before, the cache mostly knows what has changed since: at 10,000 records it takes
    50 ms to compare all.
    """
    wanted = _changed_since(source, before)
    if wanted is not None:
        find = f"{_KNOWN} AND path = ?"
        rows = [row for path in wanted for row in database.execute(find, (view, path)).fetchall()]
        wanted = {path: blob for path, blob in wanted.items() if blob}
    else:
        rows = database.execute(_KNOWN, (view,)).fetchall()
        wanted = _newest({**source.others(), **source.cache.blobs()})
    known = dict(rows)
    changed = {path: blob for path, blob in wanted.items() if known.get(path) != blob}
    return changed, [path for path, blob in known.items() if wanted.get(path) != blob]


def _changed_since(source: SearchSource, before: str) -> dict[str, str] | None:
    cached, _, other = before.partition(" ")
    changed = source.cache.blobs_since(cached) if other == source.token.partition(" ")[2] else None
    if changed is None or any(path.startswith(f"{CHECKPOINTS}/") for path in changed):
        return None
    return None if other and any(path.startswith(f"{SESSIONS}/") for path in changed) else changed


def _newest(blobs: Mapping[str, str]) -> dict[str, str]:
    """Of a workflow's checkpoints only the newest is searched, which says what holds of the others."""
    from memctl.record import checkpoint

    newest: dict[str, checkpoint.Version] = {}
    saved = {path for path in blobs if path.startswith(f"{CHECKPOINTS}/")}
    for path in saved:
        if version := checkpoint.version_at(path):
            newest[version.workflow] = max(newest.get(version.workflow, version), version)
    saved.difference_update(version.path for version in newest.values())
    return {path: blob for path, blob in blobs.items() if path not in saved}


def _numbers(database: sqlite3.Connection, source: SearchSource, blobs: Mapping[str, str]) -> dict[str, list[int]]:
    """A file that has changed since it was hashed, or is no longer there, is left out: it is seen next time."""
    from memctl.store.search_entries import entries

    numbers: dict[str, list[int]] = {}
    missing: dict[str, str] = {}
    for path, blob in sorted(blobs.items()):
        if blob not in numbers and blob not in missing:
            rows = database.execute("SELECT number FROM entries WHERE blob = ? ORDER BY number", (blob,)).fetchall()
            if rows:
                numbers[blob] = [row[0] for row in rows]
            else:
                missing[blob] = path
    row = database.execute("SELECT seq FROM sqlite_sequence WHERE name = 'entries'").fetchone()
    last = row[0] if row else 0  # no number is given out twice: a reader may still ask for a deleted one
    records = source.cache.records_at(missing.values())
    parts = InnerWords()
    rows, texts, links = [], [], []
    for blob, path in missing.items():
        try:
            text = source.read(path, blob)
        except (InvalidRecord, OSError):
            continue
        for entry in entries(path, text, records.get(path)):
            last += 1
            numbers.setdefault(blob, []).append(last)
            known = entry.title, entry.body, entry.terms
            texts.append((last, *known, parts.of("\n".join(known))))
            rows.append((last, blob, entry.kind, entry.key, entry.thread, entry.place))
            links += [(last, key) for key in entry.links]
    database.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", rows)
    database.executemany("INSERT OR IGNORE INTO links VALUES (?, ?)", links)
    database.executemany(_INSERT, texts)
    vocabulary.add(database, parts.all_words())
    return numbers


def _remove_rows(database: sqlite3.Connection, which: str, values: Iterable[tuple[object, ...]]) -> set[int]:
    left: set[int] = set()
    for value in values:
        left.update(row[0] for row in database.execute(f"SELECT number FROM live WHERE {which}", value))
        database.execute(f"DELETE FROM live WHERE {which}", value)
    return left


def _add(memory: Memory, database: sqlite3.Connection, name: str) -> int:
    views = database.execute("SELECT view, name FROM views ORDER BY view").fetchall()
    checkouts = [(view, known.split(" ")[1]) for view, known in views if known.startswith(f"{_CHECKOUT} ")]
    gone = [view for view, place in checkouts if not (memory.repository.common_dir / place).is_dir()]
    others = [view for view, known in views if known.startswith(f"{_OTHER} ")]
    for view in (*gone, *others[: max(len(others) + name.startswith(f"{_OTHER} ") - _OTHERS, 0)]):
        database.execute("DELETE FROM views WHERE view = ?", (view,))
        _forget(database, _remove_rows(database, "view = ?", [(view,)]), is_deleted=True)
    return database.execute("INSERT INTO views (name) VALUES (?)", (name,)).lastrowid or 0


def _forget(database: sqlite3.Connection, left: Collection[int], *, is_deleted: bool) -> None:
    """Delete those of some entries that no view has any more, and their words.

    FTS5 keeps the words of what it deletes until it merges its segments: of 10,000 records that takes 0.1 s, and is
    done where a file `is_deleted`, not after each edit.
    """
    views = [row[0] for row in database.execute("SELECT view FROM views")]
    find = f"SELECT 1 FROM live WHERE view IN ({', '.join('?' * len(views))}) AND number = ?"
    unused = [(number,) for number in left if not database.execute(find, (*views, number)).fetchone()]
    if not unused:
        return
    words = InnerWords()
    for value in unused:
        for texts in database.execute("SELECT title, body, terms FROM texts WHERE rowid = ?", value):
            words.of("\n".join(texts))
    for table, key in (("texts", "rowid"), ("links", "number"), ("entries", "number")):
        database.executemany(f"DELETE FROM {table} WHERE {key} = ?", unused)
    vocabulary.remove(database, words.all_words())
    if is_deleted:
        database.execute("INSERT INTO texts (texts) VALUES ('optimize')")
    if database.execute("SELECT count(*) FROM embeddings").fetchone()[0] > _EMBEDDINGS:
        database.execute("DELETE FROM embeddings")
