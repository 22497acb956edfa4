"""The tables of the cache, and the indexes over its records."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

_INDEXES = """
CREATE INDEX numbered ON records (number);
CREATE INDEX differing ON records (stat) WHERE stat <> '';
CREATE INDEX faulty ON records (path) WHERE faults NOT NULL;
CREATE INDEX mentioning ON records (path) WHERE mentions NOT NULL;
CREATE INDEX ranked ON records (type, importance DESC, timestamp DESC, path) WHERE is_open;
CREATE INDEX placed ON records (place, type, importance DESC, timestamp DESC, path, is_open) WHERE is_open;
CREATE INDEX blocking ON records (severity, timestamp DESC, path) WHERE is_open AND type = 'issue';
CREATE INDEX blocked ON records (type, importance DESC, timestamp DESC, path) WHERE is_open AND has_blockers;
CREATE INDEX latest ON records (timestamp DESC, path DESC) WHERE record NOT NULL;
CREATE INDEX recorded ON records (recorded) WHERE recorded NOT NULL;
CREATE INDEX counted ON records (type, is_archived, status, severity);
CREATE INDEX named ON records (id);
CREATE INDEX titled ON records (type, title);
CREATE INDEX dated ON records (is_archived, timestamp DESC, id DESC);
CREATE INDEX expiring ON records (expires_at) WHERE expires_at NOT NULL;
CREATE INDEX renamed ON records (path) WHERE aliases <> '';
CREATE INDEX heavy ON records (path) WHERE weight >= 4000;
CREATE INDEX suspicious ON records (path) WHERE is_suspicious;
CREATE INDEX rejecting ON records (path) WHERE rejected <> '';
CREATE INDEX referring ON code_refs (path);
CREATE INDEX naming ON named_files (path);
CREATE INDEX working ON session_files (path);
CREATE INDEX with_hidden_characters ON records (path) WHERE has_hidden;
"""
TABLES = f"""
CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE records (
    path TEXT PRIMARY KEY, number INTEGER, stat TEXT, record BLOB, faults BLOB, mentions BLOB,
    type TEXT, place TEXT, is_open INTEGER, importance INTEGER, severity TEXT, timestamp TEXT,
    weight INTEGER, is_suspicious INTEGER, has_hidden INTEGER, has_blockers INTEGER, recorded INTEGER, title TEXT,
    id TEXT, status TEXT, is_archived INTEGER, section TEXT, agent_id TEXT, tags TEXT, aliases TEXT,
    expires_at TEXT, rejected TEXT, assignees TEXT,
    blob TEXT
) WITHOUT ROWID;
CREATE TABLE tags (tag TEXT, place TEXT, count INTEGER, PRIMARY KEY (tag, place)) WITHOUT ROWID;
CREATE TABLE code_refs (file TEXT, path TEXT, PRIMARY KEY (file, path)) WITHOUT ROWID;
CREATE TABLE named_files (base TEXT, path TEXT, name TEXT, PRIMARY KEY (base, path, name)) WITHOUT ROWID;
CREATE TABLE session_files (
    file TEXT, path TEXT, ended TEXT, asked TEXT, PRIMARY KEY (file, path)
) WITHOUT ROWID;
CREATE TABLE packed (only_open INTEGER PRIMARY KEY, records BLOB);
CREATE TABLE kept (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID;
CREATE TABLE introductions (
    path TEXT, blob TEXT, id TEXT, seconds INTEGER, before TEXT, actor TEXT, author TEXT, PRIMARY KEY (path, blob)
) WITHOUT ROWID;
CREATE TABLE updates (number INTEGER, path TEXT, blob TEXT);
CREATE TABLE tokens (digest BLOB PRIMARY KEY, count INTEGER) WITHOUT ROWID;
CREATE TABLE clean (digest BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE sources (blob TEXT, name TEXT, found BLOB, PRIMARY KEY (blob, name)) WITHOUT ROWID;
{_INDEXES}"""


def create_tables(database: sqlite3.Connection) -> None:
    """Create all tables and indexes of a new cache, within the caller's transaction."""
    for statement in _statements(TABLES):
        database.execute(statement)


@contextmanager
def without_indexes(database: sqlite3.Connection) -> Iterator[None]:
    """Drop the indexes of the cache's tables during the `with` block, and create them again after it.

    This is for filling empty tables: creating the indexes at the end is faster than updating them with each row.
    """
    for statement in _statements(_INDEXES):
        database.execute(f"DROP INDEX {statement.split()[2]}")
    yield
    for statement in _statements(_INDEXES):
        database.execute(statement)


def _statements(script: str) -> list[str]:
    """`executescript` would end the caller's transaction."""
    return [statement for part in script.split(";") if (statement := part.strip())]
