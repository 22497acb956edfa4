"""Parse a record's file, and check the values of its front matter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from operator import itemgetter
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.record import frontmatter, ids
from memctl.record.errors import FrontMatterError, InvalidRecord
from memctl.record.kinds import IMPORTANCE_BY_SEVERITY, KINDS, SEVERITIES
from memctl.record.record import FIELDS, LISTS, TIMES, TITLE, TITLE_LIMIT, Record
from memctl.text import timestamps
from memctl.text.lazy_regex import lazy_regex

_LINKS = ("supersedes", "superseded_by", "relates_to", "blocks", "blocked_by", "aliases")
# Line ends, other control characters, and characters that change the order in which text is shown.
CONTROL_CHARACTERS = lazy_regex("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_UUID = lazy_regex("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SECTION = lazy_regex(r"§[1-4](?:\.[\w./-]*\w)?")

_OPTIONAL = dict(zip(reversed(Record.__struct_fields__), reversed(Record.__struct_defaults__), strict=False))
_REQUIRED = tuple(name for name in FIELDS if _OPTIONAL.get(name, msgspec.NODEFAULT) is msgspec.NODEFAULT)
_DEFAULTS: dict[str, Any] = {**_OPTIONAL, **dict.fromkeys(_REQUIRED), **{name: [] for name in LISTS}}
_KEYS_OF = itemgetter(*FIELDS)
# What the slim form of a record leaves out (`record_form`); "" stands for the memory's own project.
DEFAULTS: dict[str, Any] = {"is_archived": False, "access_count": 0, "project_id": ""}
_ALLOWED = {
    "id": ids.ALLOWED,
    "memory_id": "a UUID in lower case",
    "memory_type": "one of " + ", ".join(KINDS),
    "title": f"a text of 1 to {TITLE_LIMIT} characters",
    "importance": "a whole number from 1 to 10",
    "severity": "one of " + ", ".join(SEVERITIES),
    "completion_percentage": "a whole number from 0 to 100",
    "section": "a section marker such as §2.1",
    "is_archived": "true or false",
    "access_count": "a whole number, 0 or more",
    "tags": "a list of texts without commas or control characters",
    "code_refs": "a list of paths inside the repository, such as src/auth.py or src/auth.py:10",
    **dict.fromkeys(TIMES, timestamps.ALLOWED),
    **dict.fromkeys(_LINKS, "a list of ids"),
}


@lru_cache(maxsize=8)  # the text of a new record is parsed three times
def parse(text: str, path: str) -> tuple[Record, str]:
    """Return the record in the text of a file, and the file's body; `path` is relative to `.memory/`.

    Raises InvalidRecord with every fault and its line.
    """
    text = frontmatter.clean(text)
    values, body = frontmatter.parse_frontmatter(text, path)
    record, wrong = _read(values, path)
    if record is None:
        from memctl.record.frontmatter_edit import invalid_record  # most files are valid

        raise invalid_record(text, path, wrong)
    return record, body


def parse_new(text: str, path: str, what: str) -> tuple[Record, str]:
    """Return the record in a text, and the text's body; raises MemctlError, which calls the text `what`, if invalid."""
    try:
        return parse(text, path)
    except InvalidRecord as error:
        raise MemctlError(f"{what} is not a valid record:\n{error}") from None


def is_slim(values: Mapping[str, Any]) -> bool:
    """Return whether the front matter of a record has the slim form."""
    return "memory_type" not in values


def derived(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that the front matter of a slim record does not write; {} if its id names no type."""
    kind = ids.kind_of(str(values.get("id")))
    if kind is None:
        return {}
    importance = IMPORTANCE_BY_SEVERITY.get(str(values.get("severity")), kind.importance)
    return {"memory_type": kind.name, "importance": importance, **DEFAULTS}


def assignee(value: Any) -> str | None:
    """Return the value of `assignee` as text: in format 1 it was a key of the user's own, such as a list."""
    return ", ".join(map(str, value if isinstance(value, list) else [value])) or None


def problems(values: Mapping[str, Any], path: str = "") -> list[tuple[str, str]]:
    """Return the errors in a record's front matter as pairs of a field and a message, in the order of the fields.

    `path` is that of the record's file below `.memory/`. If it is given, a file name that does not begin with the id is
    an error, too.
    """
    return _read(values, path)[1]


def _read(values: Mapping[str, Any], path: str) -> tuple[Record | None, list[tuple[str, str]]]:
    if None in values.values():
        values = {name: value for name, value in values.items() if value is not None}
    if is_slim(values):
        implied = derived(values)
        if not implied:  # nothing else says what type it has
            return None, [("id", disallowed(values["id"], ids.ALLOWED) if "id" in values else "is missing")]
        values = {**implied, **values}
    if "assignee" in values:
        values = {**values, "assignee": assignee(values["assignee"])}
    try:
        # The path is set last, since a file may have an unknown key called `path`.
        record = msgspec.convert((*_KEYS_OF({**_DEFAULTS, **values}), path), Record)
    except msgspec.ValidationError:
        if (plain := with_lists(values)) != values:
            return _read(plain, path)
        return None, wrong_types(values, Record, _REQUIRED, _ALLOWED)
    times, wrong_times = _canonical_times(record)
    wrong = [*_wrong_values(record, wrong_times), *_wrong_references(record), *_wrong_place(record, path)]
    if wrong:
        return None, wrong
    return msgspec.structs.replace(record, **times) if times else record, []


def with_lists(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with lists of texts where other programs write a text (`tags: a, b`), numbers or empty items."""
    plain = dict(values)
    for name in LISTS:
        value = plain.get(name)
        if isinstance(value, str):
            value = [value] if name == "code_refs" else value.split(",")
        if isinstance(value, list):
            texts = [str(item) if type(item) is int else item for item in value if item not in (None, "")]
            plain[name] = [item.strip() if isinstance(item, str) else item for item in texts]
    return plain


def _canonical_times(record: Record) -> tuple[dict[str, str], list[tuple[str, str]]]:
    other: dict[str, str] = {}
    wrong: list[tuple[str, str]] = []
    for name in TIMES:
        if (value := getattr(record, name)) is not None:
            try:
                canonical = timestamps.parse(value)
            except ValueError:
                wrong.append((name, disallowed(value, timestamps.ALLOWED)))
            else:
                other |= {name: canonical} if canonical != value else {}
    return other, wrong


def _wrong_values(record: Record, wrong_times: list[tuple[str, str]]) -> list[tuple[str, str]]:
    wrong: list[tuple[str, str]] = []
    statuses = KINDS[record.memory_type].statuses
    if record.status not in statuses:
        wrong.append(("status", disallowed(record.status, "one of " + ", ".join(statuses))))
    wrong += wrong_times
    if record.section is not None and not SECTION.fullmatch(record.section):
        wrong.append(("section", disallowed(record.section, _ALLOWED["section"])))
    if any(not tag.strip() or "," in tag or _has_control_characters(tag) for tag in record.tags):
        wrong.append(("tags", disallowed(record.tags, _ALLOWED["tags"])))
    for name in ("title", "agent_id", "project_id", "assignee"):
        if _has_control_characters(getattr(record, name) or ""):
            wrong.append((name, disallowed(getattr(record, name), "one line of text without control characters")))
    return wrong


def _has_control_characters(text: str) -> bool:
    return not text.isprintable() and CONTROL_CHARACTERS.search(text) is not None


def _wrong_references(record: Record) -> list[tuple[str, str]]:
    # Patterns are checked here, since msgspec would check them again for every record read from the cache.
    wrong: list[tuple[str, str]] = []
    for name in ("memory_id", "parent_memory_id"):
        if (value := getattr(record, name)) is not None and _UUID.fullmatch(value) is None:
            wrong.append((name, disallowed(value, _ALLOWED["memory_id"])))
    for name in _LINKS:
        for identifier in getattr(record, name):
            if ids.PATTERN.fullmatch(identifier) is None:
                wrong.append((name, disallowed(identifier, _ALLOWED[name])))
    wrong += [("code_refs", disallowed(ref, _ALLOWED["code_refs"])) for ref in record.code_refs if is_unsafe_path(ref)]
    return wrong


def _wrong_place(record: Record, path: str) -> list[tuple[str, str]]:
    kind = ids.kind_of(record.id)
    if kind is None:
        return [("id", disallowed(record.id, ids.ALLOWED))]
    if kind is not KINDS[record.memory_type]:
        return [("id", f"is {record.id}, but the id of a {record.memory_type} must begin with {record.kind.prefix}")]
    if path and ids.id_in_path(path) != record.id:
        return [
            ("id", f"is {record.id}, but the file's name is {path.rpartition('/')[2]}, which must begin with the id")
        ]
    return []


def refuse_transition(record: Record, status: str) -> None:
    """Raise MemctlError unless a record may get the status `status`, or has it already."""
    step, allowed = record.kind.step(record.status), record.kind.statuses
    if status not in allowed or step is None:
        raise MemctlError(f"status: {disallowed(status, 'one of ' + ', '.join(allowed))}")
    if status != record.status and status not in step.following:
        what = f"a record that is {record.status} can become {' or '.join(step.following)}"
        hint = what if step.following else f"the status {record.status} is final"
        raise MemctlError(f"{record.id} is {record.status} and can't become {status}", hint)


def is_unsafe_path(path: str) -> bool:
    """Return whether a path might lead out of the repository, or to another file, on some operating system.

    Such a path is empty, begins with `/` or `~`, has a `..`, a backslash, a drive letter or an unprintable character,
    or is in `.git`.
    """
    parts = path.split("/")
    return (
        not path.strip()
        or ".." in parts
        or path.startswith(("/", "~"))
        or parts[0].lower() == ".git"
        or "\\" in path
        or re.match("[A-Za-z]:[/\\\\]", path) is not None
        or not path.isprintable()
    )


def disallowed(value: object, allowed: str) -> str:
    """Return the message about a value that is not allowed, such as "'x' is not a whole number from 1 to 10".

    `allowed` describes the allowed values. A value of more than 60 characters is cut, and the message has its length.
    """
    shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    if len(shown) > 60:
        return f"{shown[:57] + '…'!r} ({len(shown):,} characters) is not {allowed}"
    return f"{shown!r} is not {allowed}"


def has_foreign_name(text: str, name: str) -> bool:
    """Return whether a record has the name `name` from another tool, such as `bd-xmf`, ignoring case.

    Such a name is the value of a front matter key that memctl does not know. `text` is the record's whole file; the
    result is False if it has no readable front matter.
    """
    try:
        values = frontmatter.read(text)[0]
    except FrontMatterError:
        return False
    foreign = [value for key, value in values.items() if key not in FIELDS]
    names = [str(each) for value in foreign for each in (value if isinstance(value, list) else [value])]
    return name.casefold() in map(str.casefold, names)


def wrong_types(
    values: Mapping[str, Any], form: type[msgspec.Struct], required: Iterable[str], allowed: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return the fields that are missing or have a value of the wrong type, as pairs of a field and a message.

    The right types are those of the struct `form`. `required` names the fields that must be there, and `allowed`
    describes the allowed values of each field for the messages.
    """
    wrong = [(name, "is missing") for name in required if values.get(name) is None]
    for field in msgspec.structs.fields(form):
        if (value := values.get(field.name)) is None or field.name == "path":
            continue
        try:
            msgspec.convert(value, field.type)
        except msgspec.ValidationError:
            what = allowed.get(field.name, "a text")
            if isinstance(value, (int, float)) and field.type in (str, str | None, TITLE):
                what += " (put numbers in quotes)"
            wrong.append((field.name, disallowed(value, what)))
    return wrong
