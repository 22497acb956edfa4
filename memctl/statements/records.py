"""Turn statements into records: their type, title, front matter values and content (rules.md#records)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from memctl.statements import completion, labels
from memctl.statements.statement import Statement
from memctl.text.fit import cut_at_word

TITLE = 100  # characters, the longest that a record takes
# The type of record that each kind of statement makes.
RECORD_TYPES = {labels.DETAIL: labels.LEARNING, labels.TODO: labels.ISSUE} | {
    name: name for name in (labels.DECISION, labels.ISSUE, labels.STATE, labels.LEARNING)
}
_FIRST = {
    labels.DECISION: "decision",
    labels.ISSUE: "description",
    labels.STATE: "task_description",
    labels.LEARNING: "lesson",
}
_VALUES = {
    labels.DECISION: ("status",),
    labels.ISSUE: ("severity", "status"),
    labels.STATE: ("completion_percentage", "status"),
}
# Statuses of records that a text may give where others say in words how far they are.
_STATUSES = {labels.ISSUE: ("open", "in-progress", "resolved", "wontfix"), labels.STATE: ("active", "done")}
_OF_ALL = (labels.AGENT, labels.IMPORTANCE, labels.TAGS, labels.MOMENT, labels.PROJECT, labels.SECTION)
_CRITICAL = 8  # of what is called critical: the least that is kept for ever (rules.md#importance)


class RecordValues(msgspec.Struct, frozen=True):
    """The values for a new record, by the names of rules.md#records: type, title, front matter values, content fields.

    `untaken` names the values of the statement that were dropped because a record has no field for them.
    """

    type: str
    title: str
    values: Mapping[str, str | int | list[str]]
    content: Mapping[str, str | list[str]]
    untaken: tuple[str, ...] = ()


def as_record(made: Statement) -> RecordValues | None:
    """Return the values of the record that a statement makes.

    The result is None if no record is made from a statement of this kind, or if the statement has no title.
    """
    type_ = RECORD_TYPES.get(made.kind, "")
    whole = made.title or made.text(_FIRST.get(type_, "")).split("\n")[0]
    if not type_ or not whole:
        return None
    fields = labels.FIELDS[type_].values()
    content: dict[str, str | list[str]] = {
        name: value if isinstance(value, str) else list(value)
        for name, value in made.content.items()
        if name in fields and name not in ("status", "phase")
    }
    first = _FIRST[type_]
    if made.kind == labels.DETAIL:
        content |= _of_detail(made)
    elif made.kind == labels.STATE:
        content |= _with_standing(made)
    if type_ == labels.LEARNING or len(whole) > TITLE:
        content.setdefault(first, whole)
    allowed = (*_OF_ALL, *_VALUES.get(type_, ()))
    values = {n: list(v) if isinstance(v, tuple) else v for n, v in made.values.items() if n in allowed}
    status = (made.text("investigation_status") or made.text("status")).strip(" .").lower().replace(" ", "-")
    if status in _STATUSES.get(type_, ()):
        values["status"] = status
        content.pop("investigation_status", None)
    if made.kind == labels.DETAIL:
        values.setdefault(labels.IMPORTANCE, _CRITICAL)
    if made.kind == labels.TODO:
        values["severity"] = "low"
    untaken = tuple(name for name in made.values if name not in allowed and (name, type_) != ("number", labels.ISSUE))
    return RecordValues(type_, cut_at_word(whole, TITLE, "\N{HORIZONTAL ELLIPSIS}"), values, content, untaken)


def _of_detail(made: Statement) -> dict[str, str | list[str]]:
    """Return the content of a learning made of a critical detail: its text with unknown labels, and the reason as
    context."""
    lines = made.source.split("\n")
    more = [line.strip() for part in made.more for line in lines[part.line - made.line : part.end - made.line + 1]]
    content: dict[str, str | list[str]] = {
        "lesson": "\n".join([made.title, *filter(None, [made.text("detail"), *more])])
    }
    if why := "\n\n".join(filter(None, (made.text("context"), made.text("rationale")))):
        content["context"] = why
    return content


def _with_standing(made: Statement) -> dict[str, str | list[str]]:
    """Return the description of a task with the remarks on its status and phase, without a bare percentage."""
    statuses = (*_STATUSES[labels.STATE], "")  # which a value says
    stated = (line for line in made.items("status") if completion.without_any(line.lower()).strip(" .") not in statuses)
    lines = [completion.without_leading(line) for line in stated]
    lines += [f"Phase: {phase}" for phase in made.items("phase")]
    text = "\n\n".join(filter(None, (made.text("task_description"), *lines)))
    return {"task_description": text} if text else {}
