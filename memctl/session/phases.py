"""Summarize a phase of work for the next phase in a fixed form, for research or for planning (rules.md#phase-forms).

The form of research has the problem, findings, files and constraints. The form of planning has signatures, types,
contracts and data models. All lines are quoted from the transcript.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from memctl.session.extraction import Extract
from memctl.session.summary import SessionSummary
from memctl.statements import labels, plans, units, wishes
from memctl.text.actions import CREATED, DELETED, MODIFIED, READ
from memctl.text.characters import redacted_line
from memctl.text.lazy_regex import lazy_regex
from memctl.text.markdown import one_line
from memctl.transcript.events import ANSWER, CALL, PROMPT, Event, Session

RESEARCH, PLANNING = "research", "planning"
PHASES = (RESEARCH, PLANNING)
_MOST_WORDS = {RESEARCH: 1_000, PLANNING: 2_000}
_SIGNATURE = lazy_regex(
    r"[ \t]*(?:(?:export|public|private|protected|static|async|pub|default|override|abstract) )*"
    r"(?:(?:def|function|func|fn|fun|sub) .*\(.*)"
)
_TYPE = lazy_regex(
    r"[ \t]*(?:(?:export|public|private|static|pub|default|abstract|sealed|data) )*"
    r"(?:class|interface|struct|enum|trait|type|record|protocol) \w.*"
)
_CONTRACT = lazy_regex(r"\W{0,4}(?:GET|POST|PUT|PATCH|DELETE|HEAD)\b`? +`?/\S*.*|.*\b(?:rpc|query|mutation) \w+\(.*")
_MODEL = lazy_regex(r"(?i)[ \t]*(?:create table|alter table|model \w+ \{|message \w+ \{|entity ).*")
_FIELDS = lazy_regex(r"(?i)\|[ *`]*(?:field|column|attribute|property|key)s?[ *`]*\|.*\btype\b")


class PhaseSection(msgspec.Struct, frozen=True):
    """One section of the form that sums up a phase: its heading and its lines of text."""

    heading: str
    lines: tuple[str, ...]


def form(phase: str, summary: SessionSummary, session: Session) -> list[PhaseSection]:
    """Return the sections of the form that sums up a phase; `phase` is "research" or "planning".

    The lines of all sections have at most 1,000 words for research and 2,000 for planning; further lines are left out.
    A section without lines stays, to show what is missing.
    """
    made = _research(summary) if phase == RESEARCH else _planning(session.events)
    room = _MOST_WORDS[phase]
    sections = []
    for section in made:
        lines = list(_fitting(section.lines, room))
        room -= sum(len(line.split()) for line in lines)
        sections.append(msgspec.structs.replace(section, lines=tuple(lines)))
    return sections


def render(phase: str, sections: Sequence[PhaseSection]) -> str:
    """Return the form that sums up a phase as Markdown; each section of planning is a code block."""
    parts = []
    for section in sections:
        lines = "\n".join(section.lines) if section.lines else "Nothing known."
        is_code = phase == PLANNING and section.lines
        parts.append(f"## {section.heading}\n\n" + (f"```text\n{lines}\n```" if is_code else lines))
    return "\n\n".join(parts) + "\n"


def _research(summary: SessionSummary) -> list[PhaseSection]:
    learnings = summary.having(labels.LEARNING)
    constraints = [extract for extract in (*learnings, *summary.having(labels.DECISION)) if _is_constraint(extract)]
    findings = [extract for extract in (*learnings, *summary.having(labels.ISSUE)) if not _is_constraint(extract)]
    findings.sort(key=lambda extract: not extract.explicit)
    problem = [text for text in (summary.intent, *summary.scope) if text]
    files = [
        f"{entry.path}{f' - {what}' if (what := '; '.join(entry.what)) else ''}"
        for entry in summary.trail.having(CREATED, MODIFIED, DELETED, READ)
    ]
    return [
        PhaseSection("Problem Statement", tuple(map(redacted_line, problem))),
        PhaseSection("Key Findings", _items(extract.text for extract in findings)),
        PhaseSection("Relevant File Paths", _items(files)),
        PhaseSection("Constraints Discovered", _items(extract.text for extract in constraints)),
    ]


def _is_constraint(extract: Extract) -> bool:
    if extract.statement is not None:
        return extract.statement.kind == labels.DETAIL
    return extract.source == PROMPT and bool(wishes.constraint_in(extract.text))


def _planning(events: Iterable[Event]) -> list[PhaseSection]:
    lines = [line for text in _texts(events) for line in _code(text)]
    patterns = (
        ("Function Signatures", _SIGNATURE),
        ("Type Definitions", _TYPE),
        ("API Contracts", _CONTRACT),
        ("Data Models", _MODEL),
    )
    return [
        PhaseSection(heading, tuple(dict.fromkeys(redacted_line(line) for line in lines if pattern.match(line))))
        for heading, pattern in patterns
    ]


def _texts(events: Iterable[Event]) -> Iterator[str]:
    """Yield the texts that may be part of a plan: answers, prompts that are plans, and plans given for approval."""
    for event in events:
        if event.agent:
            continue
        if event.kind == ANSWER or (event.kind == PROMPT and plans.read(event.text) is not None):
            yield event.text
        elif event.kind == CALL and isinstance(plan := event.arguments.get("plan"), str):
            yield plan


def _code(text: str) -> Iterator[str]:
    """Yield the lines of code blocks in a text, sentences that name a route, and rows of tables of fields."""
    for unit in units.units(text):
        if unit.form == units.CODE:
            yield from unit.text.split("\n")[1:-1]
        elif unit.form == units.TABLE and _FIELDS.match(unit.text):
            yield f"entity {unit.heading}"
            yield from (f"entity   {one_line(row)}" for row in unit.text.split("\n")[2:])
        elif unit.form == units.SENTENCE and _CONTRACT.match(unit.text):
            yield unit.text


def _items(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"- {redacted_line(text)}" for text in dict.fromkeys(texts))


def _fitting(lines: Iterable[str], room: int) -> Iterator[str]:
    for line in lines:
        room -= len(line.split())
        if room < 0:
            return
        yield line
