"""Replaying a conversation under policies: what is saved, and what is regretted."""

from __future__ import annotations

import functools
from itertools import chain
from typing import Any

import pytest

from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.tokens.messages import PER_MESSAGE, PER_REQUEST
from memctl.window.eviction.references import BlockReference, pairs
from memctl.window.eviction.simulation import Replay, Simulation
from memctl.window.messages import reading
from memctl.window.messages.content import ContentBlock, ContentType
from memctl.window.messages.conversation import Conversation
from tests.conftest import slow
from tests.window import generated

COUNTER = Counter(FAMILIES["claude"])


@functools.cache
def whole(seed: int, calls: int) -> Simulation:
    """A generated session, made once for all tests."""
    conversation = reading.load(generated.transcript(seed, calls), "session", whole=True).parse(COUNTER)
    return Simulation(conversation.blocks, COUNTER)


def step(number: int, path: str, text: str, *said: dict[str, str], tool: str = "Read") -> list[dict[str, Any]]:
    """A call with its result, and what the model says or thinks before it."""
    use = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": {"file_path": path}}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}
    return [{"role": "assistant", "content": [*said, use]}, {"role": "user", "content": [result]}]


def messages(*steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": "Fix the pool."}, *chain(*steps), {"role": "assistant", "content": "Done."}]


def readings(*paths: str, start: int = 0) -> list[list[dict[str, Any]]]:
    return [step(number, path, LONG) for number, path in enumerate(paths, start=start)]


def says(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def simulated(*steps: list[dict[str, Any]]) -> Simulation:
    return Simulation(Conversation.parse(messages(*steps), COUNTER).blocks, COUNTER)


def at_half(simulation: Simulation, share: float = 0.5) -> Replay:
    """First in, first out, at half (or another share) of what the readings of FILES come to."""
    return simulation.replay("fifo", int(max(simulated(*readings(*FILES)).curve) * share))


LONG = "word and another\n" * 400
FILES = [f"src/part{n}.py" for n in range(6)]


def test_references_are_pairs_of_referring_and_referenced_block() -> None:
    given = messages(step(0, "src/pool.py", LONG), step(1, "src/pool.py", "short"))
    blocks = Conversation.parse(given, COUNTER).blocks
    names = [block.block_id for block in blocks]
    found = [(names[one.by], names[one.meant]) for one in pairs(blocks)]
    assert found == [("3.0", "1.0"), ("3.0", "2.0")]  # the second call names what the first one named and read
    assert all(isinstance(one, BlockReference) for one in pairs(blocks))


def test_evicted_block_named_later_is_a_regret_with_all_its_tokens() -> None:
    simulation = simulated(*readings(*FILES), step(6, "src/new.py", "ok", says("So part0.py is wrong.")))
    one = at_half(simulation)
    lost = next(b for b in simulation._blocks if b.content_type is ContentType.TOOL_RESULT).token_count
    assert (one.regrets, one.regret_tokens) == (1, lost)
    assert at_half(simulated(*readings(*FILES))).regrets == 0


@pytest.mark.parametrize("path", ["src/part0.py", "src/part5.py"])
def test_kept_block_is_not_a_regret(path: str) -> None:
    one = at_half(simulated(*readings(*FILES), step(6, "src/new.py", "ok", says(f"So {path} is wrong."))))
    assert one.regrets == (path == "src/part0.py")


def test_a_turn_that_reads_it_again_itself_regrets_nothing() -> None:
    again = step(6, "src/part0.py", LONG, says("Once more src/part0.py."))
    assert at_half(simulated(*readings(*FILES), again)).regrets == 0
    edit = step(6, "src/part0.py", "ok", tool="Edit")
    assert at_half(simulated(*readings(*FILES), edit)).regrets == 1
    same = [step(0, "src/part0.py", LONG, tool="Outline"), *readings(*FILES[1:], start=1)]
    assert at_half(simulated(*same, step(6, "src/part0.py", LONG, tool="Outline"))).regrets == 0


def test_refetched_block_takes_room_and_can_be_evicted_again() -> None:
    said = says("src/part0.py is wrong.")
    near = [step(6, "src/a.py", "ok", said), step(7, "src/b.py", "ok", said)]
    one = at_half(simulated(*readings(*FILES), *near), 0.45)  # where both evict at the same requests
    assert one.regrets == 1
    calm = at_half(simulated(*readings(*FILES), step(6, "src/a.py", "ok"), step(7, "src/b.py", "ok")), 0.45)
    assert one.tokens > calm.tokens
    far = [near[0], *readings(*(f"src/more{n}.py" for n in range(6)), start=7), step(13, "src/b.py", "ok", said)]
    assert at_half(simulated(*readings(*FILES), *far)).regrets == 2


def test_a_thought_is_regretted_like_all_else() -> None:
    thought = {"type": "thinking", "thinking": f"{LONG} retryPolicy is the culprit", "signature": "s"}
    first = step(0, "src/part0.py", LONG, thought)
    one = at_half(simulated(first, *readings(*FILES[1:], start=1), step(6, "a.py", "ok", says("It is retryPolicy."))))
    assert one.regrets == 1


def test_saved_is_the_sum_over_all_requests() -> None:
    simulation = whole(3, 60)
    one = simulation.replay("hybrid", 25_000)
    assert len(one.curve) == len(simulation.curve)
    assert one.saved == sum(simulation.curve) - sum(one.curve) > 0
    assert one.peak == max(one.curve)
    for managed, unmanaged in zip(one.curve, simulation.curve, strict=True):
        assert managed <= unmanaged
    assert simulation.replay("hybrid", 10**9).curve == simulation.curve
    assert simulation.replay("hybrid", 10**9).evictions == 0


def test_a_request_has_all_blocks_before_its_answer() -> None:
    given = messages(step(0, "src/pool.py", LONG))
    blocks: tuple[ContentBlock, ...] = Conversation.parse(given, COUNTER).blocks
    first, second = simulated(step(0, "src/pool.py", LONG)).curve
    assert first == blocks[0].token_count + PER_REQUEST + PER_MESSAGE
    assert second == sum(block.token_count for block in blocks[:3]) + PER_REQUEST + 3 * PER_MESSAGE


def test_insufficient_eviction_starts_a_new_window() -> None:
    simulation = simulated(*(step(n, f"src/a{n}.py", "ok") for n in range(200)))  # nothing is worth a placeholder
    one = simulation.replay("hybrid", max(simulation.curve) // 3)
    assert one.over_budget >= 2
    assert one.peak <= max(simulation.curve) // 3


def test_compactions_of_the_host_are_passed_over() -> None:
    lines = list(generated.transcript(1, 200))
    read = reading.load(lines, "session", whole=True)
    last = reading.load(lines, "session")
    assert read.transcript is not None
    assert last.transcript is not None
    assert len(read.transcript.compactions) == len(last.transcript.compactions) > 0
    assert len(read.transcript.messages) > len(last.transcript.messages)
    text = str(read.transcript.messages)
    assert "This session is being continued" not in text
    assert "Migrate all REST API calls" in text


@pytest.mark.slow
def test_hybrid_regrets_less_than_fifo_at_the_same_budget() -> None:
    """In tokens that have to be got again and in number, summed over sessions; `python -m bench --only policies` has
    many more, and how often it is otherwise.
    """
    tokens = {"fifo": 0, "hybrid": 0}
    times = {"fifo": 0, "hybrid": 0}
    for seed in range(3):
        for policy in tokens:
            one = whole(seed, 60).replay(policy, 30_000)
            tokens[policy] += one.regret_tokens
            times[policy] += one.regrets
    assert tokens["hybrid"] < tokens["fifo"], (tokens, times)
    assert times["hybrid"] < times["fifo"], (tokens, times)


@pytest.mark.parametrize("policy", ["fifo", "hybrid", *slow("lru", "priority", "semantic_merge", "type_based")])
def test_the_same_replay_gives_the_same(policy: str) -> None:
    simulation = whole(2, 30)
    assert simulation.replay(policy, 10_000) == simulation.replay(policy, 10_000)
