"""Every key of the settings does what it says: each is changed alone, and something is different then."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from memctl.errors import MemctlError
from memctl.store.memory import open_memory
from memctl.window import (
    AlertLevel,
    ContextWindowManager,
    EvictionPolicy,
    HealthSnapshot,
    PressureZone,
)
from memctl.window.budget.profiles import BudgetComponent
from memctl.window.messages.content import ContentBlock, ContentType
from memctl.window.messages.conversation import Conversation
from tests.window.talk import TASK, Talk, long_talk
from tests.window.test_config import SETTINGS
from tests.window.texts import COUNTER

WINDOW = 128_000


class Manager(ContextWindowManager):
    """A manager that knows the folder which its files are in."""

    folder = Path()


def changed(key: str, value: Any) -> dict[str, Any]:
    """The settings, with another value for one key."""
    settings: dict[str, Any] = yaml.safe_load(SETTINGS)
    at = settings
    *above, last = key.split("/")
    for part in above:
        at = at[part]
    at[last if last in at else float(last)] = value
    return settings


def keys(values: Any, above: str = "") -> list[str]:
    if not isinstance(values, dict) or above == "compression/cascade":
        return [above]
    return [key for name, value in values.items() for key in keys(value, f"{above}/{name}".lstrip("/"))]


def zone_at(manager: Manager, share: float) -> PressureZone:
    return manager.pressure_monitor.measure(int(share * manager.config.max_context_tokens)).zone


def velocity(manager: Manager) -> float:
    steps = [1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 16_000]
    return [manager.pressure_monitor.measure(tokens).velocity_tokens_per_turn for tokens in steps][-1]


def block(name: str, turn: int, kind: str = "tool_result", **more: Any) -> ContentBlock:
    text = f"{name} " + " ".join(f"{name}{number}" for number in range(300))
    return ContentBlock(name, ContentType(kind), text, 900, turn, **more)


def scores(manager: Manager) -> list[float]:
    """The scores of blocks that differ in every signal."""
    given = [block("used", 20, metadata={"reference_count": 5}), block("young", 33), block("old", 2)]
    result = manager.eviction_engine.evict(given, 1, 40)
    kept = {one.block_id: one.score for one in [*result.kept, *result.evictions]}
    return [round(kept[name] or 0, 4) for name in sorted(kept)]


def life(kind: str) -> Callable[[Manager], Any]:
    return lambda manager: manager.eviction_engine.numbers.life(ContentType(kind))


def held(manager: Manager) -> bool:
    given = [block("a", 3), block("b", 4, "memory_injection")]
    return any("protected" in one.why for one in manager.eviction_engine.evict(given, 5_000, 40).kept)


def summed_up(manager: Manager) -> bool:
    output = "\n".join(f"src/part{number}.py:3: axios" for number in range(60))
    return not manager.compression_engine.compress_tool_result("Grep", output).refused


def steps_at(share: float) -> Callable[[Manager], list[str]]:
    def steps(manager: Manager) -> list[str]:
        conversation = Conversation.parse(long_talk(3).messages, COUNTER)
        size = int(conversation.tokens / share)
        found = manager.compression_engine.execute_cascade(conversation, size, 1)
        return [step.name for step in found.steps]

    return steps


def limit(part: str) -> Callable[[Manager], int]:
    return lambda manager: manager.budget_manager.budgets[BudgetComponent(part)].hard_limit_tokens


def soft(manager: Manager) -> int:
    return manager.budget_manager.budgets[BudgetComponent.TOOL_RESULTS].soft_limit


def is_saved_at(share: float) -> Callable[[Manager], bool]:
    def is_saved(manager: Manager) -> bool:
        manager.on_turn_start([{"role": "user", "content": TASK}], int(share * WINDOW))
        return manager.windows_created == 1 and (manager.folder / "agent_state.json").exists()

    return is_saved


def alarms(**values: float) -> Callable[[Manager], bool]:
    def sound(manager: Manager) -> bool:
        for _ in range(3):
            manager.health_monitor.observe(HealthSnapshot(**values))  # type: ignore[arg-type]
        return bool(manager.health_monitor.check_alerts())

    return sound


def files(manager: Manager) -> list[str]:
    manager.compression_engine.notes.write("bugs", "api.ts:42 has a type error")
    manager.on_overflow([{"role": "user", "content": TASK}])
    return sorted(file.name for file in manager.folder.iterdir())


# Key of the file: another value, and what is different then.
CASES: dict[str, tuple[Any, Callable[[Manager], Any]]] = {
    "max_context_tokens": (64_000, lambda manager: manager.budget_manager.max_context_tokens),
    "pressure/thresholds/yellow": (0.40, lambda manager: zone_at(manager, 0.45)),
    "pressure/thresholds/orange": (0.60, lambda manager: zone_at(manager, 0.70)),
    "pressure/thresholds/red": (0.80, lambda manager: zone_at(manager, 0.85)),
    "pressure/velocity_window": (1, velocity),
    "eviction/policy": ("fifo", lambda manager: manager.eviction_engine.policy),
    "eviction/type_ttl/tool_result": (40, life("tool_result")),
    "eviction/type_ttl/thinking": (9, life("thinking")),
    "eviction/type_ttl/memory_injection": (5, life("memory_injection")),
    "eviction/protected_types": (["tool_result"], held),
    "compression/summarization_threshold_tokens": (5_000, summed_up),
    "compression/compaction_utilization_threshold": (0.95, steps_at(0.93)),
    "compression/cascade": ({0.5: "progressive"}, steps_at(0.80)),
    "compression/notes_file": ("NOTES.md", files),
    "budget/soft_limit_pct": (0.5, soft),
    "cross_window/state_file": ("state.json", files),
    "cross_window/progress_file": ("state.md", files),
    "cross_window/auto_save_threshold": (0.70, is_saved_at(0.72)),
    "health_monitoring/metrics": (["burn_rate"], alarms(utilization=0.95)),
    "health_monitoring/alerts/utilization_critical": (0.97, alarms(utilization=0.95)),
    "health_monitoring/alerts/eviction_rate_warning": (9, alarms(eviction_rate=6)),
    "health_monitoring/alerts/fidelity_warning": (0.5, alarms(fidelity_score=0.7)),
    "health_monitoring/alerts/compression_ratio_min": (1.5, alarms(compression_ratio=1.8)),
    "health_monitoring/alerts/tool_bloat_warning": (0.5, alarms(tool_result_bloat=0.4)),
}
# Shares and weights sum to 1, so that two change at once.
PAIRS = [
    *((f"budget/allocations/{one}", "budget/allocations/message_history", limit(one)) for one in (
        "system_prompt", "tool_definitions", "tool_results", "memory_injection", "output_reserved")),
    *((f"eviction/weights/{one}", f"eviction/weights/{other}", scores) for one, other in (
        ("recency", "priority"), ("type_ttl", "reference_freq"), ("semantic_duplication", "recency"))),
]  # fmt: skip


@pytest.fixture
def made(tmp_path: Path) -> Callable[[dict[str, Any]], Manager]:
    def make(settings: dict[str, Any]) -> Manager:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        manager = Manager.from_config(settings, COUNTER, folder=folder, now=lambda: "2025-11-04T09:00:00Z")
        assert isinstance(manager, Manager)
        manager.folder = folder
        return manager

    return make


def test_every_settings_key_has_a_case() -> None:
    pairs = {key for one, other, _ in PAIRS for key in (one, other)}
    assert set(CASES) | pairs == set(keys(yaml.safe_load(SETTINGS)))


@pytest.mark.parametrize("key", CASES)
def test_settings_key_has_an_effect(key: str, made: Callable[[dict[str, Any]], Manager]) -> None:
    value, look = CASES[key]
    assert look(made(changed(key, value))) != look(made(yaml.safe_load(SETTINGS)))


@pytest.mark.parametrize(("one", "other", "look"), PAIRS, ids=[one for one, _, _ in PAIRS])
def test_shares_and_weights_do_what_they_say(
    one: str, other: str, look: Callable[[Manager], Any], made: Callable[[dict[str, Any]], Manager]
) -> None:
    settings = yaml.safe_load(SETTINGS)
    part, name, first = one.split("/")
    values = settings[part][name]
    second = other.split("/")[2]
    values[first], values[second] = values[first] + 0.05, values[second] - 0.05
    assert look(made(settings)) != look(made(yaml.safe_load(SETTINGS)))


def test_files_are_where_the_settings_are(tmp_path: Path) -> None:
    (tmp_path / "window.yaml").write_text(SETTINGS)
    manager = ContextWindowManager.from_config(tmp_path / "window.yaml", COUNTER)
    manager.on_overflow([{"role": "user", "content": TASK}])
    state = json.loads((tmp_path / "agent_state.json").read_text())
    assert state["goal"].startswith("Migrate the pool")
    assert "**Task**: Migrate the pool" in (tmp_path / "agent_progress.md").read_text()
    again = ContextWindowManager.from_config(tmp_path / "window.yaml", COUNTER)
    assert again.windows_created == 2


def test_settings_without_a_folder_may_not_name_files() -> None:
    for key in ("compression", "cross_window"):
        with pytest.raises(MemctlError, match="needs a folder"):
            ContextWindowManager.from_config({key: yaml.safe_load(SETTINGS)[key]}, COUNTER)


def test_progress_file_without_a_state_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MemctlError, match="no saved state to describe"):
        ContextWindowManager.from_config({"cross_window": {"progress_file": "p.md"}}, COUNTER, folder=tmp_path)


def test_memory_checkpoints_keep_the_state_and_named_files_are_unused(repo: Path) -> None:
    memory = open_memory(repo, {"MEMCTL_AGENT": "x"})
    given = {"cross_window": {"state_file": "state.json", "progress_file": "notes/progress.md"}}
    manager = ContextWindowManager.from_config(given, COUNTER, memory)
    manager.on_overflow([{"role": "user", "content": TASK}])
    assert (
        "cross_window.state_file and progress_file: the state is stored in the memory's checkpoints, not in a file"
        in manager.unused
    )
    assert not (repo / "state.json").exists()
    assert ContextWindowManager.from_config(given, COUNTER, memory).windows_created == 2


def test_notes_are_carried_into_the_next_window(tmp_path: Path) -> None:
    given = {"compression": {"notes_file": "agent_notes.md"}}
    (tmp_path / "agent_notes.md").write_text("# Notes\n\n- [CRITICAL] decisions: keep the interceptor\nby hand")
    manager = ContextWindowManager.from_config(given, COUNTER, folder=tmp_path)
    manager.compression_engine.notes.write("bugs", "api.ts:42\nhas a type error", "high")
    assert (tmp_path / "agent_notes.md").read_text() == (
        "# Notes\n\n- [CRITICAL] decisions: keep the interceptor\nby hand\n- [HIGH] bugs: api.ts:42 has a type error\n"
    )
    talk = Talk()
    talk.say("go on", "yes")
    start = manager.on_overflow(talk.messages)
    assert start.bootstrap.endswith(
        "## Decisions\n- [CRITICAL] keep the interceptor\n\n## Bugs\n- [HIGH] api.ts:42 has a type error"
    )


def test_a_policy_and_an_alarm_are_as_the_defaults() -> None:
    manager = ContextWindowManager.from_config(None, COUNTER)
    assert manager.eviction_engine.policy is EvictionPolicy.HYBRID
    for _ in range(3):
        manager.health_monitor.observe(HealthSnapshot(utilization=0.95))
    assert [alert.level for alert in manager.health_monitor.check_alerts()] == [AlertLevel.CRITICAL]
