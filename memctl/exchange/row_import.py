"""Import items of any source: the items that can be read become records in one change; messages name the others.

Links and parents may use any id: that of memctl, a memory_id, or the `source_id` that another tool gave. An item
without a memory_id gets one that is derived from its content, so that a second import finds the same record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.exchange.row_links import RowLinks, add_unresolved
from memctl.exchange.rows import Item, Problems, Row, rows
from memctl.record import handoff, ids, record_form
from memctl.record.change import Change, Write, WriteOptions
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import HANDOFF, KINDS, OTHER_END
from memctl.record.parser import problems
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence as IdSequence
from memctl.text.phrases import quantity, some
from memctl.write.create import Draft, record_and_file
from memctl.write.edit import rewrite
from memctl.write.transaction import check

_NEW_ID = "without `id` and `memory_id` it gets new ones"
_SHOWN = 20  # problems to print, of possibly thousands
_PATH = re.compile(r"[a-z]+/\d{4}-\d\d/[A-Z]{3}-[\d-]{1,40}(?:-[a-z0-9]+)*\.md")
_LINKS = (*OTHER_END, "parent", "parent_memory_id")


class ImportTarget(msgspec.Struct, frozen=True):
    """The memory to which an import adds records, and how it does so.

    - `sequence`: gives the new records their ids.
    - `snapshot`: what the memory holds now.
    - `is_strict`: whether one item or link that can't be imported makes the whole import fail. Otherwise the import
      leaves it out and names it.
    - `allow_secret`: whether texts that look like a credential are imported.
    """

    memory: Memory
    sequence: IdSequence
    snapshot: Snapshot
    is_strict: bool = False
    allow_secret: bool = False


class ImportResult(msgspec.Struct, frozen=True):
    """The result of an import: the change to write, and messages on the items that are altered or left out.

    - `known`: the ids of records (or the names of ADR files) that are skipped, because they were imported before.
    - `refused`: a message on each item that can't be imported.
    - `notes`: messages on values that are altered.
    """

    change: Change
    known: Sequence[str] = ()
    notes: Sequence[str] = ()
    refused: Sequence[str] = ()


def import_items(
    target: ImportTarget,
    items: Iterable[Item],
    hint: str,
    *,
    known: Sequence[str] = (),
    canonical: Callable[[str], str] = str,
) -> ImportResult:
    """Return the Change that records the items of an import, and a message on each item that can't be imported.

    Raises MemctlError with `hint` if no item can be imported or, in a strict import, if any item or link can't be
    imported. `known` are the ids of records that the caller has skipped, because they were imported
    before. `canonical` is a function that gives an id of another tool one form, so that different ways to write the id
    are equal.
    """
    noted = Problems(is_strict=target.is_strict)
    sound = [row for row in _unique(target, rows(target.memory, items, noted), noted) if _is_sound(target, row, noted)]
    allocate(target.sequence, [row.values for row in sound if row.record is None and "id" not in row.values])
    texts = {row.place: _text(target.memory, row) for row in sound if row.has_id and row.record is not None}
    changed = RowLinks(target.snapshot, sound, noted, canonical).complete()
    other = [row for row in sound if row.place in texts and not _is_same(target, row, texts[row.place])]
    noted.refused += [
        f"{row.place}: the memory already has a different record with the id {row.values['id']} ({_NEW_ID})"
        for row in other
    ]
    refuse(noted.refused, hint, is_strict=target.is_strict, is_some=bool(known) or len(sound) > len(other))
    writes = [_write(target.memory, row) for row in sound if row.record is None]
    writes += [rewrite(target.snapshot, record, values) for record, values in changed]
    title = quantity(sum(row.record is None for row in sound), "record")
    change = Change("import", title, tuple(ids.id_in_path(write.path) or "" for write in writes), tuple(writes))
    again = [row.record.id for row in sound if row.record is not None and row not in other]
    return ImportResult(change, [*known, *again], noted.notes, noted.refused)


def refuse(refused: Sequence[str], hint: str, *, is_strict: bool, is_some: bool) -> None:
    """Raise MemctlError if there are items that can't be imported, and the import is strict or has no other items.

    `refused` are messages on these items; the error shows the first 20. `is_some` says whether other items can be
    imported: if so, the error suggests an import without --strict, otherwise its hint is `hint`.
    """
    if refused and (is_strict or not is_some):
        hint = "correct what is listed above, or leave out --strict to import the rest" if is_some else hint
        raise MemctlError("nothing was imported:\n" + some(refused, _SHOWN, "\n", "\n… and "), hint)


def allocate(sequence: IdSequence, without: Sequence[dict[str, Any]]) -> None:
    """Give ids to new records: set `id` in the front matter of each.

    `without` are the front matters of the records that have no id. They are changed in place. A record gets the next
    free id of its type and day.
    """
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for values in without:
        groups.setdefault((values["memory_type"], values["timestamp"][:10]), []).append(values)
    for (name, day), members in groups.items():
        for values, identifier in zip(members, sequence.take(KINDS[name], day, len(members)), strict=True):
            values["id"] = identifier


def try_write(target: ImportTarget, values: dict[str, Any], draft: Draft) -> tuple[str, list[str]]:
    """Return the text of the file that a new record would have, and a list of problems with the record.

    Nothing is written. Each problem is a message with the name of its field. If there are problems, the text is "".
    `values` is the record's front matter, and `draft` has its text. If the record has no id yet, the first id of its
    day is used for the check.
    """
    values = {"id": ids.record_id(draft.kind, values["timestamp"][:10], 1), **values}
    if faults := problems(values):
        return "", [f"{field}: {message}" for field, message in faults]
    try:
        _, write = record_and_file(target.memory, values, draft)
        change = Change(op="import", title="", writes=(write,))
        check(target.memory, change, WriteOptions(allow_secret=target.allow_secret))
        if draft.kind is HANDOFF:
            handoff.read(write.text, write.path)
    except InvalidRecord as error:
        return "", [f"{fault.field or 'body'}: {fault.message}" for fault in error.faults]
    except MemctlError as error:
        return "", [error.message]
    return write.text, []


def _unique(target: ImportTarget, items: Iterable[Row], noted: Problems) -> Iterator[Row]:
    rows_by_id: dict[str, Row] = {}
    by_id = {record.id: record for record in target.snapshot.records}
    by_memory_id = {record.memory_id: record for record in target.snapshot.records}
    for row in items:
        values = row.values
        values.setdefault("memory_id", target.memory.imported_memory_id(row.identity))
        repeated = next((n for n in (values.get("id"), values["memory_id"]) if n in rows_by_id), None)
        if repeated is not None and rows_by_id[repeated].draft == row.draft:
            noted.notes.append(f"{row.place} is skipped: it is the same as {rows_by_id[repeated].place}")
            continue
        if repeated is not None:
            noted.refused.append(
                f"{row.place}: {rows_by_id[repeated].place} has a different item with the same id ({_NEW_ID})"
            )
            continue
        rows_by_id[values["memory_id"]] = rows_by_id[values.get("id") or values["memory_id"]] = row
        row.record = by_id.get(str(values.get("id"))) or by_memory_id.get(str(values["memory_id"]))
        if row.record is not None and not row.has_id:
            values["id"] = row.record.id
        yield row


def _is_sound(target: ImportTarget, row: Row, noted: Problems) -> bool:
    if row.record is not None:
        return True
    values = _values_of(row)
    for name in _LINKS:
        if name in values and (name not in OTHER_END or isinstance(values[name], list)):
            value = values.pop(name)
            add_unresolved(values, name, map(str, value if isinstance(value, list) else [value]))  # as they may become
    _, wrong = try_write(target, values, row.draft)
    path = row.values.get("path")
    if not wrong and row.has_id and path is not None and not _is_valid_path(path, row.values["id"]):
        wrong = [f"path: {path!r} can't be the path of {row.values['id']}: leave `path` out"]
    noted.refused += [f"{row.place}: {message}" for message in wrong]
    return not wrong


def _values_of(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.values.items() if name != "path" and value != []}


def _text(memory: Memory, row: Row) -> str:
    values = {name: value for name, value in _values_of(row).items() if name != "parent"}
    try:
        return "" if problems(values) else record_and_file(memory, values, row.draft)[1].text
    except (MemctlError, InvalidRecord):
        return ""


def _is_same(target: ImportTarget, row: Row, unlinked: str) -> bool:
    """The row's text counts with the links that other rows add to it, and as `unlinked`, without them."""
    assert row.record is not None
    text = target.snapshot.read(row.record.path)
    known = (text, record_form.to_slim(text, target.memory.config.project))
    return not {unlinked, _text(target.memory, row)}.isdisjoint(known)


def _write(memory: Memory, row: Row) -> Write:
    _, write = record_and_file(memory, _values_of(row), row.draft)
    path = row.values.get("path") if row.has_id else None
    return Write(str(path or write.path), write.text)


def _is_valid_path(path: Any, identifier: str) -> bool:
    expected = ids.path_of(identifier, "").removesuffix(".md")
    is_path = isinstance(path, str) and _PATH.fullmatch(path) is not None
    return is_path and path.startswith((f"{expected}.", f"{expected}-"))
