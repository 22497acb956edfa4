"""Eviction: blocks that a window can spare are taken out of it (rules.md#window-eviction).

A block is a piece of the conversation, such as a message or a tool's result. A placeholder in its place says what the
block was and how to get it back. Blocks that belong together, such as the thinking of one message, form a unit and are
evicted together. The units with the lowest scores are evicted first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import argument_checks
from memctl.text.similarity import shingles, terms
from memctl.window.eviction.references import Embed, groups, names_in, similar, with_references
from memctl.window.eviction.scores import SCORES, EvictionScorer, Scoring, ScoringInput, semantic_merge
from memctl.window.messages.content import ContentBlock, ContentType, TokenCounter, check_blocks, count, recount
from memctl.window.messages.replacement import GONE
from memctl.window.steps import EvictionPolicy

if TYPE_CHECKING:
    from memctl.window.messages.conversation import Conversation

PLACEHOLDER_TOKENS = 50  # at most
_CACHED = 4_000  # texts whose names, words and placeholders are kept
MINIMUM_GAIN = 50  # tokens; for less than a placeholder may cost, what it says is not worth losing
NOTHING_SPARED: Mapping[str, str] = MappingProxyType({})
_ABOUT_AS_GOOD = 0.05  # of a score: among such units the one goes that frees little more than is wanted
# Policies whose scores are weighed signals and no order that anybody relies on.
_WEIGHED = (EvictionPolicy.PRIORITY, EvictionPolicy.HYBRID)
# Policies that go by how alike blocks are; for the others they are not compared, which takes as long as all the rest.
_COMPARING = (EvictionPolicy.SEMANTIC_MERGE, EvictionPolicy.HYBRID)
# What several alike texts say, by their tool: a list of (tool, texts) -> for each a text, "" if there is none.
Merge = Callable[[Sequence[tuple[str, Sequence[str]]]], Sequence[str]]
WhereKept = Callable[[ContentBlock], str]
Score = Callable[[ContentBlock, ScoringInput], float]
ALWAYS = ("system_prompt",)  # `protected_types` by default
_OF_MODEL = (ContentType.ASSISTANT_RESPONSE, ContentType.THINKING, ContentType.TOOL_RESULT)
E_ = TypeVar("E_", bound=Enum)


class KeptBlock(msgspec.Struct, frozen=True):
    """A block that stays after an eviction: its tokens, the reason why it stays, and its score under the policy.

    A score is from 0 (evict first) to 1 (keep). It is None for a block that could not be evicted, for example because
    it is protected.
    """

    block_id: str
    tokens: int
    why: str
    score: float | None = None


class ChangedBlock(msgspec.Struct, frozen=True):
    """A block that was evicted or shortened: its tokens before and after, its turn, and its score under the policy.

    A score is from 0 (evict first) to 1 (keep); None if the block was shortened without a policy.
    """

    block_id: str
    content_type: ContentType
    tool_name: str
    turn: int
    before: int
    after: int
    score: float | None = None

    @classmethod
    def of(cls, block: ContentBlock, after: int, score: float | None = None) -> ChangedBlock:
        """Return a description of the change of `block` from its present tokens to `after` tokens.

        `score` is the block's score under the eviction policy, None without a policy.
        """
        name, type_, tool, turn = block.block_id, block.content_type, block.tool_name, block.turn_created
        return cls(name, type_, tool, turn, block.token_count, after, score)

    @property
    def described(self) -> dict[str, Any]:
        """The changed block as a mapping for the audit log.

        Its keys are "id", "type", "tool", "turn", "before", "after" and "score"; a key whose value is empty or not
        known is missing.
        """
        fields = {
            "id": self.block_id, "type": self.content_type.value, "tool": self.tool_name, "turn": self.turn,
            "before": self.before, "after": self.after, "score": self.score,
        }  # fmt: skip
        return {name: value for name, value in fields.items() if value not in (None, "")}


class EvictionResult(msgspec.Struct, frozen=True):
    """The result of an eviction. Its numbers of tokens are sums over blocks; placeholders count as tokens that remain.

    `replacements` has the new text of each evicted block by its id, None for a block that is removed without a text; it
    is meant as the argument of `Conversation.replace`. `evictions` describes each evicted block, and `kept` each other
    block with the reason why it stays. `policy_name` is the policy, or the class of the host's own scorer. `similar_by`
    says how blocks were compared: by "embeddings", by "word shingles" (runs of three words), or by both. It is "" if no
    blocks were similar, or if the policy does not compare blocks.
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
        """Whether at least as many tokens were freed as the eviction was asked for."""
        return self.tokens_freed >= self.target_free_tokens

    @property
    def held(self) -> dict[str, int]:
        """The tokens of the blocks that stay, added up by the reason why they stay; the largest sum is first."""
        sums: dict[str, int] = {}
        for block in self.kept:
            sums[block.why] = sums.get(block.why, 0) + block.tokens
        return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))


def protected(blocks: Sequence[ContentBlock], current_turn: int, types: Collection[str] = ALWAYS) -> dict[str, str]:
    """Return the ids of the blocks that must not be evicted, each with the reason.

    A block is a piece of the conversation, such as a message. `types` are the names of protected types of content, such
    as "system_prompt". `current_turn` is the number of the next request. The last answer stays, and so do the results
    after it, because the model has not read these yet.
    """
    turns = [block.turn_created for block in blocks if block.content_type is ContentType.USER_MESSAGE]
    used = {block.tool_name for block in blocks if block.is_call or block.content_type is ContentType.TOOL_RESULT}

    def reason(block: ContentBlock) -> str:
        type_, turn = block.content_type, block.turn_created
        is_users, is_last = type_ is ContentType.USER_MESSAGE, type_ in _OF_MODEL and turn >= current_turn - 1
        is_used = type_ is ContentType.TOOL_DEFINITION and (block.tool_name in used or not block.tool_name)
        reasons = {
            f"blocks of the type {type_.value} are protected": type_.value in types,
            "the block is marked to stay": block.do_not_evict,
            "the tool that it defines is in use": is_used,
            "the block is the user's first message": is_users and turn == min(turns),
            "the block is the user's current message": is_users and turn == max(turns),
            "the model has not answered the block yet": is_last and type_ is ContentType.TOOL_RESULT,
            "the block is the model's last answer": is_last,
        }
        return next((why for why, holds in reasons.items() if holds), "")

    return {block.block_id: why for block in blocks if (why := reason(block))}


class EvictionUnit(msgspec.Struct, frozen=True):
    """Blocks that are evicted together, with a score of how worth keeping they are (0: evict first, 1: keep).

    `texts` maps the id of each block to the text that replaces it; None removes the block without a text. `gain` is the
    number of tokens that the eviction saves, after the tokens of `texts` are subtracted. If `is_merged`, the blocks are
    similar, and one text in the place of the last block replaces all of them.
    """

    blocks: tuple[ContentBlock, ...]
    texts: Mapping[str, str | None]
    gain: int
    score: float
    is_merged: bool = False

    @property
    def changes(self) -> list[ChangedBlock]:
        """A description of the change of each block in the unit.

        All tokens of the texts that replace the unit are counted for its first block; the other blocks have 0 tokens
        afterwards.
        """
        left, score = sum(block.token_count for block in self.blocks) - self.gain, round(self.score, 4)
        return [ChangedBlock.of(block, left * (block is self.blocks[0]), score) for block in self.blocks]


class EvictionEngine:
    """Evicts blocks (pieces of a conversation) by a policy, or by the host's own `scorer`.

    `numbers` are the settings of the policies' scores. `counter` must be the counter that counted the blocks' tokens;
    None stands for a counter for current Claude models. `where_kept` is a function that returns the place where the
    host keeps a block, which the block's placeholder then names. A placeholder has at most `placeholder_max_tokens`
    tokens; 0 means no placeholders. A block whose eviction would save fewer than `minimum_gain` tokens
    stays.

    The policy `semantic_merge` uses two functions. `embed` returns the vectors of texts; without it, blocks are
    compared by their words. `merge` returns one line for several similar texts; without it, the line is made by rules.
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
        types = [_member(ContentType, type_, "content type", "types") for type_ in protected_types]
        self._protected = tuple(type_.value for type_ in types)
        self.placeholder_tokens = placeholder_max_tokens
        self.least_gain = max(1, minimum_gain)
        self.where_kept = where_kept
        self.placeholders: dict[tuple[Any, ...], str | None] = {}  # by all that they depend on
        # A window has nearly the same texts in each turn.
        self._names = lru_cache(_CACHED)(names_in)
        self._runs = lru_cache(_CACHED)(shingles)
        self._terms = lru_cache(_CACHED)(terms)
        self.policy = _member(EvictionPolicy, policy, "eviction policy", "policies")
        self._scorer = scorer

    def set_policy(self, policy: EvictionPolicy | str) -> None:
        """Set the policy for all later evictions; the host's own scorer is no longer used.

        Raises MemctlError for an unknown policy.
        """
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
        """Choose the blocks to evict so that at least `target_free_tokens` tokens become free, and return the result.

        If that many can't be freed, as many as possible are freed. `blocks` are not changed; the caller replaces their
        texts by the result's `replacements`. `current_turn` is the number of the next request; with None it follows
        from the blocks. `task` is what the model is to do, by default the user's first message; `task_embedding` is its
        vector, or None. `spared` has the ids of further blocks that must stay, each with the reason.
        """
        argument_checks.numbers(target_free_tokens=target_free_tokens)
        argument_checks.numbers_or_none(current_turn=current_turn)
        argument_checks.texts(task=task or "")
        argument_checks.instance(spared, Mapping, "spared", "a mapping from ids of blocks to reasons")
        check_blocks(blocks)
        turns = (block.turn_created + (block.content_type in _OF_MODEL) for block in blocks)
        turn = max([1, *turns]) if current_turn is None else current_turn
        known = with_references(blocks, self._names)
        own = self._scorer
        score = own.score if own is not None else SCORES[self.policy]
        is_compared = own is not None or self.policy in _COMPARING
        alike = similar(known, self._runs, self.embed if score is semantic_merge else None) if is_compared else {}
        task = task or next((b.content for b in known if b.content_type is ContentType.USER_MESSAGE and b.content), "")
        situation = ScoringInput(turn, self.numbers, frozenset(terms(task)), task_embedding, alike, self._terms)
        candidates = _Candidates(self, known, situation, score)
        units = candidates.units({**spared, **protected(known, turn, self._protected)})
        slack = 1.0 if own is None and self.policy in _WEIGHED else _ABOUT_AS_GOOD
        chosen = self._with_merged_texts(_chosen(units, target_free_tokens, slack), candidates)
        freed, gone = sum(unit.gain for unit in chosen), {block.block_id for unit in chosen for block in unit.blocks}
        scores = {block.block_id: unit.score for unit in units for block in unit.blocks}
        replacements = {block_id: text for unit in chosen for block_id, text in unit.texts.items()}
        reasons, why = candidates.kept, "the block is worth more than the evicted blocks"
        return EvictionResult(
            blocks_evicted=[block for unit in chosen for block in unit.blocks],
            tokens_freed=freed,
            remaining_tokens=sum(block.token_count for block in blocks) - freed,
            policy_used=self.policy,
            placeholders_generated=sum(text is not None for text in replacements.values()),
            replacements=replacements,
            target_free_tokens=target_free_tokens,
            evictions=[change for unit in chosen for change in unit.changes],
            kept=[
                KeptBlock(b.block_id, b.token_count, reasons.get(b.block_id, why), scores.get(b.block_id))
                for b in known
                if b.block_id not in gone
            ],
            similar_by=" and ".join(sorted({match.by for match in alike.values()})),
            policy_name=self.policy.value if own is None else type(own).__name__,
        )

    def evict_from(
        self, conversation: Conversation, target_free_tokens: int, **options: Any
    ) -> tuple[Any, EvictionResult]:
        """Evict blocks of a conversation; return the conversation without them, and the result.

        The conversation is returned in the shape in which the host gave it, such as a list of messages. `options` are
        further arguments of `evict`, such as `task`.
        """
        from memctl.window.messages.conversation import check

        check(conversation)
        result = self.evict(conversation.blocks, target_free_tokens, conversation.current_turn, **options)
        return conversation.replace(result.replacements), result

    def _with_merged_texts(self, chosen: list[EvictionUnit], candidates: _Candidates) -> list[EvictionUnit]:
        merged = [unit for unit in chosen if unit.is_merged]
        if self.merge is None or not merged:
            return chosen
        answers = self.merge([(unit.blocks[-1].tool_name, [block.content for block in unit.blocks]) for unit in merged])
        worded = {id(unit): candidates.merged_unit(unit.blocks, unit.score, text)
                  for unit, text in zip(merged, answers, strict=True) if text}  # fmt: skip
        return [worded.get(id(unit)) or unit for unit in chosen]


def _member(kind: type[E_], value: E_ | str, what: str, plural: str) -> E_:
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(str(member.value) for member in kind)
        raise MemctlError(f"there is no {what} {value!r}", f"the {plural} are {known}", USAGE) from None


class _Candidates:
    """Makes units of the blocks that may be evicted; `kept` has the reason for each other block, by its id.

    `score` returns how worth keeping a block is in a situation. By the score of the policy `semantic_merge`, similar
    blocks are one unit.
    """

    def __init__(
        self, engine: EvictionEngine, blocks: Sequence[ContentBlock], situation: ScoringInput, score: Score
    ) -> None:
        from memctl.window.eviction import placeholders

        self._engine, self._blocks, self._placeholders = engine, blocks, placeholders
        self._score: Callable[[ContentBlock], float] = lambda block: score(block, situation)
        self._is_merging = score is semantic_merge
        threshold = engine.numbers.similarity_threshold
        self._similar = {name: match for name, match in situation.similar.items() if match.share > threshold}
        self._sizes = Counter(block.message for block in blocks)
        self._calls = {block.call_id: block for block in blocks if block.is_call and block.call_id}
        self.kept: dict[str, str] = {}

    def units(self, held: Mapping[str, str]) -> list[EvictionUnit]:
        self.kept |= held
        units = self._merge_units() if self._is_merging else []
        taken = {block.block_id for unit in units for block in unit.blocks}
        together: dict[object, list[ContentBlock]] = {}  # the thinking of one message; every other block is alone
        for block in self._blocks:
            is_thought = block.content_type is ContentType.THINKING and block.message >= 0
            together.setdefault(("message", block.message) if is_thought else block.block_id, []).append(block)
        for group in together.values():
            if group[0].block_id in taken:
                continue
            if reason := next((held[block.block_id] for block in group if block.block_id in held), ""):
                self.kept |= {block.block_id: reason for block in group if block.block_id not in held}
            elif unit := self._unit(group):
                units.append(unit)
        return sorted(units, key=_order)

    def merged_unit(self, group: Sequence[ContentBlock], score: float, answer: str = "") -> EvictionUnit | None:
        """One line, a model's `answer` or by rules, replaces the last block; None if too few tokens are saved."""
        counter, most = self._engine.counter, 2 * self._engine.placeholder_tokens
        text = self._placeholders.merge_line(group, self._call_of(group[-1]), most, counter, answer)
        if text is None:
            return None
        texts = {block.block_id: GONE for block in group} | {group[-1].block_id: text}
        gain = sum(block.token_count - recount(block, texts[block.block_id], counter) for block in group)
        return EvictionUnit(tuple(group), texts, gain, score, True) if gain >= self._engine.least_gain else None

    def _call_of(self, block: ContentBlock) -> ContentBlock | None:
        return self._calls.get(block.call_id) if block.content_type is ContentType.TOOL_RESULT else None

    def _merge_units(self) -> list[EvictionUnit]:
        def may_go(block: ContentBlock) -> bool:
            return not (block.block_id in self.kept or block.is_call or self._is_placeholder(block))

        calls = {block.block_id: call for block in self._blocks if (call := self._call_of(block))}
        call_texts = {name: f"{call.tool_name} {call.content}" for name, call in calls.items()}
        merged = groups(self._blocks, self._similar, call_texts, may_go)
        return [unit for group in merged if (unit := self.merged_unit(group, min(map(self._score, group))))]

    def _is_placeholder(self, block: ContentBlock) -> bool:
        return self._placeholders.is_placeholder(block, self._engine.placeholder_tokens)

    def _unit(self, group: Sequence[ContentBlock]) -> EvictionUnit | None:
        tokens, least = sum(block.token_count for block in group), self._engine.least_gain
        why = "the block was evicted before"
        if not self._is_placeholder(group[0]):
            texts, left = self._texts(group) if tokens >= least else (None, 0)
            if texts is not None and (gain := tokens - left) >= least:
                return EvictionUnit(tuple(group), texts, gain, min(map(self._score, group)))
            why = f"evicting the block would free fewer than {least} tokens"
        self.kept |= {block.block_id: why for block in group}
        return None

    def _texts(self, group: Sequence[ContentBlock]) -> tuple[dict[str, str | None] | None, int]:
        block, counter = group[0], self._engine.counter
        if block.content_type in (ContentType.THINKING, ContentType.TOOL_DEFINITION):
            is_alone = block.message >= 0 and self._sizes[block.message] == len(group)
            left = count(GONE, ContentType.ASSISTANT_RESPONSE, counter) if is_alone else 0
            return {member.block_id: None for member in group}, left
        text = self._placeholders.shorten_arguments(block) if block.is_call else self._placeholder(block)
        return (None, 0) if text is None else ({block.block_id: text}, recount(block, text, counter))

    def _placeholder(self, block: ContentBlock) -> str | None:
        engine = self._engine
        if engine.placeholder_tokens == 0:
            return GONE
        call = self._call_of(block)
        kept_at = engine.where_kept(block) if engine.where_kept else ""
        arguments, line = call.content if call else "", block.metadata.get("line")
        key = (block.content, block.block_id, block.turn_created, line, arguments, kept_at)
        known = engine.placeholders
        if len(known) > _CACHED:
            known.clear()
        if key not in known:
            evicted = self._placeholders.Evicted(block, call, kept_at)
            known[key] = self._placeholders.placeholder(evicted, engine.placeholder_tokens, engine.counter)
        return known[key]


def _order(unit: EvictionUnit) -> tuple[bool, float, int]:
    first = unit.blocks[0]
    return first.content_type is ContentType.TOOL_DEFINITION, round(unit.score, 9), first.turn_created


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
            unit = min((u for u in near if _order(u)[0] == _order(unit)[0]), key=lambda u: (u.gain, _order(u)))
        chosen.append(unit)
        need, last = need - unit.gain, unit.score
    for unit in sorted(chosen, key=_order, reverse=True):
        if need + unit.gain <= 0 and unit.score >= last - slack:
            chosen.remove(unit)
            need += unit.gain
    return chosen
