"""Read what a text states under labels, as kinds and fields of records, with the numbers of the lines.

A label is at the beginning of a line, with or without marks such as bullets before it. A text under a label ends where
the next label begins. A statement under a label is certain: its author has named its kind. Statements in sentences
without labels are read by the modules `sentences` and `dialogue`.

Where a list under a label ends: before an item that is not indented further than the label, and at an empty line with
ordinary text after it. Where a statement ends: where the next statement begins, or at a line that belongs to none of
its fields. If a statement's own label is a heading, the statement reaches to the next heading of this level; but if
that heading names a field of the statement, the statement goes on.
"""

from __future__ import annotations

from functools import lru_cache

from memctl.statements import labels
from memctl.statements.labels import CHANGE, DECISION, FIELDS, OF_STATE, OPENERS, OWN, STATE, TASK, VALUES, VERDICT
from memctl.statements.lines import DONE, Label, Line, label_of, lines_of, parse, parts_of
from memctl.statements.passage import Passage
from memctl.statements.records import RECORD_TYPES
from memctl.statements.statement import (
    OpenStatement,
    Statement,
    Unread,
    nearest_label,
    statements_of,
    verdict_of,
    with_parts,
)
from memctl.text.lazy_regex import lazy_regex

_LONGEST_STATUS = 4  # words of the status of a decision
_PATH = lazy_regex(r"`?[\w.@~+-]*(?:[/\\][\w.@~+ -]*)*[\w@~+-]\.\w{1,10}`?(?::\d+)?|`?(?:[\w.@~+-]+/)+[\w.@~+-]*`?")


@lru_cache(maxsize=1024)  # each turn of a loop, and each reduction that is tried, has the messages of the one before
def read(text: str) -> tuple[Statement, ...]:
    """Return the statements that a text makes under labels, in the order of the text."""
    return tuple(_Reader(text).statements())


def read_record(text: str, kind: str) -> tuple[Statement | None, list[Unread], list[Statement]]:
    """Read a text that describes one record of a `kind`, such as "decision".

    Returns the statement for the record (None if the text has none), the lines that belong to no statement, and the
    other statements. The record's title is a heading of level 1 without a label, or the text behind the first label of
    the kind.
    """
    reader = _Reader(text, kind)
    stated = reader.statements()
    own = next((statement for statement in stated if RECORD_TYPES.get(statement.kind, statement.kind) == kind), None)
    others = [statement for statement in stated if statement is not own]
    if own and kind == STATE:
        parts = [statement for statement in others if statement.kind == STATE and not statement.title]
        own = with_parts(own, parts)
        others = [statement for statement in others if statement not in parts]
    taken = set[int]()
    for statement in stated:
        taken.update(range(statement.line, statement.end + 1))
    unread = list(own.more) if own else []
    unread += [
        Unread(number, number, *_unknown_heading(line, kind))
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip() and number not in taken
    ]
    return own, sorted(unread, key=lambda passage: passage.line), others


def _unknown_heading(line: str, kind: str) -> tuple[str, str]:
    heading_label = parse(1, line)
    return (heading_label.text, nearest_label(heading_label.text, kind)) if heading_label.level else ("", "")


class _Reader:
    """Reads the statements of one text, line by line."""

    def __init__(self, text: str, kind: str = "") -> None:
        self._raw = text.split("\n")
        self._lines = lines_of(text)
        self._kind = kind
        self._open: OpenStatement | None = None
        self._field: Passage | None = None
        self._gap = False
        self._found: list[Statement] = []

    def statements(self) -> list[Statement]:
        for line in self._lines:
            if line.is_code:
                self._take_code(line)
            elif line.is_empty:
                self._gap = True
                if self._field is not None:
                    self._field.has_gap = True
            else:
                for part, certainty in parts_of(line):
                    self._take(part, certainty)
        self._close()
        return self._found

    def _take_code(self, line: Line) -> None:
        """Add a line of code to the section that it is in; outside of a section code ends the statement."""
        if self._field is not None and self._field.is_section and self._open is not None:
            self._field.add_text(line, line.raw)
            self._open.last = line.number
        else:
            self._close()

    def _take(self, line: Line, certainty: float) -> None:
        if line.is_empty:
            self._close_field()
            return
        label = label_of(line)
        field = self._field
        if self._kind and self._open is None and line.level == 1 and not (label and label.role):
            self._start(self._kind, Label(line.text, "", line.text, is_marked=True), line, certainty)
        elif label and label.role and self._take_label(label, line, certainty):
            pass
        elif line.level:
            self._take_heading(line)
        elif line.box and self._open is not None and self._open.kind == STATE and self._takes_box():
            (self._open.done if line.box == DONE else self._open.left).append(line.text)
            self._open.last = line.number
        elif label and self._open is not None and self._takes_unknown(self._open, line):
            self._take_unknown(self._open, label, line)
        elif line.is_item or line.moment:
            if field is not None and field.takes_item(line):
                field.add_item(line)
                self._extend(line)
            else:
                self._close()
        elif field is not None and field.takes_text(line):
            field.add_text(line)
            self._extend(line)
        elif field is not None and field.is_section:
            self._close_field()
        else:
            self._close()
        self._gap = False

    def _takes_unknown(self, statement: OpenStatement, line: Line) -> bool:
        """Return whether an unknown label belongs to the open statement."""
        is_beside = statement.column == line.column if line.is_item else not (self._field and self._field.is_section)
        return is_beside and not self._gap

    def _extend(self, line: Line) -> None:
        if self._open is not None:
            self._open.last = line.number

    def _takes_box(self) -> bool:
        """Return whether items with boxes are steps of the task, and not items of another field."""
        field = self._field
        return field is None or field.label.role in (TASK, labels.PROGRESS, labels.STATUS) or not field.is_below

    def _take_heading(self, line: Line) -> None:
        """Let a heading without a role end the statement, or only the field if the heading is below the statement's."""
        open_statement = self._open
        if open_statement is not None and open_statement.level and line.level > open_statement.level:
            self._take_unknown(open_statement, Label(line.text, "", "", is_marked=True), line)
        else:
            self._close()

    def _take_unknown(self, statement: OpenStatement, label: Label, line: Line) -> None:
        self._field = Passage(label, line, is_section=line.level > 0)
        statement.more.append(self._field)
        statement.last = line.number

    def _take_label(self, label: Label, line: Line, certainty: float) -> bool:
        """Take a known label: as a field of the open statement, or as the beginning of another."""
        open_statement = self._open
        if open_statement is not None and (name := self._field_of(open_statement, label, line)):
            self._close_field()
            is_section = line.level > 0 or (open_statement.level > 0 and label.is_marked)
            self._field = Passage(label, line, is_section=is_section)
            open_statement.fields.append((name, self._field))
            open_statement.last = line.number
            return True
        kind = _kind_of(label)
        if not kind:
            return False
        self._close()
        self._start(kind, label, line, certainty)
        return True

    def _field_of(self, statement: OpenStatement, label: Label, line: Line) -> str:
        """Return the field of the open statement that a label means here, "" if it means none."""
        is_other = label.role in OPENERS and label.role != statement.kind and self._gap
        if line.level and statement.level and line.level < statement.level + is_other:
            return ""
        if statement.kind == DECISION and label.role == labels.STATUS and len(label.rest.split()) > _LONGEST_STATUS:
            return ""  # of the work
        name = FIELDS.get(statement.kind, {}).get(label.role) or (label.role if label.role in VALUES else "")
        if not name:
            return ""
        if label.role == statement.kind or (statement.kind == STATE and label.role == TASK):
            # A second label of the kind is the statement itself where the first was a heading with the title.
            is_list = statement.label.name.lower().endswith("s")  # "Decisions" names what follows
            is_itself = (
                statement.level > 0 and statement.title is not None and not statement.has(name) and not label.number
            )
            is_itself = is_itself and not (is_list and label.rest)
            return name if is_itself and (not label.rest or line.level != statement.level) else ""
        is_near = not self._gap or statement.level > 0
        if not is_near and label.role not in OWN.get(statement.kind, ()):
            return ""
        if label.role in OF_STATE and statement.kind == STATE and statement.has(name) and label.role != labels.STATUS:
            return ""
        return name

    def _start(self, kind: str, label: Label, line: Line, certainty: float) -> None:
        statement = self._open = OpenStatement(kind, label, line, certainty)
        self._field = Passage(label, line, is_section=line.level > 0)
        if kind == STATE and label.role and label.role != TASK:
            statement.fields.append((FIELDS[STATE][label.role], self._field))
        else:
            statement.title = self._field

    def _close_field(self) -> None:
        self._field = None

    def _close(self) -> None:
        statement, self._open, self._field = self._open, None, None
        if statement is not None:
            self._found += statements_of(statement, self._raw)


def _kind_of(label: Label) -> str:
    """Return the kind of statement that a label begins, "" if it begins none."""
    if label.role in (DECISION, VERDICT, labels.STATUS) and verdict_of(label.rest):
        return VERDICT
    if label.role == CHANGE and not _names_file(label):
        return ""
    if label.role in OF_STATE:
        return STATE
    return label.role if label.role in OPENERS else ""


def _names_file(label: Label) -> bool:
    """Return whether a label of changes has a file behind it, or files below it."""
    if not label.rest:
        return "file" in label.name.lower()
    return _PATH.match(label.rest.split(" ")[0].rstrip(",;")) is not None
