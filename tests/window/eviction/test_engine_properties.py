"""What holds of every eviction, whatever the conversation, the policy and the target."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.window import Conversation, EvictionEngine, EvictionPolicy, EvictionResult, validate
from memctl.window.eviction.engine import protected
from tests.conftest import examples
from tests.window.conversations import conversations

COUNTERS = {name: Counter(FAMILIES[name]) for name in ("gpt", "claude")}
policies = st.sampled_from(EvictionPolicy)
families = st.sampled_from(sorted(COUNTERS))
shares = st.floats(0.0, 1.2)


def evicted(given_: Any, policy: EvictionPolicy, family: str, share: float) -> tuple[Conversation, Any, EvictionResult]:
    conversation = Conversation.parse(given_, COUNTERS[family])
    engine = EvictionEngine(policy, counter=COUNTERS[family])
    return conversation, *engine.evict_from(conversation, int(conversation.tokens * share))


def messages_of(given_: Any) -> list[dict[str, Any]]:
    return given_ if isinstance(given_, list) else given_.get("messages", given_.get("input"))


@examples(25)
@given(conversations, policies, families, shares)
def test_eviction_keeps_the_conversation_valid_and_pinned_blocks(
    given_: Any, policy: EvictionPolicy, family: str, share: float
) -> None:
    before = copy.deepcopy(given_)
    conversation, new, _ = evicted(given_, policy, family, share)
    assert given_ == before
    assert set(validate(messages_of(new))) <= set(validate(messages_of(given_)))
    after = Conversation.parse(new, COUNTERS[family])
    texts = {block.block_id: block.content for block in after.blocks}
    for block in conversation.blocks:
        if block.block_id in protected(conversation.blocks, conversation.current_turn):
            assert texts[block.block_id] == block.content
    assert after.current_turn == conversation.current_turn


@examples(25)
@given(conversations, policies, families, shares)
def test_every_token_is_accounted_for(given_: Any, policy: EvictionPolicy, family: str, share: float) -> None:
    conversation, new, result = evicted(given_, policy, family, share)
    after = Conversation.parse(new, COUNTERS[family])
    assert after.tokens == conversation.tokens - result.tokens_freed
    assert sum(block.token_count for block in after.blocks) == result.remaining_tokens
    assert {one.block_id for one in result.kept} | {one.block_id for one in result.evictions} == {
        block.block_id for block in conversation.blocks
    }
    assert sum(one.before - one.after for one in result.evictions) == result.tokens_freed
    for one in result.evictions:
        assert one.after < one.before or one.after == 0


@examples(25)
@given(conversations, policies, families, shares)
def test_the_target_is_met_if_it_can_be(given_: Any, policy: EvictionPolicy, family: str, share: float) -> None:
    _, _, result = evicted(given_, policy, family, share)
    _, _, most = evicted(given_, policy, family, 2.0)
    assert result.is_reached == (most.tokens_freed >= result.target_free_tokens)
    if not result.is_reached:
        assert result.tokens_freed == most.tokens_freed
        assert sum(result.held.values()) + sum(one.after for one in result.evictions) == result.remaining_tokens


@examples(20)
@given(conversations, policies, families, shares)
def test_second_eviction_changes_nothing(given_: Any, policy: EvictionPolicy, family: str, share: float) -> None:
    conversation, new, result = evicted(given_, policy, family, share)
    _, again, _ = evicted(copy.deepcopy(given_), policy, family, share)
    assert json.dumps(new) == json.dumps(again)
    engine = EvictionEngine(policy, counter=COUNTERS[family])
    wanted = conversation.tokens - result.target_free_tokens
    after = Conversation.parse(new, COUNTERS[family])
    second, nothing = engine.evict_from(after, max(0, after.tokens - wanted))
    assert second == new
    assert nothing.blocks_evicted == []
