"""Eviction: taking out of a context window what it can spare (rules.md#window-eviction).

Nothing vanishes without a word: a placeholder says what was there and how to get it back. What has to stay stays
(`protection`), and a target that is out of reach is said to be.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import argument_checks
from memctl.text.similar import shingles, terms
from memctl.window.eviction.policies import EvictionPolicy
from memctl.window.eviction.protection import ALWAYS, protected, turn_of
from memctl.window.eviction.references import names_in, referenced
from memctl.window.eviction.scoring import SCORERS, EvictionScorer, Scoring, ScoringInput
from memctl.window.eviction.similarity import Similar, similar
from memctl.window.eviction.text_cache import TextCache
from memctl.window.messages.content import ContentBlock, ContentType, TokenCounter, check_blocks

if TYPE_CHECKING:
    from memctl.window.eviction.candidates import Candidates, EvictionUnit, WhereKept
    from memctl.window.messages.conversation import Conversation

OUTLINE_SHARE = 0.06  # of the tokens of a large result: what of it stays beside its placeholder
PLACEHOLDER_TOKENS = 50  # at most; rules.md#window-eviction
MINIMUM_GAIN = 50  # tokens; for less than a placeholder may cost, what it says is not worth losing
NOTHING_SPARED: Mapping[str, str] = MappingProxyType({})
_ABOUT_AS_GOOD = 0.05  # of a score: among such units the one goes that frees little more than is wanted
# Policies whose scores are weighed signals and no order that anybody relies on.
_WEIGHED = (EvictionPolicy.PRIORITY, EvictionPolicy.HYBRID)
# Policies that go by how alike blocks are; for the others they are not compared, which takes as long as all the rest.
_COMPARING = (EvictionPolicy.SEMANTIC_MERGE, EvictionPolicy.HYBRID)


class KeptBlock(msgspec.Struct, frozen=True):
    """A block that stays: its tokens, why, and its score if it could have gone."""

    block_id: str
    tokens: int
    why: str
    score: float | None = None


class Gone(msgspec.Struct, frozen=True):
    """A block that goes: its tokens before and after, the turn it is of, and the score that a policy gave it."""

    block_id: str
    content_type: ContentType
    tool_name: str
    turn: int
    before: int
    after: int
    score: float | None = None


class EvictionResult(msgspec.Struct, frozen=True):
    """What an eviction came to. Tokens are those of the blocks, placeholders included.

    `replacements` is for `Conversation.replace`: the new text of each block that goes by its id, None for nothing.
    `evictions` and `kept` say of every block what becomes of it and why, for an audit. `policy_name` is what scored: a
    policy, or the class of the host's own scorer. `similar_by` is how blocks were compared: by "embeddings", by "word
    shingles", or "" if none is like another or the policy does not ask.
    """

    blocks_evicted: list[ContentBlock]
    tokens_freed: int
    remaining_tokens: int
    policy_used: EvictionPolicy
    placeholders_generated: int
    replacements: dict[str, str | None]
    target_free_tokens: int
    evictions: list[Gone]
    kept: list[KeptBlock]
    similar_by: str = ""
    policy_name: str = ""

    @property
    def is_reached(self) -> bool:
        """Whether as much was freed as was asked for."""
        return self.tokens_freed >= self.target_free_tokens

    @property
    def held(self) -> dict[str, int]:
        """The tokens that stay, by the reason why, most first."""
        found: dict[str, int] = {}
        for one in self.kept:
            found[one.why] = found.get(one.why, 0) + one.tokens
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


class EvictionEngine:
    """Evicts by a policy, or by a `scorer` of the host's own.

    `counter` counts the tokens of placeholders and has to be the one that counted the blocks; the default counts for
    current Claude models. `where_kept` says where the host keeps a block that goes, for its placeholder. With
    `placeholder_max_tokens` 0 no placeholders are made; `outline_share` of a large result's tokens stay beside its own.
    """

    def __init__(
        self,
        policy: EvictionPolicy | str = EvictionPolicy.HYBRID,
        *,
        counter: TokenCounter | None = None,
        numbers: Scoring | None = None,
        scorer: EvictionScorer | None = None,
        protected_types: Collection[ContentType | str] = ALWAYS,
        placeholder_max_tokens: int = PLACEHOLDER_TOKENS,
        outline_share: float = OUTLINE_SHARE,
        minimum_gain: int = MINIMUM_GAIN,
        where_kept: WhereKept | None = None,
    ) -> None:
        argument_checks.numbers(placeholder_max_tokens=placeholder_max_tokens, minimum_gain=minimum_gain)
        self.counter = counter or _default_counter()
        self.numbers = numbers or Scoring()
        self.protected_types = tuple(map(_type, protected_types))
        self.placeholder_max_tokens = placeholder_max_tokens
        self.outline_share = outline_share
        self.minimum_gain = max(1, minimum_gain)
        self.where_kept = where_kept
        self.policy = _policy(policy)
        self.scorer: EvictionScorer = scorer or SCORERS[self.policy]()
        self._names = TextCache(names_in)
        self._runs = TextCache(shingles)
        self._terms: TextCache[set[str]] = TextCache(terms)
        self._placeholders: dict[tuple[Any, ...], str | None] = {}

    def set_policy(self, policy: EvictionPolicy | str) -> None:
        """Go by another policy from now on; raises MemctlError for one that is not known."""
        self.policy = _policy(policy)
        self.scorer = SCORERS[self.policy]()

    def evict(
        self,
        blocks: Sequence[ContentBlock],
        target_free_tokens: int,
        current_turn: int | None = None,
        *,
        task: str = "",
        task_embedding: list[float] | None = None,
        spared: Mapping[str, str] = NOTHING_SPARED,
    ) -> EvictionResult:
        """Choose blocks to free at least `target_free_tokens` tokens, or as many as can be freed.

        `current_turn` is that of the request to be made next (default: by the blocks), `task` what the model is to do
        (default: the first message of the user). `spared` are ids of blocks that stay too, each with the reason.
        """
        argument_checks.numbers(target_free_tokens=target_free_tokens)
        argument_checks.numbers_or_none(current_turn=current_turn)
        argument_checks.texts(task=task or "")
        argument_checks.instance(spared, Mapping, "spared", "a mapping of ids to reasons")
        check_blocks(blocks)
        turn = turn_of(blocks) if current_turn is None else current_turn
        known = referenced(blocks, self._names)
        alike = similar(known, runs=self._runs) if self.policy in _COMPARING or not self._is_own else {}
        task = task or next((b.content for b in known if b.content_type is ContentType.USER_MESSAGE and b.content), "")
        situation = ScoringInput(turn, self.numbers, frozenset(terms(task)), task_embedding, alike, self._terms)
        candidates = self._candidates(known, alike)
        held = {**spared, **protected(known, turn, self.protected_types)}
        units = candidates.units(held, lambda block: self.scorer.score(block, situation))
        is_weighed = self.policy in _WEIGHED and self._is_own
        chosen = _chosen(units, target_free_tokens, 1.0 if is_weighed else _ABOUT_AS_GOOD)
        self._forget(blocks)
        return self._result(known, units, chosen, candidates.kept, target_free_tokens, alike)

    def evict_from(
        self, conversation: Conversation, target_free_tokens: int, **given: Any
    ) -> tuple[Any, EvictionResult]:
        """Free tokens of a conversation; returns it in the shape in which it was given, and what was done."""
        from memctl.window.messages.conversation import check

        check(conversation)
        result = self.evict(conversation.blocks, target_free_tokens, conversation.current_turn, **given)
        return conversation.replace(result.replacements), result

    def _forget(self, blocks: Sequence[ContentBlock]) -> None:
        """Keep what was found out about these blocks, and no more."""
        texts = {block.content for block in blocks}
        for cache in (self._names, self._runs, self._terms):
            cache.keep(texts)
        if len(self._placeholders) > 2 * len(blocks):
            self._placeholders = {key: text for key, text in self._placeholders.items() if key[0] in texts}

    @property
    def _is_own(self) -> bool:
        """Whether the scorer is the policy's own, and not one that the host plugged in."""
        return isinstance(self.scorer, SCORERS[self.policy])

    def _candidates(self, blocks: Sequence[ContentBlock], alike: dict[str, Similar]) -> Candidates:
        from memctl.window.eviction.candidates import Candidates

        threshold = self.numbers.similarity_threshold
        return Candidates(
            blocks,
            self.counter,
            {block_id: found for block_id, found in alike.items() if found.share > threshold},
            placeholder_tokens=self.placeholder_max_tokens,
            outline_share=self.outline_share,
            minimum_gain=self.minimum_gain,
            where_kept=self.where_kept,
            is_merging=self.policy is EvictionPolicy.SEMANTIC_MERGE and self._is_own,
            known={} if self.where_kept else self._placeholders,
        )

    def _result(
        self,
        blocks: Sequence[ContentBlock],
        units: list[EvictionUnit],
        chosen: list[EvictionUnit],
        kept: dict[str, str],
        target: int,
        alike: dict[str, Similar],
    ) -> EvictionResult:
        gone = {block.block_id for unit in chosen for block in unit.blocks}
        scores = {block.block_id: unit.score for unit in units for block in unit.blocks}
        replacements = {block_id: text for unit in chosen for block_id, text in unit.texts.items()}
        freed = sum(unit.gain for unit in chosen)
        return EvictionResult(
            blocks_evicted=[block for unit in chosen for block in unit.blocks],
            tokens_freed=freed,
            remaining_tokens=sum(block.token_count for block in blocks) - freed,
            policy_used=self.policy,
            placeholders_generated=sum(text is not None for text in replacements.values()),
            replacements=replacements,
            target_free_tokens=target,
            evictions=[_gone(unit, block) for unit in chosen for block in unit.blocks],
            kept=[
                KeptBlock(block.block_id, block.token_count, _why(block, kept), scores.get(block.block_id))
                for block in blocks
                if block.block_id not in gone
            ],
            similar_by=" and ".join(sorted({found.by for found in alike.values()})),
            policy_name=self.policy.value if self._is_own else type(self.scorer).__name__,
        )


def _policy(given: EvictionPolicy | str) -> EvictionPolicy:
    try:
        return EvictionPolicy(given)
    except ValueError:
        known = ", ".join(one.value for one in EvictionPolicy)
        raise MemctlError(f"there is no eviction policy {given!r}", f"policies are {known}", USAGE) from None


def _type(given: ContentType | str) -> str:
    try:
        return ContentType(given).value
    except ValueError:
        known = ", ".join(one.value for one in ContentType)
        raise MemctlError(f"there is no content type {given!r}", f"types are {known}", USAGE) from None


def _chosen(units: list[EvictionUnit], target: int, spared: float) -> list[EvictionUnit]:
    """The first units that free the target together, with as little more as may be.

    The last of them may be another that is about as worth keeping and frees less. What the last makes needless stays,
    the most worth keeping first, if its score is at most `spared` below that of the last.
    """
    chosen: list[EvictionUnit] = []
    need, last = target, 0.0
    for number, unit in enumerate(units):
        if need <= 0:
            break
        if unit.gain >= need:
            near = [u for u in units[number:] if u.score <= unit.score + _ABOUT_AS_GOOD and u.gain >= need]
            unit = min((u for u in near if u.order[0] == unit.order[0]), key=lambda u: (u.gain, u.order))
        chosen.append(unit)
        need, last = need - unit.gain, unit.score
    for unit in sorted(chosen, key=lambda u: u.order, reverse=True):
        if need + unit.gain <= 0 and unit.score >= last - spared:
            chosen.remove(unit)
            need += unit.gain
    return chosen


def _gone(unit: EvictionUnit, block: ContentBlock) -> Gone:
    before = sum(one.token_count for one in unit.blocks)
    after = before - unit.gain if block is unit.blocks[0] else 0
    return Gone(
        block.block_id,
        block.content_type,
        block.tool_name,
        block.turn_created,
        block.token_count,
        after,
        round(unit.score, 4),
    )


def _why(block: ContentBlock, kept: dict[str, str]) -> str:
    return kept.get(block.block_id, "it is worth more than what goes")


def _default_counter() -> TokenCounter:
    from memctl.tokens.count import Counter
    from memctl.tokens.families import FAMILIES

    return Counter(FAMILIES["claude"])
