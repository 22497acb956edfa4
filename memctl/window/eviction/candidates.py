"""What could go: units that stand or fall together, with what would stand in their place and what that saves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from memctl.window.eviction import merging
from memctl.window.eviction.placeholders import MOST_OUTLINE, Evicted, is_placeholder, placeholder, shortened
from memctl.window.eviction.similarity import Similar
from memctl.window.messages.content import ContentBlock, ContentType, TokenCounter, count, recount
from memctl.window.messages.editing import GONE
from memctl.window.results.key_line import key_line

WhereKept = Callable[[ContentBlock], str]


class EvictionUnit(msgspec.Struct, frozen=True):
    """Blocks that can only go together, the texts for their places (None: nothing), and how worth keeping they are.

    `gain` is in tokens, what stands in their place already taken off.
    """

    blocks: tuple[ContentBlock, ...]
    texts: Mapping[str, str | None]
    gain: int
    score: float

    @property
    def order(self) -> tuple[object, ...]:
        """Lowest score first, then the oldest, then by id; definitions of tools only when nothing else is left."""
        first = self.blocks[0]
        is_definition = first.content_type is ContentType.TOOL_DEFINITION
        return is_definition, round(self.score, 9), first.turn_created, natural(first.block_id)


def natural(identifier: str) -> tuple[tuple[str, int], ...]:
    """A key that sorts `9.2` before `10.1`."""
    return tuple((text, int(number or 0)) for text, number in re.findall(r"(\D*)(\d{0,18})", identifier))


class Candidates:
    """Makes units out of the blocks that may go, and says of the others why they may not.

    `known` are placeholders that were made before, by the block's text and all else that they depend on.
    """

    def __init__(
        self,
        blocks: Sequence[ContentBlock],
        counter: TokenCounter,
        similar: Mapping[str, Similar],
        *,
        placeholder_tokens: int,
        outline_share: float,
        minimum_gain: int,
        where_kept: WhereKept | None,
        is_merging: bool,
        known: dict[tuple[Any, ...], str | None],
    ) -> None:
        self._blocks = blocks
        self._counter = counter
        self._similar = similar
        self._most = placeholder_tokens
        self._outline = outline_share
        self._least = minimum_gain
        self._is_merging = is_merging
        self._where_kept = where_kept
        self._known = known
        self._sizes = Counter(block.message for block in blocks)
        self._by_id = {block.block_id: block for block in blocks}
        self._calls = {block.call_id: block for block in blocks if block.is_call and block.call_id}
        self.kept: dict[str, str] = {}

    def units(self, held: Mapping[str, str], score: Callable[[ContentBlock], float]) -> list[EvictionUnit]:
        """The units that may go, in the order in which they go; `held` is what has to stay, and why."""
        self.kept = dict(held)
        found = []
        merged = self._merged(held, score) if self._is_merging else []
        taken = {block.block_id for unit in merged for block in unit.blocks}
        found += merged
        for group in self._groups():
            if group[0].block_id in taken:
                continue
            if all(block.block_id not in held for block in group):
                unit = self._unit(group, score)
                if unit is not None:
                    found.append(unit)
            elif reason := next((held[block.block_id] for block in group if block.block_id in held), ""):
                self.kept.update({block.block_id: reason for block in group if block.block_id not in held})
        return sorted(found, key=lambda unit: unit.order)

    def _merged(self, held: Mapping[str, str], score: Callable[[ContentBlock], float]) -> list[EvictionUnit]:
        """Units of blocks that become one line: the last of them has it, the others a word."""

        def may_go(block: ContentBlock) -> bool:
            return not (block.block_id in held or block.is_call or is_placeholder(block, self._largest))

        results = [block for block in self._blocks if block.content_type is ContentType.TOOL_RESULT]
        calls = {block.block_id: self._calls[block.call_id] for block in results if block.call_id in self._calls}
        asked = {name: f"{call.tool_name} {call.content}" for name, call in calls.items()}
        units = []
        for group in merging.joined(self._blocks, self._similar, asked, may_go):
            text = merging.line(group, calls.get(group[-1].block_id), 2 * self._most, self._counter)
            if text is None:
                continue
            texts = {block.block_id: GONE for block in group} | {group[-1].block_id: text}
            left = sum(recount(block, texts[block.block_id], self._counter) for block in group)
            gain = sum(block.token_count for block in group) - left
            if gain >= self._least:
                units.append(EvictionUnit(group, texts, gain, min(map(score, group))))
        return units

    @property
    def _largest(self) -> int:
        """The tokens of the largest placeholder."""
        return self._most + MOST_OUTLINE

    def _groups(self) -> list[tuple[ContentBlock, ...]]:
        """Blocks that go together: the thinking of one message; every other block goes alone."""
        groups: dict[object, list[ContentBlock]] = {}
        for block in self._blocks:
            is_thought = block.content_type is ContentType.THINKING and block.message >= 0
            groups.setdefault(("message", block.message) if is_thought else block.block_id, []).append(block)
        return [tuple(group) for group in groups.values()]

    def _unit(self, group: tuple[ContentBlock, ...], score: Callable[[ContentBlock], float]) -> EvictionUnit | None:
        tokens = sum(block.token_count for block in group)
        if is_placeholder(group[0], self._largest):
            why = "it was evicted before"
        else:
            texts, left = self._texts(group) if tokens >= self._least else (None, 0)
            if texts is not None and tokens - left >= self._least:
                return EvictionUnit(group, texts, tokens - left, min(map(score, group)))
            why = f"it would free fewer than {self._least} tokens"
        self.kept.update({block.block_id: why for block in group})
        return None

    def _texts(self, group: Sequence[ContentBlock]) -> tuple[dict[str, str | None] | None, int]:
        """What stands in the place of a unit, and its tokens; None if nothing does that is small enough."""
        block = group[0]
        if block.content_type in (ContentType.THINKING, ContentType.TOOL_DEFINITION):
            is_alone = block.message >= 0 and self._sizes[block.message] == len(group)
            left = count(GONE, ContentType.ASSISTANT_RESPONSE, self._counter) if is_alone else 0
            return {one.block_id: None for one in group}, left
        text = shortened(block, self._counter) if block.is_call else self._placeholder(block)
        if text is None:
            return None, 0
        return {block.block_id: text}, recount(block, text, self._counter)

    def _placeholder(self, block: ContentBlock) -> str | None:
        if self._most == 0:
            return GONE
        call = self._calls.get(block.call_id) if block.content_type is ContentType.TOOL_RESULT else None
        same_as = self._same_as(block)
        asked = call.content if call else ""
        key = (
            block.content,
            block.block_id,
            block.turn_created,
            block.metadata.get("line"),
            asked,
            same_as,
            self._most,
        )
        if key not in self._known:
            kept_at = self._where_kept(block) if self._where_kept else ""
            evicted = Evicted(block, call, kept_at, same_as)
            self._known[key] = placeholder(evicted, self._most, self._counter, self._outline)
        return self._known[key]

    def _same_as(self, block: ContentBlock) -> str:
        """The newer block that says nearly the same, and what only this one says: true also when that one goes."""
        similar = self._similar.get(block.block_id)
        if similar is None:
            return ""
        newer = self._by_id[similar.to]
        known = set(newer.content.split("\n"))
        own = key_line("\n".join(line for line in block.content.split("\n") if line not in known))
        return f"turn {newer.turn_created}'s" + (f", but for: {own}" if own else "")
