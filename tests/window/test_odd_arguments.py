"""What authors of agents give by mistake: each is told as what it is, or works."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import memctl.window as w
from memctl.errors import MemctlError
from memctl.store.memory import open_memory
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.window import Conversation, validate
from memctl.window.state.store import StateFiles
from tests.window.talk import long_talk

COUNTER = Counter(FAMILIES["claude"])
HALF = json.loads('"an emoji, cut in two: \\ud83d"')


class Body(dict[str, Any]):
    """A dict of the caller's own kind."""


class TextBlock:
    """A block as the libraries of hosts give it, which is no dict."""

    type = "text"
    text = "hi"


def user(content: Any) -> list[Any]:
    return [{"role": "user", "content": content}]


def called(arguments: Any) -> list[Any]:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": arguments}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}
    return [*user("go"), {"role": "assistant", "content": [call]}, *user([result])]


def deep(depth: int) -> Any:
    block: Any = {"type": "text", "text": "x"}
    for _ in range(depth):
        block = {"type": "tool_result", "tool_use_id": "a", "content": [block]}
    return block


WORKS = {
    "half a pair in a text": user(HALF),
    "half a pair in a block": user([{"type": "text", "text": HALF}]),
    "half a pair in the system prompt": {"system": HALF, "messages": user("hi")},
    "half a pair in a tool": {"tools": [{"name": HALF}], "messages": user("hi")},
    "half a pair in a call": called({"command": HALF, HALF: 1}),
    "half a pair in thinking": [
        *user("hi"),
        {"role": "assistant", "content": [{"type": "thinking", "thinking": HALF}]},
    ],
    "half a pair as input": {"input": HALF},
    "a tuple of messages": tuple(user("hi")),
    "a body with a tuple": {"messages": tuple(user("hi"))},
    "dicts of another kind": Body(messages=[Body(role="user", content="hi")]),
    "no content": [*user("hi"), {"role": "assistant", "content": None, "tool_calls": None}],
    "bytes among arguments": called({"data": b"x"}),
}
REFUSED = {
    "None": (None, "the given messages are not a conversation"),
    "a text": ("hello", "the given messages are not a conversation"),
    "messages that are texts": (["hello"], "the given messages are not a conversation"),
    "a message of a client's library": ([TextBlock()], "message 0: TextBlock is not JSON"),
    "a block of a client's library": (
        [*user("go"), {"role": "assistant", "content": [TextBlock()]}],
        "message 1, content 0: TextBlock is not JSON",
    ),
    "a call of a client's library": (
        [{"role": "assistant", "content": None, "tool_calls": [TextBlock()]}],
        "message 0, tool_calls 0: TextBlock is not JSON",
    ),
    "a tuple of blocks": (user(({"type": "text", "text": "hi"},)), "message 0: tuple is not JSON"),
    "bytes": (user(b"hi"), "message 0: bytes is not JSON"),
    "an object among arguments": (called({"x": TextBlock()}), "message 1, content 0 is not JSON"),
    "a system prompt in a tuple": ({"system": ("a",), "messages": user("hi")}, "system: tuple is not JSON"),
    "blocks nested without end": (user([deep(3_000)]), "message 0 is nested too deep"),
}


@pytest.mark.parametrize("given", WORKS.values(), ids=WORKS)
def test_valid_request_is_counted_and_managed(given: Any) -> None:
    conversation = Conversation.parse(given, COUNTER)
    assert conversation.tokens > 0
    "\n".join(block.content for block in conversation.blocks).encode()  # whatever is made of it can be written
    assert Conversation.parse(conversation.replace({}), COUNTER).blocks == conversation.blocks
    validate(given)
    manager = w.ContextWindowManager.from_config({"max_context_tokens": 20_000}, COUNTER)
    assert manager.on_turn_start(given).messages == given
    assert manager.on_overflow(given).bootstrap


@pytest.mark.parametrize(("given", "why"), REFUSED.values(), ids=REFUSED)
def test_messages_of_wrong_shape_are_refused(given: Any, why: str) -> None:
    with pytest.raises(MemctlError) as caught:
        Conversation.parse(given, COUNTER)
    assert caught.value.message.startswith(why)
    with pytest.raises(MemctlError):
        w.ContextWindowManager.from_config({}, COUNTER).on_turn_start(given)


@pytest.mark.parametrize("name", [name for name in REFUSED if name != "a system prompt in a tuple"])
def test_validation_refuses_messages_of_wrong_shape(name: str) -> None:
    with pytest.raises(MemctlError):
        validate(REFUSED[name][0])


def test_validation_takes_a_request_as_parsing_does() -> None:
    body = {"model": "claude", "messages": called({})}
    assert validate(body) == validate(body["messages"]) == []
    assert validate({"messages": user("hi")[:0] + called({})[:2]}) == ["message 1: call t1 has no result after it"]


def test_half_a_surrogate_pair_passes_through_all_steps_and_the_state(tmp_path: Any) -> None:
    given = [*user(f"Move the pool. {HALF}"), *long_talk(12).messages[1:]]
    keeper = StateFiles(tmp_path, "state.json", "progress.md")
    manager = w.ContextWindowManager(COUNTER, state_manager=keeper, task_goal=HALF)
    for action in (manager.on_turn_start(given), manager.on_overflow(given)):
        assert validate(action.messages) == []
    assert "cut in two: ?" in (tmp_path / "state.json").read_text(encoding="utf-8")
    whole = Conversation.parse(given, COUNTER)
    engine = w.CompressionEngine(COUNTER)
    assert engine.execute_cascade(whole, None, 3_000).tokens < whole.tokens
    notes = w.Notes()
    notes.write("bugs", HALF)
    assert "cut in two: ?" in notes.for_context(COUNTER.tokens)


def test_half_a_surrogate_pair_in_a_result_is_counted_and_summarized() -> None:
    manager = w.ContextWindowManager.from_config({"max_context_tokens": 20_000}, COUNTER)
    shown = manager.on_tool_result("Bash", f"line {HALF}\n" * 4_000)
    assert shown.tokens < shown.original_tokens


@pytest.mark.parametrize("is_memory", [True, False])
@pytest.mark.parametrize(
    ("given", "why"),
    [
        (None, "state must be a TaskState, not NoneType"),
        ({"task_goal": "Move it"}, "state must be a TaskState, not dict"),
        (w.TaskState(goal="Move it", decisions="use a queue"), "the state can't be saved: decisions"),  # type: ignore[arg-type]
        (w.TaskState(goal=None), "the state can't be saved: goal"),  # type: ignore[arg-type]
        (w.TaskState(goal="Move it", window_id="1"), "the state can't be saved: window_id"),  # type: ignore[arg-type]
    ],
)
def test_a_state_that_could_not_be_read_again_is_not_kept(repo: Path, is_memory: bool, given: Any, why: str) -> None:
    memory = open_memory(repo, os.environ)
    keeper = w.CrossWindowStateManager(memory) if is_memory else StateFiles(repo, "state.json")
    keeper.save(w.TaskState(goal=HALF, decisions=(HALF,)))
    with pytest.raises(MemctlError) as caught:
        keeper.save(given)
    assert caught.value.message.startswith(why)
    kept = keeper.load()
    assert kept is not None
    assert kept.decisions == ("an emoji, cut in two: ?",)


def a_conversation() -> Conversation:
    return Conversation.parse(long_talk(6).messages, COUNTER)


def a_manager() -> w.ContextWindowManager:
    return w.ContextWindowManager.from_config({"max_context_tokens": 20_000}, COUNTER)


def wrong() -> Iterator[tuple[str, Callable[[], Any], str]]:
    """A call that somebody may well write, and what is said of it."""
    messages: Any = long_talk(3).messages
    none: Any = None
    engine, evictor, budget = w.CompressionEngine(COUNTER), w.EvictionEngine(counter=COUNTER), w.TokenBudgetManager()
    yield "result None", lambda: a_manager().on_tool_result("Bash", none), "result must be a text, not NoneType"
    yield "result bytes", lambda: a_manager().on_tool_result("Bash", b"x"), "result must be a text, not bytes"  # type: ignore[arg-type]
    yield "tool None", lambda: a_manager().on_tool_result(none, "x"), "tool_name must be a text"
    yield (
        "arguments as JSON",
        lambda: a_manager().on_tool_result("Bash", "x", "{}"),
        "arguments must be a mapping, not str",
    )  # type: ignore[arg-type]
    yield "no usage", lambda: a_manager().on_turn_end(none), "tokens must be a number, not NoneType"
    yield "reported as text", lambda: a_manager().on_turn_start(messages, "5"), "model_reported_tokens must be a number"  # type: ignore[arg-type]
    yield (
        "config as dict",
        lambda: w.ContextWindowManager(COUNTER, {"max_context_tokens": 5}),
        "config must be a W",
    )  # type: ignore[arg-type]
    yield "criteria as text", lambda: w.ContextWindowManager(COUNTER, task_success_criteria="it runs"), "task_success"
    yield "a goal that is none", lambda: w.ContextWindowManager(COUNTER, task_goal=none), "task_goal must be a text"
    yield "counter by name", lambda: Conversation.parse(messages, "claude"), "counter must be an object with a method"  # type: ignore[arg-type]
    yield "engine without", lambda: w.CompressionEngine(none), "counter must be an object with a method"
    for name in ("summarize_results", "progressive_summarize", "compact_conversation"):
        yield name, lambda name=name: getattr(engine, name)(messages), "conversation must be a Conversation"  # type: ignore[misc]
    yield "cascade", lambda: engine.execute_cascade(messages, None, 5), "conversation must be a Conversation"
    yield (
        "cascade without target",
        lambda: engine.execute_cascade(a_conversation(), None, none),
        "target must be a n",
    )
    yield "compressing None", lambda: engine.compress_tool_result("Bash", none), "result must be a text, not NoneType"
    yield "delegating None", lambda: engine.dispatch_to_sub_agent(none), "task_spec must be a text"
    yield (
        "evict_from messages",
        lambda: evictor.evict_from(messages, 5),
        "conversation must be a Conversation",
    )
    yield "evict messages", lambda: evictor.evict(messages, 5), "a block must be a ContentBlock"
    yield "evict None", lambda: evictor.evict(a_conversation().blocks, none), "target_free_tokens must be a number"
    yield "protected", lambda: w.EvictionEngine(protected_types=["prompt"]), "there is no content type 'prompt'"
    yield "component", lambda: budget.check_before_add("results", 5), "a token budget has no component 'results'"
    yield "tokens", lambda: budget.check_before_add("tool_results", none), "tokens_to_add must be a number"
    yield "a turn of None", lambda: budget.record_turn(none), "tokens must be a number, or a mapping by component"
    yield "a window of None", lambda: w.TokenBudgetManager(none), "max_context_tokens must be a number"
    yield "allocations", lambda: w.TokenBudgetManager(9, [0.5]), "allocations must be a mapping"  # type: ignore[arg-type]
    yield "measuring None", lambda: w.ContextPressureMonitor().measure(none), "current_tokens must be a number"
    yield "adding nan", lambda: w.ContextPressureMonitor().update(float("nan")), "tokens must be a number, not nan"  # type: ignore[arg-type]
    yield "a monitor of None", lambda: w.ContextPressureMonitor(none), "max_context_tokens must be a number"
    yield "a threshold of None", lambda: w.Thresholds(red=none), "red must be a number"
    yield "model None", lambda: w.limit_of(none), "model must be a text"
    yield "window as text", lambda: w.compaction_point("200k"), "window must be a number"  # type: ignore[arg-type]
    yield "texts None", lambda: a_conversation().replace(none), "texts must be a mapping from ids of blocks to texts"
    yield "a number for a text", lambda: a_conversation().replace({"0.0": 5}), "the text for 0.0 must be a text"  # type: ignore[dict-item]
    yield "a note of None", lambda: w.Notes().write("bugs", none), "content must be a text"
    yield "a metric", lambda: w.ContextHealthMonitor(metrics="utilization"), "there is no health metric 'u'"
    yield "evicted None", lambda: w.ContextHealthMonitor().record_eviction(none), "count must be a number"
    log = w.AuditLog(Path("never-written.jsonl"), lambda: "2025-11-04T14:32:00Z")
    yield (
        "a turn that is not a number",
        lambda: log.record("e", "d", turn="x"),
        "the values for the audit log are not a decision: ",
    )
    yield (
        "a simulation of messages",
        lambda: w.Simulation(messages, COUNTER),
        "a block must be a ContentBlock, not dict",
    )
    yield "a budget of None", lambda: w.Simulation((), COUNTER).replay("fifo", none), "budget must be a number"
    yield "no blocks", lambda: evictor.evict(none, 5), "blocks must be a list of ContentBlock, not NoneType"
    yield (
        "a context of messages",
        lambda: w.ContextHealthMonitor().evaluate_fidelity(messages, "x"),
        "original must",
    )
    yield "facts as a text", lambda: w.Question("Where?", facts="here"), "facts must be a tuple of texts"  # type: ignore[arg-type]


@pytest.mark.parametrize(("call", "why"), [one[1:] for one in wrong()], ids=[one[0] for one in wrong()])
def test_argument_of_wrong_type_is_named_in_the_error(call: Callable[[], Any], why: str) -> None:
    with pytest.raises(MemctlError) as caught:
        call()
    assert caught.value.message.startswith(why)


def test_a_component_may_be_given_by_its_name() -> None:
    budget = w.TokenBudgetManager()
    budget.track("TOOL_RESULTS", 100)
    assert budget.release("tool_results", 40) == 40
    budget.record_turn({"tool_results": 60})  # type: ignore[dict-item]
    verdict = budget.check_before_add("tool_results", 5)
    assert (verdict.component, verdict.current) == (w.BudgetComponent.TOOL_RESULTS, 60)
    assert budget.turns_until_exhausted("tool_results") == budget.turns_until_exhausted(w.BudgetComponent.TOOL_RESULTS)


def test_a_type_of_content_is_protected_by_itself_as_by_its_name() -> None:
    blocks = a_conversation().blocks
    by_name = w.EvictionEngine(counter=COUNTER, protected_types=["tool_result"]).evict(blocks, 9_000)
    by_member = w.EvictionEngine(counter=COUNTER, protected_types=[w.ContentType.TOOL_RESULT]).evict(blocks, 9_000)
    assert by_name.replacements == by_member.replacements
    assert "blocks of the type tool_result are protected" in by_member.held


def test_an_answer_of_a_sub_agent_of_the_wrong_kind_is_a_failure_of_it() -> None:
    engine = w.CompressionEngine(COUNTER, dispatcher=lambda task, context: "done")  # type: ignore[arg-type,return-value]
    assert "its answer must be a SubAgentAnswer, not str" in engine.dispatch_to_sub_agent("look").refused
