"""Facts computed from the repository's own files: those that the search index stores, and token counts in the cache.

In the cache a key is a pair of the blob id and a name, which says on what else a fact depends, such as a tokenizer.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import suppress

import msgspec

from memctl.store.cache import Cache

Key = tuple[str, str]  # blob and name
_MOST = 20_000  # facts that are stored; then all are made again


class FileFacts(msgspec.Struct, frozen=True, array_like=True):
    """Facts about the content of one file.

    - `size` is in bytes, and `kind` is the kind of text, such as "python" or "prose".
    - `refusal` says why the file may never enter a model's context, "" if it may.
    - `todos` counts TODO comments.
    - `imports` are the imports in its code, such as "a.b" for `import a.b` in Python (see `imports.in_code`).
    - `names` are the names that the file defines, such as classes. `words` are the words of these names and of the
      sentence on the file's purpose.
    - `declared` is the name that a manifest such as go.mod declares for its folder, "" for any other file.
    """

    size: int
    lines: int = 0
    kind: str = "prose"
    refusal: str = ""
    todos: int = 0
    imports: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    declared: str = ""
    is_generated: bool = False


encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(FileFacts).decode


class Content:
    """The current content of a file: Git's blob id, and its facts, which are decoded when they are first needed."""

    __slots__ = ("_facts", "blob")

    def __init__(self, blob: str, facts: FileFacts | bytes) -> None:
        self.blob = blob
        self._facts = facts

    @property
    def facts(self) -> FileFacts:
        """The facts about the content."""
        if isinstance(self._facts, bytes):
            self._facts = decode(self._facts)
        return self._facts


def recall(cache: Cache) -> dict[Key, bytes]:
    """Return all facts that are stored in the cache by key, such as token counts; {} if the cache can't be read."""
    try:
        rows = cache.database.execute("SELECT blob, name, found FROM sources").fetchall()
    except sqlite3.Error:  # damaged, or locked for long; the facts are computed again
        return {}
    return {(blob, name): found for blob, name, found in rows}


def keep(cache: Cache, facts: Mapping[Key, bytes]) -> None:
    """Store facts in the cache: `facts` maps the key of each to the fact as bytes.

    If another process is writing, they are not stored and have to be computed again. If the cache already has more than
    20,000 facts, all of these are deleted first.
    """
    with suppress(sqlite3.Error), cache.transaction("BEGIN IMMEDIATE"):
        if cache.database.execute("SELECT count(*) FROM sources").fetchone()[0] > _MOST:
            cache.database.execute("DELETE FROM sources")
        rows = ((*key, value) for key, value in facts.items())
        cache.database.executemany("INSERT OR REPLACE INTO sources VALUES (?, ?, ?)", rows)
