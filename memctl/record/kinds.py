"""The record types; KINDS has one value for each, with everything in which the type differs from the others.

Decisions, issues, states and learnings are knowledge about the project (rules.md#records). The fifth type, a handoff,
is about work that one agent gives to another (rules.md#handoffs), so lists of knowledge leave it out. A record's
`severity` and `completion_percentage` are in the front matter and not in the body, so that commands can filter by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import msgspec

SESSIONS, CHECKPOINTS = "sessions", "checkpoints"  # folders of `.memory/` that hold no records

SEVERITIES = ("critical", "high", "medium", "low")  # worst first

# The importance of an issue by its severity; a critical one is kept for ever (rules.md#importance).
IMPORTANCE_BY_SEVERITY = {"critical": 9, "high": 8, "medium": 6, "low": 4}


class Field(msgspec.Struct, frozen=True):
    """A content field of a record or page: its name in exports, its heading in the body, and its command-line option.

    `help` says what belongs there. `is_list` says that the field is a Markdown list and not a text.
    """

    name: str
    heading: str
    option: str
    help: str
    is_list: bool = False


class StatusStep(msgspec.Struct, frozen=True):
    """A status that records of a type can have, and the statuses that may follow.

    - `following` are the names of the statuses to which a record may go from this status.
    - `rank` decides which status wins in a merge, if two clones gave a record different ones: that of the higher rank.
      Between statuses of equal rank, such as accepted and rejected, a person chooses. A status ranks higher than any
      status that may come before it.
    - `is_closed` says that a record with this status needs no more work.
    """

    name: str
    rank: int
    following: tuple[str, ...] = ()
    is_closed: bool = False


class Kind(msgspec.Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """A record type: everything in which it differs from others. One more value in KINDS is one more type.

    - `prefix` is the beginning of the type's ids, three capital letters.
    - `verb` names the operation that makes a record, in commit subjects. If the type has a `help`, there is a command
      of this name, too.
    - `defaults` are front matter keys that not all types have, with default values; None for no value. `importance`
      and the values of IMPORTANCE_BY_SEVERITY can't change any more, since records of format 2 rely on them.
    - `steps` are the statuses; a new record gets the first.
    - `resolved` is the status that `memctl resolve` sets ("" for none).
    - `is_knowledge` is False for handoffs, which are about work and not about the project.
    - `merged_files` is the pattern of the files in the type's folder that are records. It goes into .gitattributes, so
      that Git lets memctl merge two versions of a record.
    - `reason` names the content field for the reasons of a record. If it is "", the first field counts as the
      reason. Otherwise memctl asks for a reason unless this field, or one of those that `reasoning` names, has a text.
    """

    name: str  # the value of `memory_type`
    prefix: str  # of its ids
    plural: str  # the plural for counts of open records
    verb: str
    help: str = ""
    examples: tuple[tuple[str, str], ...] = ()  # of the command, each with what it does
    importance: int = 5  # the default
    defaults: Mapping[str, Any] = {}
    steps: tuple[StatusStep, ...]  # the first is what a new record gets
    resolved: str = ""
    is_knowledge: bool = True  # about the project, and not about who works on it
    merged_files: str = "**"  # the pattern of the folder's files that are records, for .gitattributes
    reason: str = ""
    reasoning: tuple[str, ...] = ()
    fields: tuple[Field, ...]

    @cached_property
    def folder(self) -> str:
        """The folder of the type's records, relative to `.memory/`."""
        return f"{self.name}s"

    @cached_property
    def statuses(self) -> tuple[str, ...]:
        """The names of all statuses of the type; a new record has the first."""
        return tuple(step.name for step in self.steps)

    @cached_property
    def closed_statuses(self) -> frozenset[str]:
        """The statuses of records that need no more work, such as resolved or superseded."""
        return frozenset(step.name for step in self.steps if step.is_closed)

    def step(self, status: str) -> StatusStep | None:
        """Return the status with this name and its rules, or None if the type has no such status."""
        return next((step for step in self.steps if step.name == status), None)

    @cached_property
    def template(self) -> str:
        """The body of an empty record: each heading with a comment below it that says what belongs there."""
        return "\n".join(
            f"## {field.heading}\n\n<!-- {field.help}{_EACH * field.is_list} -->\n" for field in self.fields
        )


_EACH = " One `- ` item each."

DECISION = Kind(
    name="decision",
    prefix="DEC",
    plural="decisions",
    verb="decide",
    help="Record a decision, with its reasons.",
    examples=(
        (
            'memctl decide "Adopt PostgreSQL" --rationale "Orders need transactions" --alternative "MongoDB: no joins"',
            "Record a decision; prints its id and path.",
        ),
        ("memctl decide --file notes.md", "Take title and text from a Markdown file (- for standard input)."),
        (
            'memctl decide "Use Redis for sessions" --supersedes DEC-2025-11-04-003 --tag cache --section 2.1',
            "Replace an earlier decision, in one commit.",
        ),
    ),
    importance=7,  # the lowest that a rehydration loads first; rules.md#rehydration
    steps=(  # the statuses of the MADR and Nygard forms
        StatusStep("accepted", 1, ("deprecated", "superseded")),
        StatusStep("proposed", 0, ("accepted", "rejected", "superseded")),
        StatusStep("rejected", 1, ("proposed",), is_closed=True),
        StatusStep("deprecated", 2, ("accepted", "superseded"), is_closed=True),
        StatusStep("superseded", 3, is_closed=True),
    ),
    reason="rationale",
    reasoning=("context", "alternatives_considered"),
    fields=(
        Field("decision", "Decision", "decision", "What was decided, in two or three sentences."),
        Field(
            "rationale", "Rationale", "rationale", "Why this was decided: driving factors, constraints met, benefits."
        ),
        Field(
            "alternatives_considered",
            "Alternatives considered",
            "alternative",
            "An alternative and why it was not taken.",
            True,
        ),
        Field(
            "expected_impact",
            "Expected impact",
            "impact",
            "What the decision is expected to bring, and the trade-offs accepted.",
        ),
        Field(
            "validation_criteria", "Validation criteria", "validation", "How to tell later that the decision was right."
        ),
        Field("context", "Context", "context", "Circumstances and assumptions at the time of the decision."),
    ),
)

ISSUE = Kind(
    name="issue",
    prefix="ISS",
    plural="open issues",
    verb="issue",
    help="Record an issue: a bug, a blocker, an open question.",
    examples=(
        (
            'memctl issue "Checkout times out" --severity critical --description "30 % fail at 100 users"',
            "Record an issue; prints its id and path.",
        ),
        (
            'memctl issue "Flaky test" --attempted "Longer timeout: no effect" --next "Log the retries"',
            "Say what was tried and what comes next.",
        ),
    ),
    importance=6,
    defaults={"severity": "medium", "assignee": None},
    steps=(
        StatusStep("open", 0, ("in-progress", "resolved", "wontfix")),
        StatusStep("in-progress", 1, ("open", "resolved", "wontfix")),
        StatusStep("resolved", 2, ("open",), is_closed=True),
        StatusStep("wontfix", 2, ("open",), is_closed=True),
    ),
    resolved="resolved",
    fields=(
        Field("description", "Description", "description", "What is wrong."),
        Field("reproduction_steps", "Reproduction", "reproduction", "How to make the problem happen."),
        Field("investigation_status", "Investigation", "investigation", "What is understood about the problem so far."),
        Field("attempted_fixes", "Attempted fixes", "attempted", "Something that was tried, and its result.", True),
        Field("next_actions", "Next actions", "next", "A planned step towards a solution.", True),
        Field("resolution", "Resolution", "resolution", "How the issue was resolved."),
    ),
)

STATE = Kind(
    name="state",
    prefix="STA",
    plural="states",
    verb="state",
    help="Record the state of a task and what comes next.",
    examples=(
        (
            'memctl state "Profile API" --completion 65 --done "GET" --remaining "PATCH" --next "Finish DELETE"',
            "Record the state of a task; prints its id and path.",
        ),
        ('memctl state --update STA-2025-11-04-002 --done PATCH --next "Finish DELETE"', "Update a recorded state."),
        ("memctl state --checkpoint newest", "Make a record of where your work stands, for others to see."),
    ),
    defaults={"completion_percentage": 0, "assignee": None},
    steps=(
        StatusStep("active", 0, ("done", "superseded")),
        StatusStep("done", 1, ("active", "superseded"), is_closed=True),
        StatusStep("superseded", 2, is_closed=True),
    ),
    resolved="done",
    fields=(
        Field("task_description", "Task", "task", "What is being worked on, and what counts as finished."),
        Field("substeps_completed", "Done", "done", "A step that is finished.", True),
        Field("substeps_remaining", "Remaining", "remaining", "A step that is still to do.", True),
        Field("blockers", "Blockers", "blocker", "Something that blocks the task.", True),
        Field("next_actions", "Next actions", "next", "A next step.", True),
    ),
)

LEARNING = Kind(
    name="learning",
    prefix="LRN",
    plural="learnings",
    verb="learn",
    help="Record something learned.",
    examples=(
        (
            'memctl learn "Pool size beats retries" --lesson "Retries hide an exhausted pool" --applies "Any queue"',
            "Record something learned; prints its id and path.",
        ),
    ),
    steps=(
        StatusStep("active", 0, ("superseded", "retracted")),
        StatusStep("superseded", 2, is_closed=True),
        StatusStep("retracted", 1, ("active",), is_closed=True),
    ),
    fields=(
        Field("lesson", "Lesson", "lesson", "What was learned."),
        Field("context", "Context", "context", "The situation in which the lesson was learned."),
        Field("applicability", "Applicability", "applies", "When to apply the lesson."),
        Field("evidence", "Evidence", "evidence", "Data or results behind the lesson."),
    ),
)

HANDOFF = Kind(
    name="handoff",
    prefix="HND",
    plural="handoffs",
    verb="handoff",
    # Ownership moves with the status: `memctl team handoff` changes both, and `edit` neither.
    steps=(
        StatusStep("offered", 0),
        StatusStep("accepted", 1, is_closed=True),
        StatusStep("declined", 1, is_closed=True),
        StatusStep("withdrawn", 1, is_closed=True),
    ),
    is_knowledge=False,
    merged_files="**/*.md",  # a package lies beside each
    fields=(
        Field("reason", "Reason", "reason", "Why the work is handed over."),
        Field("context_summary", "Summary", "summary", "The state of the work, in at most 500 tokens."),
        Field("immediate", "Immediate actions", "immediate", "What to do first.", True),
        Field("success_criteria", "Success criteria", "success", "How to tell that the work is done.", True),
        Field("short_term", "Short-term goals", "short-term", "What to reach next.", True),
        Field("constraints", "Constraints", "constraint", "A rule that the work must follow.", True),
        Field("inputs", "Inputs", "input", "Something that the other agent is given for the work.", True),
        Field("expected_outputs", "Expected outputs", "expect", "A result that the other agent must deliver.", True),
        Field("deliverables", "Deliverables", "output", "A result that exists already.", True),
        Field("critical_decisions", "Critical decisions", "", "A decision that the work must follow.", True),
        Field("open_issues", "Open issues", "", "A known problem.", True),
        Field("blocking_dependencies", "Blocked by", "", "Something that blocks the work.", True),
        Field("completed", "Completed", "", "Something the giver finished.", True),
        Field("in_progress", "In progress", "", "Something the giver began.", True),
        Field("not_started", "Not started", "", "A later step.", True),
        Field("ownership_transfers", "Ownership transfers", "", "A section that changed its owner.", True),
        Field("expertise_match", "Expertise match", "", "The skills that the work needs, and those of the taker."),
        Field("observations", "Observations", "observation", "Something the giver noticed.", True),
        Field("suggested_approach", "Suggested approach", "approach", "How the giver would do the work.", True),
        Field("known_pitfalls", "Known pitfalls", "pitfall", "Something to avoid.", True),
        Field("useful_resources", "Useful resources", "resource", "A place with useful information.", True),
        Field("validation", "Validation", "", "What was compacted, and what must not be lost.", True),
        Field("answer", "Answer", "", "The taker's answer."),
    ),
)

KINDS = {kind.name: kind for kind in (DECISION, ISSUE, STATE, LEARNING, HANDOFF)}
KNOWLEDGE = tuple(kind.name for kind in KINDS.values() if kind.is_knowledge)
BY_PREFIX = {kind.prefix: kind for kind in KINDS.values()}
BY_FOLDER = {kind.folder: kind for kind in KINDS.values()}

# The links between records, each with the name of its other end.
OTHER_END = {
    "supersedes": "superseded_by",
    "superseded_by": "supersedes",
    "relates_to": "relates_to",
    "blocks": "blocked_by",
    "blocked_by": "blocks",
}
