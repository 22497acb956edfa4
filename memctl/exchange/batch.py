"""Records that come in together: their names elsewhere, their links at both ends, and which are there already.

Links and parents may be given by any id: memctl's, a memory_id, or the `source_id` that another tool gave. What brings
no memory_id gets one that follows from what it is, so that the same record is known when it comes again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from memctl.check.records import circles_in
from memctl.errors import MemctlError
from memctl.record import ids
from memctl.record.change import Change, Write
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import KINDS, OTHER_END
from memctl.record.parser import parse, problems
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence as IdSequence
from memctl.text.phrases import quantity, some
from memctl.write import links
from memctl.write.create import Draft, complete, written
from memctl.write.edit import rewrite

SOURCE_ID = "source_id"  # the key of the front matter for what another tool calls the record
UNRESOLVED = "unresolved_links"  # and for its links to what did not come in
_SHOWN = 20  # problems to print; there may be thousands
_NAMED = 5  # ids to print on one line
_PATH = re.compile(r"[a-z]+/\d{4}-\d\d/[A-Z]{3}-[\d-]{1,40}(?:-[a-z0-9]+)*\.md")
_CIRCLES = {"superseded_by": "supersedes", "blocked_by": "blocks"}


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


class Imported(msgspec.Struct, frozen=True):
    """What an import comes to: its change, the ids of records that are there already, and what was read otherwise."""

    change: Change
    known: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def row(memory: Memory, place: str, draft: Draft, identity: str) -> Row:
    """A row of a draft; `identity` is what its memory_id follows from if it brings none."""
    return Row(place, draft, complete(memory, draft), identity, has_id="id" in draft.values)


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
        self._is_lenient = is_lenient
        self._canonical = canonical
        self.wrong: list[str] = []
        self.notes: list[str] = []
        self._by_memory_id = {record.memory_id: record for record in snapshot.records}
        self._rows = list(self._deduplicate(rows))
        self._changes: dict[str, tuple[Record, dict[str, Any]]] = {}  # of records that are there, by id

    def add(self, sequence: IdSequence) -> Imported:
        """The Change that adds the rows; raises MemctlError, naming places and fields, if any is wrong."""
        new = [one for one in self._rows if one.record is None]
        allocate(sequence, [one.values for one in new if "id" not in one.values])
        before = {one.place: self._text(one) for one in self._rows if one.has_id and one.record is not None}
        self._names = {name.casefold(): one for one in self._rows for name in self._names_of(one)}
        self._by_id = {one.values["id"]: one for one in self._rows}
        for one in self._rows:
            self._resolve(one)
        for one in self._rows:
            self._link(one)
        self._break_circles()
        writes = [write for one in new if (write := self._write(one)) is not None]
        for one in self._rows:
            if one.place in before and one.record is not None:
                text = self._snapshot.read(one.record.path)
                if text not in (before[one.place], self._text(one)):
                    self.wrong.append(f"{one.place}: there is a record {one.record.id} already, and it is not the same")
        refuse(self.wrong, "mend the lines, or leave out `id` and `memory_id` to get new ones")
        writes += [rewrite(self._snapshot, record, values) for record, values in self._changes.values() if values]
        change = Change(
            op="import",
            title=quantity(len(new), "record"),
            ids=tuple(ids.id_in_path(write.path) or "" for write in writes),
            writes=tuple(writes),
        )
        known = tuple(one.record.id for one in self._rows if one.record is not None)
        return Imported(change, known, tuple(self.notes))

    def _deduplicate(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows with a memory_id each, those that come twice once, and each with the record that it is already."""
        seen: dict[str, str] = {}
        by_id = {record.id: record for record in self._snapshot.records}
        for one in rows:
            values = one.values
            is_given = "memory_id" in values
            values.setdefault("memory_id", self._memory.imported_memory_id(one.identity))
            repeated = next((n for n in (values.get("id"), values["memory_id"]) if n in seen), None)
            if repeated and (one.has_id or is_given):
                self.wrong.append(f"{one.place}: {repeated} stands on {seen[repeated]} already")
                continue
            if repeated:
                self.notes.append(f"{one.place} says the same as {seen[repeated]}")
                continue
            seen[values["memory_id"]] = seen[values.get("id") or values["memory_id"]] = one.place
            one.record = by_id.get(str(values.get("id"))) or self._by_memory_id.get(str(values["memory_id"]))
            if one.record is not None and not one.has_id:
                values["id"] = one.record.id
            yield one

    def _resolve(self, one: Row) -> None:
        """Put ids of memctl's in place of what the links of a row name."""
        for name in OTHER_END:
            given = one.values.get(name)
            if isinstance(given, list):
                found = [(target, self._find_id(str(target))) for target in given]
                self._note_missing(one, name, [str(target) for target, identifier in found if identifier is None])
                one.values[name] = list(dict.fromkeys(identifier for _, identifier in found if identifier is not None))
        parent = one.values.pop("parent", None) or one.values.get("parent_memory_id")
        if parent is not None:
            identifier = self._find_id(str(parent))
            one.values.pop("parent_memory_id", None)
            if identifier is None:
                self._note_missing(one, "parent", [str(parent)])
            else:
                one.values["parent_memory_id"] = self._memory_id(identifier)

    def _note_missing(self, one: Row, relation: str, names: Sequence[str]) -> None:
        """Note links that lead nowhere: they stay with the record under a key of its own, or are wrong."""
        if names and self._is_lenient:
            one.values.setdefault(UNRESOLVED, []).extend(f"{relation} {name}" for name in names)
            self.notes.append(f"{one.place}: {relation}: not among what comes in: {some(names, _NAMED)}")
        else:
            self.wrong += [f"{one.place}: {relation}: there is no record {name}" for name in names]

    def _find_id(self, name: str) -> str | None:
        """The id of the record that a name means, of those that come in first."""
        if (found := self._names.get(name.casefold()) or self._names.get(f"={self._canonical(name)}")) is not None:
            return str(found.values["id"])
        record = self._snapshot.find(name)
        if record is None:
            others = self._snapshot.called_elsewhere(name)
            record = others[0] if len(others) == 1 else None
        return record.id if record is not None else None

    def _names_of(self, one: Row) -> Iterator[str]:
        """What a row is called, by anybody."""
        yield from (str(one.values["id"]), str(one.values["memory_id"]))
        if source_id := str(one.values.get(SOURCE_ID) or ""):
            yield from (source_id, f"={self._canonical(source_id)}")

    def _memory_id(self, identifier: str) -> str:
        found = self._by_id.get(identifier)
        if found is not None:
            return str(found.values["memory_id"])
        record = self._snapshot.find(identifier)
        assert record is not None, identifier
        return record.memory_id

    def _link(self, one: Row) -> None:
        """Write the other end of each link of a row."""
        own = one.values["id"]
        for relation, other_end in OTHER_END.items():
            for target in list(one.values.get(relation) or ()):
                if target == own:
                    one.values[relation].remove(target)
                    self._complain(f"{one.place}: {relation}: {target} is the record itself")
                elif (other := self._by_id.get(target)) is not None:
                    ends = other.values.setdefault(other_end, [])
                    ends += [] if own in ends else [own]
                    self._supersede(other if relation == "supersedes" else one, relation)
                record = self._record(target) if one.record is None and target != own else None
                if record is not None:
                    self._change(record, other_end, own, one.place)
        for relation in OTHER_END:
            if one.values.get(relation) == []:
                del one.values[relation]

    def _record(self, identifier: str) -> Record | None:
        """The record of an id that is in the memory already."""
        found = self._by_id.get(identifier)
        return found.record if found is not None else self._snapshot.find(identifier)

    def _supersede(self, old: Row, relation: str) -> None:
        if relation in ("supersedes", "superseded_by"):
            if "superseded" in old.draft.kind.statuses:
                old.values["status"] = "superseded"
            else:
                self.wrong.append(f"{old.place}: {old.draft.kind.plural} are not superseded")

    def _change(self, record: Record, relation: str, own: str, place: str) -> None:
        """Let a record that is there have the end of a link."""
        _, values = self._changes.setdefault(record.id, (record, {}))
        current = values.get(relation, getattr(record, relation))
        if own in current:
            return
        try:
            ended = links.end(record, relation, own)
        except MemctlError as error:
            self.wrong.append(f"{place}: {error}")
            return
        values |= {**ended, relation: [*current, own]}

    def _break_circles(self) -> None:
        """Take out, or complain of, links by which records supersede, block or contain each other in a circle."""
        for relation in (*_CIRCLES, "parent_memory_id"):
            while circle := next((c for c in circles_in(self._graph(relation)) if set(c) & self._new()), None):
                self._complain(f"{relation}: {' -> '.join([*circle, circle[0]])} is a circle")
                if not self._is_lenient:
                    break
                self._unlink(relation, circle[0], circle[1 % len(circle)])

    def _new(self) -> set[str]:
        return {str(one.values["id"]) for one in self._rows if one.record is None}

    def _graph(self, relation: str) -> dict[str, list[str]]:
        """Which records a relation leads to from each, of the memory as it will be."""
        found: dict[str, list[str]] = defaultdict(list)
        for record in self._snapshot.records:
            if relation == "parent_memory_id":
                parent = self._by_memory_id.get(record.parent_memory_id or "")
                found[record.id] += [parent.id] if parent else []
            else:
                found[record.id] += getattr(record, relation)
        by_memory_id = {one.values["memory_id"]: one.values["id"] for one in self._rows}
        for one in self._rows:
            if relation == "parent_memory_id":
                parent_id = one.values.get(relation)
                parent = self._by_memory_id.get(str(parent_id))
                named = by_memory_id.get(parent_id) or (parent.id if parent else None)
                found[one.values["id"]] += [named] if named else []
            else:
                found[one.values["id"]] += one.values.get(relation) or []
        return found

    def _unlink(self, relation: str, start: str, end: str) -> None:
        for identifier, name, other in ((start, relation, end), (end, _CIRCLES.get(relation, ""), start)):
            row = self._by_id.get(identifier)
            if row is None or not name:
                continue
            if name == "parent_memory_id":
                del row.values[name]
            elif other in (row.values.get(name) or ()):
                row.values[name].remove(other)

    def _complain(self, text: str) -> None:
        if self._is_lenient:
            self.notes.append(f"{text}: left out")
        else:
            self.wrong.append(text)

    def _text(self, one: Row) -> str:
        """The file that a row would be, "" if it can't be one."""
        values = {name: value for name, value in one.values.items() if name not in ("path", "parent") and value != []}
        try:
            return "" if problems(values) else written(self._memory, values, one.draft)[1].text
        except MemctlError:
            return ""

    def _write(self, one: Row) -> Write | None:
        """The file of a new row, None if something is wrong with it."""
        values = {name: value for name, value in one.values.items() if value != []}
        path, identifier = values.pop("path", None), values["id"]
        found = problems(values)
        if found or (path is not None and not _is_valid_path(path, identifier)):
            self.wrong += [f"{one.place}: {field}: {message}" for field, message in found]
            if not found:
                self.wrong.append(f"{one.place}: path: found {path!r}, which is not where {identifier} can be")
            return None
        _, write = written(self._memory, values, one.draft)
        write = Write(path or write.path, write.text)
        self.wrong += _parse_errors(write, one.place)
        return write


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


def _parse_errors(write: Write, place: str) -> list[str]:
    try:
        parse(write.text, write.path)
    except InvalidRecord as error:
        return [f"{place}: {fault.field or 'body'}: {fault.message}" for fault in error.faults]
    return []
