"""Bringing a conversation down to a size: what is saved, and that nothing is lost that must survive."""

from __future__ import annotations

from typing import Any

import pytest

from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.window.compression.cascade import Reduction, reduce
from memctl.window.compression.engine import CompressionEngine
from memctl.window.eviction.engine import EvictionEngine
from memctl.window.messages import reading
from memctl.window.messages.conversation import Conversation
from memctl.window.messages.validity import validate
from memctl.window.preservation import essentials
from memctl.window.steps import EVICTION, STRATEGIES
from tests.window import generated
from tests.window.talk import Talk, long_talk

COUNTER = Counter(FAMILIES["claude"])


def as_items(seed: int, calls: int) -> list[dict[str, Any]]:
    """A generated conversation as items of OpenAI's responses."""
    found: list[dict[str, Any]] = []
    for message in generated.chat(seed, calls):
        if message["role"] == "tool":
            found.append(
                {"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]}
            )
        elif message["content"]:
            kind = "input_text" if message["role"] == "user" else "output_text"
            found.append({"role": message["role"], "content": [{"type": kind, "text": message["content"]}]})
        for call in message.get("tool_calls", ()):
            found.append({"type": "function_call", "call_id": call["id"], **call["function"]})
    return found


KINDS = {"task", "constraint", "decision", "open issue", "error", "path", "number"}
SHAPES = {"anthropic": generated.anthropic, "chat": generated.chat, "items": as_items}


def reduced(given: Any, target: int | float, strategy: str = "cascade") -> tuple[Conversation, Reduction]:
    before = given if isinstance(given, Conversation) else Conversation.parse(given, COUNTER)
    goal = int(before.tokens * target) if isinstance(target, float) else target
    evictor = EvictionEngine(counter=COUNTER)
    return before, reduce(before, goal, CompressionEngine(COUNTER), evictor, STRATEGIES[strategy])


@pytest.mark.parametrize(("seed", "shape"), [(3, "anthropic"), (6, "chat"), (3, "items")])
def test_a_third_and_more_is_saved_without_a_model_and_nothing_is_lost(seed: int, shape: str) -> None:
    """20 to 35 % are wanted (rules.md#compaction); a window of which 5 % are left is the hardest case.

    With seed 3 there is all that must survive, and with 6 little that can go.
    """
    for share in (0.65, 0.05):
        before, made = reduced(SHAPES[shape](seed, 70), share)
        assert made.conversation.tokens <= 0.65 * before.tokens
        assert made.cascade.is_reached or share == 0.05
        assert made.lost == ()
        assert seed != 3 or made.by_kind.keys() >= KINDS - {"error", "constraint"}  # OpenAI's shapes mark no error
        assert all(number == kept for number, kept in made.by_kind.values())
        assert validate(made.conversation.messages) == []
        assert type(made.conversation.given) is type(before.given)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_preserved_category_survives_every_strategy(strategy: str) -> None:
    before, made = reduced(long_talk().messages, 0.08, strategy)
    assert made.by_kind.keys() == KINDS
    assert all(number == kept for number, kept in made.by_kind.values())
    assert made.lost == ()
    assert made.conversation.tokens < 0.8 * before.tokens


def test_a_conversation_that_fits_is_left_as_it_is() -> None:
    before, made = reduced(long_talk(1).messages, 1.0)
    assert made.conversation is before
    assert (made.cascade.steps, made.lost, made.cascade.is_reached) == ((), (), True)


def test_each_step_tells_what_it_freed() -> None:
    before, made = reduced(long_talk().messages, 0.05)
    assert [stage.name for stage in made.cascade.steps] == [
        "tool_result_summarization", "eviction", "progressive", "compaction",
    ]  # fmt: skip
    assert made.cascade.steps[0].before == before.tokens
    for stage, following in zip(made.cascade.steps, made.cascade.steps[1:], strict=False):
        assert stage.after == following.before
    assert made.cascade.steps[-1].after == made.conversation.tokens


def test_cascade_eviction_keeps_facts_that_occur_once() -> None:
    before = Conversation.parse(generated.anthropic(4, 90), COUNTER)
    wanted = essentials.of_blocks(before.blocks)
    engine = EvictionEngine("hybrid", counter=COUNTER)
    messages, _ = engine.evict_from(before, before.tokens // 3)
    assert essentials.missing(wanted, Conversation.parse(messages, COUNTER).blocks)
    done = CompressionEngine(COUNTER).run_steps(before, before.tokens * 2 // 3, (EVICTION,), engine)
    assert essentials.missing(wanted, done.conversation.blocks) == []
    assert done.is_reached
    assert done.evicted == len(done.steps[0].changes) > 0
    assert all(change.score is not None for change in done.steps[0].changes)


def test_placeholders_and_summaries_made_later_name_the_line_of_the_transcript() -> None:
    opened = reading.load(generated.transcript(3, 70), "session").parse(COUNTER)
    lines = {block.block_id: block.metadata["line"] for block in opened.blocks}
    _, first = reduced(opened, 0.70, "results")
    summed = [b for b in first.conversation.blocks if b.content.startswith("[Summary of a result")]
    assert summed
    for block in summed:
        assert f"line {lines[block.block_id]} of session" in block.content
    _, second = reduced(first.conversation, 0.60)
    placeholders = [b for b in second.conversation.blocks if b.content.startswith("[Evicted: tool_result")]
    named = [b for b in placeholders if " of session." in b.content]  # where 50 tokens have room for it
    assert named
    for block in named:
        assert f"line {lines[block.block_id]} of session" in block.content
    assert not any("Finding: Finding" in block.content for block in placeholders)
    thoughts = {b.block_id for b in opened.blocks if b.content_type.value == "thinking"}
    assert not thoughts <= {b.block_id for b in second.conversation.blocks}  # ids behind them stay, and lines too
    assert {b.block_id: b.metadata["line"] for b in second.conversation.blocks}.items() <= lines.items()


def test_after_a_compaction_what_is_left_has_its_lines() -> None:
    opened = reading.load(generated.transcript(5, 70), "session").parse(COUNTER)
    by_call = {(b.call_id, b.is_call): b.metadata["line"] for b in opened.blocks if b.call_id}
    _, made = reduced(opened, 0.10, "compaction")
    left = [block for block in made.conversation.blocks if block.call_id]
    assert left
    assert all(block.metadata["line"] == by_call[block.call_id, block.is_call] for block in left)
    digest = next(block for block in made.conversation.blocks if block.content.startswith("[Summary of the conv"))
    assert "line" not in digest.metadata


@pytest.mark.parametrize("depth", [600, 5_000])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_deeply_nested_arguments_do_not_stop_a_reduction(strategy: str, depth: int) -> None:
    """In OpenAI's shapes they are a text, which no reader of messages has looked into."""
    arguments = '{"path": "a.py", "more": ' + "[" * depth + "]" * depth + "}"
    given: list[dict[str, Any]] = [{"role": "user", "content": "Mend a.py"}]
    for number in range(12):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "read_file", "arguments": arguments}}
        given.append({"role": "assistant", "content": None, "tool_calls": [call]})
        given.append({"role": "tool", "tool_call_id": f"c{number}", "content": "some words of a file\n" * 300})
    given += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "Thanks"}]
    before, made = reduced(given, 0.5, strategy)
    assert made.conversation.tokens < before.tokens
    assert validate(made.conversation.messages) == []


@pytest.mark.parametrize("strategy", ["results", "progressive"])
def test_single_strategy_stops_at_the_target(strategy: str) -> None:
    conversation = Conversation.parse(long_talk(12).messages, COUNTER)
    _, whole = reduced(conversation, 1, strategy)
    free = (conversation.tokens - whole.conversation.tokens) // 3
    _, made = reduced(conversation, conversation.tokens - free, strategy)
    assert made.cascade.is_reached
    assert made.cascade.steps[0].blocks is not None
    assert whole.cascade.steps[0].blocks is not None
    assert made.cascade.steps[0].blocks < whole.cascade.steps[0].blocks
    largest = max(block.token_count for block in conversation.blocks)
    assert conversation.tokens - made.conversation.tokens <= free + largest  # the last block may free more than needed


def test_oldest_turns_are_summarized_first() -> None:
    conversation = Conversation.parse(long_talk(12).messages, COUNTER)
    step = CompressionEngine(COUNTER).progressive_summarize(conversation, free=1)
    everything = CompressionEngine(COUNTER).progressive_summarize(conversation)
    assert list(step.result.metadata["blocks"]) == list(everything.result.metadata["blocks"])[:1]


REFUSAL = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). To tell you how to proceed, the user said:\n"
)
PROSE = "The lines of this part were read and look as one would expect them to look today. " * 12
WORDS = "rebase from main first"


def talk_with(*, prose: str = "", output: str = "", refused: str = "") -> list[dict[str, Any]]:
    """A conversation of fourteen calls, with more at the end of an answer, in a result, or on refusing a call."""
    talk = Talk("Port the shop.")
    for number in range(14):
        rows = f"value {number} is fine\n" * 120
        said = f"{PROSE}\n{prose}\n{PROSE}" if number == 4 else PROSE
        talk.call("Bash", {"command": f"make {number}"}, f"{rows}{output}\n{rows}" if number == 10 else rows, say=said)
        if number == 5 and refused:
            talk.call("Bash", {"command": "git push"}, REFUSAL + refused, is_error=True)
    talk.say("Go on.", "It is done.")
    return talk.messages


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("words", [WORDS, f"{WORDS}, then look at the till. " + "The pears are dear today. " * 18])
def test_words_of_the_user_on_refusing_a_call_survive_every_step(strategy: str, words: str) -> None:
    before, made = reduced(talk_with(refused=words), 1, strategy)
    assert made.conversation.tokens < before.tokens
    assert " ".join(words.split()) in " ".join(" ".join(one.content for one in made.conversation.blocks).split())
    assert made.lost == made.missed == ()


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    "more",
    [
        {"prose": "Repro: the wholesale of pears in the harbour, twice a day"},
        {"prose": "- [2026-01-02 10:00] **Severity**: pears in the harbour go first"},
        {"output": "  Fatal: " + "pears and figs " * 30},
        {"output": "E   assert total == 4"},
    ],
)
def test_step_keeps_what_is_only_on_the_independent_list(strategy: str, more: dict[str, str]) -> None:
    """What chooses what stays has no such label, and takes no line as long."""
    before, made = reduced(talk_with(**more), 1, strategy)
    assert made.missed == made.lost == ()
    assert not any(step.refused for step in made.cascade.steps if "would be lost" in step.refused)
    assert made.conversation.tokens < 0.8 * before.tokens
