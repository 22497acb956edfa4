"""Records that come in together: their names elsewhere, their links at both ends, and which are there already.

Links and parents may be given by any id: memctl's, a memory_id, or the `source_id` that another tool gave. What brings
no memory_id gets one that follows from what it is, so that the same record is known when it comes again.
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

_SHOWN = 20  # problems to print; there may be thousands
_PATH = re.compile(r"[a-z]+/\d{4}-\d\d/[A-Z]{3}-[\d-]{1,40}(?:-[a-z0-9]+)*\.md")


class Imported(msgspec.Struct, frozen=True):
    """What an import comes to: its change, the ids of records that are there already, and what was read otherwise."""

    change: Change
    known: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Batch:
    """Rows on their way into a memory. With `is_lenient`, links that can't be kept are left out and named; else they
    are wrong, and nothing comes in. `canonical` makes one of the ways in which another tool writes an id."""

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

    def add(self, sequence: IdSequence) -> Imported:
        """Return the Change that adds the rows; raises MemctlError, naming places and fields, if any is wrong."""
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
                        f"{one.place}: there is a record {one.record.id} already, and it is not the same"
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
        return Imported(change, known, tuple(self.problems.notes))

    def _deduplicate(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield the rows with a memory_id each, those that come twice once, and each with the record that it is
        already."""
        seen: dict[str, str] = {}
        by_id = {record.id: record for record in self._snapshot.records}
        by_memory_id = {record.memory_id: record for record in self._snapshot.records}
        for one in rows:
            values = one.values
            is_given = "memory_id" in values
            values.setdefault("memory_id", self._memory.imported_memory_id(one.identity))
            repeated = next((n for n in (values.get("id"), values["memory_id"]) if n in seen), None)
            if repeated and (one.has_id or is_given):
                self.problems.wrong.append(f"{one.place}: {repeated} stands on {seen[repeated]} already")
                continue
            if repeated:
                self.problems.notes.append(f"{one.place} says the same as {seen[repeated]}")
                continue
            seen[values["memory_id"]] = seen[values.get("id") or values["memory_id"]] = one.place
            one.record = by_id.get(str(values.get("id"))) or by_memory_id.get(str(values["memory_id"]))
            if one.record is not None and not one.has_id:
                values["id"] = one.record.id
            yield one

    def _text(self, one: Row) -> str:
        """Return the file that a row would be, "" if it can't be one."""
        values = {name: value for name, value in one.values.items() if name not in ("path", "parent") and value != []}
        try:
            return "" if problems(values) else record_and_file(self._memory, values, one.draft)[1].text
        except (MemctlError, InvalidRecord):
            return ""

    def _write(self, one: Row) -> Write | None:
        """Return the file of a new row, None if something is wrong with it."""
        values = {name: value for name, value in one.values.items() if value != []}
        path, identifier = values.pop("path", None), values["id"]
        found = problems(values)
        if found or (path is not None and not _is_valid_path(path, identifier)):
            self.problems.wrong += [f"{one.place}: {field}: {message}" for field, message in found]
            if not found:
                self.problems.wrong.append(f"{one.place}: path: found {path!r}, which is not where {identifier} can be")
            return None
        try:
            _, write = record_and_file(self._memory, values, one.draft)
        except InvalidRecord as error:
            self.problems.wrong += [f"{one.place}: {fault.field or 'body'}: {fault.message}" for fault in error.faults]
            return None
        return Write(path or write.path, write.text)


def refuse(wrong: Sequence[str], hint: str) -> None:
    """Raise MemctlError for an import of which some lines are wrong."""
    if wrong:
        more = [f"… and {len(wrong) - _SHOWN:,} more"] if len(wrong) > _SHOWN else []
        raise MemctlError("nothing was imported:\n" + "\n".join([*wrong[:_SHOWN], *more]), hint)


def allocate(sequence: IdSequence, without: Sequence[dict[str, Any]]) -> None:
    """Give ids to records that bring none, in their order, by type and day."""
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
