"""Records as JSON Lines: one object per line, with the keys of the front matter, `body` and `path`.

Keys that are not memctl's are in an object `extra`. An import restores all values and texts of an export, but not the
comments and the order of keys of a hand-written front matter. For an import `memory_type` and `title` are enough;
content fields may have the names of rules.md#records (`rationale`, …) instead of a `body`, and `author` may name who
recorded it. An `id` of another tool is kept as `source_id`, by which commands find the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.exchange.row_import import ImportResult, RowImport
from memctl.exchange.rows import SOURCE_ID, row
from memctl.record import frontmatter, ids
from memctl.record.kinds import KINDS, Kind
from memctl.record.record import ORDER, Record
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence as IdSequence
from memctl.text.markdown import one_line
from memctl.text.words import nearest
from memctl.write.create import Draft

_KEYS = ("body", "path", "content", "extra", "author", "parent")  # keys of an object beside those of a front matter


def export_lines(snapshot: Snapshot, records: Iterable[Record]) -> Iterator[str]:
    """Yield a line of JSON for each record, with the values of its file."""
    for record in records:
        values, body = frontmatter.read(snapshot.read(record.path))
        known = {name: value for name, value in values.items() if name in ORDER}
        extra = {name: value for name, value in values.items() if name not in ORDER}
        line = {**known, **({"extra": extra} if extra else {}), "body": body, "path": record.path}
        yield msgspec.json.encode(line).decode()


def draft_of(values: dict[str, Any], kind: Kind | None = None) -> Draft:
    """Return the draft of a record that a JSON object describes.

    Raises MemctlError if the type is missing or differs from `kind`, or if a field has a wrong name or value.
    """
    values = dict(values)
    _refuse_misspelt(values, kind)
    name = values.pop("memory_type", kind.name if kind else None)
    if not isinstance(name, str) or name not in KINDS or (kind and name != kind.name):
        allowed = kind.name if kind else "one of " + ", ".join(KINDS)
        raise MemctlError(f"memory_type is {name!r}; it must be {allowed}")
    found = KINDS[name]
    content = values.pop("content", {})
    if not isinstance(content, dict):
        known = ", ".join(field.name for field in found.fields)
        raise MemctlError(f"content must be an object with fields of {found.plural}: {known}")
    for field in found.fields:
        if field.name in values:
            content[field.name] = values.pop(field.name)
    body, extra = values.pop("body", ""), values.pop("extra", {})
    if isinstance(author := values.get("author"), str) and author.strip():
        values.setdefault("agent_id", one_line(author))
    if not isinstance(body, str) or not isinstance(extra, dict):
        raise MemctlError("body must be a string, and extra an object with keys that are not memctl's")
    return Draft(kind=found, values={**extra, **values}, content=_checked(found, content), body=body)


def _refuse_misspelt(values: Mapping[str, Any], kind: Kind | None) -> None:
    """Raise MemctlError for a key that is nearly the name of a field. Other keys that are not memctl's are kept."""
    kind = kind or KINDS.get(str(values.get("memory_type")))
    known = (*ORDER, *_KEYS, *(field.name for field in kind.fields if kind)) if kind else (*ORDER, *_KEYS)
    for key in values:
        if key not in known and (near := nearest(key, known)):
            raise MemctlError(f"unknown field {key!r}; did you mean {near[0]}? (a key of your own goes into `extra`)")


def _checked(kind: Kind, content: dict[str, Any]) -> dict[str, str | list[str]]:
    fields = {field.name: field for field in kind.fields}
    for name, value in content.items():
        if name not in fields:
            raise MemctlError(f"content: {kind.plural} have no field {name!r}", "their fields are " + ", ".join(fields))
        if fields[name].is_list and isinstance(value, str):
            content[name] = [value]
        elif not isinstance(value, list if fields[name].is_list else str) or any(not isinstance(v, str) for v in value):
            raise MemctlError(f"{name} must be {'a list of strings' if fields[name].is_list else 'a string'}")
    return content


def import_lines(memory: Memory, sequence: IdSequence, snapshot: Snapshot, lines: Iterable[str]) -> ImportResult:
    """Return the result of adding all records of JSON Lines.

    A line is skipped if the memory has its record already. With an id of memctl's, that is a record with this id, which
    must have the same text; otherwise one that has the same memory_id or `source_id`, or was imported from an equal
    line. Raises MemctlError, naming lines and fields, if any line is wrong.
    """
    rows, wrong = [], []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            values = msgspec.json.decode(line)
            if not isinstance(values, dict):
                raise MemctlError("this is not a JSON object")
            identity = _identity(values)
            rows.append(row(memory, f"line {number}", draft_of(_with_source_id(values)), identity))
        except (msgspec.MsgspecError, MemctlError, RecursionError) as error:
            wrong.append(f"line {number}: {error}")
    coming = RowImport(memory, snapshot, rows)
    coming.problems.wrong[:0] = wrong
    return coming.add(sequence)


def _with_source_id(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a line with an `id` of another tool moved to `source_id`."""
    identifier = values.get("id")
    if not isinstance(identifier, str | int) or ids.PATTERN.fullmatch(str(identifier)):
        return values
    rest = {name: value for name, value in values.items() if name != "id"}
    extra = rest.get("extra")
    return {**rest, "extra": {**(extra if isinstance(extra, dict) else {}), SOURCE_ID: str(identifier)}}


def _identity(values: dict[str, Any]) -> str:
    """Return a text that is equal whenever the same record is imported again: its id, or else all its values."""
    extra = values.get("extra")
    identifier = values.get("id") or (extra.get(SOURCE_ID) if isinstance(extra, dict) else None)
    if identifier is not None:
        return f"id\0{identifier}"
    return "line\0" + msgspec.json.encode(values, order="sorted").decode()
