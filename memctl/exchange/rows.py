"""Rows of an import: records on their way into a memory, and the problems that are found with them."""

from __future__ import annotations

from typing import Any

import msgspec

from memctl.record.record import Record
from memctl.store.memory import Memory
from memctl.write.create import Draft, complete_values

SOURCE_ID = "source_id"  # the key of the front matter for a record's id in another tool
UNRESOLVED = "unresolved_links"  # the key of the front matter for links to records that were not imported


class Row(msgspec.Struct):
    """A record to import: its place in the source (`line 3`), its draft, and the values of its front matter.

    `identity` is a text that is equal whenever the same record is imported again. `has_id` tells that the row brought
    an id of memctl's. `record` is the existing record that it equals, None if it is new.
    """

    place: str
    draft: Draft
    values: dict[str, Any]
    identity: str
    has_id: bool = False
    record: Record | None = None


class Problems:
    """The problems with the rows of an import: `wrong` refuses the import, and `notes` are shown to the user.

    With `is_lenient`, a link that can't be kept is left out with a note; otherwise it is wrong.
    """

    def __init__(self, *, is_lenient: bool) -> None:
        self.is_lenient = is_lenient
        self.wrong: list[str] = []
        self.notes: list[str] = []

    def add_link(self, text: str) -> None:
        """Add a message on a link that can't be kept, to the notes or to what is wrong."""
        if self.is_lenient:
            self.notes.append(f"{text}: left out")
        else:
            self.wrong.append(text)


def row(memory: Memory, place: str, draft: Draft, identity: str) -> Row:
    """Return the row for a draft; its memory_id is derived from `identity` unless the draft has one."""
    return Row(place, draft, complete_values(memory, draft), identity, has_id="id" in draft.values)
