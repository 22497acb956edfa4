"""Which blocks bear on a task, and which are only like each other.

The measure is of words, not of meanings: a block bears on a task if it has enough of the task's words, weighed by how
rare they are in the text, or if what it stands under does; a record bears on it as a whole. What says the task itself,
where work stands, what binds or blocks it and what comes next (the shared context slice) bears on it by what it is,
unless it is a record: records have to match.
"""

from __future__ import annotations

import math
from collections import Counter

from memctl.text.similar import terms
from memctl.window.policy.blocks import ParsedText, TextBlock
from memctl.window.policy.importance import is_frame, is_record

ENOUGH = 0.25  # of the weight of the task's words
ALIKE = 0.5  # of the words of the smaller of two blocks: a cluster
_COMPARED = 400  # blocks that are compared with each other, the largest


def relevant(parsed: ParsedText, task: str) -> list[bool]:
    """Of each block whether it bears on the task."""
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
    """Of each block the record that it is a part of, or -1: a record bears on a task as a whole or not at all."""
    units: list[int] = []
    for block in parsed.blocks:
        above = units[block.parent] if block.parent >= 0 else -1
        units.append(block.number if above < 0 and is_record(block) else above)
    return units


def clusters(blocks: list[TextBlock]) -> list[list[TextBlock]]:
    """Groups of blocks that are alike: each shares at least half of its words with another of its group."""
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
