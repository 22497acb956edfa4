"""The types of record: their ids, folders, statuses and the headed sections of their bodies.

Where four types and their content fields come from: rules.md#records. The fifth, a handoff, says what one agent gave to
another (rules.md#handoffs). It is about the work and not about the project, so what chooses knowledge by type passes it
over. Two scalars of the content, `severity` and `completion_percentage`, live in the front matter, where they can be
filtered.
"""

from __future__ import annotations

import msgspec

SESSIONS, CHECKPOINTS = "sessions", "checkpoints"  # folders of `.memory/` that hold no records

SEVERITIES = ("critical", "high", "medium", "low")  # worst first

# What an issue weighs when nobody says; a critical one has to be kept for ever (rules.md#importance).
IMPORTANCE_BY_SEVERITY = {"critical": 9, "high": 8, "medium": 6, "low": 4}


class Field(msgspec.Struct, frozen=True):
    """A content field: its name in exports, its heading in the body, whether it is a list, and its option."""

    name: str
    heading: str
    option: str
    help: str
    is_list: bool = False


class Kind(msgspec.Struct, frozen=True):
    """A record type: everything that differs between them."""

    name: str  # the value of `memory_type`
    prefix: str  # of its ids
    folder: str  # below `.memory/`
    verb: str  # the operation that makes one, as commit subjects say it
    importance: int  # when nobody says
    statuses: tuple[str, ...]  # the first is what a new record gets
    closed: tuple[str, ...]  # statuses in which a record no longer takes part
    fields: tuple[Field, ...]


DECISION = Kind(
    name="decision",
    prefix="DEC",
    folder="decisions",
    verb="decide",
    importance=7,  # the lowest that a rehydration loads first; rules.md#rehydration
    statuses=("accepted", "proposed", "rejected", "deprecated", "superseded"),
    closed=("rejected", "deprecated", "superseded"),
    fields=(
        Field("decision", "Decision", "decision", "What was decided, in two or three sentences."),
        Field("rationale", "Rationale", "rationale", "Why: driving factors, constraints met, benefits."),
        Field(
            "alternatives_considered",
            "Alternatives considered",
            "alternative",
            "An alternative and why it was not taken.",
            True,
        ),
        Field("expected_impact", "Expected impact", "impact", "Predicted outcomes and trade-offs accepted."),
        Field("validation_criteria", "Validation criteria", "validation", "How to tell later that it was right."),
        Field("context", "Context", "context", "Circumstances and assumptions at the time."),
    ),
)

ISSUE = Kind(
    name="issue",
    prefix="ISS",
    folder="issues",
    verb="issue",
    importance=6,
    statuses=("open", "in-progress", "resolved", "wontfix"),
    closed=("resolved", "wontfix"),
    fields=(
        Field("description", "Description", "description", "What is wrong."),
        Field("reproduction_steps", "Reproduction", "reproduction", "How to make it happen."),
        Field("investigation_status", "Investigation", "investigation", "What is understood so far."),
        Field("attempted_fixes", "Attempted fixes", "attempted", "Something that was tried, and its result.", True),
        Field("next_actions", "Next actions", "next", "A planned step towards a solution.", True),
        Field("resolution", "Resolution", "resolution", "How it was resolved."),
    ),
)

STATE = Kind(
    name="state",
    prefix="STA",
    folder="states",
    verb="state",
    importance=5,
    statuses=("active", "done", "superseded"),
    closed=("done", "superseded"),
    fields=(
        Field("task_description", "Task", "task", "What is being worked on, and what counts as finished."),
        Field("substeps_completed", "Done", "done", "A step that is finished.", True),
        Field("substeps_remaining", "Remaining", "remaining", "A step that is still to do.", True),
        Field("blockers", "Blockers", "blocker", "Something that stands in the way.", True),
        Field("next_actions", "Next actions", "next", "A next step.", True),
    ),
)

LEARNING = Kind(
    name="learning",
    prefix="LRN",
    folder="learnings",
    verb="learn",
    importance=5,
    statuses=("active", "superseded", "retracted"),
    closed=("superseded", "retracted"),
    fields=(
        Field("lesson", "Lesson", "lesson", "What was learned."),
        Field("context", "Context", "context", "The situation in which it was learned."),
        Field("applicability", "Applicability", "applies", "When to apply it."),
        Field("evidence", "Evidence", "evidence", "Data or results behind it."),
    ),
)

HANDOFF = Kind(
    name="handoff",
    prefix="HND",
    folder="handoffs",
    verb="handoff",
    importance=5,
    statuses=("offered", "accepted", "declined", "withdrawn"),
    closed=("accepted", "declined", "withdrawn"),
    fields=(
        Field("reason", "Reason", "reason", "Why the work is handed over."),
        Field("context_summary", "Summary", "summary", "Where the work stands, in at most 500 tokens."),
        Field("immediate", "Immediate actions", "immediate", "What to do first.", True),
        Field("short_term", "Short-term goals", "short-term", "What to reach next.", True),
        Field("success_criteria", "Success criteria", "success", "How to tell that it is done.", True),
        Field("critical_decisions", "Critical decisions", "", "Decisions that bind the work.", True),
        Field("open_issues", "Open issues", "", "What is wrong.", True),
        Field("blocking_dependencies", "Blocked by", "", "What stands in the way.", True),
        Field("completed", "Completed", "", "What the giver finished.", True),
        Field("in_progress", "In progress", "", "What the giver had begun.", True),
        Field("not_started", "Not started", "", "What else there is to do.", True),
        Field("ownership_transfers", "Ownership transfers", "", "The sections that changed hands.", True),
        Field("expertise_match", "Expertise match", "", "What the work asks for, and what the taker can do."),
        Field("observations", "Observations", "observation", "Something the giver noticed.", True),
        Field("suggested_approach", "Suggested approach", "approach", "How the giver would go about it.", True),
        Field("known_pitfalls", "Known pitfalls", "pitfall", "What to beware of.", True),
        Field("useful_resources", "Useful resources", "resource", "Where to look.", True),
        Field("validation", "Validation", "", "What was compacted, and that nothing vital is lost.", True),
        Field("answer", "Answer", "", "What the taker said to it."),
    ),
)

KINDS = {kind.name: kind for kind in (DECISION, ISSUE, STATE, LEARNING, HANDOFF)}
KNOWLEDGE = tuple(name for name in KINDS if name != HANDOFF.name)  # about the project, unlike a handoff
BY_PREFIX = {kind.prefix: kind for kind in KINDS.values()}
BY_FOLDER = {kind.folder: kind for kind in KINDS.values()}

# Links between records, each with what it is called at the other end.
OTHER_END = {
    "supersedes": "superseded_by",
    "superseded_by": "supersedes",
    "relates_to": "relates_to",
    "blocks": "blocked_by",
    "blocked_by": "blocks",
}
