"""Compression block by block: results of tools summed up, and older turns told shorter the older they are.

From which size and age on: rules.md#window-compression. Whatever must survive (`essentials`) stays in what a block
becomes; a block that would not shrink by 10 % is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

import msgspec

from memctl.pack import mentioned, summary_rules
from memctl.statements import reader
from memctl.statements import units as summary_units
from memctl.text.markdown import one_line
from memctl.window.compression import worded
from memctl.window.compression.model import Model, calls_counted, failure_of
from memctl.window.compression.prompts import Text
from memctl.window.compression.result import LEAST_GAIN, CompressionStep, CompressionStrategy, refusal, result_of
from memctl.window.eviction.placeholders import START as EVICTED
from memctl.window.messages.content import ContentBlock, ContentType, TokenCounter, count, recount
from memctl.window.messages.conversation import Conversation
from memctl.window.preservation import essentials, events
from memctl.window.preservation.essentials import Essential
from memctl.window.results import summary
from memctl.window.results.key_line import LARGE, SUMMED_UP

# Up to which age in turns, to which share of the length, and what that is called; rules.md#window-compression.
LEVELS = ((1, 1.0, "L0_full"), (5, 0.30, "L1_key_points"), (20, 0.05, "L2_one_line"), (None, 0.01, "L3_title"))
_LEAST = 10  # tokens; the floor for what a turn becomes
_MARGIN = 1.2  # what a model is asked for, of what is wanted
_SHORT = 120  # tokens of a block that is not worth shortening
_SHORTER = "[Shortened, "
_ORDER = summary_rules.ORDER


class Shortener(msgspec.Struct, frozen=True):
    """What shortens: whose tokens are counted, which strings must stay, a model if there is one."""

    counter: TokenCounter
    needed: Collection[str] = ()
    model: Model | None = None


class _Candidate(msgspec.Struct, frozen=True):
    """A block that may be told shorter, the call that it is the result of, and the share of its length that it may
    have, with the name of that."""

    block: ContentBlock
    call: ContentBlock | None
    share: float
    label: str = ""

    @property
    def goal(self) -> int:
        return max(int(self.block.token_count * self.share), _LEAST)

    @property
    def arguments(self) -> Mapping[str, Any]:
        return events.arguments_of(self.call) if self.call else {}


def summarize_results(
    conversation: Conversation,
    counter: TokenCounter,
    *,
    threshold: int = LARGE,
    model: Model | None = None,
    earlier: Sequence[Essential] | None = None,
    free: int | None = None,
    is_unread: bool = False,
) -> CompressionStep:
    """Sum up results of more than `threshold` tokens, the largest first, until `free` tokens are saved (all if None).

    Results that no answer has followed yet stay, for the model has not read them; with `is_unread` these alone are
    summed up. `earlier` is what must survive, if that is known.
    """
    wanted = essentials.of_blocks(conversation.blocks) if earlier is None else earlier
    asked = Shortener(counter, essentials.needed_in_results(wanted, conversation.blocks), model)
    calls = calls_of(conversation.blocks)
    turn = conversation.current_turn
    large = [b for b in conversation.blocks if is_large(b, threshold) and (b.turn_created >= turn - 1) is is_unread]
    order = sorted(large, key=lambda block: (-block.token_count, block.turn_created, block.block_id))
    candidates = [_Candidate(block, calls.get(block.call_id), summary.GOAL) for block in order]
    return _step(CompressionStrategy.TOOL_RESULT, conversation, _shortened(candidates, asked, free), asked, wanted)


def progressive(
    conversation: Conversation,
    counter: TokenCounter,
    *,
    model: Model | None = None,
    earlier: Sequence[Essential] = (),
    free: int | None = None,
) -> CompressionStep:
    """Tell what is older in less: each turn's answers and results by LEVELS, counted from the turn that comes next.

    The oldest go first, until `free` tokens are saved (all of them if None). `earlier` is as in `essentials.of_blocks`.
    """
    wanted = essentials.of_blocks(conversation.blocks, earlier)
    said = {one.text for one in wanted if one.kind not in (essentials.NUMBER, *essentials.SPOKEN)}
    needed = said | essentials.needed_in_results(wanted, conversation.blocks)
    asked = Shortener(counter, needed, model)
    calls = calls_of(conversation.blocks)
    turn = conversation.current_turn
    candidates: list[_Candidate] = []
    for block in sorted(conversation.blocks, key=lambda block: block.turn_created):
        age = turn - block.turn_created
        share, label = next((share, label) for most, share, label in LEVELS if most is None or age <= most)
        if share < 1 and _may_be_older(block) and not block.content.startswith(f"{_SHORTER}{label}] "):
            candidates.append(_Candidate(block, calls.get(block.call_id), share, label))
    return _step(CompressionStrategy.PROGRESSIVE, conversation, _shortened(candidates, asked, free), asked, wanted)


def is_large(block: ContentBlock, threshold: int = LARGE) -> bool:
    """Whether a block is a result above the threshold that was not summed up yet and may be."""
    return (
        block.content_type is ContentType.TOOL_RESULT
        and block.token_count > threshold
        and not block.do_not_evict
        and not block.metadata.get("uncounted")
        and not block.content.startswith((SUMMED_UP, EVICTED))
    )


def _may_be_older(block: ContentBlock) -> bool:
    """Whether a block is a result or an answer that is worth telling shorter."""
    if block.do_not_evict or block.token_count < _SHORT or block.content.startswith(EVICTED):
        return False
    if block.content_type is ContentType.TOOL_RESULT:
        return not block.metadata.get("uncounted")
    return block.content_type is ContentType.ASSISTANT_RESPONSE and not block.is_call


def calls_of(blocks: Sequence[ContentBlock]) -> Mapping[str, ContentBlock]:
    """The calls of tools by their ids."""
    return {block.call_id: block for block in blocks if block.is_call and block.call_id}


def _shortened(candidates: Sequence[_Candidate], asked: Shortener, free: int | None) -> dict[str, str]:
    """The texts that blocks become, by id, in the order of the candidates until `free` tokens are saved.

    A model is asked once, for as many as are sure to save that if it does what it is asked; what it does not give, what
    can't stand for the text, and what is still wanted after that is made by rules.
    """
    texts: dict[str, str] = {}
    given: dict[str, str] = {}
    if asked.model is not None:
        asked.model.begin()
        given = asked.model.shorter([_asked(one, asked) for one in _sure(candidates, free)])
    saved = 0
    for one in candidates:
        if free is not None and saved >= free:
            break
        text = _by_model(one, given.get(one.block.block_id, ""), asked) or _by_rules(one, asked)
        if text:
            texts[one.block.block_id] = text
            saved += one.block.token_count - recount(one.block, text, asked.counter)
    return texts


def _sure(candidates: Sequence[_Candidate], free: int | None) -> list[_Candidate]:
    """The first candidates that save `free` tokens if each comes to what it is to have, and a fifth more."""
    if free is None:
        return [*candidates]
    saved = accumulate((one.block.token_count - one.goal for one in candidates), initial=0)
    return [one for one, before in zip(candidates, saved, strict=False) if before < _MARGIN * free]


def _asked(one: _Candidate, asked: Shortener) -> Text:
    is_result = one.block.content_type is ContentType.TOOL_RESULT
    what = f"the output of the tool {one.block.tool_name!r}" if is_result else "what the agent said"
    text = one.block.content if is_result else _parts(one.block)[0]
    return Text(one.block.block_id, what, text, one.block.token_count, one.goal)


def _by_model(one: _Candidate, said: str, asked: Shortener) -> str:
    """What a model said of a block if it can stand for it and is shorter, else ""."""
    if not said or asked.model is None:
        return ""
    if one.block.content_type is ContentType.TOOL_RESULT:
        name = one.block.tool_name
        text = worded.result(said, asked.model.name, name, one.arguments, one.block.content, asked.needed)
    else:
        body, stated = _parts(one.block)
        told = worded.answer(said, body, _must(asked, body))
        text = f"{_SHORTER}{one.label}] {told}{stated}" if told else ""
    is_used = bool(text) and _is_worth_it(one.block, text, asked.counter)
    asked.model.judged(used=is_used, refused=not is_used)
    return text if is_used else ""


def _by_rules(one: _Candidate, asked: Shortener) -> str:
    """A block told shorter by rules, "" if that is not worth it."""
    block = one.block
    if block.content_type is not ContentType.TOOL_RESULT:
        return _told_shorter(block, one.share, one.label, asked)
    tokens: Callable[[str], int] = lambda text: recount(block, text, asked.counter)  # noqa: E731
    made = summary.summarize(
        block.tool_name, one.arguments, block.content, tokens, needed=asked.needed, whole=_whole(block), goal=one.share
    )
    return made.text if made else ""


def _whole(block: ContentBlock) -> str:
    line = block.metadata.get("line")
    return f"the whole is in line {line} of the transcript" if line else "the whole comes by calling again"


def _parts(block: ContentBlock) -> tuple[str, str]:
    """An answer without the head of an earlier shortening, and without what it states under labels; and the latter."""
    body = block.content.partition("] ")[2] if block.content.startswith(_SHORTER) else block.content
    return _without_statements(body)


def _must(asked: Shortener, body: str) -> list[str]:
    plain = " ".join(body.split())
    return [word for word in asked.needed if mentioned.place(word, plain) >= 0]


def _told_shorter(block: ContentBlock, share: float, label: str, asked: Shortener) -> str:
    """An answer in its own sentences, those that matter most first, in the order in which they stood."""
    most = max(int(block.token_count * share), _LEAST)
    body, stated = _parts(block)

    def fits(text: str) -> bool:
        return count(text + stated, block.content_type, asked.counter) <= most

    text = f"{_SHORTER}{label}] " + " ".join(_sentences(body, _must(asked, body), fits)) + stated
    return text if _is_worth_it(block, text, asked.counter) else ""


def _without_statements(body: str) -> tuple[str, str]:
    """A text without what it states under labels, and that as it stands: it is kept whole, or not at all shorter."""
    made = reader.read(body)
    lines = body.split("\n")
    taken = {number for one in made for number in range(one.line, one.end + 1)}
    stated = dict.fromkeys(
        one.source if len(one.source) <= essentials.LONGEST_TOLD else lines[one.line - 1] for one in made
    )
    rest = "\n".join(line for number, line in enumerate(lines, start=1) if number not in taken)
    return rest, "".join(f"\n{source}" for source in stated)


def _is_worth_it(block: ContentBlock, text: str, counter: TokenCounter) -> bool:
    return recount(block, text, counter) <= block.token_count * (1 - LEAST_GAIN)


def _sentences(body: str, must: Sequence[str], fits: Callable[[str], bool]) -> Iterator[str]:
    """The sentences that have to stay, and as many of the others as fit; the first one of all if there is room."""
    units = [*summary_units.units(body)]
    lines = [one_line(unit.text) for unit in units]
    ranks = [_rank(unit.text, must) for unit in units]
    chosen: set[int] = {place for place, rank in enumerate(ranks) if rank < 0}
    for place in sorted(range(len(lines)), key=lambda place: (ranks[place], place)):
        trial = chosen | {place}
        if ranks[place] >= 0 and fits(" ".join(lines[n] for n in sorted(trial))):
            chosen = trial
    yield from (lines[place] for place in sorted(chosen))


def _rank(text: str, must: Sequence[str]) -> int:
    """How little a sentence matters: -1 if it has something that must stay."""
    plain = " ".join(text.split())
    if plain and any(plain in word or mentioned.place(word, plain) >= 0 for word in must):
        return -1
    keeps = summary_rules.judge(summary_units.Unit(1, summary_units.SENTENCE, text)).keeps
    return _ORDER.index(keeps) if keeps in _ORDER else len(_ORDER)


def _step(
    strategy: CompressionStrategy,
    conversation: Conversation,
    texts: Mapping[str, str],
    asked: Shortener,
    wanted: Sequence[Essential],
) -> CompressionStep:
    """The conversation with shorter texts, unless nothing became shorter or something got lost."""
    before = conversation.tokens
    counted = calls_counted(asked.model)
    if not texts:
        return CompressionStep(conversation, refusal(strategy, before, "no block is worth shortening", **counted))
    new = conversation.changed(texts, asked.counter)
    lost = essentials.missing(wanted, new.blocks)
    counted["fidelity_score"] = round(1 - len(lost) / len(wanted), 3) if wanted else None
    touched = sum(block.token_count for block in conversation.blocks if block.block_id in texts)
    if lost or before - new.tokens < touched * LEAST_GAIN:
        named = "; ".join(f"{one.kind} {one.text[:80]!r}" for one in lost[:5])
        why = f"{len(lost)} things would be lost: {named}" if lost else "it would save less than 10 %"
        return CompressionStep(conversation, refusal(strategy, before, why, **counted))
    counted["metadata"] = {"blocks": list(texts), **failure_of(asked.model)}
    return CompressionStep(new, result_of(strategy, before, new.tokens, "\n\n".join(texts.values()), **counted))
