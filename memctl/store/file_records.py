"""The records that refer to files, found by one query of the cache, since a hook has no time for more."""

from __future__ import annotations

import _sqlite3  # the package around it imports what takes 2 ms more
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from memctl.git.repository import Repository
from memctl.text import named_files
from memctl.text.light_typing import Any

SESSIONS = "sessions"  # the folder with the pages of sessions
RESOLVED = "resolved"  # the status of an issue that is done
PROPOSED = "proposed"  # the status of a decision that nobody has accepted yet
# Days for which a proposed decision is shown for its files; later it is done, dropped or accepted. In half of the
# sessions of `bench/file_recall.py`, older ones were never of use for the work.
PROPOSED_DAYS = 7
_CLEAN = "iif(is_suspicious, '', blob)"
_FIND = (
    f"SELECT file, path, id, title, type, status, {_CLEAN} FROM code_refs CROSS JOIN records USING (path)"
    " WHERE file IN ({}) AND is_open AND (expires_at IS NULL OR expires_at > ?)"
    f" AND (status <> '{PROPOSED}' OR timestamp > strftime('%Y-%m-%dT%H:%M:%SZ', ?, '-{PROPOSED_DAYS} days'))"
    " ORDER BY importance DESC, timestamp DESC LIMIT 90"
)
# Records that name a file in their text. Of those that are closed only resolved issues say what is still of use.
_NAMING = (
    f"SELECT name, path, id, title, type, status, {_CLEAN},"
    " (SELECT count(*) FROM named_files AS others WHERE others.path = records.path),"
    " is_open AND (expires_at IS NULL OR expires_at > ?)"
    f" AND (status <> '{PROPOSED}' OR timestamp > strftime('%Y-%m-%dT%H:%M:%SZ', ?, '-{PROPOSED_DAYS} days')),"
    f" status = '{RESOLVED}' AND NOT is_archived"
    " FROM named_files CROSS JOIN records USING (path) WHERE base IN ({})"
    " ORDER BY importance DESC, timestamp DESC, path DESC LIMIT 1000"
)
_MOST_NAMED = 8  # names in a record's text; one with more is hardly about each
_REFERENCES = "SELECT DISTINCT file FROM code_refs WHERE path IN (SELECT path FROM records WHERE is_open)"
_KEY = "renamed_files"  # of what the cache's table `state` has about renamed files
_NOTHING = '{"stamp": [0], "changes": "", "unknown": [], "old_paths": {}, "busy_until": 0, "ask_at": 0}'
_PAUSE = 60  # seconds before Git is asked again about the same missing paths
_LONGEST = 120  # seconds after which hooks end a process that waits for Git
_TIMES = 20  # Git gets a twentieth of the time: after an answer that took 10 s, it is asked again 200 s later

# Looks for the present paths of renamed files and folders among some missing paths, and calls a function with these
# paths by the old ones. If that takes long, it returns before, and a process of its own calls the function.
FindRenamed = Callable[[Sequence[str], Callable[[Mapping[str, str]], None]], None]


class FileRecord:
    """An open record and the file or folder that it refers to.

    `file` is the present path, and `reference` the path in the record, which differs after a rename. With `is_named` it
    is a name in the record's text, and the record may be a resolved issue. `clean_blob` is Git's id of the text that
    the cache has read, "" if it has a credential. The class is no msgspec struct: to define a struct takes time, and
    most hooks find no record.
    """

    __slots__ = ("clean_blob", "file", "id", "is_named", "path", "reference", "status", "title", "type")

    def __init__(
        self,
        file: str,
        reference: str,
        path: str,
        identifier: str,
        title: str,
        type_: str,
        status: str,
        clean_blob: str,
        *,
        is_named: bool = False,
    ) -> None:
        self.file, self.reference, self.path, self.id = file, reference, path, identifier
        self.title, self.type, self.status, self.clean_blob = title, type_, status, clean_blob
        self.is_named = is_named


def records_of_files(
    repository: Repository, private: Path, names: Iterable[str], now: str, find_renamed: FindRenamed
) -> dict[str, list[FileRecord]]:
    """Return, for each of the files `names`, the open records that refer to the file or to a folder above it.

    The records of a file are sorted by importance, the highest first; a file without records is left out. Records that
    have expired at the canonical time `now`, and decisions still proposed after 7 days, do not count.

    `private` is the folder with the memory's cache, which may be out of date: the caller has to check that a record
    still refers to the file. The result is empty if there is no cache, or if another version of memctl made it.

    Renamed files and folders are followed. `find_renamed` is called only if the index has changed and a path that a
    record refers to is missing; an answer that comes too late serves the next call.
    """
    try:
        with closing(_connect(private)) as database:
            names = list(names)
            old_paths = _old_paths(database, repository, private, names, find_renamed)
            asked = {
                name: {path: place for place in _places(name) for path in (old_paths.get(place, place), place)}
                for name in names
            }
            paths = {path for known in asked.values() for path in known}
            rows = database.execute(_FIND.format(", ".join("?" * len(paths))), (*paths, now, now)).fetchall()
    except _sqlite3.Error:
        return {}
    found = (
        (name, [FileRecord(known[row[0]], *row) for row in rows if row[0] in known]) for name, known in asked.items()
    )
    return {name: records for name, records in found if records}


def records_naming(
    repository: Repository, private: Path, names: Sequence[str], now: str
) -> dict[str, list[FileRecord]]:
    """Return, for each of the files `names`, the records that name it in their text; the likeliest first.

    These are open records and resolved issues. A record that names the file in its title comes before others, then one
    that names few files. A file is left out if none or more than 20 records name it. `private` and `now` are as for
    `records_of_files`; `reference` of a result is the name as the text has it.
    """
    by_base: dict[str, list[str]] = {}
    for name in names:
        by_base.setdefault(named_files.base(name), []).append(name)
    try:
        with closing(_connect(private)) as database:
            find = _NAMING.format(", ".join("?" * len(by_base)))
            rows = database.execute(find, (now, now, *by_base)).fetchall()
    except _sqlite3.Error:
        return {}
    counts: dict[str, int] = {}

    def is_unique(text: str) -> bool:
        from memctl.git import index_names  # mostly no record names the file

        if text not in counts:
            counts[text] = index_names.count(repository, text)
        return counts[text] <= 1

    meant: dict[str, dict[str, tuple[Any, ...]]] = {}
    for row in rows:
        for name in by_base[named_files.base(row[0])]:
            if named_files.means(row[0], name, is_unique):
                meant.setdefault(name, {})[row[1]] = row
    found = {name: _likeliest(name, list(of_file.values())) for name, of_file in meant.items()}
    return {name: records for name, records in found.items() if records}


def _likeliest(name: str, rows: Sequence[tuple[Any, ...]]) -> list[FileRecord]:
    if len(rows) > named_files.MOST_NAMING:
        return []
    shown = [row for row in rows if (row[8] or row[9]) and (row[7] <= _MOST_NAMED or row[0] in row[3])]
    shown.sort(key=lambda row: (not row[8], row[0] not in row[3], row[7]))
    return [FileRecord(name, *row[:7], is_named=True) for row in shown]


def last_sessions(private: Path, names: Sequence[str], but: str) -> dict[str, tuple[str, str]]:
    """Return, for each of the files `names` that a session changed, when the last of them ended, and what it was asked.

    `private` is the folder with the memory's cache, and `but` the name of a session that does not count. Files that
    were renamed since are not found.
    """
    marks = ", ".join("?" * len(names))
    find = f"SELECT file, ended, asked FROM session_files WHERE file IN ({marks}) AND path <> ? ORDER BY ended, path"
    try:
        with closing(_connect(private)) as database:
            rows = database.execute(find, (*names, f"{SESSIONS}/{but}.md")).fetchall()
    except _sqlite3.Error:
        return {}
    return {file: (ended, asked) for file, ended, asked in rows}


def _connect(private: Path) -> _sqlite3.Connection:
    file = (private / "cache.db").as_uri()
    database = _sqlite3.connect(f"{file}?mode=rw", uri=True, timeout=0.2, isolation_level=None)
    database.execute("PRAGMA mmap_size = 268435456")  # 40 records of a file are read in half the time
    return database


def _old_paths(
    database: _sqlite3.Connection, repository: Repository, private: Path, names: Sequence[str], find: FindRenamed
) -> Mapping[str, str]:
    """Return the old paths of the renamed files and folders that records refer to, by their present paths.

    The cache keeps them, with the paths in records that are missing on the disk. These are looked for again only if
    the index has changed, and either records have changed, or something may have come to one of the folders above the
    files `names`; at 10,000 references that takes 40 ms. `find` is called if another path is missing now. It is also
    called if a path is still unknown and the pause since the last answer is over.
    """
    try:
        status = os.stat(repository.git_dir / "index")
    except OSError:  # nothing is committed yet
        return {}
    stamp, now = [status.st_mtime_ns, status.st_size, status.st_ino], time.time()
    state = dict(database.execute(f"SELECT key, value FROM state WHERE key IN ('changes', '{_KEY}')").fetchall())
    known: dict[str, Any] = json.loads(state.get(_KEY, _NOTHING))
    changes, before = state.get("changes"), known["old_paths"]
    if known["stamp"] == stamp or now < known["busy_until"]:
        return dict(before)
    is_due = known["unknown"] and now >= known["ask_at"]
    if not is_due and known["changes"] == changes and not _has_entry_since(repository.top, names, known["stamp"][0]):
        return dict(before)
    top = os.fspath(repository.top)  # paths are strings: with Path this took twice as long
    references = database.execute(_REFERENCES).fetchall()
    missing = {path for (path,) in references if not os.path.lexists(f"{top}/{path}")}
    old_paths = {new: old for new, old in before.items() if old in missing and os.path.lexists(f"{top}/{new}")}
    unknown = missing.difference(old_paths.values())
    is_new = not unknown.issubset(known["unknown"])
    known |= {"stamp": stamp, "changes": changes, "unknown": sorted(unknown), "old_paths": old_paths}
    if not is_new and not is_due:
        _keep(database, known)
        return old_paths
    # No other hook asks at the same time. Where Git gives no answer at all, the pause is as after the longest one.
    _keep(database, {**known, "busy_until": now + _LONGEST, "ask_at": now + _TIMES * _LONGEST})
    find(sorted(missing), partial(_keep_answer, private, known, missing, now))
    row = database.execute("SELECT value FROM state WHERE key = ?", (_KEY,)).fetchone()
    return dict(json.loads(row[0])["old_paths"]) if row else old_paths


def _has_entry_since(top: Path, names: Iterable[str], moment: int) -> bool:
    """Only if a folder above a file has a new entry can the file have another path than at that time (ns)."""
    for folder in {"", *(place for name in names for place in _places(name) if place.endswith("/"))}:
        with suppress(OSError):
            if os.stat(f"{top}/{folder}").st_mtime_ns >= moment:
                return True
    return False


def _keep_answer(
    private: Path, known: Mapping[str, Any], missing: set[str], asked: float, renamed: Mapping[str, str]
) -> None:
    """The caller may have forked this process."""
    old_paths = {new: old for old, new in renamed.items() if old in missing}
    now = time.time()
    answer = {
        "old_paths": old_paths,
        "unknown": sorted(missing.difference(old_paths.values())),
        "busy_until": 0,
        "ask_at": now + max(_PAUSE, _TIMES * (now - asked)),
    }
    with closing(_connect(private)) as database:  # a connection must not be used in two processes
        _keep(database, {**known, **answer})


def _keep(database: _sqlite3.Connection, known: Mapping[str, Any]) -> None:
    with suppress(_sqlite3.Error):  # another process is writing: the next hook looks again
        database.execute("PRAGMA synchronous = OFF")  # a cache may be lost
        database.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (_KEY, json.dumps(known)))


def _places(name: str) -> Iterator[str]:
    """Yield a file, and the folders above it as code references name them: `a/b.py`, `a`, `a/`."""
    yield name
    while name := name.rpartition("/")[0]:
        yield name
        yield f"{name}/"
