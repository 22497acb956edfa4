"""Short names for what the compressed formats say often: GOAL, STATUS, DECISIONS, NEXT (rules.md#formats)."""

from __future__ import annotations

from memctl.pack.draft import NOTICED, Item, PackNote
from memctl.record.notices import SHORT_NOTICE
from memctl.text.markdown import one_line

PARTS = {
    "notice": "DATA",
    "task": "GOAL",
    "summary": "PROJECT",
    "records": "RECORDS",
    "continuity": "SINCE",
    "next": "NEXT",
    "critical": "CRITICAL",
    "state": "STATUS",
    "decision": "DECISIONS",
    "issue": "ISSUES",
    "learning": "LEARNED",
    "session": "LAST SESSION",
    "more": "ALSO OPEN",
    "check": "CHECK BEFORE USE",
}
FIELDS = {
    "decision": "decided",
    "rationale": "why",
    "alternatives_considered": "instead of",
    "expected_impact": "impact",
    "validation_criteria": "check",
    "description": "what",
    "reproduction_steps": "to reproduce",
    "investigation_status": "found",
    "attempted_fixes": "tried",
    "next_actions": "next",
    "resolution": "fix",
    "task_description": "task",
    "substeps_completed": "done",
    "substeps_remaining": "to do",
    "blockers": "blocked by",
    "lesson": "lesson",
    "applicability": "applies",
}
_FACTS = {"importance": "i{}", "completion": "{}%", "severity": "{}", "by": "{}", "commit": "@{}", "tags": "#{}"}


def part(name: str) -> str:
    """The short name of a part or note."""
    return PARTS.get(name, name.upper().replace("_", " "))


def note(note: PackNote) -> str:
    """What a note says, memctl's own notice in fewer words."""
    return SHORT_NOTICE if note == NOTICED else note.text


def facts(item: Item) -> str:
    """All facts of an item in a few words; a date without its time."""
    said = []
    for name, value in item.facts:
        value = one_line(value).replace("|", "\N{BROKEN BAR}")
        if name == "date":
            said.append(value[:10])
        else:
            said.append(_FACTS.get(name, "{}").format(value))
    return " ".join(said)
