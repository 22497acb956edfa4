"""The strategies that make a conversation smaller: results are summed up, turns shortened, the beginning compacted.

Sizes and ages are from rules.md#window-compression. Things that must survive, such as decisions and errors, stay in the
shorter text; a block that would not shrink by 10 % is left as it is. In a compaction a digest, made by rules or by a
model, replaces the beginning. The system prompt, the original task, the user's current message and blocks with
`do_not_evict` stay word for word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, zip_longest
from typing import Any

import msgspec

from memctl.pack import names_in_text
from memctl.statements import reader
from memctl.statements import units as summary_units
from memctl.text.markdown import one_line
from memctl.text.phrases import quantity
from memctl.tokens.messages import PER_MESSAGE
from memctl.transcript.messages import SYSTEM_ROLES, body_key, is_answer, is_items
from memctl.window.compression import digest, model
from memctl.window.compression.model import Model, Text, accepted_answer, call_counts, result_by
from memctl.window.compression.result import CompressionStep, CompressionStrategy, refusal, result_of
from memctl.window.messages.content import (
    EVICTED,
    SHORTENED,
    SUMMED_UP,
    ContentBlock,
    ContentType,
    TokenCounter,
    count,
    place_of,
    recount,
)
from memctl.window.messages.conversation import Conversation, Lines, check
from memctl.window.preservation import essentials, events
from memctl.window.preservation.essentials import Essential
from memctl.window.results import summary
from memctl.window.steps import KEPT_TURNS, LEAST_GAIN

# Up to which age in turns, to which share of the length, and what that is called; rules.md#window-compression.
LEVELS = ((1, 1.0, "L0_full"), (5, 0.30, "L1_key_points"), (20, 0.05, "L2_one_line"), (None, 0.01, "L3_title"))
_LEAST = 10  # tokens; the floor for what a turn becomes
_MARGIN = 1.2  # what a model is asked for, of what is wanted
_SHORT = 120  # tokens of a block that is not worth shortening


class _Candidate(msgspec.Struct, frozen=True):
    """A block that may become shorter, and the share of its length that it may have, with the name of that."""

    block: ContentBlock
    share: float
    label: str = ""

    @property
    def goal(self) -> int:
        return max(int(self.block.token_count * self.share), _LEAST)

    @property
    def is_result(self) -> bool:
        return self.block.content_type is ContentType.TOOL_RESULT


class _Strategy:
    """Makes a conversation smaller, by a model or by rules, and refuses to lose anything of it that must survive.

    `earlier` lists the things that an earlier compression had to keep, such as decisions; this one must keep them, too.
    Raises MemctlError if `conversation` is not a Conversation.
    """

    def __init__(
        self, conversation: Conversation, counter: TokenCounter, model: Model | None, earlier: Sequence[Essential] = ()
    ) -> None:
        check(conversation)
        self._conversation, self._counter, self._model = conversation, counter, model
        self._wanted = essentials.of_blocks(conversation.blocks, earlier)

    def _checked(
        self, strategy: CompressionStrategy, after: Conversation, text: str, touched: int, blocks: Iterable[str],
        **more: Any,
    ) -> CompressionStep:  # fmt: skip
        """Return the step to the shorter conversation `after`, if it loses nothing and saves enough.

        `touched` is the number of tokens that the step worked on, of which at least 10 % must be saved. Otherwise the
        step is refused: it then has the unchanged conversation, the reason, and the lost things in its metadata. `text`
        is the shorter text, `blocks` are the ids of the blocks from which it was made, and `more` are further fields of
        the result.
        """
        before = self._conversation.tokens
        lost, saved = essentials.missing(self._wanted, after.blocks), before - after.tokens
        more["fidelity_score"] = round(1 - len(lost) / len(self._wanted), 3) if self._wanted else None
        if not lost and saved >= touched * LEAST_GAIN:
            more["metadata"] = {"blocks": list(blocks), **more.get("metadata", {})}
            return CompressionStep(after, result_of(strategy, before, after.tokens, text, **more))
        examples = "; ".join(f"{thing.kind} {thing.text[:80]!r}" for thing in lost[:5])
        why = f"the compression would save only {saved:,} of {touched:,} tokens, less than {LEAST_GAIN:.0%}"
        why = f"{quantity(len(lost), 'text')} that must be kept would be lost: {examples}" if lost else why
        more["metadata"] = {**more.get("metadata", {}), "lost": tuple(lost)}
        return self._refused(strategy, why, text, **more)

    def _refused(self, strategy: CompressionStrategy, why: str, text: str = "", **more: Any) -> CompressionStep:
        return CompressionStep(self._conversation, refusal(strategy, self._conversation.tokens, why, text, **more))


def _is_result(block: ContentBlock) -> bool:
    """Return whether a block is a result of text alone that may become shorter; the words of a user may not."""
    is_open = not block.do_not_evict and not block.metadata.get("uncounted") and not block.content.startswith(EVICTED)
    return block.content_type is ContentType.TOOL_RESULT and is_open and not events.words_of_refusal(block)


class Shortener(_Strategy):
    """Makes blocks of a conversation shorter, each in its place."""

    def summarize_results(self, threshold: int, free: int | None, *, is_unread: bool) -> CompressionStep:
        """Sum up tools' results of more than `threshold` tokens, the largest first, until `free` tokens are saved.

        With None for `free`, all of them are summed up. Only results that the model has read already are summed up, or
        with `is_unread` only those that it has not read yet.
        """
        turn = self._conversation.current_turn
        large = [
            block
            for block in self._conversation.blocks
            if _is_result(block)
            and block.token_count > threshold
            and not block.content.startswith(SUMMED_UP)
            and (block.turn_created >= turn - 1) is is_unread
        ]
        order = sorted(large, key=lambda block: (-block.token_count, block.turn_created, block.block_id))
        candidates = [_Candidate(block, summary.GOAL) for block in order]
        return self._shortened(CompressionStrategy.TOOL_RESULT, candidates, free, set())

    def progressive(self, free: int | None) -> CompressionStep:
        """Shorten answers of the model and results of tools, the oldest first, until `free` tokens are saved.

        With None for `free`, all of them are shortened. How much stays of a text depends on its age, which is the
        number of turns since it came into the window: all of it up to an age of 1 turn, 30 % of its tokens up to 5
        turns, 5 % up to 20 turns, and 1 % beyond.
        """
        answers = {thing.text for thing in self._wanted if thing.kind not in (essentials.NUMBER, *essentials.SPOKEN)}
        candidates: list[_Candidate] = []
        for block in sorted(self._conversation.blocks, key=lambda block: block.turn_created):
            age = self._conversation.current_turn - block.turn_created
            share, label = next((share, label) for most, share, label in LEVELS if most is None or age <= most)
            is_answer = block.content_type is ContentType.ASSISTANT_RESPONSE and not block.is_call
            is_long = block.token_count >= _SHORT and not block.do_not_evict and not block.content.startswith(EVICTED)
            is_done = block.content.startswith(f"{SHORTENED}{label}] ")
            if share < 1 and is_long and not is_done and (is_answer or _is_result(block)):
                candidates.append(_Candidate(block, share, label))
        return self._shortened(CompressionStrategy.PROGRESSIVE, candidates, free, answers)

    def _shortened(
        self, strategy: CompressionStrategy, candidates: Sequence[_Candidate], free: int | None, needed: set[str]
    ) -> CompressionStep:
        """The strings in `needed` must stay where they are, and what `needed_in_results` returns."""
        conversation = self._conversation
        self._needed = needed | essentials.needed_in_results(self._wanted, conversation.blocks)
        calls = (block for block in conversation.blocks if block.is_call and block.call_id)
        self._arguments = {call.call_id: call.arguments for call in calls}
        texts, more = self._texts(candidates, free), call_counts(self._model)
        if not texts:
            return self._refused(strategy, "no block is worth shortening", **more)
        new = conversation.changed(texts, self._counter)
        touched = sum(block.token_count for block in conversation.blocks if block.block_id in texts)
        return self._checked(strategy, new, "\n\n".join(texts.values()), touched, texts, **more)

    def _texts(self, candidates: Sequence[_Candidate], free: int | None) -> dict[str, str]:
        """A model is asked once, for a fifth more than is wanted; rules make what it does not give or gives badly."""
        texts: dict[str, str] = {}
        answers: dict[str, str] = {}
        if self._model is not None:
            self._model.begin()
            sums = accumulate((c.block.token_count - c.goal for c in candidates), initial=0)
            first = [c for c, sum_ in zip(candidates, sums, strict=False) if free is None or sum_ < _MARGIN * free]
            answers = self._model.shorten([self._question(candidate) for candidate in first])
        saved = 0
        for candidate in candidates:
            if free is not None and saved >= free:
                break
            text = self._by_model(candidate, answers.get(candidate.block.block_id, "")) or self._by_rules(candidate)
            if text:
                texts[candidate.block.block_id] = text
                saved += candidate.block.token_count - recount(candidate.block, text, self._counter)
        return texts

    def _question(self, candidate: _Candidate) -> Text:
        block = candidate.block
        what = f"the output of the tool {block.tool_name!r}" if candidate.is_result else "what the agent said"
        text = block.content if candidate.is_result else _parts(block)[0]
        return Text(block.block_id, what, text, block.token_count, candidate.goal)

    def _by_model(self, candidate: _Candidate, answer: str) -> str:
        if not answer or self._model is None:
            return ""
        block = candidate.block
        if candidate.is_result:
            arguments = self._arguments.get(block.call_id, {})
            text = result_by(answer, self._model.name, block.tool_name, arguments, block.content, self._needed)
        else:
            body, stated = _parts(block)
            worded = accepted_answer(answer, body, self._must(body))
            text = f"{SHORTENED}{candidate.label}] {worded}{stated}" if worded else ""
        is_used = bool(text) and self._is_worth_it(block, text)
        self._model.count(used=is_used, refused=not is_used)
        return text if is_used else ""

    def _by_rules(self, candidate: _Candidate) -> str:
        block, share = candidate.block, candidate.share
        arguments = self._arguments.get(block.call_id, {})
        if candidate.is_result:
            place = place_of(block)
            whole = f"the whole result is in {place}" if place else "call the tool again for the whole result"
            tokens: Callable[[str], int] = lambda text: recount(block, text, self._counter)  # noqa: E731
            made = summary.summarize(
                block.tool_name, arguments, block.content, tokens, needed=self._needed, whole=whole, goal=share
            )
            return made.text if made else ""
        body, stated = _parts(block)

        def fits(text: str) -> bool:
            return count(text + stated, block.content_type, self._counter) <= candidate.goal

        text = f"{SHORTENED}{candidate.label}] " + " ".join(_sentences(body, self._must(body), fits)) + stated
        return text if self._is_worth_it(block, text) else ""

    def _must(self, body: str) -> list[str]:
        plain = " ".join(body.split())
        return [word for word in self._needed if names_in_text.place(word, plain) >= 0]

    def _is_worth_it(self, block: ContentBlock, text: str) -> bool:
        return recount(block, text, self._counter) <= block.token_count * (1 - LEAST_GAIN)


def _parts(block: ContentBlock) -> tuple[str, str]:
    """Return an answer without the head of an earlier shortening and without what it states under labels; and the
    latter.

    A statement is kept whole, or not at all shorter.
    """
    body = block.content.partition("] ")[2] if block.content.startswith(SHORTENED) else block.content
    made = reader.read(body)
    lines = body.split("\n")
    taken = {number for statement in made for number in range(statement.line, statement.end + 1)}
    stated = dict.fromkeys(
        statement.source if len(statement.source) <= essentials.LONGEST_STATEMENT else lines[statement.line - 1]
        for statement in made
    )
    rest = "\n".join(line for number, line in enumerate(lines, start=1) if number not in taken)
    return rest, "".join(f"\n{source}" for source in stated)


def _sentences(body: str, must: Sequence[str], fits: Callable[[str], bool]) -> Iterator[str]:
    lines = [one_line(unit.text) for unit in summary_units.units(body)]
    chosen = {place for place, line in enumerate(lines) if _is_needed(line, must)}
    for place in range(len(lines)):
        trial = chosen | {place}
        if fits(" ".join(lines[n] for n in sorted(trial))):
            chosen = trial
    yield from (lines[place] for place in sorted(chosen))


def _is_needed(line: str, must: Sequence[str]) -> bool:
    return bool(line) and any(line in word or names_in_text.place(word, line) >= 0 for word in must)


_STRATEGY = CompressionStrategy.COMPACTION


class Compactor(_Strategy):
    """Replaces the beginning of a conversation by a digest, which is a summary with headings; the last turns stay."""

    def compact(self, kept_turns: int = KEPT_TURNS, target: int | None = None) -> CompressionStep:
        """Return the conversation compacted, or unchanged with the reason why the compaction is refused.

        At least the last `kept_turns` turns stay. If there is a `target`, more turns stay, as long as the conversation
        then has at most `target` tokens. A model is asked once for the digest; rules make the digest if there is no
        model, or if the model's text is refused. The compaction is refused if the digest loses something that must
        survive or saves less than 10 %.
        """
        turns, made, by = kept_turns, self._by_rules(kept_turns), self._model
        if target is not None:
            turns, made = self._with_more_turns(kept_turns, made, target)
        cut, replaced = self._cut(turns)
        if by is None or len(replaced) < 2:
            return made
        by.begin()
        words = by.compaction(replaced)
        step = self._compacted(cut, f"{events.head_by(by.name)}\n\n{words}", replaced) if words else made
        note = ""
        if not words:
            note = by.failure or "the model gave no answer"
        elif step.result.refused:
            note = step.result.refused
        elif not model.is_about(words, "\n".join(block.content for block in replaced)):
            note = "the model's digest is about something else"
        elif target is not None and turns != kept_turns and step.conversation.tokens > target:
            note = "with the model's digest the window would be larger than the target"
        by.count(used=not note, refused=bool(note and words))
        counted = by.take_counts()
        if note:
            step = made
            counted["metadata"] = {**made.result.metadata, "provider": note, "note": "made by rules instead"}
        return CompressionStep(step.conversation, msgspec.structs.replace(step.result, **counted))

    def _by_rules(self, kept_turns: int) -> CompressionStep:
        cut, replaced = self._cut(kept_turns)
        if len(replaced) < 2:
            return self._refused(_STRATEGY, "there is nothing to compress before the last turns")
        made = digest.of_blocks(replaced).with_missing(essentials.present(self._wanted, replaced))
        return self._compacted(cut, made.text, replaced)

    def _with_more_turns(self, least: int, fewest: CompressionStep, target: int) -> tuple[int, CompressionStep]:
        """Return how many of the last turns stay if no more than `target` tokens are to be left, and the compaction
        with these.

        What a compaction adds to the turns that stay is known once it is made: it is made with the fewest, and then
        with as many as that leaves room for, and with ever fewer until it fits.
        """
        if fewest.result.refused or fewest.conversation.tokens >= target:
            return least, fewest
        turn = self._conversation.current_turn
        own = [2 * PER_MESSAGE] * (turn + 1)
        for block in self._conversation.blocks:
            own[block.turn_created] += block.token_count
        room, number = target - fewest.conversation.tokens, least
        while number < turn and own[turn - number - 1] <= room:
            room -= own[turn - number - 1]
            number += 1
        while number > least:
            step = self._by_rules(number)
            if not step.result.refused and step.conversation.tokens <= target:
                return number, step
            number = least + (number - least) * 3 // 4
        return least, fewest

    def _cut(self, kept_turns: int) -> tuple[int, list[ContentBlock]]:
        """Return the index of the message that the part which stays begins with, and the blocks before it that a digest
        takes the place of. That message is an answer, with all its results behind it."""
        conversation = self._conversation
        first_kept = max(conversation.current_turn - kept_turns, 1)
        turns = {block.message: block.turn_created for block in reversed(conversation.blocks)}  # of its first block
        answers = (index for index, message in enumerate(conversation.messages) if is_answer(message))
        cut = next((index for index in answers if turns.get(index, 0) >= first_kept), len(conversation.messages))
        old = [block for block in conversation.blocks if 0 <= block.message < cut]
        return cut, [block for block in old if block.content_type is not ContentType.SYSTEM_PROMPT]

    def _compacted(self, cut: int, text: str, replaced: Sequence[ContentBlock]) -> CompressionStep:
        conversation = self._conversation
        messages, lines = _with_digest(conversation, cut, text)
        new = Conversation.parse(
            messages, self._counter, lines=lines, keep=conversation.keep, source=conversation.source
        )
        names = (block.block_id for block in replaced)
        return self._checked(_STRATEGY, new, text, conversation.tokens, names)


def _with_digest(conversation: Conversation, cut: int, text: str) -> tuple[Any, Lines]:
    """Of the user's messages before the cut, the first, the current and marked ones stay."""
    key, messages, blocks = body_key(conversation.given), conversation.messages, conversation.blocks
    frame = [index for index in range(cut) if messages[index].get("role") in SYSTEM_ROLES]
    lines = dict(enumerate(conversation.lines))
    digests = events.digests(blocks)
    taken_in = {(block.message, block.path) for block in digests}  # in the new one, as results are
    spoken = [block for block in blocks if block.content_type is ContentType.USER_MESSAGE]
    own = [block for block in spoken if (block.message, block.path) not in taken_in]
    chosen = {block.message for block in own if block.do_not_evict or block is own[0] or block is own[-1]}
    is_item = is_items(messages)

    def part(content: str) -> dict[str, str]:
        return {"type": "input_text" if is_item else "text", "text": content}

    parts: list[Any] = []
    numbers: list[int] = []
    for index in sorted(index for index in chosen if 0 <= index < cut):
        content = messages[index].get("content")
        elements = content if isinstance(content, list) else [part(str(content))]
        pairs = zip_longest(elements, lines.get(index, ())[: len(elements)], fillvalue=0)
        for number, (item, line) in enumerate(pairs):
            is_result = isinstance(item, dict) and item.get("type") == "tool_result"
            if not is_result and (index, ("content", number)) not in taken_in:
                parts.append(item)
                numbers.append(int(line))
    for block in blocks:
        is_theirs = block.content_type in (ContentType.USER_MESSAGE, ContentType.SYSTEM_PROMPT)
        if block.do_not_evict and 0 <= block.message < cut and not is_theirs and block.content:
            what = f"{block.content_type.value} from turn {block.turn_created}"
            parts.append(part(f"[Kept unchanged, because it is marked: {what}]\n{block.content}"))
    shape = {"type": "message"} if is_item else {}
    new = [*(messages[n] for n in frame), {**shape, "role": "user", "content": [*parts, part(text)]}, *messages[cut:]]
    new_lines = [*(lines.get(index, ()) for index in frame), numbers, *conversation.lines[cut:]] if lines else ()
    return new if key is None else {**conversation.given, key: new}, new_lines
