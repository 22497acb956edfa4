"""Compression block by block: results of tools summed up, and older turns told shorter the older they are.

From which size and age on: rules.md#window-compression. Whatever must survive (`essentials`) stays in what a block
becomes; a block that would not shrink by 10 % is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import msgspec

from memctl.pack import mentioned, summary_rules
from memctl.providers.provider import Provider
from memctl.statements import reader
from memctl.statements import units as summary_units
from memctl.text.markdown import one_line
from memctl.window.compression import worded
from memctl.window.compression.result import LEAST_GAIN, CompressionStep, CompressionStrategy, refusal, result_of
from memctl.window.compression.worded import UntilItFails
from memctl.window.eviction.placeholders import START as EVICTED
from memctl.window.messages.content import ContentBlock, ContentType, TokenCounter, count, recount
from memctl.window.messages.conversation import Conversation
from memctl.window.preservation import essentials, events
from memctl.window.preservation.essentials import Essential
from memctl.window.results import summary
from memctl.window.results.key_line import SUMMED_UP

# Up to which age in turns, to which share of the length, and what that is called; rules.md#window-compression.
LEVELS = ((1, 1.0, "L0_full"), (5, 0.30, "L1_key_points"), (20, 0.05, "L2_one_line"), (None, 0.01, "L3_title"))
_LEAST = 10  # tokens; the floor for what a turn becomes
_SHORT = 120  # tokens of a block that is not worth shortening
_SHORTER = "[Shortened, "
_ORDER = summary_rules.ORDER


class Shortener(msgspec.Struct, frozen=True):
    """What shortens: whose tokens are counted, which strings must stay, a provider if there is one."""

    counter: TokenCounter
    needed: Collection[str] = ()
    provider: UntilItFails | None = None

    def asks(self) -> UntilItFails | None:
        """The provider, as long as it has not failed."""
        return self.provider if self.provider is not None and not self.provider.has_failed else None


Replacement = tuple[str, int]  # the text that a block becomes, and how often a model was asked for it


def summarize_results(
    conversation: Conversation,
    counter: TokenCounter,
    *,
    threshold: int = summary.THRESHOLD,
    provider: Provider | None = None,
    free: int | None = None,
) -> CompressionStep:
    """Sum up results of more than `threshold` tokens, the largest first, until `free` tokens are saved (all if None).

    Results that no answer has followed yet stay: the model has not read them.
    """
    wanted = essentials.of_blocks(conversation.blocks)
    asked = Shortener(counter, essentials.needed_in_results(wanted, conversation.blocks), _once(provider))
    calls = _calls(conversation.blocks)
    turn = conversation.current_turn
    large = [b for b in conversation.blocks if _is_large(b, threshold, turn)]
    texts: dict[str, Replacement] = {}
    saved = 0
    for block in sorted(large, key=lambda block: (-block.token_count, block.turn_created, block.block_id)):
        if free is not None and saved >= free:
            break
        made = _summed(block, calls.get(block.call_id), asked)
        if made is not None:
            texts[block.block_id] = made
            saved += block.token_count - recount(block, made[0], counter)
    return _step(CompressionStrategy.TOOL_RESULT, conversation, texts, asked, wanted)


def progressive(
    conversation: Conversation,
    counter: TokenCounter,
    *,
    provider: Provider | None = None,
    earlier: Sequence[Essential] = (),
    free: int | None = None,
) -> CompressionStep:
    """Tell what is older in less: each turn's answers and results by LEVELS, counted from the turn that comes next.

    The oldest go first, until `free` tokens are saved (all of them if None). `earlier` is as in `essentials.of_blocks`.
    """
    wanted = essentials.of_blocks(conversation.blocks, earlier)
    said = {one.text for one in wanted if one.kind not in (essentials.NUMBER, *essentials.SPOKEN)}
    needed = said | essentials.needed_in_results(wanted, conversation.blocks)
    asked = Shortener(counter, needed, _once(provider))
    calls = _calls(conversation.blocks)
    texts: dict[str, Replacement] = {}
    turn, saved = conversation.current_turn, 0
    for block in sorted(conversation.blocks, key=lambda block: block.turn_created):
        if free is not None and saved >= free:
            break
        age = turn - block.turn_created
        share, label = next((share, label) for most, share, label in LEVELS if most is None or age <= most)
        if share >= 1 or block.do_not_evict or block.token_count < _SHORT or block.content.startswith(EVICTED):
            continue
        made = _older(block, calls.get(block.call_id), share, label, asked)
        if made is not None:
            texts[block.block_id] = made
            saved += block.token_count - recount(block, made[0], counter)
    return _step(CompressionStrategy.PROGRESSIVE, conversation, texts, asked, wanted)


def _once(provider: Provider | None) -> UntilItFails | None:
    return None if provider is None else UntilItFails(provider)


def _is_large(block: ContentBlock, threshold: int, turn: int) -> bool:
    """Whether a result is above the threshold, not yet summed up, and read by the model."""
    return (
        block.content_type is ContentType.TOOL_RESULT
        and block.token_count > threshold
        and not block.do_not_evict
        and not block.metadata.get("uncounted")
        and not block.content.startswith((SUMMED_UP, EVICTED))
        and block.turn_created < turn - 1
    )


def _calls(blocks: Sequence[ContentBlock]) -> Mapping[str, ContentBlock]:
    return {block.call_id: block for block in blocks if block.is_call and block.call_id}


def _summed(
    block: ContentBlock, call: ContentBlock | None, asked: Shortener, goal: float = summary.GOAL
) -> Replacement | None:
    """A result told shorter, by the provider if it loses nothing that is needed, else by rules."""
    tokens: Callable[[str], int] = lambda text: recount(block, text, asked.counter)  # noqa: E731
    tried = 0
    arguments = events.arguments_of(call) if call else {}
    if provider := asked.asks():
        tried = 1
        sizes = block.token_count, max(int(block.token_count * goal), _LEAST)
        text = worded.result(provider, block.tool_name, arguments, block.content, sizes, asked.needed)
        if text and tokens(text) <= block.token_count * (1 - LEAST_GAIN):
            return text, tried
    made = summary.summarize(
        block.tool_name, arguments, block.content, tokens, needed=asked.needed, whole=_whole(block), goal=goal
    )
    return None if made is None else (made.text, tried)


def _whole(block: ContentBlock) -> str:
    line = block.metadata.get("line")
    return f"the whole is in line {line} of the transcript" if line else "the whole comes by calling again"


def _older(
    block: ContentBlock, call: ContentBlock | None, share: float, label: str, asked: Shortener
) -> Replacement | None:
    if block.content_type is ContentType.TOOL_RESULT and not block.metadata.get("uncounted"):
        return _summed(block, call, asked, share)
    if block.content_type is ContentType.ASSISTANT_RESPONSE and not block.is_call:
        return _told_shorter(block, share, label, asked)
    return None


def _told_shorter(block: ContentBlock, share: float, label: str, asked: Shortener) -> Replacement | None:
    """An answer in its own sentences, those that matter most first, in the order in which they stood."""
    head = f"{_SHORTER}{label}] "
    if block.content.startswith(head):
        return None
    most, tried = max(int(block.token_count * share), _LEAST), 0
    body = block.content.partition("] ")[2] if block.content.startswith(_SHORTER) else block.content
    body, stated = _without_statements(body)
    plain = " ".join(body.split())
    must = [word for word in asked.needed if mentioned.place(word, plain) >= 0]
    if provider := asked.asks():
        tried = 1
        said = worded.answer(provider, body, most, must)
        if said and _is_worth_it(block, head + said + stated, asked.counter):
            return head + said + stated, tried

    def fits(text: str) -> bool:
        return count(text + stated, block.content_type, asked.counter) <= most

    text = head + " ".join(_sentences(body, must, fits)) + stated
    return (text, tried) if _is_worth_it(block, text, asked.counter) else None


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
    texts: Mapping[str, Replacement],
    asked: Shortener,
    wanted: Sequence[Essential],
) -> CompressionStep:
    """The conversation with shorter texts, unless nothing became shorter or something got lost."""
    before = conversation.tokens
    if not texts:
        return CompressionStep(conversation, refusal(strategy, before, "no block is worth shortening"))
    new = conversation.changed({name: text for name, (text, _) in texts.items()}, asked.counter)
    lost = essentials.missing(wanted, new.blocks)
    calls = sum(tried for _, tried in texts.values())
    fidelity = round(1 - len(lost) / len(wanted), 3) if wanted else None
    touched = sum(block.token_count for block in conversation.blocks if block.block_id in texts)
    if lost or before - new.tokens < touched * LEAST_GAIN:
        named = "; ".join(f"{one.kind} {one.text[:80]!r}" for one in lost[:5])
        why = f"{len(lost)} things would be lost: {named}" if lost else "it would save less than 10 %"
        return CompressionStep(
            conversation, refusal(strategy, before, why, fidelity_score=fidelity, llm_calls_used=calls)
        )
    content = "\n\n".join(text for text, _ in texts.values())
    metadata = {"blocks": list(texts)}
    return CompressionStep(
        new,
        result_of(
            strategy, before, new.tokens, content, fidelity_score=fidelity, llm_calls_used=calls, metadata=metadata
        ),
    )
