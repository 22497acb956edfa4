"""Questions about real records: what `memctl import` makes of decisions, issues and tasks of four other projects.

The records are in the folder of real data, and no text of them is here. bench/labelled/imported.jsonl has the queries;
its README says how they were written. A record's name is its id in beads or Backlog.md, or its file's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from bench.world import MEMCTL, World

ASKED = "2026-12-01T00:00:00Z"  # weeks after the last of the records
_SOURCES = (
    ("adr", "adr/madr"),
    ("adr", "adr/thunderbird"),
    ("beads", "beads-issues-300.jsonl"),
    ("backlog", "backlog-tasks"),
)
_NAME = re.compile(r'(?m)^source_id: "?([\w.-]+)|\bfile"?: "(.+?)\.md"')


def are_at_hand(data: str) -> bool:
    """Return whether a folder has all that is imported."""
    return bool(data) and all((Path(data) / place).exists() for _, place in _SOURCES)


def fill(here: World, repository: Path, data: str) -> None:
    """Import the records into a repository's memory."""
    for kind, place in _SOURCES:
        here.run([MEMCTL, "import", kind, str(Path(data).resolve() / place)], repository)


def is_imported(text: str) -> bool:
    """Return whether a record came from one of the four projects, given the text of its file."""
    return _NAME.search(text) is not None


def name_of(text: str) -> str:
    """Return the name by which queries refer to an imported record, given the text of its file."""
    found = _NAME.search(text)
    assert found is not None, text
    identifier, file = found.groups()
    return file or (identifier.lower() if identifier.startswith("BACK-") else identifier)


def half_of(names: Iterable[str]) -> int:
    """Return the half to which a query belongs, by the first name of those that answer it: 0 to choose, 1 to report."""
    return sha256(min(names).encode()).digest()[-1] % 2
