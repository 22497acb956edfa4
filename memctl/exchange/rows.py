"""Turn the items of an import, from any source, into rows (records to import), and collect the problems with them.

An item is a pair. Its first value is its place in the source, such as `line 3`. The second is the values of a record,
with the keys of JSON Lines, or a text that says why the item can't be read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.exchange.adr_text import moment_of
from memctl.record import ids
from memctl.record.kinds import KINDS, Kind
from memctl.record.record import BY_OPTION, FIELDS, SOURCE_ID, Record
from memctl.store.memory import Memory
from memctl.text.markdown import one_line
from memctl.text.phrases import quantity
from memctl.text.words import nearest
from memctl.write.create import Draft, complete_values

UNRESOLVED = "unresolved_links"  # the key of the front matter for links to records that were not imported
_KEYS = ("body", "path", "content", "extra", "author", "parent")  # keys of an object beside those of a front matter

_NO_OBJECT, _TOO_DEEP = "this is not a JSON object", "its values are nested too deep"

Item = tuple[str, dict[str, Any] | str]


class Row(msgspec.Struct):
    """A record to import.

    - `place`: its place in the source, such as `line 3`.
    - `draft`: its type, fields and text; `values`: its complete front matter.
    - `identity`: a text that is equal if the same record is imported again.
    - `has_id`: whether the source gave it an id of memctl's form.
    - `record`: the record of the memory that is the same one, None if it is new.
    """

    place: str
    draft: Draft
    values: dict[str, Any]
    identity: str
    has_id: bool = False
    record: Record | None = None


class Problems(msgspec.Struct):
    """Collects messages on the problems with the items of an import.

    `refused` has a message on each item that is left out, and `notes` has messages on what is altered. If `is_strict`,
    an item with a link that can't be kept is refused, too; otherwise the link is left out with a note.
    """

    is_strict: bool
    refused: list[str] = []
    notes: list[str] = []

    def add_link(self, text: str) -> None:
        """Add a message on a link that can't be kept: to `refused` if the import is strict, otherwise to `notes`."""
        if self.is_strict:
            self.refused.append(text)
        else:
            self.notes.append(f"{text}: the link is left out")


class UnknownValues:
    """Counts the values in items of another tool for which the import has no rule, to name them to the user."""

    def __init__(self) -> None:
        self._counts = Counter[tuple[str, str, str]]()
        self._fields = Counter[str]()
        self._notes: list[str] = []

    def replace(self, field: str, value: object, instead: str) -> str:
        """Count an unknown value of a field, and return `instead`, which is used in its place ("" to leave it out).

        An empty value is not counted.
        """
        if value not in (None, ""):
            self._counts[field, one_line(str(value)), instead] += 1
        return instead

    def note(self, text: str) -> None:
        """Keep a message on what is left out of the import."""
        self._notes.append(text)

    def leave_out(self, fields: Iterable[str]) -> None:
        """Count the fields of an item that a record has no place for."""
        self._fields.update(fields)

    def take_time(self, field: str, value: str | None) -> str:
        """Return the time with which a field's value begins, such as "2024-03-05T00:00:00Z"; "" if it begins with none.

        A value that does not begin with a time is counted as unknown, unless it is empty.
        """
        return moment_of((value or "").strip())[0] or self.replace(field, value, "")

    def notes(self) -> list[str]:
        """Return a message on each unknown value: its field, how many items have it, and what was used instead."""
        notes = [*self._notes]
        for (field, value, instead), count in self._counts.items():
            done = f"{instead} was used instead" if instead else "the value was left out"
            notes.append(f"{quantity(count, 'item')} with the unknown {field} {value!r}: {done}")
        notes += [
            f"{quantity(count, 'item')} with {one_line(field)!r}: a record has no place for this field, it was left out"
            for field, count in self._fields.items()
        ]
        return notes


def json_objects(text: str) -> Iterator[Item]:
    """Yield the JSON objects in a text as items: pairs of a place, such as `line 3` or `item 3`, and the object.

    The text is JSON Lines or one JSON value: an array, an answer of `memctl export --json`, or an object over several
    lines. For a line or element that is not an object, the item has a message instead of the object.
    """
    lines = text.split("\n")
    first = _decode(next((line for line in lines if line.strip()), ""))
    if not isinstance(first, dict) or _exported_records(first):
        whole = _decode(text)
        objects = _exported_records(whole)
        if objects is None:
            objects = [whole] if isinstance(whole, dict) else whole
        if isinstance(objects, list):
            for number, values in enumerate(objects, start=1):
                yield f"item {number}", values if isinstance(values, dict) else _NO_OBJECT
            return
    for number, line in enumerate(lines, start=1):
        if line.strip():
            values = _decode(line)
            reason = str(values) if isinstance(values, Exception) else _NO_OBJECT
            yield f"line {number}", values if isinstance(values, dict) else reason


def _exported_records(value: object) -> list[Any] | None:
    if isinstance(value, dict) and value.get("kind") == "export" and isinstance(data := value.get("data"), dict):
        return data.get("records") if isinstance(data.get("records"), list) else None
    return None


def _decode(text: str) -> Any:
    try:
        return msgspec.json.decode(text.encode())
    except UnicodeEncodeError:
        return ValueError("this is not UTF-8 text")
    except msgspec.MsgspecError as error:
        return error
    except RecursionError:
        return ValueError(_TOO_DEEP)


def rows(memory: Memory, items: Iterable[Item], problems: Problems) -> Iterator[Row]:
    """Yield a row (a record to import) for each item that can be read; `problems` gets a message on each other item."""
    for place, values in items:
        try:
            if isinstance(values, str):
                raise MemctlError(values)
            draft = draft_of(_with_source_id(values))
            has_id = draft.values.get("id") is not None
            yield Row(place, draft, complete_values(memory, draft), _identity(values), has_id=has_id)
        except (MemctlError, RecursionError) as error:
            problems.refused.append(f"{place}: {error if isinstance(error, MemctlError) else _TOO_DEEP}")


def draft_of(values: dict[str, Any], kind: Kind | None = None) -> Draft:
    """Return the draft (type, fields and text) of the record that a JSON object describes.

    Raises MemctlError if the type is missing or differs from `kind`, or if a field has a wrong name or value.
    """
    values = _by_key(values, kind) if kind else dict(values)
    _refuse_misspelt(values, kind)
    name = values.pop("memory_type", kind.name if kind else None)
    if not isinstance(name, str) or name not in KINDS or (kind and name != kind.name):
        allowed = kind.name if kind else "one of " + ", ".join(KINDS)
        raise MemctlError(f"memory_type is {name!r}; it must be {allowed}")
    named_kind = KINDS[name]
    content = values.pop("content", {})
    if not isinstance(content, dict):
        known = ", ".join(field.name for field in named_kind.fields)
        raise MemctlError(f"content must be an object with fields of {named_kind.plural}: {known}")
    for field in named_kind.fields:
        if field.name in values:
            content[field.name] = values.pop(field.name)
    body, extra = values.pop("body", ""), values.pop("extra", {})
    if isinstance(author := values.get("author"), str) and author.strip():
        values.setdefault("agent_id", one_line(author))
    if not isinstance(body, str) or not isinstance(extra, dict):
        raise MemctlError("body must be a string, and extra an object with keys of your own")
    return Draft(kind=named_kind, values={**extra, **values}, content=_check_content(named_kind, content), body=body)


def _by_key(values: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    names = BY_OPTION | {field.option.replace("-", "_"): field.name for field in kind.fields}
    by_key = dict(values)
    for option, name in names.items():
        if option in by_key and name not in by_key:
            by_key[name] = by_key.pop(option)
    return by_key


def _refuse_misspelt(values: Mapping[str, Any], kind: Kind | None) -> None:
    """Keys that are not memctl's are kept, but one that is nearly the name of a field is misspelt."""
    kind = kind or KINDS.get(str(values.get("memory_type")))
    known = (*FIELDS, *_KEYS, *(field.name for field in kind.fields if kind)) if kind else (*FIELDS, *_KEYS)
    for key in values:
        if key not in known and (near := nearest(key, known)):
            raise MemctlError(f"unknown field {key!r}; did you mean {near[0]}? (a key of your own goes into `extra`)")


def _check_content(kind: Kind, content: dict[str, Any]) -> dict[str, str | list[str]]:
    fields = {field.name: field for field in kind.fields}
    for name, value in content.items():
        if name not in fields:
            raise MemctlError(f"content: {kind.plural} have no field {name!r}", "their fields are " + ", ".join(fields))
        if fields[name].is_list and isinstance(value, str):
            content[name] = [value]
        elif not isinstance(value, list if fields[name].is_list else str) or any(not isinstance(v, str) for v in value):
            raise MemctlError(f"{name} must be {'a list of strings' if fields[name].is_list else 'a string'}")
    return content


def _with_source_id(values: dict[str, Any]) -> dict[str, Any]:
    for name in ("id", "memory_id"):
        if not isinstance(values.get(name, ""), str | int | None):
            raise MemctlError(f"{name} must be a string")
    identifier = values.get("id")
    if identifier is None or ids.PATTERN.fullmatch(str(identifier)):
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
