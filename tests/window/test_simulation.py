"""Replaying a conversation under policies: what is saved, and what is regretted."""

from __future__ import annotations

from typing import Any

import pytest

from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.tokens.messages import PER_MESSAGE, PER_REQUEST
from memctl.window.eviction.references import Reference, pairs
from memctl.window.eviction.simulation import Simulation
from memctl.window.messages import reading
from memctl.window.messages.content import ContentBlock, ContentType
from memctl.window.messages.conversation import Conversation
from tests.window import generated

COUNTER = Counter(FAMILIES["claude"])


def whole(seed: int, calls: int) -> Simulation:
    opened = reading.load(generated.transcript(seed, calls), "session", whole=True).opened(COUNTER)
    return Simulation(opened.conversation.blocks, COUNTER)


def messages(*pairs_: tuple[str, str]) -> list[dict[str, Any]]:
    """A task, and readings of files: a path and what is in it."""
    found: list[dict[str, Any]] = [{"role": "user", "content": "Fix the pool."}]
    for number, (path, text) in enumerate(pairs_):
        use = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"file_path": path}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}
        found += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return [*found, {"role": "assistant", "content": "Done."}]


def simulated(given: list[dict[str, Any]]) -> Simulation:
    return Simulation(Conversation.parse(given, COUNTER).blocks, COUNTER)


LONG = "word and another\n" * 400


def test_references_come_as_pairs_of_who_refers_and_what_is_meant() -> None:
    blocks = Conversation.parse(messages(("src/pool.py", LONG), ("src/pool.py", "short")), COUNTER).blocks
    names = [block.block_id for block in blocks]
    found = [(names[one.by], names[one.meant]) for one in pairs(blocks)]
    assert found == [("3.0", "1.0"), ("3.0", "2.0")]  # the second call names what the first one named and read
    assert all(isinstance(one, Reference) for one in pairs(blocks))


def test_what_is_read_again_after_it_went_is_regretted_once() -> None:
    files = [(f"src/part{n}.py", LONG) for n in range(6)]
    simulation = simulated(messages(*files, ("src/part0.py", LONG)))
    budget = max(simulation.curve) // 2
    one = simulation.replay("fifo", budget)
    lost = next(b for b in simulation._blocks if b.content_type is ContentType.TOOL_RESULT).token_count
    assert (one.regrets, one.evictions > 0) == (1, True)
    assert lost - 50 <= one.regret_tokens < lost
    assert simulated(messages(*files)).replay("fifo", budget).regrets == 0


def test_saved_is_the_sum_over_all_requests() -> None:
    simulation = whole(3, 60)
    one = simulation.replay("hybrid", 25_000)
    assert one.requests == len(one.curve) == len(simulation.curve)
    assert one.saved == sum(simulation.curve) - sum(one.curve) > 0
    assert one.peak == max(one.curve)
    for managed, unmanaged in zip(one.curve, simulation.curve, strict=True):
        assert managed <= unmanaged
    assert simulation.replay("hybrid", 10**9).curve == simulation.curve
    assert simulation.replay("hybrid", 10**9).evictions == 0


def test_a_request_has_all_blocks_before_its_answer() -> None:
    given = messages(("src/pool.py", LONG))
    blocks: tuple[ContentBlock, ...] = Conversation.parse(given, COUNTER).blocks
    first, second = simulated(given).curve
    assert first == blocks[0].token_count + PER_REQUEST + PER_MESSAGE
    assert second == sum(block.token_count for block in blocks[:3]) + PER_REQUEST + 3 * PER_MESSAGE


def test_where_eviction_is_not_enough_the_window_begins_anew() -> None:
    calls = [(f"src/a{n}.py", "ok") for n in range(200)]  # nothing that is worth a placeholder
    simulation = simulated(messages(*calls))
    one = simulation.replay("hybrid", max(simulation.curve) // 3)
    assert one.over_budget >= 2
    assert one.peak <= max(simulation.curve) // 3


def test_compactions_of_the_host_are_passed_over() -> None:
    lines = list(generated.transcript(1, 200))
    read = reading.load(lines, "session", whole=True)
    last = reading.load(lines, "session")
    assert read.transcript is not None
    assert last.transcript is not None
    assert read.transcript.compactions == last.transcript.compactions > 0
    assert len(read.transcript.messages) > len(last.transcript.messages)
    text = str(read.transcript.messages)
    assert "This session is being continued" not in text
    assert "Migrate all REST API calls" in text


def test_hybrid_regrets_less_than_fifo_at_the_same_budget() -> None:
    """On realistic transcripts, summed over seeds: in tokens that would have had to be got again, and in number."""
    tokens = {"fifo": 0, "hybrid": 0}
    times = {"fifo": 0, "hybrid": 0}
    for seed in range(1, 4):
        simulation = whole(seed, 220)
        for policy in tokens:
            one = simulation.replay(policy, 100_000)
            assert one.over_budget == 0
            tokens[policy] += one.regret_tokens
            times[policy] += one.regrets
    assert tokens["hybrid"] < tokens["fifo"], (tokens, times)
    assert times["hybrid"] < times["fifo"], (tokens, times)


@pytest.mark.parametrize("policy", ["fifo", "lru", "priority", "semantic_merge", "type_based", "hybrid"])
def test_the_same_replay_gives_the_same(policy: str) -> None:
    simulation = whole(2, 60)
    assert simulation.replay(policy, 20_000) == simulation.replay(policy, 20_000)
