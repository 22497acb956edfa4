"""Queries about records that SQLite answers from the cache, for rendered pages among others."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.json import encode

from memctl.record.errors import Fault
from memctl.record.kinds import BY_PREFIX, HANDOFF, SEVERITIES
from memctl.record.record import Record
from memctl.store import retrieval_counts
from memctl.store.cache import Cache, Undecodable, decoder

if TYPE_CHECKING:
    from memctl.record.mentions import Mention
    from memctl.record.source import Condition

T = TypeVar("T")

# The tests and orders of `record.filters` in SQL.
_TESTS = {
    "is": "{} = ?",
    "in": "{} IN (SELECT value FROM json_each(?))",
    ">": "{} > ?",
    ">=": "{} >= ?",
    "<=": "{} <= ?",
    "has": "instr({}, ?)",
}
_ORDERS: dict[str, tuple[str, ...]] = {
    "date": ("timestamp",),
    "importance": ("importance", "timestamp"),
    "severity": (f"coalesce(instr('{' '.join(SEVERITIES)}', severity), 99)", "timestamp"),
    "title": ("casefold(title)",),
    "id": (),
}
_AT_PATHS = "path IN (SELECT value FROM json_each(?))"
# The records that name no section, but refer to one of some files and folders.
_UNPLACED = "section IS NULL AND path IN (SELECT path FROM code_refs WHERE file IN (SELECT value FROM json_each(?)))"
_ORDER = "ORDER BY importance DESC, timestamp DESC, path LIMIT ?"


class StoredCatalogue:
    """Queries about records, answered from a cache that is up to date; `record.source.Catalogue` describes the methods.

    `counts` is the folder with the retrieval counts of this clone. `renew` returns a new cache; it is called once if a
    row of the cache can't be decoded.
    """

    def __init__(self, cache: Cache, counts: Path | None = None, renew: Callable[[], Cache] | None = None) -> None:
        self._database = cache.database
        self._counts = counts
        self._open: dict[str, dict[str, int]] = {}
        self._renew = renew

    def top(self, memory_type: str, place: str | None, limit: int, also: Sequence[str] = ()) -> list[Record]:
        if place is None:
            return self._records(f"is_open AND type = ? {_ORDER}", memory_type, limit)
        if also:
            query = f"is_open AND type = ? AND (place = ? OR {_AT_PATHS}) {_ORDER}"
            return self._records(query, memory_type, place, encode(also).decode(), limit)
        if not self.count(memory_type, place):
            return []
        return self._records(f"is_open AND place = ? AND type = ? {_ORDER}", place, memory_type, limit)

    def blocking(self, limit: int) -> list[Record]:
        query = "is_open AND type = 'issue' AND severity IN ('critical', 'high')"
        return self._records(f"{query} ORDER BY severity, timestamp DESC, path LIMIT ?", limit)

    def blocked(self, limit: int) -> list[Record]:
        return self._records(f"is_open AND type = 'state' AND has_blockers {_ORDER}", limit)

    def count(self, memory_type: str, place: str) -> int:
        if place not in self._open:  # of all types at once: a page asks for each of them, and most places have few
            query = "SELECT type, count(*) FROM records WHERE is_open AND place = ? GROUP BY type"
            self._open[place] = dict(self._database.execute(query, (place,)))
        return self._open[place].get(memory_type, 0)

    def statuses(self) -> list[tuple[str, str, str, int]]:
        status = "CASE WHEN is_archived THEN 'archived' ELSE status END"
        query = f"type, {status}, coalesce(severity, ''), count(*) FROM records WHERE type NOT NULL GROUP BY 1, 2, 3"
        return self._database.execute(f"SELECT {query}").fetchall()

    def shared_ids(self) -> list[str]:
        return self._column("id", "id NOT NULL GROUP BY id HAVING count(*) > 1")

    def places(self) -> dict[str, int]:
        query = "SELECT place, count(*) FROM records WHERE is_open AND type != ? GROUP BY place"
        return dict(self._database.execute(query, (HANDOFF.name,)))

    def tags(self) -> list[tuple[str, str, int]]:
        return self._database.execute("SELECT tag, place, count FROM tags ORDER BY tag, place").fetchall()

    def select(
        self, conditions: Iterable[Condition], order: str, *, reverse: bool = False, limit: int = 0
    ) -> tuple[list[Record], int]:
        from memctl.record.filters import ORDERS

        condition, values = _where(conditions)
        if order == "access":  # the cache has no retrieval counts
            key, large_first = ORDERS[order]
            records = self._counted(f"{condition} ORDER BY path", *values)
            records.sort(key=key, reverse=large_first != reverse)
            return records[: limit or None], len(records)
        if order == "title":
            self._database.create_function("casefold", 1, str.casefold, deterministic=True)
        way = " DESC" if ORDERS[order][1] != reverse else ""
        ordered = ", ".join(f"{part}{way}" for part in (*_ORDERS[order], "id"))
        records = self._counted(f"{condition} ORDER BY {ordered}, path LIMIT ?", *values, limit or -1)
        number = len(records)
        if number == limit:
            number = self._database.execute(f"SELECT count(*) FROM records WHERE {condition}", values).fetchone()[0]
        return records, number

    def with_id(self, identifier: str) -> list[Record]:
        kind = BY_PREFIX.get(identifier[:3])
        if kind is None:
            return []
        start = f"{kind.folder}/{identifier[4:11]}/{identifier}"
        return self._counted("path BETWEEN ? AND ? AND id = ? ORDER BY path", start, start + "~", identifier)

    def with_alias(self, identifier: str) -> list[Record]:
        query = "aliases <> '' AND instr(aliases, ?) AND id <> ? ORDER BY path"
        return self._counted(query, f",{identifier},", identifier)

    def find(self, identifier: str) -> Record | None:
        return next(iter(self.with_id(identifier)), None)

    def at(self, paths: Iterable[str]) -> list[Record]:
        return self._counted(f"{_AT_PATHS} AND record NOT NULL ORDER BY path", encode(list(paths)).decode())

    def with_code_refs(self, files: Iterable[str]) -> list[Record]:
        query = "path IN (SELECT path FROM code_refs WHERE file IN (SELECT value FROM json_each(?))) ORDER BY path"
        return self._counted(query, encode(list(files)).decode())

    def naming(self, bases: Iterable[str]) -> list[tuple[str, str]]:
        find = "SELECT name, path FROM named_files WHERE base IN (SELECT value FROM json_each(?)) ORDER BY path, name"
        return self._database.execute(find, (encode(list(bases)).decode(),)).fetchall()

    def last_session(self, file: str) -> tuple[str, str, str] | None:
        query = "SELECT path, ended, asked FROM session_files WHERE file = ? ORDER BY ended DESC, path DESC LIMIT 1"
        return next(iter(self._database.execute(query, (file,))), None)

    def unplaced(self) -> list[tuple[str, str, str]]:
        # By the index of open records by place, whatever their number.
        query = "records CROSS JOIN code_refs USING (path) WHERE is_open AND place = '' AND section IS NULL"
        return self._database.execute(f"SELECT path, type, file FROM {query}").fetchall()

    def unplaced_code(self) -> list[str]:
        query = "SELECT DISTINCT file FROM records CROSS JOIN code_refs USING (path) WHERE section IS NULL"
        return [file for (file,) in self._database.execute(query)]

    def in_sections(self, markers: Sequence[str], code: Sequence[str]) -> frozenset[str]:
        below = "EXISTS (SELECT 1 FROM json_each(?) WHERE instr(section || '.', value || '.') = 1)"
        return frozenset(
            self._column("path", f"{below} OR ({_UNPLACED})", *(encode(v).decode() for v in (markers, code)))
        )

    def not_matching(self, conditions: Iterable[Condition], among: Iterable[str]) -> set[str]:
        wanted, paths = set(among), set[str]()
        others = []
        for field, test, value in conditions:
            if field == "is_archived":  # an index has all of these: to look up 2,000 paths takes ten times as long
                paths.update(self._column("path", "is_archived = ?", not value))
            else:
                others.append((field, test, value))
        if others:
            condition, values = _where(others)
            query = f"{_AT_PATHS} AND is_archived NOT NULL AND ({condition}) IS NOT TRUE"
            paths.update(self._column("path", query, encode(list(wanted)).decode(), *values))
        return paths & wanted

    def latest(self, *, with_handoffs: bool = False) -> Record | None:
        aside = "" if with_handoffs else HANDOFF.name
        records = self._records("record NOT NULL AND type != ? ORDER BY timestamp DESC, path DESC LIMIT 1", aside)
        return records[0] if records else None

    def titles(self, memory_type: str, *, only_open: bool = False) -> list[str]:
        return self._column("title", f"type = ?{' AND is_open' * only_open}", memory_type)

    def rejecting(self, words: Iterable[str], most: int) -> list[Record]:
        found: dict[str, None] = {}
        for word in words:
            rows = self._column("path", "rejected <> '' AND instr(rejected, ?) LIMIT ?", word, most + 1)
            found |= dict.fromkeys(rows if len(rows) <= most else ())
        return self.at(found)

    def recorded_since(self, moment: int) -> int:
        return int(self._column("count(*)", "recorded > ?", moment)[0])

    def mentions(self) -> Mapping[str, Sequence[Mention]]:
        return self._mentions

    @cached_property
    def _mentions(self) -> Mapping[str, Sequence[Mention]]:
        from memctl.record.mentions import Mention

        rows = self._database.execute("SELECT path, mentions FROM records WHERE mentions NOT NULL ORDER BY path")
        decode = decoder(self._database, list[Mention])
        return {path: decode(stored) for path, stored in rows}

    def mentioning(self, text: str) -> list[str]:
        from memctl.record.mentions import Mention

        query = "SELECT path, mentions FROM records WHERE mentions NOT NULL AND instr(mentions, ?) ORDER BY path"
        rows, decode = self._database.execute(query, (text.encode(),)), decoder(self._database, list[Mention])
        return [path for path, stored in rows if any(mention.text == text for mention in decode(stored))]

    def severe(self, place: str) -> list[Record]:
        return self._records("is_open AND place = ? AND type = 'issue' AND severity IN ('critical', 'high')", place)

    def heavy(self, weight: int) -> list[str]:
        return self._column("path", f"weight >= {weight:d} ORDER BY path")  # no `?`, or the index would not serve

    def suspicious(self) -> list[str]:
        return self._column("path", "is_suspicious ORDER BY path")

    def is_clean(self, key: bytes) -> bool:
        return self._database.execute("SELECT 1 FROM clean WHERE digest = ?", (key,)).fetchone() is not None

    def keep_clean(self, keys: Sequence[bytes]) -> None:
        if keys:
            # If another process is writing, the texts are searched again next time.
            with suppress(sqlite3.OperationalError), Cache(self._database).transaction("BEGIN IMMEDIATE"):
                self._database.executemany("INSERT OR IGNORE INTO clean VALUES (?)", [(key,) for key in keys])

    def with_hidden_characters(self) -> list[str]:
        return self._column("path", "has_hidden ORDER BY path")

    def faults(self) -> list[Fault]:
        decode = decoder(self._database, list[Fault])
        return [fault for packed in self._column("faults", "faults NOT NULL ORDER BY path") for fault in decode(packed)]

    def recall(self, key: bytes) -> bytes | None:
        row = self._database.execute("SELECT value FROM kept WHERE key = ?", (self._changes + key,)).fetchone()
        return row[0] if row else None

    def keep(self, key: bytes, value: bytes) -> None:
        with suppress(sqlite3.OperationalError):  # another process is writing: the value is computed again next time
            self._database.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (self._changes + key, value))

    def without(self, paths: Collection[str]) -> StoredCatalogue:
        from memctl.store import cache_update

        return StoredCatalogue(cache_update.without(Cache(self._database), paths), self._counts) if paths else self

    @cached_property
    def _changes(self) -> bytes:
        """Cached values are stored under the stamp of the records for which they were computed."""
        row = self._database.execute("SELECT value FROM state WHERE key = 'changes'").fetchone()
        return f"{row[0] if row else 0}:".encode()

    def _column(self, name: str, condition: str, *values: Any) -> list[Any]:
        return [row[0] for row in self._database.execute(f"SELECT {name} FROM records WHERE {condition}", values)]

    def _records(self, condition: str, *values: Any) -> list[Record]:
        decode = decoder(self._database, Record)
        try:
            return [decode(packed) for packed in self._column("record", condition, *values)]
        except Undecodable:
            if self._renew is None:
                raise
            self._database, self._renew = self._renew().database, None
            return self._records(condition, *values)

    def _counted(self, condition: str, *values: Any) -> list[Record]:
        return retrieval_counts.with_counts(self._totals, self._records(condition, *values))

    @cached_property
    def _totals(self) -> Mapping[str, tuple[int, str]]:
        return {} if self._counts is None else retrieval_counts.counts(self._counts)


def _where(conditions: Iterable[Condition]) -> tuple[str, list[Any]]:
    where, values = ["is_archived NOT NULL"], []
    for field, test, value in conditions:
        where.append(_TESTS[test].format("type" if field == "memory_type" else field))
        values.append(encode(value).decode() if test == "in" else f",{value}," if test == "has" else value)
    return " AND ".join(where), values
