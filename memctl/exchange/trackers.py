"""Import of issues of beads and tasks of Backlog.md, with their ids and links.

What can't be read, and links to what is not imported, are left out and named; a strict import refuses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.exchange import backlog, beads
from memctl.exchange.jsonl import draft_of
from memctl.exchange.relative_links import LinkRebase
from memctl.exchange.row_import import ImportResult, RowImport
from memctl.exchange.rows import SOURCE_ID, row
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence as IdSequence

Rows = Iterable[tuple[str, dict[str, Any] | str]]  # the place of each row, and its values or why it can't be read


def import_beads(
    memory: Memory, sequence: IdSequence, snapshot: Snapshot, lines: Iterable[str], *, is_strict: bool = False
) -> ImportResult:
    """Return the result of importing issues of beads from JSON Lines.

    With `is_strict`, raises MemctlError for any issue or link that can't be imported; otherwise notes name them.
    """
    return _import(memory, sequence, snapshot, beads.rows(lines), str, is_strict)


def import_backlog(
    memory: Memory, sequence: IdSequence, snapshot: Snapshot, folder: Path, *, is_strict: bool = False
) -> ImportResult:
    """Return the result of importing a folder of Backlog.md.

    With `is_strict`, raises MemctlError for any task or link that can't be imported; otherwise notes name them.
    """
    links = LinkRebase(memory)
    found = _import(memory, sequence, snapshot, backlog.rows(folder, links), backlog.canonical, is_strict)
    return msgspec.structs.replace(found, notes=(*found.notes, *links.notes))


def _import(
    memory: Memory,
    sequence: IdSequence,
    snapshot: Snapshot,
    found: Rows,
    canonical: Callable[[str], str],
    is_strict: bool,
) -> ImportResult:
    rows, unread = [], []
    for place, values in found:
        try:
            if isinstance(values, str):
                raise MemctlError(values)
            identity = f"id\0{values['extra'][SOURCE_ID]}"
            rows.append(row(memory, place, draft_of(values), identity))
        except MemctlError as error:
            unread.append(f"{place}: {error}")
    coming = RowImport(memory, snapshot, rows, is_lenient=not is_strict, canonical=canonical)
    if is_strict:
        coming.problems.wrong += unread
    else:
        coming.problems.notes += [f"{one}: skipped" for one in unread]
    return coming.add(sequence)
