"""Eviction: blocks that a window can spare are taken out of it (rules.md#window-eviction).

A placeholder says what a block was and how to get it back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import argument_checks
from memctl.text.similar import shingles, terms
from memctl.window.eviction.references import names_in, with_references
from memctl.window.eviction.scores import SCORES, EvictionScorer, Scoring, ScoringInput
from memctl.window.eviction.similarity import Embed, Similar, TextCache, similar
from memctl.window.messages.content import ContentBlock, ContentType, TokenCounter, check_blocks
from memctl.window.steps import EvictionPolicy

if TYPE_CHECKING:
    from memctl.window.eviction.candidates import Candidates, EvictionUnit, WhereKept
    from memctl.window.messages.conversation import Conversation

OUTLINE_SHARE = 0.06  # of the tokens of a large result: what of it stays beside its placeholder
PLACEHOLDER_TOKENS = 50  # at most
MINIMUM_GAIN = 50  # tokens; for less than a placeholder may cost, what it says is not worth losing
NOTHING_SPARED: Mapping[str, str] = MappingProxyType({})
_ABOUT_AS_GOOD = 0.05  # of a score: among such units the one goes that frees little more than is wanted
# Policies whose scores are weighed signals and no order that anybody relies on.
_WEIGHED = (EvictionPolicy.PRIORITY, EvictionPolicy.HYBRID)
# Policies that go by how alike blocks are; for the others they are not compared, which takes as long as all the rest.
_COMPARING = (EvictionPolicy.SEMANTIC_MERGE, EvictionPolicy.HYBRID)
# What several alike texts say, by their tool: a list of (tool, texts) -> for each a text, "" if there is none.
Merge = Callable[[Sequence[tuple[str, Sequence[str]]]], Sequence[str]]
E_ = TypeVar("E_", bound=Enum)


class KeptBlock(msgspec.Struct, frozen=True):
    """A block that an eviction left: its tokens, the reason, and its score; None if it was protected from eviction."""

    block_id: str
    tokens: int
    why: str
    score: float | None = None


class ChangedBlock(msgspec.Struct, frozen=True):
    """A block that was evicted or shortened: its tokens before and after, its turn, and its score under the policy."""

    block_id: str
    content_type: ContentType
    tool_name: str
    turn: int
    before: int
    after: int
    score: float | None = None

    @property
    def described(self) -> dict[str, Any]:
        """The block as a mapping for the audit log, without the fields that are unknown."""
        found = {
            "id": self.block_id, "type": self.content_type.value, "tool": self.tool_name, "turn": self.turn,
            "before": self.before, "after": self.after, "score": self.score,
        }  # fmt: skip
        return {name: value for name, value in found.items() if value not in (None, "")}


class EvictionResult(msgspec.Struct, frozen=True):
    """The result of an eviction; its numbers of tokens are those of blocks, placeholders included.

    `replacements` is the argument of `Conversation.replace`: the new text by the id of each evicted block, None for no
    text. `evictions` has each evicted block, and `kept` each other block with the reason why it stays. `policy_name` is
    the policy, or the class of the host's own scorer. `similar_by` is how blocks were compared: "embeddings" or "word
    shingles", "" if no block is like another or the policy does not compare blocks.
    """

    blocks_evicted: list[ContentBlock]
    tokens_freed: int
    remaining_tokens: int
    policy_used: EvictionPolicy
    placeholders_generated: int
    replacements: dict[str, str | None]
    target_free_tokens: int
    evictions: list[ChangedBlock]
    kept: list[KeptBlock]
    similar_by: str = ""
    policy_name: str = ""

    @property
    def is_reached(self) -> bool:
        """Whether at least the tokens of the target were freed."""
        return self.tokens_freed >= self.target_free_tokens

    @property
    def held(self) -> dict[str, int]:
        """The tokens of the blocks that stay, summed up by the reason why they stay, the largest sum first."""
        found: dict[str, int] = {}
        for one in self.kept:
            found[one.why] = found.get(one.why, 0) + one.tokens
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


class EvictionEngine:
    """Evicts blocks by a policy, or by the host's own `scorer`.

    `counter` must be the one that counted the blocks; the default counts for current Claude models. `where_kept`
    returns where the host keeps a block, for its placeholder. A placeholder has at most `placeholder_max_tokens`; 0
    makes none. `outline_share` of a large result's tokens stay as an outline. For the policy `semantic_merge`, `embed`
    returns the vectors of texts, and `merge` a line for several similar texts; without them words are compared, and
    rules make the line.
    """

    def __init__(
        self,
        policy: EvictionPolicy | str = EvictionPolicy.HYBRID,
        *,
        counter: TokenCounter | None = None,
        numbers: Scoring | None = None,
        scorer: EvictionScorer | None = None,
        protected_types: Collection[ContentType | str] = (ContentType.SYSTEM_PROMPT,),
        placeholder_max_tokens: int = PLACEHOLDER_TOKENS,
        outline_share: float = OUTLINE_SHARE,
        minimum_gain: int = MINIMUM_GAIN,
        where_kept: WhereKept | None = None,
        embed: Embed | None = None,
        merge: Merge | None = None,
    ) -> None:
        argument_checks.numbers(placeholder_max_tokens=placeholder_max_tokens, minimum_gain=minimum_gain)
        if counter is None:
            from memctl.tokens.count import Counter
            from memctl.tokens.families import FAMILIES

            counter = Counter(FAMILIES["claude"])
        self.counter = counter
        self.numbers = numbers or Scoring()
        self.embed, self.merge = embed, merge
        types = [_member(ContentType, one, "content type", "types") for one in protected_types]
        self._protected = tuple(one.value for one in types)
        self._sizes = placeholder_max_tokens, outline_share, max(1, minimum_gain)
        self._where_kept = where_kept
        self._placeholders: dict[tuple[Any, ...], str | None] = {}
        self._names = TextCache(names_in)
        self._runs = TextCache(shingles)
        self._terms: TextCache[set[str]] = TextCache(terms)
        self.policy = _member(EvictionPolicy, policy, "eviction policy", "policies")
        self._scorer = scorer

    def set_policy(self, policy: EvictionPolicy | str) -> None:
        """Use another policy in all later evictions; raises MemctlError for an unknown policy."""
        self.policy = _member(EvictionPolicy, policy, "eviction policy", "policies")
        self._scorer = None

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

        `current_turn` is the number of the next request, by default found in the blocks. `task` is what the model is to
        do, by default the user's first message. `spared` are ids of further blocks that stay, with the reasons.
        """
        argument_checks.numbers(target_free_tokens=target_free_tokens)
        argument_checks.numbers_or_none(current_turn=current_turn)
        argument_checks.texts(task=task or "")
        argument_checks.instance(spared, Mapping, "spared", "a mapping of ids to reasons")
        check_blocks(blocks)
        from memctl.window.eviction.candidates import Candidates, Placing, protected, turn_of

        turn = turn_of(blocks) if current_turn is None else current_turn
        known = with_references(blocks, self._names)
        own, is_merging = self._scorer, self.policy is EvictionPolicy.SEMANTIC_MERGE and self._scorer is None
        is_compared = own is not None or self.policy in _COMPARING
        embed = self.embed if is_merging else None
        alike = similar(known, runs=self._runs, embed=embed) if is_compared else {}
        task = task or next((b.content for b in known if b.content_type is ContentType.USER_MESSAGE and b.content), "")
        situation = ScoringInput(turn, self.numbers, frozenset(terms(task)), task_embedding, alike, self._terms)
        score = own.score if own is not None else SCORES[self.policy]
        duplicates = {name: one for name, one in alike.items() if one.share > self.numbers.similarity_threshold}
        placing = Placing(self.counter, *self._sizes, self._where_kept, {} if self._where_kept else self._placeholders)
        candidates = Candidates(known, duplicates, placing)
        held = {**spared, **protected(known, turn, self._protected)}
        units = candidates.units(held, lambda block: score(block, situation), is_merging=is_merging)
        slack = 1.0 if own is None and self.policy in _WEIGHED else _ABOUT_AS_GOOD
        chosen = self._with_merged_texts(_chosen(units, target_free_tokens, slack), candidates)
        self._forget(blocks)
        return self._result(known, units, chosen, candidates.kept, target_free_tokens, alike)

    def evict_from(
        self, conversation: Conversation, target_free_tokens: int, **given: Any
    ) -> tuple[Any, EvictionResult]:
        """Evict blocks of a conversation; return its messages in the shape in which they were given, and the result."""
        from memctl.window.messages.conversation import check

        check(conversation)
        result = self.evict(conversation.blocks, target_free_tokens, conversation.current_turn, **given)
        return conversation.replace(result.replacements), result

    def _with_merged_texts(self, chosen: list[EvictionUnit], candidates: Candidates) -> list[EvictionUnit]:
        """Return the chosen units, those of alike blocks with what a model says of them."""
        asked = [unit for unit in chosen if unit.is_merged]
        if self.merge is None or not asked:
            return chosen
        answers = self.merge([(unit.blocks[-1].tool_name, [one.content for one in unit.blocks]) for unit in asked])
        worded = {id(unit): candidates.merged_unit(unit.blocks, unit.score, text)
                  for unit, text in zip(asked, answers, strict=True) if text}  # fmt: skip
        return [worded.get(id(unit)) or unit for unit in chosen]

    def _forget(self, blocks: Sequence[ContentBlock]) -> None:
        """Keep what was found out about these blocks, and no more."""
        texts = {block.content for block in blocks}
        for cache in (self._names, self._runs, self._terms):
            cache.keep(texts)
        if len(self._placeholders) > 2 * len(blocks):
            self._placeholders = {key: text for key, text in self._placeholders.items() if key[0] in texts}

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
        why = "it is worth more than the evicted blocks"
        return EvictionResult(
            blocks_evicted=[block for unit in chosen for block in unit.blocks],
            tokens_freed=freed,
            remaining_tokens=sum(block.token_count for block in blocks) - freed,
            policy_used=self.policy,
            placeholders_generated=sum(text is not None for text in replacements.values()),
            replacements=replacements,
            target_free_tokens=target,
            evictions=[_changed_block(unit, block) for unit in chosen for block in unit.blocks],
            kept=[
                KeptBlock(one.block_id, one.token_count, kept.get(one.block_id, why), scores.get(one.block_id))
                for one in blocks
                if one.block_id not in gone
            ],
            similar_by=" and ".join(sorted({found.by for found in alike.values()})),
            policy_name=self.policy.value if self._scorer is None else type(self._scorer).__name__,
        )


def _member(kind: type[E_], given: E_ | str, what: str, plural: str) -> E_:
    try:
        return kind(given)
    except ValueError:
        known = ", ".join(str(one.value) for one in kind)
        raise MemctlError(f"there is no {what} {given!r}", f"{plural} are {known}", USAGE) from None


def _chosen(units: list[EvictionUnit], target: int, slack: float) -> list[EvictionUnit]:
    """Return the first units that free the target together, with as little more as may be.

    The last of them may be another that is about as worth keeping and frees less. What the last makes needless stays,
    the most worth keeping first, if its score is at most `slack` below that of the last.
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
        if need + unit.gain <= 0 and unit.score >= last - slack:
            chosen.remove(unit)
            need += unit.gain
    return chosen


def _changed_block(unit: EvictionUnit, block: ContentBlock) -> ChangedBlock:
    """Return a block of a unit; what is left of the unit counts to its first."""
    left = sum(one.token_count for one in unit.blocks) - unit.gain if block is unit.blocks[0] else 0
    name, type_, tool, turn = block.block_id, block.content_type, block.tool_name, block.turn_created
    return ChangedBlock(name, type_, tool, turn, block.token_count, left, round(unit.score, 4))
