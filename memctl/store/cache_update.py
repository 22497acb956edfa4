"""Updates of the cache: finding the files that may have changed, parsing them, and writing their rows.

Most commands find the cache up to date and don't import this module.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress

import msgspec

from memctl.git import git, trees
from memctl.record import mentions, session_page
from memctl.record.errors import Fault, InvalidRecord
from memctl.record.kinds import DECISION, HANDOFF
from memctl.record.mentions import Mention
from memctl.record.pages import code_path
from memctl.record.parser import parse
from memctl.record.record import Record
from memctl.record.session_page import SessionPage
from memctl.store import files
from memctl.store.cache import FILE, Cache, CacheState, decoder
from memctl.store.memory import Memory
from memctl.text import characters, named_files

Progress = Callable[[int, int], None]  # called with how many files are read, and of how many
_RACY = 2_000_000_000  # ns: a file written less than this ago may change again and keep its time of change
_STEP = 250
_GONE, _UNREADABLE = "gone", "unreadable"
_MOST_ADVANCED = 100  # paths of a commit over which `advance` updates the cache; else the next command asks Git
_MOST_LOGGED = 1_000  # changed files that the cache lists with the update in which they changed
# How many token counts and digests to keep; most are of texts that will not be seen again.
_LIMITS = {"tokens": 20_000, "clean": 20_000}
_INSERT = f"INSERT INTO records VALUES ({', '.join('?' * 29)})"
_ALTERNATIVES = next(f"## {field.heading}\n" for field in DECISION.fields if field.name == "alternatives_considered")
_ENCODE = msgspec.msgpack.Encoder().encode
_IGNORE = f"\n{mentions.IGNORE}:"


class ParsedFile(msgspec.Struct):
    """The result of parsing a file of the memory, as the cache stores it.

    - A record has `record`, `body` and `mentions`, the references in the body. An invalid file has `faults`. A page, a
      session's page or a checkpoint has none of these.
    - `stat` is a stamp of the file's times, size and inode if the file differs from HEAD, else "".
    - `blob` is the id that Git would give the text, "" if the file has no text to search.
    - `weight` is an upper limit for the number of tokens in a record's text.
    - `is_suspicious` says that the text contains what looks like a credential.
    - `has_hidden` says that the text contains control characters or invisible ones.
    - `has_blockers` says that the body has the word "blockers".
    - `session` is the parsed page of a session, None for other files.
    """

    path: str
    stat: str  # "" if the file is as HEAD has it
    record: Record | None
    body: str
    mentions: list[Mention]
    faults: list[Fault]
    weight: int = 0  # see Catalogue.heavy
    is_suspicious: bool = False
    has_hidden: bool = False
    has_blockers: bool = False
    blob: str = ""
    session: SessionPage | None = None


class Disk(msgspec.Struct, frozen=True):
    """What Git reported about the worktree at the time `asked`, in nanoseconds since 1970.

    `head` is a pair, as in `CacheState`: the commit of HEAD, and a stamp of the sparse checkout. `dirty` are the paths
    of the files that differ from HEAD.
    """

    head: tuple[str, str]
    dirty: frozenset[str]
    asked: int


def update_from_disk(
    memory: Memory, cache: Cache, state: CacheState, disk: Disk, progress: Progress | None
) -> bool | None:
    """Update a cache to the files on the disk, and return whether it was up to date before.

    `state` says how the worktree was at the cache's last update, and `disk` how it is now. `progress` is called with
    two numbers: the files parsed so far, and all files to parse. Returns True if the cache was up to date, False if it
    was updated, None if another process changed the cache meanwhile.
    """
    dirty = disk.dirty
    stale = _changed_paths(memory, cache, state.head, disk.head) | (set(state.differing) - dirty)
    stale |= {path for path in dirty if _stamp(_status(memory, path)) != state.differing.get(path)}
    if not stale and disk.head == state.head:
        return True
    parsed, removed = _parse_files(memory, stale, disk, progress)
    return not stale if update(cache, parsed, removed, state.head, disk.head) else None


def _changed_paths(memory: Memory, cache: Cache, known: tuple[str, str], head: tuple[str, str]) -> set[str]:
    if known == head:
        return set()
    top = memory.repository.top
    before, now = (f"{commit}:{memory.prefix}" if commit else "" for commit in (known[0], head[0]))
    out = None
    if before and now and known[1] == head[1]:
        out = git.try_read(["diff-tree", "-r", "-z", "--name-only", "--no-renames", before, now], top)
    if out is not None:
        return set(filter(files.is_cached_path, git.paths(out)))
    # There is no older commit any more, or one of the two has no memory.
    listed = git.try_read(["ls-tree", "-r", "-z", "--name-only", "--full-tree", now], top) if now else None
    return set(filter(files.is_cached_path, (*cache.paths(), *git.paths(listed or b""))))


def _parse_files(
    memory: Memory, stale: set[str], disk: Disk, progress: Progress | None
) -> tuple[list[ParsedFile], list[str]]:
    reader = files.FolderReader(memory.folder)
    parsed_files: list[ParsedFile] = []
    removed: list[str] = []
    for number, path in enumerate(sorted(stale)):
        if progress and number % _STEP == 0:
            progress(number, len(stale))
        item = _parse_file(reader, memory, path, path in disk.dirty, disk.asked)
        if item is None:
            removed.append(path)
        else:
            parsed_files.append(item)
    if progress and stale:
        progress(len(stale), len(stale))
    return parsed_files, removed


def _parse_file(
    reader: files.FolderReader, memory: Memory, path: str, is_dirty: bool, started: int
) -> ParsedFile | None:
    """Return the parsed file at a path; None if neither the disk nor HEAD has it."""
    status = _status(memory, path)
    if status == _GONE and "\\x" in path:
        return invalid_file(path, [Fault(path, 1, "", "the file's name is not UTF-8 text")], _GONE)
    if status == _GONE:  # if HEAD has it, the deletion is stored: only so its return is noticed later
        return invalid_file(path, [], _GONE) if is_dirty else None
    racy = isinstance(status, str) or status.st_mtime_ns > started - _RACY
    stamp = _stamp(status) if is_dirty or racy else ""
    try:
        text = reader.read(path, None if isinstance(status, str) else status)
        return parse_file(text, path, stamp, trees.compute_blob_id(text.encode(), [memory.repository.null_id]))
    except InvalidRecord as error:
        return invalid_file(path, error.faults, stamp)
    except OSError as error:
        fault = Fault(path, 1, "", f"the file can't be read: {error.strerror}")
        return invalid_file(path, [fault], _stamp(status))


def _status(memory: Memory, path: str) -> os.stat_result | str:
    try:
        return os.lstat(f"{memory.folder}/{path}")
    except (FileNotFoundError, NotADirectoryError):
        return _GONE
    except OSError:
        return _UNREADABLE


def _stamp(status: os.stat_result | str) -> str:
    if isinstance(status, str):
        return status
    return f"{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_size}:{status.st_ino}"


def parse_file(text: str, path: str, stat: str, blob: str) -> ParsedFile:
    """Parse the text of a record, page, session's page or checkpoint, and return the result as the cache stores it.

    `path` is below `.memory/`. `stat` is a stamp of the file if it differs from HEAD, else ""; `blob` is the id that
    Git would give the text. Only records and pages of sessions are parsed; for other files the result has only `path`,
    `stat` and `blob`. Raises InvalidRecord for an invalid record.
    """
    if not files.is_record_path(path):
        return ParsedFile(path, stat, None, "", [], [], blob=blob, session=_session(text, path))
    record, body = parse(text, path)
    first_line = text.count("\n", 0, len(text) - len(body)) + 1
    found_mentions = mentions.in_text(body, first_line)
    if text.find(_IGNORE, 0, len(text) - len(body)) >= 0:
        found_mentions.append(mentions.Mention(1, mentions.IGNORE))
    weight = characters.weight(text)
    from memctl.text.credentials import is_in  # 1 ms, and pages and sessions need none

    marks = (is_in(text), bool(characters.first_hidden_character(text)), "blockers" in body.casefold())
    return ParsedFile(path, stat, record, body, found_mentions, [], weight, *marks, blob)


def _session(text: str, path: str) -> SessionPage | None:
    with suppress(InvalidRecord):  # `check` reports it
        return session_page.parse(text, path) if session_page.is_page(path) else None
    return None


def invalid_file(path: str, faults: list[Fault], stat: str = "") -> ParsedFile:
    """Return the cache's entry for a path at which there is no valid record, page or checkpoint.

    `faults` are the faults of the file, [] if it is missing; they are stored for records only. `stat` is a stamp of the
    file if it differs from HEAD, else "".
    """
    return ParsedFile(path, stat, None, "", [], faults if files.is_record_path(path) else [])


def update(
    cache: Cache, parsed: Sequence[ParsedFile], removed: Collection[str], before: tuple[str, str], now: tuple[str, str]
) -> bool:
    """Write the files `parsed` to a cache, and delete the rows of the paths `removed`; return whether this was done.

    `before` and `now` describe the worktree before and after the update, as pairs: the commit of HEAD, and a stamp of
    the sparse checkout. If the cache is not at `before`, another process has updated it; then nothing is written, and
    False is returned.
    """
    with cache.transaction("BEGIN IMMEDIATE"):
        state = dict(cache.database.execute("SELECT key, value FROM state").fetchall())
        if (state.get("commit", ""), state.get("sparse", "")) != before:
            return False
        new = {"commit": now[0], "sparse": now[1]}
        if parsed or removed:  # most commits are of code alone
            changed = {**dict.fromkeys(removed, ""), **_changed_blobs(cache, parsed)}
            _replace(cache, parsed, removed)
            if changed:
                number = int(state.get("updates", "0")) + 1
                new["updates"] = str(number)
                if not _log(cache, number, changed):
                    new["logged_from"] = str(number)
            if any(files.is_record_path(path) for path in changed):
                _drop_computed(cache)
                new["changes"] = str(int(state.get("changes", "0")) + 1)
        cache.database.executemany("INSERT OR REPLACE INTO state VALUES (?, ?)", new.items())
        return True


def _changed_blobs(cache: Cache, parsed: Iterable[ParsedFile]) -> dict[str, str]:
    """Return by path the blob ids of the parsed files whose text differs from the stored one, or that were invalid."""
    find = "SELECT 1 FROM records WHERE path = ? AND blob = ? AND blob <> ''"
    rows = ((item, cache.database.execute(find, (item.path, item.blob)).fetchone()) for item in parsed)
    return {item.path: item.blob for item, row in rows if row is None}


def _log(cache: Cache, number: int, changed: Mapping[str, str]) -> bool:
    """Store which files an update changed; if the stored paths become too many, delete them all and return False."""
    logged = cache.database.execute("SELECT count(*) FROM updates").fetchone()[0]
    if logged + len(changed) > _MOST_LOGGED:
        cache.database.execute("DELETE FROM updates")
        return False
    rows = ((number, path, blob) for path, blob in changed.items())
    cache.database.executemany("INSERT INTO updates VALUES (?, ?, ?)", rows)
    return True


def _drop_computed(cache: Cache) -> None:
    cache.database.execute("DELETE FROM packed")
    cache.database.execute("DELETE FROM kept")
    for table, limit in _LIMITS.items():
        if cache.database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] > limit:
            cache.database.execute(f"DELETE FROM {table}")


def _replace(cache: Cache, parsed: Sequence[ParsedFile], removed: Iterable[str]) -> None:
    last = cache.database.execute("SELECT max(number) FROM records").fetchone()[0]
    for path in (*removed, *(item.path for item in parsed if last is not None)):
        _remove(cache, path)
    numbered = list(enumerate(parsed, (last or 0) + 1))
    rows = (_row(number, item) for number, item in numbered)
    if last is None:
        from memctl.store import schema  # a cache is filled once

        with schema.without_indexes(cache.database):
            cache.database.executemany(_INSERT, rows)
    else:
        cache.database.executemany(_INSERT, rows)
    records = [item.record for item in parsed if item.record is not None]
    _count_tags(cache, records, 1)
    referring = {(code_path(reference), record.path) for record in records for reference in record.code_refs}
    cache.database.executemany("INSERT INTO code_refs VALUES (?, ?)", sorted(referring))
    named = [row for item in parsed if item.record is not None for row in _named_by(item.record, item.body)]
    cache.database.executemany("INSERT INTO named_files VALUES (?, ?, ?)", sorted(named))
    changed = [row for item in parsed if item.session is not None for row in _changed_by(item.session, item.path)]
    cache.database.executemany("INSERT OR IGNORE INTO session_files VALUES (?, ?, ?, ?)", changed)


def _named_by(record: Record, body: str) -> list[tuple[str, str, str]]:
    """What a handoff names is of other records."""
    if record.memory_type == HANDOFF.name:
        return []
    return [(named_files.base(name), record.path, name) for name in named_files.in_text(f"{record.title}\n{body}")]


def _changed_by(page: SessionPage, path: str) -> list[tuple[str, str, str, str]]:
    asked = next(iter(page.lines.get(session_page.INTENT, ())), "")
    ended = str(page.values.get("ended") or page.values.get("summarized") or "")
    return [(row.path, path, ended, asked) for row in page.files.get(session_page.CHANGED, ()) if asked]


def _remove(cache: Cache, path: str) -> None:
    row = cache.database.execute("SELECT number, record FROM records WHERE path = ?", (path,)).fetchone()
    if row:
        if row[1] is not None:
            _count_tags(cache, [decoder(cache.database, Record)(row[1])], -1)
        cache.database.execute("DELETE FROM records WHERE number = ?", row[:1])
        cache.database.execute("DELETE FROM code_refs WHERE path = ?", (path,))
        cache.database.execute("DELETE FROM named_files WHERE path = ?", (path,))
        cache.database.execute("DELETE FROM session_files WHERE path = ?", (path,))


def _count_tags(cache: Cache, records: Iterable[Record], step: int) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    for record in records:
        if record.is_open:
            counts.update((tag, record.place) for tag in set(record.tags))
    cache.database.executemany(
        "INSERT INTO tags VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
        [(tag, place, step * count) for (tag, place), count in counts.items()],
    )
    if step < 0:
        cache.database.execute("DELETE FROM tags WHERE count = 0")


def _row(number: int, item: ParsedFile) -> tuple[str | int | bytes | None, ...]:
    record = item.record
    packed = None if record is None else _ENCODE(record)
    faults = _ENCODE(item.faults) if item.faults else None
    mentions = _ENCODE(item.mentions) if item.mentions else None
    stored = (item.path, number, item.stat, packed, faults, mentions)
    if record is None:
        return *stored, *(None,) * 22, item.blob
    columns = (record.memory_type, record.place, int(record.is_open), record.importance, record.severity)
    marks = (item.weight, int(item.is_suspicious), int(item.has_hidden), int(item.has_blockers))
    dated = (record.timestamp, *marks, record.recorded, record.title, record.id, record.status)
    named = (record.tags, record.aliases, record.assignees)
    tags, aliases, assignees = (f",{','.join(values)}," if values else "" for values in named)  # none has a comma
    place = (int(record.is_archived), record.section, record.agent_id)
    rejected = _rejected(record, item.body)
    return *stored, *columns, *dated, *place, tags, aliases, record.expires_at, rejected, assignees, item.blob


def _rejected(record: Record, body: str) -> str:
    if record.memory_type != DECISION.name or record.status in ("rejected", "superseded"):
        return record.title.lower() if record.memory_type == DECISION.name else ""
    start = body.find(_ALTERNATIVES)
    return body[start + len(_ALTERNATIVES) :].partition("\n## ")[0].lower() if start >= 0 else ""


def erase(cache: Cache) -> None:
    """Overwrite replaced and deleted rows in the cache's file, since their texts may contain a secret."""
    with cache.transaction("BEGIN IMMEDIATE"):
        _drop_computed(cache)
    cache.database.execute("VACUUM")


def without(cache: Cache, paths: Collection[str]) -> Cache:
    """Return a copy of a cache, in memory, that lacks the rows of `paths`; the cache itself is not changed."""
    copied = cache.copy()
    head = copied.state().head
    update(copied, [], paths, head, head)
    return copied


def advance(memory: Memory, contents: Mapping[str, bytes | None], before: str, after: str) -> None:
    """Tell the memory's cache that memctl has just made the commit `after` on top of `before`, without asking Git.

    `contents` are the committed bytes by path below `.memory/`, None for a deleted file. Where the cache already has
    the committed text of a file, the file now counts as equal to HEAD. The next command reads all other committed files
    again.

    In some cases nothing is done, and the next command updates the cache: if there are more than 100 files, if another
    process is writing, if the cache's commit is not `before`, or if the cache had not yet noticed that one of the
    committed files was changed.
    """
    known = {path: data for path, data in contents.items() if files.is_cached_path(path)}
    if len(known) > _MOST_ADVANCED:
        return
    like = [memory.repository.null_id]
    blobs = [(path, trees.compute_blob_id(data, like)) for path, data in known.items() if data]
    seen = f"SELECT count(*) FROM records WHERE stat <> '' AND path IN ({', '.join('?' * len(known))})"
    with suppress(sqlite3.Error):  # another process is writing; the next command asks Git
        cache = Cache.open(memory.private / FILE)
        with cache.transaction("BEGIN IMMEDIATE"):
            moved = cache.database.execute(
                f"UPDATE state SET value = ? WHERE key = 'commit' AND value = ? AND ({seen}) = ?",
                (after, before, *known, len(known)),
            )
            if moved.rowcount:
                cache.database.executemany("UPDATE records SET stat = '' WHERE path = ? AND blob = ?", blobs)
        cache.database.close()
