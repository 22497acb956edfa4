"""Records as JSON Lines: an object a line, with the front matter under its own names, `body` and `path`.

Keys that are not memctl's stand in an object `extra`. An export can be imported again: values and texts come back, the
comments and the order of keys of a hand-written front matter don't. An import takes less: `memory_type` and `title` are
enough, content fields may stand under the names of rules.md#records (`rationale`, …) instead of a `body`, and an
`author` is taken for who recorded it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.record import frontmatter, ids
from memctl.record.change import Change, Write
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import KINDS, OTHER_END, Kind
from memctl.record.parser import parse, problems
from memctl.record.record import ORDER, Record
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence as IdSequence
from memctl.text.markdown import one_line
from memctl.text.phrases import quantity
from memctl.write.create import Draft, complete, written

_PATH = re.compile(r"[a-z]+/\d{4}-\d\d/[A-Z]{3}-[\d-]{1,40}(?:-[a-z0-9]+)*\.md")
_SHOWN = 20  # problems to print; there may be thousands


def export_lines(snapshot: Snapshot, records: Iterable[Record]) -> Iterator[str]:
    """A line of JSON for each record, as its file has it."""
    for record in records:
        values, body = frontmatter.read(snapshot.read(record.path))
        known = {name: value for name, value in values.items() if name in ORDER}
        extra = {name: value for name, value in values.items() if name not in ORDER}
        line = {**known, **({"extra": extra} if extra else {}), "body": body, "path": record.path}
        yield msgspec.json.encode(line).decode()


def draft_of(values: dict[str, Any], kind: Kind | None = None) -> Draft:
    """The draft that a JSON object describes; raises MemctlError if it does not say of which type."""
    values = dict(values)
    name = values.pop("memory_type", kind.name if kind else None)
    if not isinstance(name, str) or name not in KINDS or (kind and name != kind.name):
        allowed = kind.name if kind else "one of " + ", ".join(KINDS)
        raise MemctlError(f"memory_type: found {name!r}, allowed is {allowed}")
    found = KINDS[name]
    content = values.pop("content", {})
    if not isinstance(content, dict):
        raise MemctlError("content: this must be an object with content fields")
    for field in found.fields:
        if field.name in values:
            content[field.name] = values.pop(field.name)
    body, extra = values.pop("body", ""), values.pop("extra", {})
    if isinstance(author := values.get("author"), str) and author.strip():
        values.setdefault("agent_id", one_line(author))
    if not isinstance(body, str) or not isinstance(extra, dict):
        raise MemctlError("body must be a text, and extra an object with keys that are not memctl's")
    return Draft(kind=found, values={**extra, **values}, content=_checked(found, content), body=body)


def _checked(kind: Kind, content: dict[str, Any]) -> dict[str, str | list[str]]:
    fields = {field.name: field for field in kind.fields}
    for name, value in content.items():
        if name not in fields:
            raise MemctlError(f"content: a {kind.name} has no field {name!r}", "it has " + ", ".join(fields))
        if fields[name].is_list and isinstance(value, str):
            content[name] = [value]
        elif not isinstance(value, list if fields[name].is_list else str) or any(not isinstance(v, str) for v in value):
            raise MemctlError(f"{name}: this must be {'a list of texts' if fields[name].is_list else 'a text'}")
    return content


def import_lines(memory: Memory, sequence: IdSequence, snapshot: Snapshot, lines: Iterable[str]) -> Change:
    """The Change that adds all records of JSON Lines; raises MemctlError, naming lines and fields, if any is wrong.

    A record that is there already with the same text is passed over.
    """
    drafts, wrong = _read(memory, lines)
    known = {record.id: record for record in snapshot.records}
    by_memory_id = {record.memory_id: record for record in snapshot.records}
    seen: dict[str, int] = {}
    allocate(sequence, [values for _, _, values in drafts if "id" not in values])
    writes: list[Write] = []
    for number, draft, values in drafts:
        identifier = values["id"]
        values.setdefault("memory_id", memory.new_memory_id(identifier, is_imported=True))
        path = values.pop("path", None)
        found = problems(values)
        if found or (path is not None and not _good_path(path, identifier)):
            wrong += [f"line {number}: {field}: {message}" for field, message in found]
            wrong += [] if found else [f"line {number}: path: found {path!r}, which is not where {identifier} can be"]
            continue
        repeated = next((name for name in (identifier, values["memory_id"]) if name in seen), None)
        if repeated:
            wrong.append(f"line {number}: {repeated} stands on line {seen[repeated]} already")
            continue
        seen[identifier] = seen[values["memory_id"]] = number
        _, write = written(memory, values, draft)
        write = Write(path or write.path, write.text)
        other = known.get(identifier) or by_memory_id.get(values["memory_id"])
        if other is None:
            wrong += _unreadable(write, number)
            writes.append(write)
        elif snapshot.read(other.path) != write.text:
            wrong.append(f"line {number}: there is a record {other.id} already, and it is not the same")
    wrong += _dangling(drafts, {*known, *seen, *(alias for record in snapshot.records for alias in record.aliases)})
    refuse(wrong, "mend the lines, or leave out `id` and `memory_id` to get new ones")
    title = quantity(len(writes), "record")
    identifiers = tuple(ids.id_in_path(write.path) or "" for write in writes)
    return Change(op="import", title=title, ids=identifiers, writes=tuple(writes))


def refuse(wrong: Sequence[str], hint: str) -> None:
    """Raise MemctlError for an import of which some lines are wrong."""
    if wrong:
        more = [f"… and {len(wrong) - _SHOWN:,} more"] if len(wrong) > _SHOWN else []
        raise MemctlError("nothing was imported:\n" + "\n".join([*wrong[:_SHOWN], *more]), hint)


def _dangling(drafts: Sequence[tuple[int, Draft, dict[str, Any]]], known: set[str]) -> list[str]:
    """The links that lead to no record, here or among those that come in."""
    return [
        f"line {number}: {name}: there is no record {target}"
        for number, _, values in drafts
        for name in OTHER_END
        for target in values.get(name) or ()
        if isinstance(target, str) and target not in known
    ]


def _read(memory: Memory, lines: Iterable[str]) -> tuple[list[tuple[int, Draft, dict[str, Any]]], list[str]]:
    drafts, wrong = [], []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            values = msgspec.json.decode(line)
            if not isinstance(values, dict):
                raise MemctlError("this is no JSON object")
            draft = draft_of(values)
            drafts.append((number, draft, complete(memory, draft)))
        except (msgspec.MsgspecError, MemctlError, RecursionError) as error:
            wrong.append(f"line {number}: {error}")
    return drafts, wrong


def allocate(sequence: IdSequence, without: Sequence[dict[str, Any]]) -> None:
    """Give ids to records that bring none, in their order, by type and day."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for values in without:
        groups.setdefault((values["memory_type"], values["timestamp"][:10]), []).append(values)
    for (name, day), members in groups.items():
        for values, identifier in zip(members, sequence.take(KINDS[name], day, len(members)), strict=True):
            values["id"] = identifier


def _good_path(path: Any, identifier: str) -> bool:
    expected = ids.path_of(identifier, "").removesuffix(".md")
    return (
        isinstance(path, str)
        and _PATH.fullmatch(path) is not None
        and path.startswith((f"{expected}.", f"{expected}-"))
    )


def _unreadable(write: Write, number: int) -> list[str]:
    try:
        parse(write.text, write.path)
    except InvalidRecord as error:
        return [f"line {number}: {fault.field or 'body'}: {fault.message}" for fault in error.faults]
    return []
