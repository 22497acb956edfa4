"""Read records from Markdown as people write it: a filled template, or any text with labels such as `Rationale:`.

If the headings of a text are those of a record, the text is taken as it is. From any other text the fields are read;
what belongs to no field stays in the record's text, and a note names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.exchange import adr_status, rows
from memctl.exchange.row_import import ImportResult, ImportTarget, import_items
from memctl.record import content_fields, ids
from memctl.record.kinds import DECISION, KINDS, Kind
from memctl.record.record import FIELDS, SOURCE_ID
from memctl.record.snapshot import Snapshot
from memctl.statements import labels, reader
from memctl.statements.lines import role_of
from memctl.statements.records import RecordValues, as_record
from memctl.statements.statement import Statement, Unread
from memctl.text import headings, timestamps
from memctl.text.lazy_regex import lazy_regex
from memctl.text.phrases import indefinite, some
from memctl.text.similarity import comparable
from memctl.write.create import TASK_ID, Draft

_SHOWN = 5  # places to name in one note
# Label -> relation; `relates_to` replaces `supersedes` for types that are not superseded.
_RELATIONS = {
    "supersedes": "supersedes", "superseded by": "superseded_by", "blocks": "blocks", "blocked by": "blocked_by",
    "depends on": "blocked_by", "parent": "parent", "part of": "parent", "related": "relates_to",
    "related to": "relates_to", "relates to": "relates_to", "see also": "relates_to",
}  # fmt: skip
_LINK = lazy_regex(rf"(?i)[\s*_#>-]*({'|'.join(_RELATIONS)})[*_]*:[*_]*\s(.+)")
_JSON = lazy_regex(  # the beginning of JSON, or of nothing; `[1](…)` is Markdown
    r'\s*(?:\Z|\{|\[\s*(?:\Z|[\[{\]]|(?:-?[0-9][0-9.eE+-]*|"[^"\n]*")\s*(?:,|\Z)))'
)
_SURROGATES = lazy_regex("[\ud800-\udfff]")  # bytes that are not UTF-8, as `read` decodes them
_NAME = lazy_regex(rf"[A-Za-z][A-Za-z0-9]*-\d+(?:-\d+)*(?:-{ids.TAG}-\d+)?")  # DEC-7, BUG-12, DEC-2025-11-04-001
_UNUSED = {labels.NUMBER: "the id (memctl assigns its own)"}


def draft_of(text: str, kind: Kind, values: Mapping[str, Any]) -> tuple[Draft, list[str]]:
    """Return the draft (type, fields and text) of the record that a text states, and notes on what was not understood.

    `kind` is the record's type. `values` are fields of a front matter, which are preferred to what the text says.
    """
    own, unread, others = reader.read_record(text, kind.name)
    record = as_record(own) if own else None
    title, body = headings.take_title(text) if "title" not in values else ("", text)
    in_form = content_fields.content(kind, body)
    is_labelled = own is not None and bool(role_of(own.source.split("\n")[0]))
    if own is None or record is None or not (is_labelled or own.values or set(own.content) - set(in_form)):
        notes = [f"{indefinite(kind.name)} has no field for {names}"] if (names := _headings(unread)) else []
        notes += _hint_of_other_type(others, kind) if not title and "title" not in values else []
        fields = {**({"title": title} if title else {}), **values, "body": body}
        draft, more = draft_of_values(fields, kind)
        return draft, [*notes, *more]
    taken, notes = _accept(record, kind)
    lines = text.split("\n")
    other_lines = (Unread(other.line, other.end) for other in others if not own.line <= other.line <= own.end)
    rest = sorted((*unread, *other_lines), key=lambda part: part.line)
    left = "\n\n".join("\n".join(lines[part.line - 1 : part.end]).strip("\n") for part in _merge_adjacent(rest, lines))
    if places := _places(unread, lines):
        notes.append(f"memctl knows no field for {places}: what is written there stays in the record's text")
    stays = "which stays in the record's text: `memctl import` adds several records"
    notes += [f"line {part.line} begins another {part.kind}, {stays}" for part in others[:_SHOWN]]
    fields = {"title": record.title, **taken, **values, "content": dict(record.content), "body": left}
    draft, more = draft_of_values(fields, kind)
    return draft, [*notes, *more]


def _accept(values: RecordValues, kind: Kind) -> tuple[dict[str, Any], list[str]]:
    accepted: dict[str, Any] = dict(values.values)
    notes = [f"this value of the file is not imported: {_UNUSED.get(name, name)}" for name in values.untaken]
    moment = accepted.get(labels.MOMENT)
    if moment is not None and not timestamps.is_moment(str(moment)):
        notes.append(f"the time {accepted.pop(labels.MOMENT)!r} is not valid, and is left out")
    if kind is not DECISION and "status" in accepted and accepted["status"] not in kind.statuses:
        known = ", ".join(kind.statuses)
        notes.append(f"the status {accepted.pop('status')!r} is unknown, and is left out; a status is one of {known}")
    return accepted, notes


def draft_of_values(values: Mapping[str, Any], kind: Kind) -> tuple[Draft, list[str]]:
    """Return the Draft of one record for the keys of a JSON object or a front matter, and notes on unknown keys.

    A Draft has the type, fields and text of a record to write; its type is `kind`. Each note names keys for which the
    record has no field. Raises MemctlError for a misspelt field and for a wrong value.
    """
    values, notes = _with_status(values, kind)
    draft = rows.draft_of(values, kind)
    own = (*FIELDS, "author", TASK_ID, SOURCE_ID, rows.UNRESOLVED)
    for name in values.keys() & draft.values.keys():
        others = [kind for kind in KINDS.values() if name in {*kind.defaults, *(field.name for field in kind.fields)}]
        if name not in own or (others and kind not in others):
            whose = f" (only {' and '.join(indefinite(other.name) for other in others)} has it)" if others else ""
            what = "the value is left out" if name in FIELDS else "the value is kept under a key of your own"
            notes.append(f"{indefinite(kind.name)} has no field {name!r}{whose}: {what}")
            if name in FIELDS:
                del draft.values[name]
    return draft, sorted(notes)


def _with_status(values: Mapping[str, Any], kind: Kind) -> tuple[dict[str, Any], list[str]]:
    stated = values.get("status")
    if kind is not DECISION or not isinstance(stated, str) or stated in kind.statuses:
        return dict(values), []
    status, is_known = adr_status.status_of(stated)
    notes = [] if is_known else [f"unknown status {stated!r}; recorded as {status}"]
    return {**values, "status": status}, notes


def _hint_of_other_type(others: Iterable[Statement], kind: Kind) -> list[str]:
    for other in (KINDS[statement.kind] for statement in others if statement.kind in KINDS):
        if other is not kind:
            return [f"the text reads like {indefinite(other.name)}, which `memctl {other.verb} --file` records"]
    return []


def _headings(unread: Iterable[Unread]) -> str:
    return "; ".join([_describe(part) for part in unread if part.name and not _is_field(part)][:_SHOWN])


def _is_field(part: Unread) -> bool:
    """The record's text has what is below such a heading, so nothing is lost."""
    return bool(part.name) and part.name.casefold() == part.nearest.casefold()


def _describe(part: Unread) -> str:
    return f"{part.name!r} (line {part.line}{f'; did you mean {part.nearest}?' if part.nearest else ''})"


def _merge_adjacent(unread: Iterable[Unread], lines: list[str]) -> Iterator[Unread]:
    last: Unread | None = None
    for part in unread:
        if last and not any(line.strip() for line in lines[last.end : part.line - 1]):
            last = msgspec.structs.replace(last, end=max(last.end, part.end))
            continue
        if last:
            yield last
        last = part
    if last:
        yield last


def _places(unread: Iterable[Unread], lines: list[str]) -> str:
    places = [
        _describe(part) if part.name else f"line{'s' if part.end > part.line else ''} {part.line}"
        + (f" to {part.end}" if part.end > part.line else "")
        for part in _merge_adjacent(unread, lines) if not _is_field(part)
    ]  # fmt: skip
    return some(places, _SHOWN, "; ")


def is_markdown(source: str, text: str) -> bool:
    """Return whether a text to import is Markdown and not JSON Lines.

    The name of its file (`source`) decides; if the name says nothing, the first character of `text` does.
    """
    if source.lower().endswith((".md", ".markdown")):
        return True
    return not source.lower().endswith((".json", ".jsonl")) and not _JSON.match(text)


def import_text(target: ImportTarget, text: str, source: str) -> ImportResult:
    """Read all records that a text states under labels, such as `Decision:`; return the Change that adds them.

    The result also has messages on what the Change leaves out. `source` is the name of the text's file. A statement is
    skipped if a record of its type and title exists. Raises MemctlError if no statement has a label.
    """
    if not text.isascii() and _SURROGATES.search(text):
        raise MemctlError(f"{source} is not UTF-8 text", "save it as UTF-8")
    statements = [(statement, content) for statement in reader.read(text) if (content := as_record(statement))]
    if not statements:
        raise MemctlError(
            f"{source} has no labelled text that could be a record",
            "labels are `## DECISION: …`, `BUG-12: …`, `Lesson: …`; `memctl learn TITLE --file FILE` records the "
            "whole text",
            USAGE,
        )
    known = {(record.memory_type, comparable(record.title)): record.id for record in target.snapshot.records}
    links = _Links(target.snapshot, text, statements)
    items: list[rows.Item] = []
    notes: list[str] = []
    again: list[str] = []
    for statement, content in statements:
        if identifier := known.get((content.type, comparable(content.title))):
            again.append(identifier)
            continue
        values, untaken = _accept(content, KINDS[content.type])
        notes += [f"line {statement.line}: {note}" for note in untaken]
        notes += [
            f"{indefinite(content.type)} has no field for {_describe(more)}"
            for more in statement.more
            if more.name and content.type == statement.kind and more.line not in links.lines
        ]
        fields = {"memory_type": content.type, "title": content.title, **values, "content": dict(content.content)}
        fields, unknown = _with_status(fields | links.of(statement, content), KINDS[content.type])
        notes += [f"line {statement.line}: {note}" for note in unknown]
        items.append((f"line {statement.line}", fields))
    taken = {number for statement, _ in statements for number in range(statement.line, statement.end + 1)} | links.lines
    rest = [number for number, line in enumerate(text.split("\n"), start=1) if line.strip() and number not in taken]
    if rest:
        several = len(rest) > 1
        which = f"{len(rest):,} lines, from line {rest[0]} on, are" if several else f"line {rest[0]} is"
        notes.append(f"{which} not imported: no label such as `DECISION:` is above {'them' if several else 'it'}")
    imported = import_items(target, items, "correct these lines", known=again)
    noted = [f"{source}: {note}" for note in (*notes, *links.notes, *imported.notes)]
    refused = [f"{source}: {message}" for message in imported.refused]
    return msgspec.structs.replace(imported, notes=noted, refused=refused)


class _Links:
    """Links between statements of a text, by the numbers that titles begin with: `Blocked by: BUG-9` below `BUG-12: …`.

    A number that two statements have, or that an existing record has, links nothing.
    """

    def __init__(self, snapshot: Snapshot, text: str, made: list[tuple[Statement, RecordValues]]) -> None:
        self._snapshot = snapshot
        numbers = list(filter(None, (_number(numbers) for _, numbers in made)))
        self._own = {name for name in numbers if numbers.count(name) == 1 and not snapshot.with_foreign_name(name)}
        self._taken = set(numbers) - self._own
        self._found: dict[int, list[tuple[int, str, str]]] = {}  # line, relation and names, by a statement's line
        self.notes: list[str] = []
        starts = [statement.line for statement, _ in made]
        for number, line in enumerate(text.split("\n"), start=1):
            match = _LINK.fullmatch(line.rstrip())
            if match and _NAME.search(match[2]) and number > starts[0]:
                start = max(line for line in starts if line <= number)
                self._found.setdefault(start, []).append((number, _RELATIONS[match[1].lower()], match[2]))

    @property
    def lines(self) -> set[int]:
        return {number for spans in self._found.values() for number, *_ in spans}

    def of(self, statement: Statement, found: RecordValues) -> dict[str, Any]:
        number = _number(found)
        values: dict[str, Any] = {"extra": {SOURCE_ID: number}} if number in self._own else {}
        for line, relation, text in self._found.get(statement.line, ()):
            if relation.startswith("supersede") and "superseded" not in KINDS[found.type].statuses:
                relation = "relates_to"
            names = _NAME.findall(text)
            referenced = [name for name in names if name != number and self._is_there(name)]
            if missing := [name for name in names if name not in referenced]:
                why = "no record or more than one has this name"
                self.notes.append(f"line {line}: no link to {', '.join(missing)}: {why}")
            if relation == "parent":
                values |= {"parent": referenced[0]} if referenced else {}
            elif referenced:
                values[relation] = [*values.get(relation, ()), *referenced]
        return values

    def _is_there(self, name: str) -> bool:
        if name in self._own or self._snapshot.find(name):
            return True
        return name not in self._taken and len(self._snapshot.with_foreign_name(name)) == 1


def _number(values: RecordValues) -> str:
    match = _NAME.match(values.title)
    return match[0] if match and not ids.PATTERN.fullmatch(match[0]) else ""
