"""The manager of a window: what its hooks do in which zone, over an agent's whole run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memctl.record.task_state import TaskState
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.window.audit import AuditLog
from memctl.window.config import WindowConfig
from memctl.window.messages.conversation import Conversation
from memctl.window.messages.validity import validate
from memctl.window.orchestrator import ContextWindowManager
from memctl.window.plan import Action, WindowStatus
from memctl.window.preservation import essentials
from memctl.window.state.store import StateFiles
from tests.window.talk import TASK, Talk, long_talk

COUNTER = Counter(FAMILIES["gpt"])


class Keeper:
    """Keeps states in memory."""

    def __init__(self) -> None:
        self.saved: list[TaskState] = []

    def save(self, state: TaskState) -> str:
        self.saved.append(state)
        return f"state {len(self.saved)}"

    def load(self) -> TaskState | None:
        return self.saved[-1] if self.saved else None

    def bootstrap_prompt(self) -> str:
        return f"RESUME: {self.saved[-1].goal}" if self.saved else ""


def manager(tokens: int, **more: Any) -> ContextWindowManager:
    return ContextWindowManager(COUNTER, WindowConfig(max_context_tokens=tokens), **more)


def tokens_of(messages: Any) -> int:
    return Conversation.parse(messages, COUNTER).tokens


@pytest.fixture(scope="module")
def messages() -> list[dict[str, Any]]:
    return long_talk().messages


@pytest.fixture(scope="module")
def many() -> list[dict[str, Any]]:
    return long_talk(12).messages


@pytest.mark.parametrize(
    ("utilization", "action", "status"),
    [
        (0.49, Action.NONE, WindowStatus.HEALTHY),
        (0.51, Action.EVALUATE, WindowStatus.PREPARING),
        (0.74, Action.EVALUATE, WindowStatus.PREPARING),
        (0.76, Action.MANAGE, WindowStatus.ACTIVE_MANAGEMENT),
        (0.91, Action.MANAGE, WindowStatus.EMERGENCY),
        (0.96, Action.EMERGENCY_COMPACTION, WindowStatus.EMERGENCY),
    ],
)
def test_each_zone_calls_for_its_action(
    many: list[dict[str, Any]], utilization: float, action: Action, status: WindowStatus
) -> None:
    watched = manager(int(tokens_of(many) / utilization))
    start = watched.on_turn_start(many)
    assert (start.action, watched.status) == (action, status)
    if action in (Action.NONE, Action.EVALUATE):
        assert start.messages is many
        assert watched.candidates()
    else:
        assert tokens_of(start.messages) <= 0.62 * tokens_of(many) / utilization
        assert start.utilization_after <= 0.62
        assert validate(start.messages) == []


def test_management_loses_no_essential_facts(messages: list[dict[str, Any]]) -> None:
    before = Conversation.parse(messages, COUNTER)
    start = manager(int(before.tokens / 0.97)).on_turn_start(messages)
    wanted = essentials.of_blocks(before.blocks)
    assert essentials.missing(wanted, Conversation.parse(start.messages, COUNTER).blocks) == []


def test_tokens_reported_by_the_model_override_the_count(messages: list[dict[str, Any]]) -> None:
    tokens = tokens_of(messages)
    watched = manager(4 * tokens)
    assert watched.on_turn_start(messages).action is Action.NONE
    start = watched.on_turn_start(messages, model_reported_tokens=int(3.2 * tokens))
    assert start.action is Action.MANAGE
    assert tokens_of(start.messages) <= 0.62 / 0.8 * tokens


def test_a_run_of_an_agent_never_overflows_its_window(tmp_path: Path) -> None:
    """Forty calls whose results alone are three times the window."""
    window = 12_000
    log = AuditLog(tmp_path / "audit.jsonl", lambda: "2025-11-04T14:32:00Z")
    watched = manager(window, audit=log, state_manager=Keeper(), task_goal=TASK)
    talk = Talk()
    output = "\n".join(f"src/part_{n}/module_{n}.py:{n}: value = compute({n})" for n in range(50))
    for number in range(40):
        start = watched.on_turn_start(talk.messages)
        assert start.action is not Action.CROSS_WINDOW_SAVE
        talk.messages = start.messages
        assert tokens_of(talk.messages) <= 0.95 * window
        shown = watched.on_tool_result("Bash", output, {"command": f"grep -rn value{number} src"})
        talk.call("Bash", {"command": f"grep -rn value{number} src"}, shown.text, say=f"Step {number}.")
        watched.on_turn_end(60)
    assert validate(talk.messages) == []
    assert TASK in str(talk.messages[0])
    events = [decision.event for decision in log.read()]
    assert events.count("health") == events.count("tool_result") == 40
    managed = [decision for decision in log.read() if decision.event == "management"]
    assert managed
    assert all(one.after["tokens"] < one.before["tokens"] for one in managed)


def test_a_run_goes_on_where_its_log_can_not_be_written(tmp_path: Path, messages: list[dict[str, Any]]) -> None:
    file = tmp_path / "audit.jsonl"
    file.mkdir()
    watched = manager(int(tokens_of(messages) / 0.8), audit=AuditLog(file, lambda: "2025-11-04T14:32:00Z"))
    assert watched.on_turn_start(messages).action is Action.MANAGE
    watched.on_tool_result("Bash", "ok")
    watched.on_turn_end(100)
    assert (
        watched.get_status_report()["decisions_missed"] == 7
    )  # two steps, and what they come to; with the zone's change


def test_management_without_gain_is_not_tried_again_at_once() -> None:
    talk = Talk()
    for number in range(150):
        talk.say(f"IMPORTANT wish {number}: " + " ".join(f"w{number}x{n}" for n in range(60)), "Yes.")
    tokens = tokens_of(talk.messages)
    watched = manager(int(tokens / 0.8))
    first = watched.on_turn_start(talk.messages)
    assert first.action is Action.MANAGE
    assert tokens_of(first.messages) > 0.9 * tokens
    second = watched.on_turn_start(first.messages)
    assert second.action is Action.NONE
    assert "the last attempt to make the window smaller freed less than 10%" in second.reason
    assert second.messages is first.messages


def test_a_window_that_can_not_be_kept_is_left_with_its_state_saved() -> None:
    talk = Talk()
    talk.say("Wish: " + " ".join(f"word{n}" for n in range(3_000)), "Decision: use a pool of 25 connections.")
    keeper, seen = Keeper(), []
    watched = manager(int(tokens_of(talk.messages) / 0.97), state_manager=keeper, on_overflow_detected=seen.append)
    start = watched.on_turn_start(talk.messages)
    assert start.action is Action.CROSS_WINDOW_SAVE
    assert start.bootstrap == f"RESUME: {TASK}"
    assert start.checkpoint == "state 1"  # the safety save at 85 % kept the same: it is not kept twice
    assert seen == [keeper.saved[-1]]
    assert keeper.saved[-1].decisions == ("use a pool of 25 connections",)
    assert watched.windows_created == 2


def test_a_safety_save_is_made_once_when_85_percent_are_crossed(messages: list[dict[str, Any]]) -> None:
    keeper = Keeper()
    watched = manager(int(tokens_of(messages) / 0.86), state_manager=keeper)
    start = watched.on_turn_start(messages)
    assert len(keeper.saved) == 1
    watched.on_turn_start(start.messages)
    watched.on_turn_start(start.messages)
    assert len(keeper.saved) == 1
    watched.on_turn_start([*messages, {"role": "user", "content": "Use IPv6."}])
    assert len(keeper.saved) == 2


def test_a_result_goes_in_whole_while_there_is_room_and_is_summed_up_when_there_is_not() -> None:
    output = "\n".join(f"src/part_{n}/module_{n}.py:{n}: value = compute({n})" for n in range(200))
    roomy = manager(200_000)
    assert roomy.on_tool_result("Bash", output).text == output
    tight = manager(6_000)
    shown = tight.on_tool_result("Bash", output, {"command": "grep -rn value src"})
    assert shown.original_tokens == COUNTER.tokens(output, "log") > 2_400
    assert shown.tokens <= 0.2 * shown.original_tokens
    assert "200 hits in 200 files" in shown.text
    assert shown.allowed
    report = tight.budget_manager.report().components["tool_results"]
    assert report.used == shown.tokens


def test_results_go_in_whole_beyond_their_own_budget_while_the_window_has_room() -> None:
    """Their budget is 24,000 of these 200,000 tokens; only the window refuses (rules.md#window-budget)."""
    talk, watched = Talk(), manager(200_000)
    output = "\n".join(f"value_{n} = compute({n})" for n in range(200))
    for number in range(30):
        talk.messages = watched.on_turn_start(talk.messages).messages
        shown = watched.on_tool_result("Read", output, {"file_path": f"src/part{number}.py"})
        assert shown.text == output
        assert shown.allowed
        talk.call("Read", {"file_path": f"src/part{number}.py"}, shown.text)
        watched.on_turn_end(60)
    assert "tool_results reaches its hard limit" in shown.note
    assert watched.budget_manager.report().components["tool_results"].hard_exceeded


def test_a_result_that_would_bring_the_orange_zone_is_summed_up() -> None:
    output = "\n".join(f"value_{n} = compute({n})" for n in range(2_000))
    tokens = COUNTER.tokens(output, "log")
    assert manager(int(tokens / 0.70)).on_tool_result("Read", output).text == output
    shown = manager(int(tokens / 0.76)).on_tool_result("Read", output)
    assert shown.tokens <= 0.2 * tokens
    assert shown.allowed


def test_evicted_tokens_are_given_back_to_the_budget(messages: list[dict[str, Any]]) -> None:
    watched = manager(int(tokens_of(messages) / 0.8))
    start = watched.on_turn_start(messages)
    assert watched.budget_manager.total_used == tokens_of(start.messages)


def test_the_report_has_all_subsystems_in_it(messages: list[dict[str, Any]]) -> None:
    changes: list[tuple[WindowStatus, WindowStatus]] = []
    watched = manager(int(tokens_of(messages) / 0.8), on_status_change=lambda old, new: changes.append((old, new)))
    watched.on_turn_start(messages)
    watched.on_turn_end(100)
    report = watched.get_status_report()
    assert (report["window_status"], report["turn"], report["windows_created"]) == ("active", 1, 1)
    assert set(report["budget_report"]["components"]) == {
        "system_prompt", "tool_definitions", "message_history", "tool_results", "memory_injection", "output_reserved",
    }  # fmt: skip
    assert changes == [(WindowStatus.HEALTHY, WindowStatus.ACTIVE_MANAGEMENT)]


def test_overflow_starts_a_new_window_with_the_saved_state(messages: list[dict[str, Any]]) -> None:
    keeper = Keeper()
    watched = manager(10 * tokens_of(messages), state_manager=keeper)
    start = watched.on_overflow(messages)
    assert (start.action, start.bootstrap) == (Action.CROSS_WINDOW_SAVE, f"RESUME: {TASK}")
    assert keeper.saved[-1].goal == TASK
    assert watched.windows_created == 2


WINDOW = 1_000_000


@pytest.mark.parametrize(
    ("reported", "action"),
    [
        (499_999, Action.NONE),
        (500_000, Action.EVALUATE),
        (749_999, Action.EVALUATE),
        (750_000, Action.MANAGE),
        (949_999, Action.MANAGE),
        (950_000, Action.EMERGENCY_COMPACTION),
    ],
)
def test_actions_begin_at_their_utilizations(messages: list[dict[str, Any]], reported: int, action: Action) -> None:
    assert manager(WINDOW).on_turn_start(messages, model_reported_tokens=reported).action is action


def test_management_aims_at_60_percent(many: list[dict[str, Any]]) -> None:
    tokens = tokens_of(many)
    for utilization in (0.76, 0.91):
        after = tokens_of(manager(int(tokens / utilization)).on_turn_start(many).messages)
        assert 0.58 * tokens < utilization * after <= 0.60 * tokens


def stubborn() -> list[dict[str, Any]]:
    """Messages of which next to nothing can go: one old result."""
    talk = Talk()
    talk.call("Bash", {"command": "ls"}, "\n".join(f"src/part{n}.py" for n in range(400)))
    for number in range(40):
        talk.say(f"IMPORTANT wish {number}: " + " ".join(f"w{number}x{n}" for n in range(120)), "Yes.")
    return talk.messages


@pytest.mark.parametrize(("left", "action"), [(0.931, Action.CROSS_WINDOW_SAVE), (0.929, Action.EMERGENCY_COMPACTION)])
def test_window_above_93_percent_after_an_emergency_is_left(left: float, action: Action) -> None:
    """What counts is the utilisation after the compaction."""
    given = stubborn()
    freed = manager(WINDOW).on_turn_start(given, model_reported_tokens=960_000)
    share = freed.utilization_after / freed.utilization_before
    assert 0.80 < share < 0.97
    start = manager(WINDOW).on_turn_start(given, model_reported_tokens=int(left / share * WINDOW))
    assert start.utilization_after == pytest.approx(left, abs=0.0005)
    assert start.action is action


def test_tokens_that_eviction_does_not_free_are_freed_by_compression(many: list[dict[str, Any]]) -> None:
    """Also if some blocks were evicted."""
    start = manager(int(tokens_of(many) / 0.94)).on_turn_start(many)
    assert any(not one.refused for one in start.steps)
    assert start.utilization_after <= 0.60


def test_less_than_4000_tokens_for_the_answer_is_an_emergency() -> None:
    """In the orange zone still, for a small window (rules.md#window-budget)."""
    talk = Talk()
    for number in range(12):
        talk.call("Read", {"file_path": f"src/part{number}.py"}, f"{number} words of it all\n" * 280)
    tokens = tokens_of(talk.messages)
    roomy, tight = manager(int((tokens + 4_010) / 0.95)), manager(int((tokens + 3_900) / 0.95))
    assert roomy.on_turn_start(talk.messages).action is Action.MANAGE
    assert tight.on_turn_start(talk.messages).action is Action.EMERGENCY_COMPACTION


def test_the_snapshot_of_a_turn_is_of_the_window_and_not_of_the_turn(messages: list[dict[str, Any]]) -> None:
    """`window_id` is the number of the window, not of the turn."""
    watched = manager(10 * tokens_of(messages), state_manager=Keeper())
    for _ in range(3):
        watched.on_turn_start(messages)
        assert watched.on_turn_end(10).window_id == 1
    watched.on_overflow(messages)
    assert watched.on_turn_end(10).window_id == 2


def test_a_window_whose_state_is_refused_begins_with_its_own_and_not_with_another_agents(
    messages: list[dict[str, Any]], tmp_path: Path
) -> None:
    config = WindowConfig(max_context_tokens=tokens_of(messages))
    own, other = (
        ContextWindowManager(COUNTER, config, state_manager=StateFiles(tmp_path, "state.json")) for _ in range(2)
    )
    other.on_overflow([{"role": "user", "content": "Translate the manual."}])
    start = own.on_overflow(messages)
    assert "stale" in start.reason
    assert "Translate the manual" not in start.bootstrap
    wanted = essentials.of_blocks(Conversation.parse(messages, COUNTER).blocks)
    decisions = [one for one in wanted if one.kind == essentials.DECISION]
    assert decisions
    assert essentials.missing_in(decisions, start.bootstrap) == []


def readings(calls: int) -> Talk:
    talk = Talk()
    for number in range(calls):
        talk.call("Read", {"file_path": f"src/part{number}.py"}, f"{number} words of it all\n" * 40)
    return talk


@pytest.mark.parametrize("window", [8_000, 12_000, 19_000])
def test_a_window_without_an_orange_zone_of_its_own_is_managed_before_it_is_compacted(window: int) -> None:
    """Below 20,000 tokens the 4,000 for the answer begin before three quarters are filled."""
    line = int(0.95 * window) - 4_000
    talk = readings(3)
    while tokens_of(talk.messages) <= line:
        talk = readings(1 + len(talk.messages) // 2)
    watched = manager(window)
    start = watched.on_turn_start(talk.messages)
    assert start.utilization_before < 0.75
    assert start.action is Action.MANAGE
    assert start.evicted_blocks or any(not one.refused for one in start.steps)
    assert "compaction" not in {one.name for one in start.steps}
    assert 0.5 * line < tokens_of(start.messages) <= 0.8 * line  # as from 75 % down to 60 %
    assert not watched.budget_manager.needs_emergency_compaction
    assert validate(start.messages) == []


def test_a_small_window_that_management_does_not_help_is_compacted() -> None:
    talk = Talk()
    for number in range(12):
        talk.say(f"IMPORTANT wish {number}: " + " ".join(f"w{number}x{n}" for n in range(80)), "Yes.")
    start = manager(int(tokens_of(talk.messages) / 0.6)).on_turn_start(talk.messages)
    assert start.action is Action.EMERGENCY_COMPACTION
    assert "compaction" in {one.name for one in start.steps}
