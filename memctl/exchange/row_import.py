"""The import of rows: ids for new records, links at both ends, and rows that are in the memory already.

Links and parents may use any id: memctl's, a memory_id, or the `source_id` that another tool gave. A row without a
memory_id gets one that is derived from its content, so that a second import finds the same record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.exchange.row_links import RowLinks
from memctl.exchange.rows import Problems, Row
from memctl.record import ids
from memctl.record.change import Change, Write
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import KINDS
from memctl.record.parser import problems
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence as IdSequence
from memctl.text.phrases import quantity
from memctl.write.create import record_and_file
from memctl.write.edit import rewrite

_SHOWN = 20  # problems to print, of possibly thousands
_PATH = re.compile(r"[a-z]+/\d{4}-\d\d/[A-Z]{3}-[\d-]{1,40}(?:-[a-z0-9]+)*\.md")


class ImportResult(msgspec.Struct, frozen=True):
    """The result of an import: the change, the ids of records that existed before, and notes for the user.

    The notes say what was left out or altered.
    """

    change: Change
    known: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class RowImport:
    """The import of some rows into a memory, as one change.

    With `is_lenient`, a link that can't be kept is left out with a note; otherwise the whole import is refused.
    `canonical` returns one form of an id of another tool, for all ways to write it.
    """

    def __init__(
        self,
        memory: Memory,
        snapshot: Snapshot,
        rows: Sequence[Row],
        *,
        is_lenient: bool = False,
        canonical: Callable[[str], str] = str,
    ) -> None:
        self._memory = memory
        self._snapshot = snapshot
        self._canonical = canonical
        self.problems = Problems(is_lenient=is_lenient)
        self._rows = list(self._deduplicate(rows))

    def add(self, sequence: IdSequence) -> ImportResult:
        """Return the Change that adds the rows; raises MemctlError, naming places and fields, if any row is wrong."""
        new = [one for one in self._rows if one.record is None]
        allocate(sequence, [one.values for one in new if "id" not in one.values])
        before = {one.place: self._text(one) for one in self._rows if one.has_id and one.record is not None}
        changed = RowLinks(self._snapshot, self._rows, self.problems, self._canonical).complete()
        writes = [write for one in new if (write := self._write(one)) is not None]
        for one in self._rows:
            if one.place in before and one.record is not None:
                text = self._snapshot.read(one.record.path)
                if text not in (before[one.place], self._text(one)):
                    self.problems.wrong.append(
                        f"{one.place}: the memory has another record with the id {one.record.id}"
                    )
        refuse(self.problems.wrong, "correct the lines, or leave out `id` and `memory_id` to get new ones")
        writes += [rewrite(self._snapshot, record, values) for record, values in changed]
        change = Change(
            op="import",
            title=quantity(len(new), "record"),
            ids=tuple(ids.id_in_path(write.path) or "" for write in writes),
            writes=tuple(writes),
        )
        known = tuple(one.record.id for one in self._rows if one.record is not None)
        return ImportResult(change, known, tuple(self.problems.notes))

    def _deduplicate(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield each row once, with a memory_id, and with the existing record that it equals."""
        seen: dict[str, str] = {}
        by_id = {record.id: record for record in self._snapshot.records}
        by_memory_id = {record.memory_id: record for record in self._snapshot.records}
        for one in rows:
            values = one.values
            is_given = "memory_id" in values
            values.setdefault("memory_id", self._memory.imported_memory_id(one.identity))
            repeated = next((n for n in (values.get("id"), values["memory_id"]) if n in seen), None)
            if repeated and (one.has_id or is_given):
                self.problems.wrong.append(f"{one.place}: {repeated} is already on {seen[repeated]}")
                continue
            if repeated:
                self.problems.notes.append(f"{one.place} is skipped: it repeats {seen[repeated]}")
                continue
            seen[values["memory_id"]] = seen[values.get("id") or values["memory_id"]] = one.place
            one.record = by_id.get(str(values.get("id"))) or by_memory_id.get(str(values["memory_id"]))
            if one.record is not None and not one.has_id:
                values["id"] = one.record.id
            yield one

    def _text(self, one: Row) -> str:
        """Return the text of the record file for a row; "" if its values are invalid."""
        values = {name: value for name, value in one.values.items() if name not in ("path", "parent") and value != []}
        try:
            return "" if problems(values) else record_and_file(self._memory, values, one.draft)[1].text
        except (MemctlError, InvalidRecord):
            return ""

    def _write(self, one: Row) -> Write | None:
        """Return the write that adds a new row; None, with an entry in `problems`, if its values are invalid."""
        values = {name: value for name, value in one.values.items() if value != []}
        path, identifier = values.pop("path", None), values["id"]
        found = problems(values)
        if found or (path is not None and not _is_valid_path(path, identifier)):
            self.problems.wrong += [f"{one.place}: {field}: {message}" for field, message in found]
            if not found:
                self.problems.wrong.append(f"{one.place}: path: {path!r} is not a path for {identifier}")
            return None
        try:
            _, write = record_and_file(self._memory, values, one.draft)
        except InvalidRecord as error:
            self.problems.wrong += [f"{one.place}: {fault.field or 'body'}: {fault.message}" for fault in error.faults]
            return None
        return Write(path or write.path, write.text)


def refuse(wrong: Sequence[str], hint: str) -> None:
    """Raise MemctlError with the first 20 of some messages; do nothing if there are none."""
    if wrong:
        more = [f"… and {len(wrong) - _SHOWN:,} more"] if len(wrong) > _SHOWN else []
        raise MemctlError("nothing was imported:\n" + "\n".join([*wrong[:_SHOWN], *more]), hint)


def allocate(sequence: IdSequence, without: Sequence[dict[str, Any]]) -> None:
    """Give the next free id to each of some records' values that have no id, in their order, by type and day."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for values in without:
        groups.setdefault((values["memory_type"], values["timestamp"][:10]), []).append(values)
    for (name, day), members in groups.items():
        for values, identifier in zip(members, sequence.take(KINDS[name], day, len(members)), strict=True):
            values["id"] = identifier


def _is_valid_path(path: Any, identifier: str) -> bool:
    expected = ids.path_of(identifier, "").removesuffix(".md")
    return (
        isinstance(path, str)
        and _PATH.fullmatch(path) is not None
        and path.startswith((f"{expected}.", f"{expected}-"))
    )
