"""The blocks that may be evicted (rules.md#window-eviction), grouped in units: blocks that are evicted together.

A unit has the texts that replace its blocks, and the tokens that this saves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from memctl.window.eviction import placeholders, similarity
from memctl.window.eviction.placeholders import Evicted
from memctl.window.eviction.similarity import Similar
from memctl.window.messages.content import ContentBlock, ContentType, TokenCounter, count, recount
from memctl.window.messages.replacement import GONE
from memctl.window.results.rows import key_line

ALWAYS = ("system_prompt",)  # `protected_types` by default
_OF_MODEL = (ContentType.ASSISTANT_RESPONSE, ContentType.THINKING, ContentType.TOOL_RESULT)
WhereKept = Callable[[ContentBlock], str]
Score = Callable[[ContentBlock], float]


def turn_of(blocks: Sequence[ContentBlock]) -> int:
    """Return the number of the turn that follows the last turn of the blocks."""
    turns = (block.turn_created + (block.content_type in _OF_MODEL) for block in blocks)
    return max([1, *turns])


def protected(blocks: Sequence[ContentBlock], current_turn: int, types: Collection[str] = ALWAYS) -> dict[str, str]:
    """Return the ids of the blocks that must stay, each with the reason.

    `types` are the names of protected types of content. `current_turn` is the number of the next request; what the turn
    before it contains stays: its answer, and its results, which the model has not read yet.
    """
    turns = [block.turn_created for block in blocks if block.content_type is ContentType.USER_MESSAGE]
    used = {block.tool_name for block in blocks if block.is_call or block.content_type is ContentType.TOOL_RESULT}
    found: dict[str, str] = {}
    for block in blocks:
        type_ = block.content_type
        is_last = block.turn_created >= current_turn - 1
        if type_.value in types:
            found[block.block_id] = f"{type_.value} is a protected type"
        elif block.do_not_evict:
            found[block.block_id] = "it is marked to stay"
        elif type_ is ContentType.TOOL_DEFINITION and (block.tool_name in used or not block.tool_name):
            found[block.block_id] = "the tool is in use"
        elif type_ is ContentType.USER_MESSAGE and block.turn_created == min(turns):
            found[block.block_id] = "it is the original task"
        elif type_ is ContentType.USER_MESSAGE and block.turn_created == max(turns):
            found[block.block_id] = "it is the user's current message"
        elif type_ is ContentType.TOOL_RESULT and is_last:
            found[block.block_id] = "the model has not answered it yet"
        elif type_ in _OF_MODEL and is_last:
            found[block.block_id] = "it is the last answer"
    return found


class EvictionUnit(msgspec.Struct, frozen=True):
    """Blocks that are evicted together, and a score of how worth keeping they are.

    `texts` has the text that replaces each block, by the block's id; None for no text. `gain` is the tokens saved:
    those of the blocks less those of the texts. The blocks of a merged unit are alike, and the text of its last block
    stands for all of them.
    """

    blocks: tuple[ContentBlock, ...]
    texts: Mapping[str, str | None]
    gain: int
    score: float
    is_merged: bool = False

    @property
    def order(self) -> tuple[object, ...]:
        """The key by which units are sorted, the first to be evicted first.

        The lowest score is first, then the oldest block, then the smallest id; definitions of tools are behind all
        others.
        """
        first = self.blocks[0]
        is_definition = first.content_type is ContentType.TOOL_DEFINITION
        return is_definition, round(self.score, 9), first.turn_created, _natural(first.block_id)


def _natural(identifier: str) -> tuple[tuple[str, int], ...]:
    """Return a key that sorts `9.2` before `10.1`."""
    return tuple((text, int(number or 0)) for text, number in re.findall(r"(\D*)(\d{0,18})", identifier))


class Placing(msgspec.Struct, frozen=True):
    """The settings by which placeholders of evicted blocks are made.

    `placeholder` is the largest size of a placeholder in tokens, and `least_gain` the smallest number of tokens that
    the eviction of a block has to save. `outline_share` is the share of a large result's tokens that stays as an
    outline. `where_kept` returns where the host keeps a block. `known` caches placeholders by all that they depend on.
    """

    counter: TokenCounter
    placeholder: int
    outline_share: float
    least_gain: int
    where_kept: WhereKept | None
    known: dict[tuple[Any, ...], str | None]


class Candidates:
    """Makes units of the blocks that may be evicted; `kept` has the reason for each block that may not, by its id."""

    def __init__(self, blocks: Sequence[ContentBlock], similar: Mapping[str, Similar], placing: Placing) -> None:
        self._blocks = blocks
        self._similar = similar
        self._how = placing
        self._sizes = Counter(block.message for block in blocks)
        self._by_id = {block.block_id: block for block in blocks}
        self._calls = {block.call_id: block for block in blocks if block.is_call and block.call_id}
        self.kept: dict[str, str] = {}

    def units(self, held: Mapping[str, str], score: Score, *, is_merging: bool) -> list[EvictionUnit]:
        """Return the units that may be evicted, the first to be evicted first.

        `held` are the ids of blocks that must stay, each with the reason. `score` returns how worth keeping a block is.
        With `is_merging` similar blocks become one unit.
        """
        self.kept = dict(held)
        found = self._merge_units(held, score) if is_merging else []
        taken = {block.block_id for unit in found for block in unit.blocks}
        groups: dict[object, list[ContentBlock]] = {}  # the thinking of one message; every other block is alone
        for block in self._blocks:
            is_thought = block.content_type is ContentType.THINKING and block.message >= 0
            groups.setdefault(("message", block.message) if is_thought else block.block_id, []).append(block)
        for group in groups.values():
            if group[0].block_id in taken:
                continue
            if reason := next((held[block.block_id] for block in group if block.block_id in held), ""):
                self.kept.update({block.block_id: reason for block in group if block.block_id not in held})
            elif unit := self._unit(tuple(group), score):
                found.append(unit)
        return sorted(found, key=lambda unit: unit.order)

    def call_of(self, block: ContentBlock) -> ContentBlock | None:
        """Return the call of a tool whose result `block` is, None if `block` is no result."""
        return self._calls.get(block.call_id) if block.content_type is ContentType.TOOL_RESULT else None

    def merged_unit(self, group: Sequence[ContentBlock], score: float, answer: str = "") -> EvictionUnit | None:
        """Return similar blocks as one unit, in which one line for all of them replaces the last block.

        `answer` is this line in a model's words, "" to make it by rules. None if too few tokens are saved.
        """
        most = 2 * self._how.placeholder
        text = placeholders.merge_line(group, self.call_of(group[-1]), most, self._how.counter, answer)
        if text is None:
            return None
        texts = {block.block_id: GONE for block in group} | {group[-1].block_id: text}
        gain = sum(block.token_count - recount(block, texts[block.block_id], self._how.counter) for block in group)
        return EvictionUnit(tuple(group), texts, gain, score, True) if gain >= self._how.least_gain else None

    def _merge_units(self, held: Mapping[str, str], score: Score) -> list[EvictionUnit]:
        def may_go(block: ContentBlock) -> bool:
            return not (block.block_id in held or block.is_call or self._is_placeholder(block))

        calls = {block.block_id: call for block in self._blocks if (call := self.call_of(block))}
        asked = {name: f"{call.tool_name} {call.content}" for name, call in calls.items()}
        groups = similarity.groups(self._blocks, self._similar, asked, may_go)
        return [unit for group in groups if (unit := self.merged_unit(group, min(map(score, group))))]

    def _is_placeholder(self, block: ContentBlock) -> bool:
        return placeholders.is_placeholder(block, self._how.placeholder + placeholders.MOST_OUTLINE)

    def _unit(self, group: tuple[ContentBlock, ...], score: Score) -> EvictionUnit | None:
        tokens = sum(block.token_count for block in group)
        why = "it was evicted before"
        if not self._is_placeholder(group[0]):
            texts, left = self._texts(group) if tokens >= self._how.least_gain else (None, 0)
            if texts is not None and tokens - left >= self._how.least_gain:
                return EvictionUnit(group, texts, tokens - left, min(map(score, group)))
            why = f"it would free fewer than {self._how.least_gain} tokens"
        self.kept.update({block.block_id: why for block in group})
        return None

    def _texts(self, group: Sequence[ContentBlock]) -> tuple[dict[str, str | None] | None, int]:
        """Return what takes the place of a unit, and its tokens; None if nothing does that is small enough."""
        block, counter = group[0], self._how.counter
        if block.content_type in (ContentType.THINKING, ContentType.TOOL_DEFINITION):
            is_alone = block.message >= 0 and self._sizes[block.message] == len(group)
            left = count(GONE, ContentType.ASSISTANT_RESPONSE, counter) if is_alone else 0
            return {one.block_id: None for one in group}, left
        text = placeholders.shorten_arguments(block, counter) if block.is_call else self._placeholder(block)
        return (None, 0) if text is None else ({block.block_id: text}, recount(block, text, counter))

    def _placeholder(self, block: ContentBlock) -> str | None:
        how = self._how
        if how.placeholder == 0:
            return GONE
        call, same_as = self.call_of(block), self._same_as(block)
        asked, line = call.content if call else "", block.metadata.get("line")
        key = (block.content, block.block_id, block.turn_created, line, asked, same_as, how.placeholder)
        if key not in how.known:
            evicted = Evicted(block, call, how.where_kept(block) if how.where_kept else "", same_as)
            how.known[key] = placeholders.placeholder(evicted, how.placeholder, how.counter, how.outline_share)
        return how.known[key]

    def _same_as(self, block: ContentBlock) -> str:
        """Return the newer block that says nearly the same, and what only this one says: true also when
        that one goes."""
        if (similar := self._similar.get(block.block_id)) is None:
            return ""
        newer = self._by_id[similar.to]
        known = set(newer.content.split("\n"))
        own = key_line("\n".join(line for line in block.content.split("\n") if line not in known))
        return f"turn {newer.turn_created}'s" + (f", but for: {own}" if own else "")
