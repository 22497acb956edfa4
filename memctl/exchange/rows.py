"""A record on its way into a memory, and what is wrong with it."""

from __future__ import annotations

from typing import Any

import msgspec

from memctl.record.record import Record
from memctl.store.memory import Memory
from memctl.write.create import Draft, complete_values

SOURCE_ID = "source_id"  # the key of the front matter for what another tool calls the record
UNRESOLVED = "unresolved_links"  # and for its links to what did not come in


class Row(msgspec.Struct):
    """A record that comes in: where it was (`line 3`), its draft, its complete values, and what tells it from others.

    `has_id` says that it brought an id of memctl's. `record` is the one that it is already, None if it is new.
    """

    place: str
    draft: Draft
    values: dict[str, Any]
    identity: str
    has_id: bool = False
    record: Record | None = None


class Problems:
    """What is wrong with rows, which keeps all of them out, and what their user should know.

    With `is_lenient`, a link that can't be kept is left out, and a note; else it is wrong.
    """

    def __init__(self, *, is_lenient: bool) -> None:
        self.is_lenient = is_lenient
        self.wrong: list[str] = []
        self.notes: list[str] = []

    def add_link(self, text: str) -> None:
        """Add what is wrong with a link."""
        if self.is_lenient:
            self.notes.append(f"{text}: left out")
        else:
            self.wrong.append(text)


def row(memory: Memory, place: str, draft: Draft, identity: str) -> Row:
    """Return a row of a draft; `identity` is what its memory_id follows from if it brings none."""
    return Row(place, draft, complete_values(memory, draft), identity, has_id="id" in draft.values)
