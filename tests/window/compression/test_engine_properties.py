"""What holds of every compression and every managed turn, whatever the conversation."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.window import Action, ContextWindowManager, Conversation, validate
from memctl.window.compression.cascade import Reduction, reduce
from memctl.window.compression.engine import CompressionEngine
from memctl.window.config import WindowConfig
from memctl.window.eviction.engine import EvictionEngine
from memctl.window.messages.content import ContentType
from memctl.window.preservation import essentials
from memctl.window.steps import LEAST_GAIN, STRATEGIES
from tests.conftest import examples
from tests.window.conversations import conversations

COUNTER = Counter(FAMILIES["gpt"])
strategies = st.sampled_from(sorted(STRATEGIES))
shares = st.floats(0.02, 1.1)
turns = st.integers(1, 6)


def reduced(given_: Any, strategy: str, share: float, kept: int) -> tuple[Conversation, Reduction]:
    before = Conversation.parse(given_, COUNTER)
    engine = CompressionEngine(COUNTER, kept_turns=kept, threshold=60)
    evictor = EvictionEngine(counter=COUNTER)
    return before, reduce(before, int(before.tokens * share), engine, evictor, STRATEGIES[strategy])


def assert_sound(before: Conversation, after: Any) -> None:
    """Valid as before, nothing pinned gone, nothing that must survive lost."""
    new = Conversation.parse(after, COUNTER)
    of_chat = any(message.get("role") == "tool" or message.get("tool_calls") for message in before.messages)
    head = [{"role": "system", "content": "Go on."}] if of_chat else []  # without a tool nothing else tells a chat
    faults = [len(validate([*head, *messages])) for messages in (before.messages, new.messages)]
    assert faults[1] <= faults[0]  # messages have other numbers afterwards
    assert type(after) is type(before.given)
    text = "\n".join(block.content for block in new.blocks)
    for block in before.blocks:
        if block.do_not_evict or block.content_type is ContentType.SYSTEM_PROMPT:
            assert block.content in text
    assert essentials.missing(essentials.of_blocks(before.blocks), new.blocks) == []
    assert new.tokens <= before.tokens


@examples(25)
@given(conversations, strategies, shares, turns)
def test_a_reduction_is_sound_deterministic_and_never_larger(
    given_: Any, strategy: str, share: float, kept: int
) -> None:
    untouched = copy.deepcopy(given_)
    before, made = reduced(given_, strategy, share, kept)
    assert given_ == untouched
    assert made.lost == ()
    assert_sound(before, made.conversation.given)
    assert made.cascade.is_reached == (made.conversation.tokens <= int(before.tokens * share))
    _, again = reduced(copy.deepcopy(given_), strategy, share, kept)
    assert json.dumps(again.conversation.given) == json.dumps(made.conversation.given)
    assert again.cascade.steps == made.cascade.steps


@examples(20)
@given(conversations, st.sampled_from(("results", "progressive", "compaction")), turns)
def test_a_second_run_changes_nothing_or_gains_a_tenth(given_: Any, strategy: str, kept: int) -> None:
    _, first = reduced(given_, strategy, 0.02, kept)
    _, second = reduced(first.conversation.given, strategy, 0.02, kept)
    changed = second.conversation.given != first.conversation.given
    for stage in second.cascade.steps:
        assert bool(stage.refused) == (not changed)
        if changed and strategy == "compaction":
            assert stage.after <= (1 - LEAST_GAIN) * stage.before
        elif changed:
            assert stage.after < stage.before


@examples(20)
@given(conversations, shares)
def test_the_cascade_reaches_what_eviction_alone_would(given_: Any, share: float) -> None:
    """What sparing keeps aside, more steps never come to more tokens than fewer."""
    before, made = reduced(given_, "cascade", share, 5)
    _, most = reduced(given_, "cascade", 0.0, 5)
    assert made.cascade.is_reached or made.conversation.tokens <= most.conversation.tokens
    assert made.cascade.is_reached or int(before.tokens * share) < most.conversation.tokens


@examples(20)
@given(conversations, st.floats(0.3, 1.2))
def test_a_managed_turn_is_sound_and_is_not_managed_again_for_nothing(given_: Any, utilization: float) -> None:
    before = Conversation.parse(given_, COUNTER)
    window = max(int(before.tokens / utilization), 6_000)
    manager = ContextWindowManager(COUNTER, WindowConfig(max_context_tokens=window))
    start = manager.on_turn_start(given_, int(window * utilization))
    assert_sound(before, start.messages)
    if start.action in (Action.NONE, Action.EVALUATE):
        assert start.messages is given_
    assert start.utilization_after <= start.utilization_before + 1e-9
    again = manager.on_turn_start(start.messages)
    assert again.messages == start.messages or again.utilization_after < again.utilization_before
    other = ContextWindowManager(COUNTER, WindowConfig(max_context_tokens=window))
    same = other.on_turn_start(copy.deepcopy(given_), int(window * utilization))
    assert json.dumps(same.messages) == json.dumps(start.messages)
