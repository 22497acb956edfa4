"""Complete the links of imported records: find the records that they name, write both ends, and refuse circles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from memctl.check.records import circles_in
from memctl.errors import MemctlError
from memctl.exchange.rows import UNRESOLVED, Problems, Row
from memctl.record import ids
from memctl.record.kinds import OTHER_END
from memctl.record.record import SOURCE_ID, Record
from memctl.record.snapshot import Snapshot
from memctl.text.markdown import one_line
from memctl.text.phrases import some
from memctl.write import links

_NAMED = 5  # ids to print on one line
_CIRCLES = {"superseded_by": "supersedes", "blocked_by": "blocks"}


def add_unresolved(values: dict[str, Any], relation: str, names: Iterable[str]) -> None:
    """Add links that lead to no record to `unresolved_links` in a record's front matter, such as `blocks BACK-12`.

    `values` is the front matter, which is changed in place. `relation` is the kind of link, such as "blocks", and
    `names` are the ids that lead to no record.
    """
    present = values.get(UNRESOLVED) or []
    present = present if isinstance(present, list) else [present]
    values[UNRESOLVED] = [*present, *(f"{relation} {name}" for name in names)]


class RowLinks:
    """The links of rows (records to import) to each other and to the records of a memory. Each row has an id already.

    `problems` gets messages on links that can't be kept. `canonical` is a function that gives an id of another tool one
    form, so that different ways to write the id are equal.
    """

    def __init__(
        self, snapshot: Snapshot, rows: Sequence[Row], problems: Problems, canonical: Callable[[str], str]
    ) -> None:
        self._snapshot = snapshot
        self._rows = rows
        self._problems = problems
        self._canonical = canonical
        self._by_memory_id = {record.memory_id: record for record in snapshot.records}
        self._by_id = {row.values["id"]: row for row in rows}
        self._names = {name.casefold(): row for row in rows for name in self._names_of(row)}
        self._changes: dict[str, tuple[Record, dict[str, Any]]] = {}  # of existing records, by id

    def complete(self) -> list[tuple[Record, dict[str, Any]]]:
        """Replace the names in all links by ids of records, and add each link to the record at its other end, too.

        The rows are changed in place. Links that lead to no record, or that make a circle, are removed. Returns the
        records of the memory that get a link, each with the new values of its front matter.
        """
        for row in self._rows:
            self._resolve(row)
        for row in self._rows:
            self._link(row)
        self._break_circles()
        return [change for change in self._changes.values() if change[1]]

    def _resolve(self, row: Row) -> None:
        for name in OTHER_END:
            values = row.values.get(name)
            if isinstance(values, list):
                targets = [(target, self._find_id(str(target))) for target in values]
                self._note_missing(row, name, [str(target) for target, identifier in targets if identifier is None])
                row.values[name] = list(dict.fromkeys(identifier for _, identifier in targets if identifier))
        parent = row.values.pop("parent", None) or row.values.get("parent_memory_id")
        if parent is not None:
            identifier = self._find_id(str(parent))
            row.values.pop("parent_memory_id", None)
            if identifier is None:
                self._note_missing(row, "parent", [str(parent)])
            else:
                row.values["parent_memory_id"] = self._memory_id(identifier)

    def _note_missing(self, row: Row, relation: str, names: Sequence[str]) -> None:
        """Note links to records that do not exist.

        A strict import refuses them; otherwise the record keeps them as `unresolved_links`.
        """
        names = list(map(one_line, names))
        if names and not self._problems.is_strict:
            add_unresolved(row.values, relation, names)
            why = f"links to records that do not exist are not imported: {some(names, _NAMED)}"
            self._problems.notes.append(f"{row.place}: {relation}: {why}")
        else:
            self._problems.refused += [f"{row.place}: {relation}: there is no record {name}" for name in names]

    def _find_id(self, name: str) -> str | None:
        """Imported rows are searched before existing records."""
        if (row := self._names.get(name.casefold()) or self._names.get(f"={self._canonical(name)}")) is not None:
            return str(row.values["id"])
        record = self._snapshot.find(name)
        named = [record] if record is not None else self._snapshot.with_foreign_name(name)
        return named[0].id if len(named) == 1 else None

    def _names_of(self, row: Row) -> Iterator[str]:
        yield from (str(row.values["id"]), str(row.values["memory_id"]))
        if source_id := str(row.values.get(SOURCE_ID) or ""):
            yield from (source_id, f"={self._canonical(source_id)}")

    def _memory_id(self, identifier: str) -> str:
        if (row := self._by_id.get(identifier)) is not None:
            return str(row.values["memory_id"])
        record = self._snapshot.find(identifier)
        assert record is not None, identifier
        return record.memory_id

    def _link(self, row: Row) -> None:
        for relation, other_end in OTHER_END.items():
            for target in list(row.values.get(relation) or ()):
                try:
                    self._link_to(row, relation, target, other_end)
                except MemctlError as error:
                    row.values[relation].remove(target)
                    self._problems.add_link(f"{row.place}: {relation}: {error}")
        for relation in OTHER_END:
            if row.values.get(relation) == []:
                del row.values[relation]

    def _link_to(self, row: Row, relation: str, target: str, other_end: str) -> None:
        own, other = row.values["id"], self._by_id.get(target)
        if target == own:
            raise MemctlError(f"the record {target} links to itself")
        if relation in ("supersedes", "superseded_by"):
            if ids.kind_of(target) is not row.draft.kind:
                raise MemctlError(f"{target} has another type, and only records of the same type supersede each other")
            if "superseded" not in row.draft.kind.statuses:
                raise MemctlError(f"{row.draft.kind.plural} can't be superseded")
        record = other.record if other is not None else self._snapshot.find(target)
        if row.record is None and record is not None:  # the link leads to an existing record
            self._change(record, other_end, own)
        if other is not None:
            ends = other.values.setdefault(other_end, [])
            ends += [] if own in ends else [own]
        for end, is_old in ((row, relation == "superseded_by"), (other, relation == "supersedes")):
            if end is not None and is_old:
                end.values["status"] = "superseded"

    def _change(self, record: Record, relation: str, own: str) -> None:
        _, values = self._changes.setdefault(record.id, (record, {}))
        current = self._ends(record, relation)
        if own not in current:
            values |= {**links.end(record, relation, own), relation: [*current, own]}

    def _ends(self, record: Record, relation: str) -> list[str]:
        changed: list[str] = self._changes.get(record.id, (record, {}))[1].get(relation, getattr(record, relation))
        return changed

    def _break_circles(self) -> None:
        """Remove links by which records supersede, block or contain each other in a circle.

        A strict import is refused instead.
        """
        for relation in (*_CIRCLES, "parent_memory_id"):
            while circle := next((c for c in circles_in(self._graph(relation)) if set(c) & self._new()), None):
                self._problems.add_link(f"{relation}: the links form a circle: {' -> '.join([*circle, circle[0]])}")
                if self._problems.is_strict:
                    break
                place = next(place for place, identifier in enumerate(circle) if identifier in self._new())
                self._unlink(relation, circle[place], circle[(place + 1) % len(circle)])

    def _new(self) -> set[str]:
        return {str(row.values["id"]) for row in self._rows if row.record is None}

    def _graph(self, relation: str) -> dict[str, list[str]]:
        edges: dict[str, list[str | None]] = defaultdict(list)
        is_parent = relation == "parent_memory_id"
        known = {memory_id: record.id for memory_id, record in self._by_memory_id.items()}
        new = {row.values["memory_id"]: row.values["id"] for row in self._rows}
        for record in self._snapshot.records:
            edges[record.id] += (
                [known.get(record.parent_memory_id or "")] if is_parent else self._ends(record, relation)
            )
        for row in self._rows:
            value = row.values.get(relation)
            edges[row.values["id"]] += [new.get(value) or known.get(str(value))] if is_parent else value or []
        return {identifier: list(filter(None, targets)) for identifier, targets in edges.items()}

    def _unlink(self, relation: str, start: str, end: str) -> None:
        """Remove both ends of a link between two records, where the import adds them."""
        for identifier, name, other in ((start, relation, end), (end, _CIRCLES.get(relation, ""), start)):
            row = self._by_id.get(identifier)
            if row is None:
                record, values = self._changes.get(identifier, (None, {}))
                if record is not None and other in values.get(name, ()):
                    values[name] = [one for one in values[name] if one != other]
                    if values[name] == getattr(record, name):
                        values.clear()
            elif not name:
                continue
            elif name == "parent_memory_id":
                del row.values[name]
            elif other in (row.values.get(name) or ()):
                row.values[name].remove(other)
