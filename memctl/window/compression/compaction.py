"""Compaction: a digest replaces the beginning of a conversation, and the last turns stay as they are.

The system prompt, the original task, the user's current message and marked blocks stay word for word
(rules.md#window-compression). The digest is made by rules, or by a model, whose text is refused if it loses something
that must survive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

import msgspec

from memctl.tokens.messages import PER_MESSAGE
from memctl.transcript.messages import SYSTEM_ROLES, body_key, is_answer, is_items
from memctl.window.compression import digest, model, shorter
from memctl.window.compression.model import Model
from memctl.window.compression.result import CompressionStep, CompressionStrategy, refusal
from memctl.window.messages.content import ContentBlock, ContentType, TokenCounter
from memctl.window.messages.conversation import Conversation, Lines
from memctl.window.preservation import essentials, events
from memctl.window.preservation.essentials import Essential
from memctl.window.steps import KEPT_TURNS

_SHARE = 0.15  # of the tokens of what it replaces, a digest has at most so many of findings that need not stay
_STRATEGY = CompressionStrategy.COMPACTION


def compact(
    conversation: Conversation,
    counter: TokenCounter,
    kept_turns: int = KEPT_TURNS,
    by: Model | None = None,
    earlier: Sequence[Essential] = (),
    target: int | None = None,
) -> CompressionStep:
    """Replace all turns but the last by a digest; refused if that loses something or saves less than 10 %.

    At least the last `kept_turns` stay, and as many more as fit into `target` tokens. A model `by` is asked once for
    the digest; rules make the digest if the model's text is refused. `earlier` is what had to survive in the
    conversation before it was last made shorter. A refused step has the conversation unchanged, and the reason in its
    result.
    """
    wanted = essentials.of_blocks(conversation.blocks, earlier)
    by_rules = partial(_by_rules, conversation, counter, wanted)
    kept, made = kept_turns, by_rules(kept_turns)
    if target is not None:
        kept, made = _roomy(conversation, kept_turns, made, target, by_rules)
    cut = _cut(conversation, kept)
    replaced = _replaced(conversation, cut)
    if by is None or len(replaced) < 2:
        return made
    by.begin()
    words = by.compaction(replaced)
    text = f"{events.head_by(by.name)}\n\n{words}"
    step = _checked(conversation, _rebuilt(conversation, cut, text), counter, wanted, text, replaced) if words else made
    if not words:
        note = by.failure or "it said nothing"
    elif step.result.refused:
        note = step.result.refused
    elif not model.is_about(words, "\n".join(block.content for block in replaced)):
        note = "its digest is on something else"
    elif target is not None and kept != kept_turns and step.conversation.tokens > target:
        note = "its digest leaves more than the target"
    else:
        note = ""
    by.count(used=not note, refused=bool(note and words))
    counted = by.take_counts()
    if note:
        step = made
        counted["metadata"] = {**made.result.metadata, "provider": note, "note": "made by rules instead"}
    return CompressionStep(step.conversation, msgspec.structs.replace(step.result, **counted))


def _by_rules(
    conversation: Conversation, counter: TokenCounter, wanted: Sequence[Essential], kept_turns: int
) -> CompressionStep:
    cut = _cut(conversation, kept_turns)
    replaced = _replaced(conversation, cut)
    if len(replaced) < 2:
        why = "there is nothing before the last turns"
        return CompressionStep(conversation, refusal(_STRATEGY, conversation.tokens, why))
    made = digest.of_blocks(replaced).holding(essentials.present(wanted, replaced))
    number = len(made.findings)  # the last that fit; everything else in it stays
    most = max(int(_SHARE * sum(block.token_count for block in replaced)), counter.tokens(made.text(0)))
    while number and counter.tokens(made.text(number)) > most:
        number //= 2
    text = made.text(number)
    return _checked(conversation, _rebuilt(conversation, cut, text), counter, wanted, text, replaced)


def _roomy(
    conversation: Conversation, least: int, fewest: CompressionStep, target: int, make: Callable[[int], CompressionStep]
) -> tuple[int, CompressionStep]:
    """Return how many of the last turns stay if no more than `target` tokens are to be left, and the compaction with
    these.

    What a compaction adds to the turns that stay is known once it is made: it is made with the fewest, and then with as
    many as that leaves room for, and with ever fewer until it fits.
    """
    if fewest.result.refused or fewest.conversation.tokens >= target:
        return least, fewest
    turn = conversation.current_turn
    own = [2 * PER_MESSAGE] * (turn + 1)
    for block in conversation.blocks:
        own[block.turn_created] += block.token_count
    room, kept = target - fewest.conversation.tokens, least
    while kept < turn and own[turn - kept - 1] <= room:
        room -= own[turn - kept - 1]
        kept += 1
    while kept > least:
        step = make(kept)
        if not step.result.refused and step.conversation.tokens <= target:
            return kept, step
        kept = least + (kept - least) * 3 // 4
    return least, fewest


def _replaced(conversation: Conversation, cut: int) -> list[ContentBlock]:
    """Return the blocks before the cut that a digest takes the place of."""
    old = [block for block in conversation.blocks if 0 <= block.message < cut]
    return [block for block in old if block.content_type is not ContentType.SYSTEM_PROMPT]


def _cut(conversation: Conversation, kept_turns: int) -> int:
    """Return the index of the message that the part which stays begins with: an answer, with all its
    results behind it."""
    first_kept = max(conversation.current_turn - kept_turns, 1)
    turns = {block.message: block.turn_created for block in reversed(conversation.blocks)}  # of its first block
    answers = (index for index, message in enumerate(conversation.messages) if is_answer(message))
    return next((index for index in answers if turns.get(index, 0) >= first_kept), len(conversation.messages))


def _rebuilt(conversation: Conversation, cut: int, text: str) -> tuple[Any, Lines]:
    """Return the conversation with one message of the user in the place of those before the cut, and the lines it is
    from.

    Of the user's messages before the cut the first stays, the current one, and marked ones.
    """
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
        given = content if isinstance(content, list) else [part(str(content))]
        for number, (one, line) in enumerate(zip_longest(given, lines.get(index, ())[: len(given)], fillvalue=0)):
            is_result = isinstance(one, dict) and one.get("type") == "tool_result"
            if not is_result and (index, ("content", number)) not in taken_in:
                parts.append(one)
                numbers.append(int(line))
    for block in blocks:
        is_theirs = block.content_type in (ContentType.USER_MESSAGE, ContentType.SYSTEM_PROMPT)
        if block.do_not_evict and 0 <= block.message < cut and not is_theirs and block.content:
            what = f"{block.content_type.value} from turn {block.turn_created}"
            parts.append(part(f"[Kept unchanged, because it is marked: {what}]\n{block.content}"))
    shape = {"type": "message"} if is_item else {}
    new = [*(messages[n] for n in frame), {**shape, "role": "user", "content": [*parts, part(text)]}, *messages[cut:]]
    found = [*(lines.get(index, ()) for index in frame), numbers, *conversation.lines[cut:]] if lines else ()
    return new if key is None else {**conversation.given, key: new}, found


def _checked(
    conversation: Conversation,
    rebuilt: tuple[Any, Lines],
    counter: TokenCounter,
    wanted: Sequence[Essential],
    text: str,
    replaced: Sequence[ContentBlock],
) -> CompressionStep:
    """Return the compaction, unless it loses something or gains too little."""
    new = Conversation.parse(rebuilt[0], counter, lines=rebuilt[1], keep=conversation.keep)
    names = (block.block_id for block in replaced)
    return shorter.checked_step(_STRATEGY, conversation, new, wanted, text, conversation.tokens, names)
