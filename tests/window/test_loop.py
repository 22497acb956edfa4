"""The manager in an agent's loop: results whole, steps by need, models and sub-agents, every decision on record."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from memctl.errors import MemctlError
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.window import (
    Action,
    ContextWindowManager,
    Conversation,
    Decision,
    SubAgentAnswer,
    WindowConfig,
    validate,
)
from tests.conftest import slow
from tests.window.loops import ANTHROPIC, CHAT, Loop, text_of
from tests.window.talk import Talk, long_talk

COUNTER = Counter(FAMILIES["claude"])


def managed(window: int, **more: Any) -> tuple[ContextWindowManager, list[Decision]]:
    """A manager of a window of so many tokens, and the decisions that it takes."""
    taken: list[Decision] = []
    config = {"max_context_tokens": window, **more.pop("config", {})}
    return ContextWindowManager.from_config(config, COUNTER, audit=taken.append, **more), taken


def events(taken: list[Decision], event: str) -> list[Decision]:
    return [one for one in taken if one.event == event]


@pytest.mark.parametrize(
    ("window", "large", "every", "turns", "shape"),
    [
        (16_000, 9_000, 2, 60, CHAT),
        (64_000, 20_000, 1, 60, ANTHROPIC),
        pytest.param(64_000, 39_000, 1, 40, CHAT, marks=pytest.mark.slow),
        pytest.param(128_000, 39_000, 1, 60, ANTHROPIC, marks=pytest.mark.slow),
        pytest.param(200_000, 39_000, 1, 600, CHAT, marks=pytest.mark.slow),
        pytest.param(16_000, 9_000, 3, 600, CHAT, marks=pytest.mark.slow),
        pytest.param(32_000, 20_000, 2, 2_000, ANTHROPIC, marks=pytest.mark.slow),
        pytest.param(128_000, 20_000, 1, 600, ANTHROPIC, marks=pytest.mark.slow),
    ],
)
def test_results_that_the_window_holds_reach_the_model_whole(
    window: int, large: int, every: int, turns: int, shape: str
) -> None:
    manager, taken = managed(window)
    loop = Loop(manager, COUNTER, shape, large=large, every=every)
    done = loop.run(turns, check_every=5)
    assert done.faults == []
    assert done.most <= 0.95 * window
    assert done.share_whole(int(0.95 * window) - 4_000) >= 0.95
    steps = events(taken, "step")
    assert steps
    assert all(step.wanted is not None and step.wanted > 0 for step in steps)
    assert "axios to fetch" in str(done.messages)


def test_result_larger_than_the_window_names_a_range_to_read() -> None:
    manager, _ = managed(16_000)
    manager.on_turn_start([{"role": "user", "content": "Read it."}])
    shown = manager.on_tool_result("read", text_of(1, 39_000), {"file_path": "src/big.ts"})
    assert shown.tokens <= 0.2 * shown.original_tokens
    assert "read with file_path='src/big.ts', offset=1, limit=" in shown.text.split("\n")[0]
    command = manager.on_tool_result("bash", text_of(2, 39_000), {"command": "cat src/big.ts"})
    assert "bash: cat src/big.ts | sed -n '1," in command.text.split("\n")[0]


def test_second_call_gives_the_whole_of_a_result_that_did_not_fit() -> None:
    manager, _ = managed(64_000)
    talk = Talk("Compare the two files.")
    talk.messages = manager.on_turn_start(talk.messages).messages
    outputs = {name: text_of(number, 39_000) for number, name in enumerate(("a.ts", "b.ts"))}
    shown = {name: manager.on_tool_result("read", text, {"file_path": name}) for name, text in outputs.items()}
    assert shown["a.ts"].text == outputs["a.ts"]
    assert "repeat the call for the whole result" in shown["b.ts"].text.split("\n")[0]
    for name, one in shown.items():
        talk.call("read", {"file_path": name}, one.text)
    manager.on_turn_end(60)
    talk.messages = manager.on_turn_start(talk.messages).messages
    again = manager.on_tool_result("read", outputs["b.ts"], {"file_path": "b.ts"})
    assert again.text == outputs["b.ts"]
    talk.call("read", {"file_path": "b.ts"}, again.text)
    assert outputs["b.ts"] in str(manager.on_turn_start(talk.messages).messages).replace("\\n", "\n")


def test_old_results_go_in_yellow_if_red_is_less_than_two_turns_away() -> None:
    manager, taken = managed(128_000)
    loop = Loop(manager, COUNTER, large=22_000, every=1)
    for number in range(8):
        loop.turn("read", {"file_path": f"src/part{number}.ts"}, text_of(number, 22_000))
    before_orange = [one for one in events(taken, "management") if one.before["utilization"] < 0.75]
    assert before_orange
    assert "the window reaches the red zone in " in before_orange[0].reason
    assert all(one.is_whole for one in loop.outcome.sent[:-1])


def test_a_slow_loop_in_yellow_changes_nothing() -> None:
    manager, taken = managed(12_000)
    loop = Loop(manager, COUNTER, large=600, every=1)
    while manager.pressure_monitor.utilization() < 0.6:
        tool, arguments, output = next(loop._steps)
        loop.turn(tool, arguments, output)
    assert events(taken, "step") == []


@pytest.mark.parametrize("utilization", [0.94, 0.95, 1.05, *slow(0.80)])
def test_each_zone_comes_to_the_same_target(utilization: float) -> None:
    """At 95 % no more goes than at 94 %: the cheap step had been enough."""
    messages = long_talk(24).messages
    tokens = Conversation.parse(messages, COUNTER).tokens
    start = managed(int(tokens / utilization))[0].on_turn_start(messages)
    assert 0.50 < start.utilization_after <= 0.61
    assert "compaction" not in {step.name for step in start.steps}
    assert validate(start.messages) == []


def test_less_than_4000_tokens_for_the_answer_cost_no_more_than_is_wanted() -> None:
    messages = long_talk(24).messages
    tokens = Conversation.parse(messages, COUNTER).tokens
    talk = Talk()
    talk.messages = messages[: len(messages) * 24_000 // tokens | 1]
    start = managed(int(Conversation.parse(talk.messages, COUNTER).tokens / 0.87))[0].on_turn_start(talk.messages)
    assert start.utilization_after > 0.4


def stubborn(todo: str) -> list[dict[str, Any]]:
    """A conversation of which little can go, with open subtasks."""
    talk = Talk("Port the shop.")
    items = [("Rename the module", "completed"), (todo, "pending")]
    todos = {"todos": [{"content": text, "status": status, "activeForm": text} for text, status in items]}
    talk.call("TodoWrite", todos, "ok")
    for number in range(12):
        talk.call("Bash", {"command": f"ls {number}"}, "a")
    for number in range(60):
        talk.say(f"IMPORTANT wish {number}: " + " ".join(f"w{number}x{n}" for n in range(40)), "Yes.")
    talk.call("Bash", {"command": "ls -R"}, "\n".join(f"src/part{n}.py" for n in range(400)))
    talk.say("Go on.", "Yes.")
    return talk.messages


def test_a_sub_agent_is_given_the_open_subtask_that_is_worth_it() -> None:
    asked: list[tuple[str, str]] = []

    def dispatcher(task: str, context: str) -> SubAgentAnswer:
        asked.append((task, context))
        return SubAgentAnswer("Three files matter: a.py, b.py, c.py.", 50_000, 12)

    messages = stubborn("Find all callers of the old pool in src/ and list them")
    tokens = Conversation.parse(messages, COUNTER).tokens
    manager, taken = managed(int(tokens / 0.96), dispatcher=dispatcher)
    start = manager.on_turn_start(messages)
    assert [task for task, _ in asked] == ["Find all callers of the old pool in src/ and list them"]
    assert "Port the shop." in asked[0][1]
    assert "Three files matter: a.py, b.py, c.py." in str(start.messages)
    assert validate(start.messages) == []
    (step,) = [one for one in events(taken, "step") if one.decision == "sub_agent"]
    assert step.wanted is not None
    assert step.wanted > 0
    manager.on_turn_start(start.messages)
    assert len(asked) == 1


@pytest.mark.parametrize("todo", ["Fix it as said above", "Rename it. Then test. Then write the notes. Then push."])
def test_small_subtask_is_not_given_to_a_sub_agent(todo: str) -> None:
    messages = stubborn(todo)
    tokens = Conversation.parse(messages, COUNTER).tokens
    manager, _ = managed(int(tokens / 0.96), dispatcher=lambda task, context: 1 / 0)
    (step,) = [step for step in manager.on_turn_start(messages).steps if step.name == "sub_agent"]
    assert step.refused
    assert "failed" not in step.refused


@pytest.mark.parametrize("shape", ["lambda", *slow("object", "named")])
def test_any_function_is_a_model_and_is_asked_once_for_many_results(shape: str) -> None:
    asked: list[tuple[str, str]] = []

    def answer(system: str, user: str) -> str:
        asked.append((system, user))
        return "nothing of use"

    class Named:
        name = "my model"

        def answer(self, prompt: str) -> str:
            return answer("", prompt)

    class Callable:
        name = "my model"

        def __call__(self, system: str, user: str) -> str:
            return answer(system, user)

    provider: Any = {"lambda": lambda s, u: answer(s, u), "object": Named(), "named": Callable()}[shape]
    messages = long_talk(24).messages
    tokens = Conversation.parse(messages, COUNTER).tokens
    preserve = {"compression": {"preserve": ["names of customers"]}}
    manager, taken = managed(
        int(tokens / 0.8), provider=provider, task_goal="Port the shop, password: hunter2horse", config=preserve
    )
    start = manager.on_turn_start(messages)
    assert start.utilization_after <= 0.61
    assert len(asked) <= 2
    assert asked[0][1].count("<output id=") > 5
    assert "names of customers" in asked[0][0] + asked[0][1]
    assert "Port the shop" in asked[0][1]
    assert "hunter2horse" not in str(asked)
    (step,) = [one for one in events(taken, "step") if "model" in one.details][:1]
    assert step.details["model"]["asked"] == 1
    assert step.details["model"]["used"] == 0


def test_model_that_raises_is_replaced_by_rules_and_logged_once() -> None:
    def broken(system: str, user: str) -> str:
        raise RuntimeError("the server is down")

    messages = long_talk(24).messages
    tokens = Conversation.parse(messages, COUNTER).tokens
    manager, taken = managed(int(tokens / 0.8), provider=broken)
    alone, _ = managed(int(tokens / 0.8))
    start = manager.on_turn_start(messages)
    assert start.messages == alone.on_turn_start(messages).messages
    manager.on_turn_start(messages)
    (failed,) = [one for one in events(taken, "model") if one.decision == "failed"]
    assert "RuntimeError: the server is down" in failed.reason


def test_model_summary_that_matches_the_text_is_used() -> None:
    talk = Talk("Read the parts.")
    for number in range(6):
        talk.call("Read", {"file_path": f"part{number}.md"}, f"chapter {number} about ships and harbours\n" * 200)

    def model(system: str, user: str) -> str:
        return "\n".join(
            f'<summary id="{one}">chapter about ships &amp; harbours</summary>'
            for one in [part.partition('"')[0] for part in user.split('<output id="')[1:]]
        )

    tokens = Conversation.parse(talk.messages, COUNTER).tokens
    start = managed(int(tokens / 0.8), provider=model)[0].on_turn_start(talk.messages)
    assert "by model]\nchapter about ships & harbours" in str(start.messages).replace("\\n", "\n")
    assert start.steps[0].llm_calls == 1
    assert start.steps[0].llm_used > 0


def test_the_audit_has_blocks_scores_targets_and_events() -> None:
    manager, taken = managed(32_000, config={"eviction": {"policy": "priority"}})
    loop = Loop(manager, COUNTER, large=9_000, every=2)
    loop.run(60)
    step = next(one for one in events(taken, "step") if one.decision == "eviction")
    assert step.policy == "priority"
    assert step.target is not None
    assert step.before["tokens"] > step.after["tokens"]
    assert all({"id", "type", "turn", "before", "after", "score"} <= set(block) for block in step.blocks)
    found = {one.event for one in taken}
    assert {"step", "management", "tool_result", "health", "status", "pressure", "budget", "alert"} <= found
    assert "spike" in {one.decision for one in events(taken, "pressure")}


def test_repeated_call_is_logged_with_what_evicted_its_result() -> None:
    manager, taken = managed(32_000)
    loop = Loop(manager, COUNTER, large=9_000, every=1)
    first = loop.turn("read", {"file_path": "src/a.ts"}, text_of(1, 9_000))
    loop.run(30)
    loop.turn("read", {"file_path": "src/a.ts"}, first.output)
    again = [one.details["again"] for one in events(taken, "tool_result") if "again" in one.details]
    assert len(again) == 1
    assert again[0]["block"]


@pytest.mark.parametrize("kind", ["path", "function", "logger"])
def test_an_audit_needs_no_memory(kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    taken: list[Decision] = []
    logger = logging.getLogger("tests.window")
    audit: Any = {"path": tmp_path / "audit.jsonl", "function": taken.append, "logger": logger}[kind]
    with caplog.at_level(logging.INFO, "tests.window"):
        manager = ContextWindowManager("claude", audit=audit)
        manager.on_turn_start([{"role": "user", "content": "Hello."}])
        manager.on_turn_end(10)
    told = {"path": lambda: (tmp_path / "audit.jsonl").read_text(), "function": lambda: str(taken),
            "logger": lambda: caplog.text}[kind]()  # fmt: skip
    assert "snapshot" in told
    assert "timestamp" in told


def test_a_function_that_takes_no_decisions_is_refused() -> None:
    with pytest.raises(MemctlError, match="decisions can't be written"):
        ContextWindowManager("claude", audit=5)  # type: ignore[arg-type]


def test_excluded_tools_and_the_last_results_are_kept() -> None:
    talk = Talk("Port the shop.")
    for number in range(30):
        tool = "secret" if number == 3 else "Read"
        talk.call(tool, {"file_path": f"part{number}.md"}, f"part {number} line of a file\n" * 100)
    tokens = Conversation.parse(talk.messages, COUNTER).tokens
    config = {"eviction": {"exclude_tools": ["secret"], "keep_last": 5}}
    start = managed(int(tokens / 0.99), config=config)[0].on_turn_start(talk.messages)
    text = str(start.messages)
    assert start.utilization_after <= 0.61
    assert ["part 3 line" in text, "part 4 line of a file\\npart 4" in text] == [True, False]
    assert all(f"part {number} line of a file\\npart {number} line" in text for number in range(25, 30))


def test_eviction_below_clear_at_least_is_skipped() -> None:
    messages = long_talk(24).messages
    tokens = Conversation.parse(messages, COUNTER).tokens
    config = {"eviction": {"clear_at_least": tokens}}
    start = managed(int(tokens / 0.8), config=config)[0].on_turn_start(messages)
    assert start.messages is messages
    assert "clear_at_least" in start.reason


def test_the_end_of_a_task_keeps_a_summary_and_says_where_it_went(tmp_path: Path) -> None:
    config = {"cross_window": {"state_file": "state.json"}}
    manager, taken = managed(32_000, config=config, folder=tmp_path)
    loop = Loop(manager, COUNTER, large=9_000, every=2)
    loop.run(30)
    end = manager.on_task_end(loop.messages)
    assert "src/services/part1.ts" in end.summary
    assert end.checkpoint
    assert end.snapshot.timestamp
    assert end.trends["utilization"].samples
    assert events(taken, "task")


@pytest.mark.slow
def test_a_steady_loop_raises_no_alarm_of_its_rate() -> None:
    manager, taken = managed(128_000)
    Loop(manager, COUNTER, large=9_000, every=3).run(200, check_every=50)
    assert [one for one in events(taken, "alert") if one.details["metric"] == "burn_rate"] == []


def test_settings_without_effect_are_named() -> None:
    given = {
        "compression": {"preserve": ["x"], "cascade": {0.9: "sub_agent"}},
        "eviction": {"policy": "fifo", "weights": {"recency": 0.4, "priority": 0.15}},
        "cross_window": {"auto_save_threshold": 0.8},
    }
    manager = ContextWindowManager.from_config(given)
    told = "\n".join(manager.unused)
    assert all(name in told for name in ("preserve", "sub_agent", "eviction.weights", "auto_save_threshold"))
    assert ContextWindowManager.from_config({}).unused == ()
    assert "no sub_agent" in "\n".join(
        ContextWindowManager.from_config({"compression": {"cascade": {0.8: "progressive"}}}, dispatcher=print).unused
    )


def test_the_counter_is_that_of_the_model_that_is_named() -> None:
    assert ContextWindowManager("gpt-5").counter.tokens("word " * 100) < ContextWindowManager().counter.tokens(
        "word " * 100
    )
    with pytest.raises(MemctlError, match="known"):
        ContextWindowManager("llama-9")
    assert ContextWindowManager("gpt-5", WindowConfig()).on_turn_start([]).action is Action.NONE
