"""Pairs of records that say nearly the same, found when the second was written, in the search index.

Unlike the rest of the index they are not computed again: a clone without its index has only those of later writes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory
from memctl.store.search_index import SearchIndex


class NearPair(msgspec.Struct, frozen=True):
    """Two near records, the newer one first, and whether they may contradict each other."""

    new: Record
    old: Record
    may_contradict: bool


def keep(memory: Memory, pairs: Sequence[NearPair]) -> None:
    """Store pairs; nothing is stored if another process writes to the index."""
    if not pairs:
        return
    index = SearchIndex.open(memory)
    with suppress(sqlite3.Error), index.transaction():
        rows = ((pair.new.memory_id, pair.old.memory_id, pair.may_contradict) for pair in pairs)
        index.database.executemany("INSERT OR REPLACE INTO near_pairs VALUES (?, ?, ?)", rows)
    index.database.close()


def open_pairs(memory: Memory, snapshot: Snapshot) -> list[NearPair]:
    """Return the pairs of which both records are open in a snapshot and no link connects them, by the newer one's id.

    The snapshot's records are only read if there are pairs at all.
    """
    index = SearchIndex.open(memory)
    try:
        rows = index.database.execute("SELECT new, old, may_contradict FROM near_pairs").fetchall()
    except sqlite3.Error:
        rows = []
    finally:
        index.database.close()
    records = {record.memory_id: record for record in snapshot.open_records} if rows else {}
    pairs = [
        NearPair(records[new], records[old], bool(may_contradict))
        for new, old, may_contradict in rows
        if new in records and old in records and not _is_linked(records[new], records[old])
    ]
    return sorted(pairs, key=lambda pair: (pair.new.id, pair.old.id))


def _is_linked(one: Record, other: Record) -> bool:
    return other.id in (*one.relates_to, *one.supersedes, *one.superseded_by, *one.blocks, *one.blocked_by)
