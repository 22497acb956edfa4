"""Which blocks of a text bear on a task, and how much each block matters.

Words are compared, not meanings: a block bears on a task if it has enough of the task's words, weighted by how rare
they are in the text, or if its parent does. A record bears on it as a whole or not at all. Blocks of the shared context
slice (the task, where work is, what binds or blocks it, what comes next) bear on it unless they are records.
"""

from __future__ import annotations

import math
import re
from collections import Counter

from memctl.statements import labels
from memctl.text.similar import terms
from memctl.window.policy.blocks import ParsedText, TextBlock

ENOUGH = 0.25  # of the weight of the task's words
ALIKE = 0.5  # of the words of the smaller of two blocks: a cluster
_COMPARED = 400  # blocks that are compared with each other, the largest


def relevant(parsed: ParsedText, task: str) -> list[bool]:
    """Return for each block whether it bears on the task."""
    asked = terms(task)
    own = [terms(f"{block.title} {block.text}") for block in parsed.blocks]
    document = Counter(term for found in own for term in found & asked)
    weights = {term: math.log(1 + len(own) / number) for term, number in document.items()}
    whole = sum(weights.values())

    def matches(number: int) -> bool:
        return whole > 0 and sum(weights[term] for term in own[number] & weights.keys()) >= ENOUGH * whole

    frame = [is_frame(block) for block in parsed.blocks]
    found = [matches(block.number) for block in parsed.blocks]
    units, passing = units_of(parsed), parsed.passes_down()
    bearing = {units[number] for number, bears in enumerate(found) if bears and units[number] >= 0}
    found = [bears or units[number] in bearing for number, bears in enumerate(found)]
    for block in parsed.blocks:  # parents come before their children
        number, parent = block.number, block.parent
        if parent >= 0 and passing[parent]:
            found[number] = found[number] or found[parent]
            frame[number] = frame[number] or (frame[parent] and units[number] < 0)
    found = [bears or framing for bears, framing in zip(found, frame, strict=True)]
    for block in reversed(parsed.blocks):  # what has something that matters below it is its title
        parent = block.parent
        if parent >= 0 and found[block.number] and (passing[parent] or parsed.blocks[parent].is_heading):
            found[parent] = True
    return found


def units_of(parsed: ParsedText) -> list[int]:
    """Return for each block the number of the record that it is a part of, -1 for none."""
    units: list[int] = []
    for block in parsed.blocks:
        above = units[block.parent] if block.parent >= 0 else -1
        units.append(block.number if above < 0 and is_record(block) else above)
    return units


def clusters(blocks: list[TextBlock]) -> list[list[TextBlock]]:
    """Return groups of similar blocks: each has at least half of its words in common with another of its group."""
    largest = sorted(blocks, key=lambda block: -block.tokens)[:_COMPARED]
    found = [(block, terms(block.text)) for block in largest]
    group = list(range(len(found)))
    for one, (_, ours) in enumerate(found):
        for other, (_, theirs) in enumerate(found[:one]):
            smaller = min(len(ours), len(theirs))
            if smaller > 2 and group[one] != group[other] and len(ours & theirs) >= ALIKE * smaller:
                old, new = group[one], group[other]
                group = [new if number == old else number for number in group]
    named: dict[int, list[TextBlock]] = {}
    for number, (block, _) in zip(group, found, strict=True):
        named.setdefault(number, []).append(block)
    return [sorted(members, key=lambda block: block.number) for members in named.values() if len(members) > 1]


CRITICAL = 9  # the weight from which a block is critical information
WEIGHTY = 7  # the weight from which a rehydration loads first; rules.md#rehydration
# As records say it in a file, in a pack of whole words, and in the short form `critical i9 2025-11-04`.
_STATED = re.compile(
    r"\b(?:importance[\"']?[ :=]{1,3}[\"']?(10|[1-9])(?:/10)?\b|i(10|[1-9]) (?=\d{4}-\d\d-\d\d))", re.IGNORECASE
)
_SEVERE = re.compile(r"\b(?:severity[\"']?[ :=]{1,3}[\"']?critical\b|critical (?=i(?:10|[1-9]) \d{4}-))", re.IGNORECASE)
_STRONG = re.compile(r"\b(?:MUST NOT|MUST|NEVER|CRITICAL|DO NOT)\b")
_NAME = re.compile(r"^([A-Za-z][\w -]{1,40}?)(?::|$)", re.MULTILINE)
# The parts of the shared context slice by the roles of labels, and by other names that headings and keys have for
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
    """Return the parts of a shared context slice that a block's title, or the keys at its beginning, name.

    Parts are such as "mission", "phase", "risks", "decisions", "constraints" and "next".
    """
    named = [block.title, *(_NAME.findall(block.text[:2_000]) if block.is_marked else [])]
    found = {part for name in named for word in re.findall("[a-z]+", name.lower()) if (part := _part(word))}
    return found if len(block.title) <= 60 or not found else found & {"decisions"}


def _part(word: str) -> str:
    return _BY_WORD.get(word) or _BY_ROLE.get(labels.look_up(word)[0], "")


def is_frame(block: TextBlock) -> bool:
    """Return whether a block states the task, how far it is, what binds or blocks it, or what comes next."""
    title = block.title.lower()
    return (
        len(title) <= 40 and not is_record(block) and any(_part(word) in _FRAME for word in re.findall("[a-z]+", title))
    )


def preserved(parsed: ParsedText) -> set[int]:
    """Return the numbers of the blocks that must stay: decisions and constraints with all below them, and short
    background.
    """
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
    """Return whether a block is the title under which a pack has what does not bear on its task."""
    return block.title.lower().replace("_", " ").startswith(_ASIDE) and not is_record(block)


def is_record(block: TextBlock) -> bool:
    """Return whether a block states its importance, as records do."""
    return _STATED.search(block.text[:2_000]) is not None


def weights(parsed: ParsedText) -> list[int]:
    """Return how much each block matters, from 0 to 10.

    A record has the weight of its importance, or 10 if its severity is critical, and so has all below it. Elsewhere the
    goal has 10, constraints and blockers 9, state and next steps 8, and text with MUST or NEVER 9.
    """
    units = [parsed.blocks[unit] if unit >= 0 else None for unit in units_of(parsed)]
    return [
        _named_weight(block) if unit is None else _stated_weight(unit)
        for block, unit in zip(parsed.blocks, units, strict=True)
    ]


def _stated_weight(record: TextBlock) -> int:
    text = record.text[:2_000]
    stated = _STATED.search(text)
    return 10 if stated is None or _SEVERE.search(text) else int(stated[1] or stated[2])


def _named_weight(block: TextBlock) -> int:
    if _SEVERE.search(block.text[:2_000]) or block.text.lower().startswith(TASK_LINES):
        return 10
    weight = max((_WEIGHTS.get(part, 0) for part in parts(block)), default=0) if not block.is_heading else 0
    return max(weight, 9 if _STRONG.search(block.text[:2_000]) else 0)
