"""What the giver of a handoff says: as given, else as the memory has it; and what is missing or says nothing.

These are the reason, the summary, the next actions and the notes of the package (rules.md#handoffs).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from memctl.pack.context_summary import BUDGET, DECISIONS
from memctl.pack.filling import CountTokens
from memctl.pack.phase import Standing
from memctl.record import content_fields
from memctl.record.record import Record
from memctl.record.required_text import LONGEST_LINE, is_said
from memctl.record.snapshot import Snapshot
from memctl.text.markdown import one_line

EMERGENCY = "emergency"
_MOST = 20  # lines of a field: what is more belongs into records
_OPTIONS = {"success_criteria": "success"}
_NEEDED = ("reason", "summary", "immediate", "success_criteria")


class HandoffText(msgspec.Struct, frozen=True, kw_only=True):
    """What is said of a handoff, by its names in the package; `notes` are observations, too."""

    reason: str = ""
    summary: str = ""
    task: str = ""
    immediate: tuple[str, ...] = ()
    short_term: tuple[str, ...] = ()
    success_criteria: tuple[str, ...] = ()
    observation: tuple[str, ...] = ()
    approach: tuple[str, ...] = ()
    pitfall: tuple[str, ...] = ()
    resource: tuple[str, ...] = ()


class HandoffRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A handoff to be: its id, two agents, one of BUDGETS, the sections with what their ownership is now, what is said.

    `changes` are the last modifications of files: path, and when and how.
    """

    id: str
    source: str
    target: str
    kind: str
    said: HandoffText
    sections: tuple[str, ...] = ()
    transfers: tuple[str, ...] = ()
    changes: tuple[tuple[str, str], ...] = ()


class MissingField(msgspec.Struct, frozen=True):
    """A field for which a handoff is refused, why, and the option that gives it."""

    field: str
    message: str
    option: str


def needed(kind: str) -> tuple[str, ...]:
    """The fields that must say something. In an emergency only why: an agent that failed can't say the rest."""
    return _NEEDED[:1] if kind == EMERGENCY else _NEEDED


def completed(
    said: HandoffText, snapshot: Snapshot, standing: Standing, states: Sequence[Record], issues: Sequence[Record]
) -> HandoffText:
    """What was said, and where nothing was, what the memory has: where the work stands that is handed over, the giver's
    states and the issues that block."""
    values: dict[str, str | tuple[str, ...]] = {}
    if not said.immediate:
        values["immediate"] = tuple(_items(snapshot, [*states, *issues], "next_actions"))
    if not said.short_term:
        values["short_term"] = tuple(_items(snapshot, states, "substeps_remaining"))
    if not said.success_criteria:
        values["success_criteria"] = tuple(_items(snapshot, states, "task_description"))
    if not said.summary:
        lines = [line for line in standing.lines if len(line) <= LONGEST_LINE]
        values["summary"] = "\n".join([f"{standing.decision}: {standing.why}", *(f"- {line}" for line in lines)])
        values["summary"] = values["summary"] if lines else ""
    elif not said.summary.lstrip().startswith(DECISIONS):
        values["summary"] = f"{standing.decision}: {said.summary}"
    return msgspec.structs.replace(said, **values)


def within(text: str, budget: int, count: CountTokens) -> str:
    """As many whole lines of a text as a budget has room for."""
    lines = text.split("\n")
    while len(lines) > 1 and count("\n".join(lines)) > budget:
        lines.pop()
    return "\n".join(lines)


def findings(given: HandoffText, whole: HandoffText, kind: str, count: CountTokens) -> Iterator[MissingField]:
    """Everything for which a handoff is refused: `given` is what the giver said, `whole` that with what is known."""
    for name in needed(kind):
        value = getattr(whole, name)
        texts = (value,) if isinstance(value, str) else value
        if not any(map(is_said, texts)) and not getattr(given, name):
            yield MissingField(name, "is missing, and the memory does not say it", _option(name))
    for name in HandoffText.__struct_fields__:
        value = getattr(given, name)
        texts = (value,) if isinstance(value, str) and value else value or ()
        for text in texts:
            if not all(c.isprintable() or c in "\n\t" for c in text):
                yield MissingField(name, "has control characters", _option(name))
            elif not is_said(text):
                yield MissingField(name, f"{text!r} says nothing", _option(name))
            elif name != "summary" and len(text) > LONGEST_LINE:
                message = f"has {len(text):,} characters, of {LONGEST_LINE}"
                yield MissingField(name, f"{message}: put the long part into a record", _option(name))
        if not isinstance(value, str) and len(value) > _MOST:
            yield MissingField(name, f"has {len(value)} lines, of {_MOST}: put them into records", _option(name))
    if given.summary and (tokens := count(whole.summary)) > BUDGET:
        message = f"has {tokens:,} tokens, of {BUDGET}: `memctl context-summary` shortens it"
        yield MissingField("summary", message, _option("summary"))


def _option(name: str) -> str:
    return "--" + _OPTIONS.get(name, name).replace("_", "-")


def _items(snapshot: Snapshot, records: Sequence[Record], name: str) -> Iterator[str]:
    """What some records say under one name, each with its id, as far as it says anything; the first few."""
    found: dict[str, str] = {}
    for record in records:
        value = content_fields.content(record.kind, snapshot.body(record)).get(name) or ()
        for item in [value] if isinstance(value, str) else value:
            line = one_line(item)
            if is_said(line):
                found.setdefault(line[:LONGEST_LINE], record.id)
    for line, identifier in list(found.items())[:_MOST]:
        yield f"{line} [{identifier}]"
