"""Blocks that say nearly the same, joined into one line: how many there were, what they said, and what the last said.

Polls are joined too: results of the same call that are alike but for their numbers (rules.md#window-eviction).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from memctl.text.similar import shingles
from memctl.window.eviction.placeholders import START, call_label
from memctl.window.eviction.similarity import Similar
from memctl.window.messages.content import ContentBlock, ContentType, TokenCounter, recount
from memctl.window.results.key_line import key_line

_DIGITS = re.compile(r"\d+")
_POLL_ALIKE = 0.5  # of the runs of words, numbers aside: what the same call gives again has the same frame
_FEWEST = 3
_SAID = 3  # different things that are told with how often they were said


def joined(
    blocks: Sequence[ContentBlock],
    similar: Mapping[str, Similar],
    asked: Mapping[str, str],
    may_go: Callable[[ContentBlock], bool],
) -> list[tuple[ContentBlock, ...]]:
    """The groups of three and more blocks that may go together, each in the order of its blocks: of two the older one
    goes alone, and says what only it says.

    `similar` names for a block the newer one that is like it; `asked` is what each result's call was asked, by id.
    """
    group = {block.block_id: block.block_id for block in blocks}

    def root(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    for name, found in similar.items():
        if name in group and found.to in group:
            group[root(name)] = root(found.to)
    last: dict[str, tuple[str, frozenset[int]]] = {}
    for block in blocks:
        key = asked.get(block.block_id)
        if key:
            runs = shingles(_DIGITS.sub("#", block.content))
            before = last.get(key)
            if before is not None and _share(before[1], runs, block) >= _POLL_ALIKE:
                group[root(before[0])] = root(block.block_id)
            last[key] = block.block_id, runs
    members: dict[str, list[ContentBlock]] = {}
    for block in blocks:
        if may_go(block):
            members.setdefault(root(block.block_id), []).append(block)
    return [tuple(own) for own in members.values() if len(own) >= _FEWEST]


def _share(one: frozenset[int], other: frozenset[int], block: ContentBlock) -> float:
    """The share of runs in common; what is too short to have any is like all that is as short."""
    if not one or not other:
        return 1.0 if not one and not other and block.content_type is ContentType.TOOL_RESULT else 0.0
    return len(one & other) / max(len(one), len(other))


def line(group: Sequence[ContentBlock], call: ContentBlock | None, most: int, counter: TokenCounter) -> str | None:
    """The line in the place of the last block of a group, of at most `most` tokens; None if none is short enough."""
    last = group[-1]
    said = Counter(_DIGITS.sub("#", key_line(block.content)) for block in group)
    example = {_DIGITS.sub("#", key_line(block.content)): key_line(block.content) for block in group}
    own = key_line(last.content)
    head = f"{START}{len(group)} of {last.content_type.value}, turns {group[0].turn_created} to {last.turn_created}"
    label = call_label(call)
    counted = [f"{number} times {example[text]}" for text, number in said.most_common(_SAID) if text]
    for parts in (counted, counted[:1], []):
        for name in (label, call.tool_name if call else "", ""):
            told = f"; {'; '.join(parts)}" if parts else ""
            text = f"{head}{f' ({name})' if name else ''}{told}; the last said: {own}]"
            if recount(last, text, counter) <= most:
                return text
    words = own.split()
    while len(words) > 3:
        words = words[: len(words) * 3 // 4]
        text = f"{head}; the last said: {' '.join(words)}…]"
        if recount(last, text, counter) <= most:
            return text
    return None
