"""Statements under labels: decisions, issues, tasks and others, made from the text below each label."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from memctl.statements import completion, labels, sentences, units
from memctl.statements.labels import CHANGE, DECISION, DETAIL, FIELDS, ISSUE, LISTS, STATE, TASK, VALUES
from memctl.statements.lines import LABELLED, Label, Line
from memctl.statements.passage import Part, Passage, plain
from memctl.text.lazy_regex import lazy_regex
from memctl.text.words import nearest

Values = dict[str, str | int | tuple[str, ...]]
Content = dict[str, str | tuple[str, ...]]
_VERDICT = lazy_regex(r"[*_`\"]*(?:(PROCEED|STOP|CLARIFY)\b|((?i:proceed|stop|clarify))(?=[*_`\".,;:!]|$))")
_BLOCKED = lazy_regex(r"\[(?i:blocked):? ([^\[\]]+)\]")
_REFERENCE = lazy_regex(r" \[(DEC-\d[\w-]+)\]$")
_IMPORTANCE = lazy_regex(r"(10|[1-9])(?: ?/ ?10)?")
_ON_HOLD = "on hold"  # the one status of two words, of MADR
_SEVERITIES = ("critical", "high", "medium", "low")
_WHY = lazy_regex(r"[ \t]+(?:[\u2014\u2013]|--?)[ \t]+")


class Unread(msgspec.Struct, frozen=True):
    """Lines of a text that belong to no statement; `line` is the number of the first one, and `end` of the last one.

    If the first line is a label or heading, `name` has its words, and `nearest` is the known label that is most similar
    to them ("" if none is similar).
    """

    line: int
    end: int
    name: str = ""
    nearest: str = ""


class Statement(msgspec.Struct, frozen=True):
    """One statement of a text: its kind (a constant of `labels`), its title, and its values and content by field name.

    `line` and `end` are the numbers of its first and last line, and `source` is the text of its lines. `certainty` says
    from 0 to 1 how sure it is that the text states this. `more` are its lines under unknown labels, which belong to no
    field.
    """

    kind: str
    title: str
    line: int
    end: int
    source: str
    values: Mapping[str, str | int | tuple[str, ...]] = {}
    content: Mapping[str, str | tuple[str, ...]] = {}
    more: tuple[Unread, ...] = ()
    certainty: float = LABELLED

    def text(self, name: str) -> str:
        """Return the content field `name` as one text, "" if the field is missing."""
        value = self.content.get(name, "")
        return value if isinstance(value, str) else "\n".join(value)

    def items(self, name: str) -> tuple[str, ...]:
        """Return the content field `name` as a tuple of items, () if the field is missing."""
        values = self.content.get(name, ())
        return (values,) if isinstance(values, str) and values else tuple(values)


def with_parts(whole: Statement, parts: Iterable[Statement]) -> Statement:
    """Return the statement `whole` with values and content fields of `parts` added to it.

    Only what `whole` does not have is added. If several parts have a value or field that `whole` lacks, it is taken
    from the first of these parts. The lines under unknown labels (`more`) of all parts are added.
    """
    values, content = dict(whole.values), dict(whole.content)
    for part in parts:
        values = {**part.values, **values}
        content = {**part.content, **content}
    return msgspec.structs.replace(
        whole, values=values, content=content, more=(*whole.more, *(more for part in parts for more in part.more))
    )


class OpenStatement:
    """A statement whose lines are still being read: its kind, label and title, and its fields so far.

    `line` is the number of the line with the label. `certainty` says from 0 to 1 how sure it is that the text states
    this. `done` and `left` are the steps of a task with ticked and with empty check boxes.
    """

    def __init__(self, kind: str, label: Label, line: Line, certainty: float) -> None:
        self.kind = kind
        self.label = label
        self.level = line.level
        self.column = line.column if line.is_item else -1
        self.moment = line.moment
        self.line = self.last = line.number
        self.certainty = certainty
        self.title: Passage | None = None
        self.fields: list[tuple[str, Passage]] = []
        self.done: list[str] = []
        self.left: list[str] = []
        self.more: list[Passage] = []  # the text under unknown labels

    def has(self, name: str) -> bool:
        """Return whether the statement has a text for the field `name` so far."""
        return any(own == name for own, _ in self.fields)


def statements_of(opened: OpenStatement, raw: Sequence[str]) -> Iterator[Statement]:
    """Yield the finished statements that an open statement makes, once its last line has been read.

    Mostly it is one statement. If the label of `opened` stands above a list, each list item makes a statement. `raw`
    are all lines of the text; each statement gets the lines that it was read from as its `source`.
    """
    title = opened.title
    source = "\n".join(raw[opened.line - 1 : opened.last]).strip("\n")
    if title is None:
        yield from _statement(opened, "", opened.fields, source)
    elif title.is_below and title.has_items and not opened.fields:
        for part in title.parts:
            if part.is_item:
                opened.line = part.number
                yield from _statement(opened, plain("\n".join(part.lines)), [], source)
    else:
        words, below = _title_and_text(title)
        fields = list(opened.fields)
        if below.parts:
            name = FIELDS.get(opened.kind, {}).get(_OWN_ROLE.get(opened.kind, ""), "")
            if name and not opened.has(name) and opened.label.role:
                fields.insert(0, (name, below))
            else:
                opened.more.append(below)
        yield from _statement(opened, plain(words), fields, source)


def _title_and_text(title: Passage) -> tuple[str, Passage]:
    """Return the title of a statement and the rest of the text under its label (all of it below a heading)."""
    below = Passage(Label("", "", ""), Line(title.line, ""), is_section=True)
    below.last = title.last
    first, *rest = title.parts or [Part(False, [""], title.line)]
    words = first.lines
    if title.is_section and not title.is_below and len(words) > 1:
        words, rest = words[:1], [Part(False, words[1:], first.number + 1), *rest]
    below.parts = rest
    below.line = rest[0].number if rest else title.line
    return "\n".join(words), below


_OWN_ROLE = {DECISION: DECISION, ISSUE: labels.DESCRIPTION, STATE: TASK, labels.LEARNING: labels.LEARNING,
             DETAIL: labels.DESCRIPTION, CHANGE: labels.CHANGES}  # fmt: skip


def _statement(
    opened: OpenStatement, words: str, fields: Iterable[tuple[str, Passage]], source: str
) -> Iterator[Statement]:
    """Yield the finished statement of an open one, nothing if it has neither title nor content."""
    values_by_label = {
        labels.MOMENT: opened.moment,
        labels.SEVERITY: opened.label.severity,
        labels.NUMBER: opened.label.number,
    }
    values: Values = {name: value for name, value in values_by_label.items() if value}
    title, content = _of_title(opened, " ".join(words.split()), values)
    more = [
        Unread(
            label_line.line, label_line.last, label_line.label.name, nearest_label(label_line.label.name, opened.kind)
        )
        for label_line in opened.more
    ]
    for name, passage in fields:
        if name in VALUES or (name, opened.kind) == ("status", DECISION):
            value = _value(name, passage)
            if value is None:
                more.append(Unread(passage.line, passage.last, passage.label.name))
            else:
                values[name] = value
        elif name in LISTS:
            content[name] = (*_items(content.get(name, ())), *passage.items())
        else:
            content[name] = _append(content.get(name, ""), name, passage)
    if opened.kind == STATE:
        _complete_state(opened, content, values)
    if opened.kind == DECISION and not content.get("alternatives_considered"):
        content["alternatives_considered"] = sentences.choice_in(title).alternatives
    content = {name: value for name, value in content.items() if value}
    if title or content:
        yield Statement(
            opened.kind, title, opened.line, opened.last, source, values, content, tuple(more), opened.certainty
        )


def _of_title(opened: OpenStatement, title: str, values: Values) -> tuple[str, Content]:
    """Return the title and the content that the title's line has: the reason of a decision, or what was done to a
    file."""
    if not opened.label.role:  # the title of a whole text, as it is
        return title, {}
    if opened.kind == DECISION:
        if reference := _REFERENCE.search(title):
            title, values[labels.NUMBER] = title[: reference.start()], reference[1]
        words, reason = sentences.reason_of(title)
        return words, {"rationale": reason}
    if opened.kind in (CHANGE, labels.READ):
        if opened.kind == CHANGE:
            values["action"] = labels.action_of(opened.label.name)
        path, what = _path_and_reason(title)
        return path, {"changes" if opened.kind == CHANGE else "reason": what}
    if opened.kind == labels.VERDICT:
        word = verdict_of(title)
        return word, {"reason": title[len(word) :].strip('*_`" .,;:!')}
    return (f"{opened.label.number}: {title}" if opened.label.number else title), {}


def verdict_of(text: str) -> str:
    """Return the word PROCEED, STOP or CLARIFY if a text begins with it, else "".

    With such a word a text decides whether the next phase of the work begins. In small letters the word counts only if
    punctuation or nothing follows it, as in "Stop: …".
    """
    match = _VERDICT.match(text)
    return (match[1] or match[2]).upper() if match else ""


def _append(before: str | tuple[str, ...], name: str, passage: Passage) -> str:
    """Return a field's text with a further passage of it."""
    text = passage.whole()
    if passage.label.role in (labels.IMPACT, labels.CRITERIA) and name in ("description", "task_description"):
        text = f"{passage.label.name}: {text}"
    if not isinstance(before, str) or not (before and text):
        return text or str(before)
    return f"{before}\n\n{text}" if "\n" in text else f"{before} {text}"


def _items(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) and value else tuple(value)


def _complete_state(opened: OpenStatement, content: Content, values: Values) -> None:
    """Add the steps that have boxes, the blockers in brackets and the percentage to the content of a state."""
    if opened.done:
        content["substeps_completed"] = (*_items(content.get("substeps_completed", ())), *opened.done)
    if opened.left:
        content["substeps_remaining"] = (*_items(content.get("substeps_remaining", ())), *opened.left)
    ahead = " ".join([*_items(content.get("next_actions", ())), *_items(content.get("substeps_remaining", ()))])
    if blocked := _BLOCKED.findall(ahead):
        content["blockers"] = (*_items(content.get("blockers", ())), *blocked)
    percents = map(completion.of_status, _items(content.get("status", ())))
    if (percent := next((percent for percent in percents if percent is not None), None)) is not None:
        values["completion_percentage"] = percent


def _path_and_reason(text: str) -> tuple[str, str]:
    """Split `src/a.py - adds retries`, or `src/a.py (adds retries)`, into the path and the remark."""
    path, *why = _WHY.split(text, maxsplit=1)
    if not why and path.endswith(")") and " (" in path:
        path, _, reason = path.removesuffix(")").partition(" (")
        why = [reason]
    return path.strip("` "), why[0].strip() if why else ""


def _value(name: str, text: Passage) -> str | int | tuple[str, ...] | None:
    """Return a value in the form that records have; None if the text is not a valid value."""
    words = units.without_marks(text.whole()).strip("`*_ ")
    if name == labels.IMPORTANCE:
        match = _IMPORTANCE.match(words)
        return int(match[1]) if match else None
    if name == labels.SEVERITY:
        word = words.split(" ")[0].strip("[]().,").lower()
        return word if word in _SEVERITIES else None
    if name == "status":
        return (words if words.lower() == _ON_HOLD else words.split(" ")[0].strip(".,;*_")).lower() or None
    if name == labels.TAGS:
        parts = re.split(r"[,;\n]", "\n".join(text.items()))
        return tuple(part.strip(" `#*_-") for part in parts if part.strip(" `#*_-")) or None
    return words or None


def nearest_label(name: str, kind: str) -> str:
    """Return the known label of a kind that is spelled most like `name`, "" if none is similar."""
    near = nearest(name.lower().strip(": "), labels.phrases(kind))
    return near[0].capitalize() if near else ""
