"""The records that refer to files, found by one query of the cache, since a hook has no time for more."""

from __future__ import annotations

import _sqlite3  # the package around it imports what takes 2 ms more
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path

from memctl.git.repository import Repository
from memctl.text.light_typing import Any

PROPOSED = "proposed"  # the status of a decision that nobody has accepted yet
# Days for which a proposed decision is shown for its files; later it is done, dropped or accepted. In half of the
# sessions of `bench/file_recall.py`, older ones were never of use for the work.
PROPOSED_DAYS = 7
_FIND = (
    "SELECT file, path, id, title, type, status FROM code_refs CROSS JOIN records USING (path)"
    " WHERE file IN ({}) AND is_open AND (expires_at IS NULL OR expires_at > ?)"
    f" AND (status <> '{PROPOSED}' OR timestamp > strftime('%Y-%m-%dT%H:%M:%SZ', ?, '-{PROPOSED_DAYS} days'))"
    " ORDER BY importance DESC, timestamp DESC LIMIT 90"
)
_REFERENCES = "SELECT DISTINCT file FROM code_refs CROSS JOIN records USING (path) WHERE is_open"
_KEY = "renamed_references"  # of what the cache's table `state` has about renamed files
_PAUSE = 60  # seconds before Git is asked again about the same missing paths

# Returns the present paths of the renamed files and folders among some missing paths, by their old paths; None if it
# found no time for that.
FindRenamed = Callable[[Sequence[str]], Mapping[str, str] | None]


class FileRecord:
    """An open record and the file or folder that it refers to.

    `file` is the present path, and `reference` the path in the record, which differs after a rename. The class is no
    msgspec struct: to define a struct takes time, and most hooks find no record.
    """

    __slots__ = ("file", "id", "path", "reference", "status", "title", "type")

    def __init__(
        self, file: str, reference: str, path: str, identifier: str, title: str, type_: str, status: str
    ) -> None:
        self.file, self.reference, self.path, self.id = file, reference, path, identifier
        self.title, self.type, self.status = title, type_, status


def records_of_files(
    repository: Repository, private: Path, names: Iterable[str], now: str, find_renamed: FindRenamed
) -> dict[str, list[FileRecord]]:
    """Return, for each of the files `names`, the open records that refer to the file or to a folder above it.

    The records of a file are sorted by importance, the highest first; a file without records is left out. Records that
    have expired at the canonical time `now`, and decisions still proposed after 7 days, do not count.

    `private` is the folder with the memory's cache, which may be out of date: the caller has to check that a record
    still refers to the file. The result is empty if there is no cache, or if another version of memctl made it.

    Renamed files and folders are followed. `find_renamed` is called only if the index has changed and a path that a
    record refers to is missing.
    """
    try:
        file = f"{(private / 'cache.db').as_uri()}?mode=rw"
        with closing(_sqlite3.connect(file, uri=True, timeout=0.2, isolation_level=None)) as database:
            old_paths = _old_paths(database, repository, find_renamed)
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


def _old_paths(database: _sqlite3.Connection, repository: Repository, find_renamed: FindRenamed) -> Mapping[str, str]:
    """Return the old paths of the renamed files and folders that records refer to, by their present paths.

    The cache keeps them until the index changes. Then the paths in records are looked for on the disk, and
    `find_renamed` is called if another one is missing, or if it was called for the missing ones a minute ago or more.
    """
    try:
        status = os.stat(repository.git_dir / "index")
    except OSError:  # nothing is committed yet
        return {}
    stamp = f"{status.st_mtime_ns} {status.st_size} {status.st_ino}"
    row = database.execute("SELECT value FROM state WHERE key = ?", (_KEY,)).fetchone()
    kept: dict[str, Any] = json.loads(row[0]) if row else {"missing": [], "asked": 0, "old_paths": {}}
    if kept.get("stamp") == stamp:
        return dict(kept["old_paths"])
    references = (path for (path,) in database.execute(_REFERENCES).fetchall())
    missing = [path for path in references if not os.path.lexists(repository.top / path)]
    old_paths = {
        new: old for new, old in kept["old_paths"].items() if old in missing and os.path.lexists(repository.top / new)
    }
    is_known = kept["missing"] == missing and kept["old_paths"] == old_paths and time.time() < kept["asked"] + _PAUSE
    kept = {"stamp": stamp, "missing": missing, "asked": kept["asked"], "old_paths": old_paths}
    if missing and not is_known:
        kept["asked"] = time.time()
        _keep(database, kept)  # so that no other hook asks at the same time
        if (renamed := find_renamed(missing)) is not None:  # else those found earlier are still right
            kept["old_paths"] = {new: old for old, new in renamed.items() if old in missing}
    _keep(database, kept)
    return dict(kept["old_paths"])


def _keep(database: _sqlite3.Connection, kept: Mapping[str, Any]) -> None:
    with suppress(_sqlite3.Error):  # another process is writing: the next hook looks again
        database.execute("PRAGMA synchronous = OFF")  # a cache may be lost
        database.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (_KEY, json.dumps(kept)))


def _places(name: str) -> Iterator[str]:
    """Yield a file, and the folders above it as code references name them: `a/b.py`, `a`, `a/`."""
    yield name
    while name := name.rpartition("/")[0]:
        yield name
        yield f"{name}/"
