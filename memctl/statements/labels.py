"""The labels under which people and models state things, and the statement or field that each label means.

Kinds and fields have the names of rules.md#records. A few kinds, such as a file change or an owner, are no records;
their names are defined only here. A label is looked up in a table, in lower case and without marks, so reading a text
takes time linear in its length.
"""

from __future__ import annotations

import re
from functools import cache

from memctl.text.lazy_regex import lazy_regex

# What is stated. The first four are types of records.
DECISION, ISSUE, STATE, LEARNING, TODO, DETAIL, CHANGE, READ, ERROR, SCOPE, OWNERSHIP, VERDICT = (
    "decision", "issue", "state", "learning", "todo", "detail", "change", "read", "error", "scope", "ownership",
    "verdict",
)  # fmt: skip
# What belongs to a statement, as people call it. The field of a record that it is depends on the kind: FIELDS.
TASK, PROGRESS, STATUS, NEXT, DONE, REMAINING, BLOCKER, PHASE = (
    "task", "progress", "status", "next", "done", "remaining", "blocker", "phase",
)  # fmt: skip
REASON, ALTERNATIVE, IMPACT, VALIDATION, CONTEXT, DESCRIPTION, CRITERIA = (
    "reason", "alternative", "impact", "validation", "context", "description", "criteria",
)  # fmt: skip
REPRODUCTION, INVESTIGATION, ATTEMPTED, RESOLUTION, APPLICABILITY, EVIDENCE, CHANGES = (
    "reproduction", "investigation", "attempted", "resolution", "applicability", "evidence", "changes",
)  # fmt: skip
AGENT, IMPORTANCE, TAGS, MOMENT, PROJECT, NUMBER, SEVERITY, SECTION = (
    "agent_id", "importance", "tags", "timestamp", "project_id", "number", "severity", "section",
)  # fmt: skip
VALUES = (AGENT, IMPORTANCE, TAGS, MOMENT, PROJECT, NUMBER, SEVERITY, SECTION)

# By kind of statement, the field of a record for each role that a label has within it.
FIELDS: dict[str, dict[str, str]] = {
    DECISION: {
        DECISION: "decision",
        DESCRIPTION: "decision",
        REASON: "rationale",
        ALTERNATIVE: "alternatives_considered",
        IMPACT: "expected_impact",
        VALIDATION: "validation_criteria",
        CONTEXT: "context",
        STATUS: "status",
    },
    ISSUE: {
        DESCRIPTION: "description",
        ISSUE: "description",
        CONTEXT: "description",
        IMPACT: "description",
        REPRODUCTION: "reproduction_steps",
        STATUS: "investigation_status",
        INVESTIGATION: "investigation_status",
        REASON: "investigation_status",
        ATTEMPTED: "attempted_fixes",
        NEXT: "next_actions",
        RESOLUTION: "resolution",
    },
    STATE: {
        TASK: "task_description",
        DESCRIPTION: "task_description",
        CRITERIA: "task_description",
        PROGRESS: "status",
        STATUS: "status",
        DONE: "substeps_completed",
        REMAINING: "substeps_remaining",
        BLOCKER: "blockers",
        NEXT: "next_actions",
        PHASE: "phase",
    },
    LEARNING: {
        LEARNING: "lesson",
        DESCRIPTION: "lesson",
        CONTEXT: "context",
        REASON: "context",
        APPLICABILITY: "applicability",
        EVIDENCE: "evidence",
        VALIDATION: "evidence",
    },
    DETAIL: {REASON: "rationale", CONTEXT: "context", DESCRIPTION: "detail"},
    CHANGE: {CHANGES: "changes", DESCRIPTION: "changes", REASON: "reason", IMPACT: "impact"},
    READ: {REASON: "reason"},
}
LISTS = frozenset(
    [
        "alternatives_considered",
        "attempted_fixes",
        "next_actions",
        "substeps_completed",
        "substeps_remaining",
        "blockers",
        "status",
    ]
)
OF_STATE = frozenset([TASK, PROGRESS, STATUS, NEXT, DONE, REMAINING, BLOCKER, PHASE])
# Labels that begin a statement. The others count only within one.
OPENERS = frozenset([DECISION, ISSUE, LEARNING, TODO, DETAIL, CHANGE, READ, ERROR, SCOPE, OWNERSHIP, *OF_STATE])
# Labels that mean what they mean in one kind of statement alone: an empty line before them parts nothing.
OWN = {
    DECISION: {REASON, ALTERNATIVE, VALIDATION},
    ISSUE: {REPRODUCTION, INVESTIGATION, ATTEMPTED, RESOLUTION},
    STATE: set(OF_STATE) - {TASK},
    LEARNING: {APPLICABILITY, EVIDENCE},
    CHANGE: {CHANGES},
}

_PHRASES = {
    DECISION: "decided|we decided|decision outcome|key decisions summary|adr",
    ISSUE: "bug|bugs|defect|problem|problems|issue|issues|open question|open questions|known issue",
    LEARNING: "lesson|lessons|lesson learned|lesson learnt|lessons learned|lessons learnt|learning|learnings|learned"
    "|learnt|note|notes|gotcha|gotchas|insight|insights|takeaway|takeaways|til|finding|findings|key finding"
    "|key findings",
    TODO: "todo|todos|fixme",
    DETAIL: "critical|critical detail|critical details|critical implementation detail|critical implementation details"
    "|critical constraint|critical constraints|constraint|constraints|invariant|invariants|security consideration"
    "|security considerations",
    CHANGE: "modified|created|deleted|added|removed|renamed|updated|changed|modified file|modified files"
    "|files modified|files changed|files created|files deleted|file modified|file changed|changed files",
    READ: "files read|files read last",
    ERROR: "error|errors|error context|failure|warning|exception|traceback",
    SCOPE: "scope change|new scope|new goal|changed goal",
    OWNERSHIP: "ownership|owner|owned by|owns|context ownership|section ownership|ownership transfer"
    "|ownership transfers",
    TASK: "task|tasks|current task|active task|task description|mission|goal|objective|session intent|intent",
    PROGRESS: "progress|completion|completion percentage|percent complete",
    STATUS: "status|state|current state|current status|where we are|where things are|where we stand"
    "|where things stand|task state|current task state",
    NEXT: "next|next action|next actions|next step|next steps|next up|up next|next planned actions|planned resolution"
    "|what's next|what is next|planned next steps|immediate actions|immediate next actions|priorities|top priorities"
    "|implementation priorities",
    DONE: "done|completed|finished|substeps completed|completed phases|completed steps|completed tasks"
    "|completed substeps",
    REMAINING: "remaining|remaining work|remaining steps|remaining tasks|substeps remaining|remaining substeps|pending"
    "|not started|in progress|still to do|to do|open steps",
    BLOCKER: "blocker|blockers|blocked|blocked by|blocked on|dependency|dependencies",
    PHASE: "phase|current phase|project phase",
    VERDICT: "recommendation|recommended|verdict|outcome|result",
    REASON: "rationale|reason|reasons|reasoning|why|because|justification|decision drivers|read for",
    ALTERNATIVE: "alternative|alternatives|alternatives considered|alternatives rejected|rejected|rejected alternatives"
    "|option considered|options considered|considered options|considered alternatives|instead of|other options"
    "|not chosen",
    IMPACT: "impact|expected impact|consequence|consequences|trade-off|trade-offs|tradeoffs|positive consequences"
    "|negative consequences|implication|implications",
    VALIDATION: "validated|validation|validation criteria|validated by|verified|verified by|confirmation"
    "|how to validate|how to verify",
    CONTEXT: "context|situation|background|circumstances|assumptions|context and problem statement",
    DESCRIPTION: "description|choice|summary|details|symptom|symptoms|what happens|actual behaviour|actual behavior",
    CRITERIA: "acceptance criteria|success criteria|criteria|definition of done",
    REPRODUCTION: "repro|reproduce|reproduction|repro steps|reproduction steps|steps to reproduce|how to reproduce"
    "|to reproduce",
    INVESTIGATION: "investigation|investigation status|current investigation status|analysis|root cause|cause"
    "|current understanding",
    ATTEMPTED: "attempted|attempted fix|attempted fixes|attempts|tried|already tried|what was tried|fixes tried"
    "|fixes attempted|attempted fixes and results|workaround|workarounds",
    RESOLUTION: "resolution|resolved|resolved by|fixed|fixed by|fix|solution",
    APPLICABILITY: "applicability|applies to|applies|applies when|when to apply|apply when",
    EVIDENCE: "evidence|data|measured|measurement|measurements|proof",
    CHANGES: "change|changes|what changed|change summary|summary of changes|action",
    AGENT: "agent|agents|agent id|author|authors|decided by|decider|deciders|decision-makers|decision makers"
    "|made by|author agent|owner agent",
    IMPORTANCE: "importance|importance score",
    TAGS: "tag|tags|keyword|keywords|searchable tags",
    MOMENT: "timestamp|date|decided on|created at|last updated",
    PROJECT: "project|project id",
    NUMBER: "decision id|issue id|bug id|learning id|memory id|id",
    SEVERITY: "severity|impact severity",
    SECTION: "section",
}
_BEFORE = {
    DECISION: ("", "final ", "design ", "key ", "architectural ", "architecture ", "technical ", "technology "),
    ISSUE: ("open ", "known ", "remaining ", "unresolved ", "active ", "critical "),
}
_NUMBERED = re.compile(r"((?:bug|issue)-[\w-]{1,40})")
_TAIL = re.compile(r"[ \t]*(?:\([^()]{0,60}\)|\(?#?\d{1,3}\)?)$")
_SEVERITY = lazy_regex(r"[ \t]*[\[(](critical|high|medium|low)[\])][ \t]*", re.IGNORECASE)
_ACTIONS = {
    **dict.fromkeys(("created", "added", "files created"), "created"),
    **dict.fromkeys(("deleted", "removed", "files deleted"), "deleted"),
}
MODIFIED = "modified"


@cache
def _roles() -> dict[str, str]:
    """Return the role of each label, by its words."""
    roles = {phrase: role for role, phrases in _PHRASES.items() for phrase in phrases.split("|")}
    ends = ("decision", "decisions", "decision made", "decisions made", "decision taken", "decisions taken")
    roles |= {before + end: DECISION for before in _BEFORE[DECISION] for end in ends}
    kinds = ("bug", "bugs", "issue", "issues", "problem", "problems", "blocker", "blockers")
    roles |= {f"{before}{kind}": ISSUE for before in _BEFORE[ISSUE] for kind in kinds}
    return roles


def look_up(name: str) -> tuple[str, str, str]:
    """Return the meaning of a label: its role, the id of a bug or issue in it, and a severity in it.

    The role says what people write under the label, such as a decision or its reason. It is a constant of this module,
    "" for an unknown label. Id and severity are "" if the label does not name them. `BUG-2847 [CRITICAL]` gives (ISSUE,
    "BUG-2847", "critical").
    """
    words = name.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").replace("_", " ")
    severity = _SEVERITY.search(words)
    if severity:
        words = f"{words[: severity.start()]} {words[severity.end() :]}".strip()
    words = " ".join(words.split())
    if numbered := _NUMBERED.fullmatch(words.lower()):
        return ISSUE, words[: len(numbered[1])], severity[1].lower() if severity else ""
    role = _roles().get(words.lower(), "") or _roles().get(_TAIL.sub("", words).lower(), "")
    return role, "", severity[1].lower() if severity else ""


def action_of(name: str) -> str:
    """Return what a label such as "Files created" says was done to files: created, deleted, or else modified."""
    return _ACTIONS.get(" ".join(name.lower().split()), MODIFIED)


def phrases(kind: str) -> list[str]:
    """Return all labels, in lower case, that a statement of a `kind` may have, and those of its fields and values.

    They are compared with an unknown label, so that the most similar one can be suggested in its place.
    """
    roles = {*FIELDS.get(kind, ()), *VALUES}
    return [phrase for phrase, role in _roles().items() if role in roles]
