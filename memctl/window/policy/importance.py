"""How much a block matters, and which parts of a context it belongs to, by what it is called and says of itself."""

from __future__ import annotations

import re

from memctl.statements import labels
from memctl.window.policy.blocks import ParsedText, TextBlock

CRITICAL = 9  # the weight from which a block is critical information
WEIGHTY = 7  # the weight from which a rehydration loads first; rules.md#rehydration
# As records say it in a file, in a pack of whole words, and in the short form `critical i9 2025-11-04`.
_STATED = re.compile(
    r"\b(?:importance[\"']?[ :=]{1,3}[\"']?(10|[1-9])(?:/10)?\b|i(10|[1-9]) (?=\d{4}-\d\d-\d\d))", re.IGNORECASE
)
_SEVERE = re.compile(r"\b(?:severity[\"']?[ :=]{1,3}[\"']?critical\b|critical (?=i(?:10|[1-9]) \d{4}-))", re.IGNORECASE)
_STRONG = re.compile(r"\b(?:MUST NOT|MUST|NEVER|CRITICAL|DO NOT)\b")
_NAME = re.compile(r"^([A-Za-z][\w -]{1,40}?)(?::|$)", re.MULTILINE)
# The parts of the shared context slice by what labels stand for, and by other names that headings and keys have for
# them.
_BY_ROLE = {
    labels.TASK: "mission",
    **dict.fromkeys((labels.PHASE, labels.STATUS, labels.PROGRESS, labels.DONE), "phase"),
    **dict.fromkeys((labels.ISSUE, labels.BLOCKER, labels.ERROR), "risks"),
    labels.DECISION: "decisions",
    labels.DETAIL: "constraints",
    **dict.fromkeys((labels.NEXT, labels.TODO, labels.REMAINING), "next"),
}
_BY_WORD = {
    word: part
    for part, names in {
        "mission": "purpose",
        "phase": "phases plan plans checklist current steps",
        "risks": "risk risks blocks blocking",
        "anchors": "anchor anchors navigation index references artifacts",
        "constraints": "rules limits requirements",
        "inputs": "input inputs given files materials attachments",
        "outputs": "output outputs expected deliverables criteria result results format",
        "next": "action actions",
        "background": "stack environment context background history events meta metrics tried attempts fixes",
    }.items()
    for word in names.split()
}
_WEIGHTS = {"mission": 10, "constraints": 9, "risks": 9, "next": 8, "phase": 8}
TASK_LINES = ("task:", "chosen for the task:", "mission:", "goal:", "objective:", "current_objective:")
# What a pack for a task puts aside itself, by how its titles begin: what it has room for besides, and what it has not.
_ASIDE = ("besides", "left out")
_FRAME = ("mission", "constraints", "next", "phase", "risks")
# What must stay whatever the task is (rules.md#preservation), and a line or two of the ground that the work is on.
_PRESERVED, _GROUND, _SHORT = {"decisions", "constraints"}, "background", 100  # tokens
_DECISION = re.compile(r"\s*(?:\W{0,4}|(?:id|decision)\W{1,3})DEC-\d", re.IGNORECASE)


def parts(block: TextBlock) -> set[str]:
    """The parts of a shared context slice that a block is named for, by its title or the keys that it begins with."""
    named = [block.title, *(_NAME.findall(block.text[:2_000]) if block.is_marked else [])]
    found = {part for name in named for word in re.findall("[a-z]+", name.lower()) if (part := _part(word))}
    return found if len(block.title) <= 60 or not found else found & {"decisions"}


def _part(word: str) -> str:
    return _BY_WORD.get(word) or _BY_ROLE.get(labels.look_up(word)[0], "")


def is_frame(block: TextBlock) -> bool:
    """Whether a block says the task itself, where it stands, what binds or blocks it, or what comes next."""
    title = block.title.lower()
    return (
        len(title) <= 40 and not is_record(block) and any(_part(word) in _FRAME for word in re.findall("[a-z]+", title))
    )


def preserved(parsed: ParsedText) -> set[int]:
    """The numbers of the blocks that are decisions or constraints, with all below them, and of short background."""
    found: set[int] = set()
    for block in parsed.blocks:  # parents come before their children
        named = parts(block)
        is_decision = _DECISION.match(block.title) or _DECISION.match(block.text[:200])
        if (
            block.parent in found
            or is_decision
            or named & _PRESERVED
            or (_GROUND in named and block.tokens <= _SHORT and not is_record(block))
        ):
            found.add(block.number)
    return found


def is_aside(block: TextBlock) -> bool:
    """Whether a block is the title of what a pack itself says not to bear on its task."""
    return block.title.lower().replace("_", " ").startswith(_ASIDE) and not is_record(block)


def is_record(block: TextBlock) -> bool:
    """Whether a block says its importance itself, as a record does."""
    return _STATED.search(block.text[:2_000]) is not None


def weights(parsed: ParsedText) -> list[int]:
    """How much each block matters, from 0 to 10.

    A record weighs its importance, 10 if its severity is critical, and so does all that stands under it. Elsewhere the
    goal weighs 10, constraints and blockers 9, state and next steps 8, and what says MUST or NEVER 9.
    """
    found: list[int] = []
    records: list[bool] = []
    for block in parsed.blocks:
        parent = block.parent
        stated = _STATED.search(block.text[:2_000])
        if stated:
            found.append(10 if _SEVERE.search(block.text[:2_000]) else int(stated[1] or stated[2]))
            records.append(True)
        elif parent >= 0 and records[parent]:
            found.append(found[parent])
            records.append(True)
        else:
            found.append(_named_weight(block))
            records.append(False)
    return found


def _named_weight(block: TextBlock) -> int:
    if _SEVERE.search(block.text[:2_000]) or block.text.lower().startswith(TASK_LINES):
        return 10
    weight = max((_WEIGHTS.get(part, 0) for part in parts(block)), default=0) if not block.is_heading else 0
    return max(weight, 9 if _STRONG.search(block.text[:2_000]) else 0)
