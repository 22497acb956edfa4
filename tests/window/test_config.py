"""The settings of a window: a file of all keys, and what is wrong in others."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from memctl.errors import MemctlError
from memctl.record import config as project
from memctl.window import config, subsystems
from memctl.window.budget.profiles import DEFAULT, profile
from memctl.window.budget.token_budget import TokenBudgetManager
from memctl.window.config import WindowConfig
from memctl.window.steps import steps_at

# Every key, with its default (rules.md#window-manager).
SETTINGS = """\
max_context_tokens: 128000

pressure:
  thresholds:
    yellow: 0.50
    orange: 0.75
    red: 0.90
  velocity_window: 5

eviction:
  policy: hybrid
  weights:
    recency: 0.30
    priority: 0.25
    type_ttl: 0.20
    reference_freq: 0.15
    semantic_duplication: 0.10
  type_ttl:
    tool_result: 8
    thinking: 2
    memory_injection: 20
  protected_types: [system_prompt]

compression:
  summarization_threshold_tokens: 500
  compaction_utilization_threshold: 0.85
  cascade:
    0.75: tool_result_summarization
    0.85: progressive
    0.92: conversation_compaction
    0.95: sub_agent
  notes_file: agent_notes.md

budget:
  allocations:
    system_prompt: 0.06
    tool_definitions: 0.04
    message_history: 0.65
    tool_results: 0.12
    memory_injection: 0.08
    output_reserved: 0.05
  soft_limit_pct: 0.80

cross_window:
  state_file: agent_state.json
  progress_file: agent_progress.md
  auto_save_threshold: 0.85

health_monitoring:
  metrics:
    - utilization
    - eviction_rate
    - compression_ratio
    - burn_rate
    - fidelity_score
    - tool_result_bloat
  alerts:
    utilization_critical: 0.90
    eviction_rate_warning: 5
    fidelity_warning: 0.75
    compression_ratio_min: 2.0
    tool_bloat_warning: 0.30
"""


def complaint(text: str) -> MemctlError:
    with pytest.raises(MemctlError) as caught:
        config.parse(text, "window.yaml")
    return caught.value


def without_files(found: WindowConfig) -> WindowConfig:
    return msgspec.structs.replace(
        found,
        compression=msgspec.structs.replace(found.compression, notes_file=""),
        cross_window=msgspec.structs.replace(found.cross_window, state_file="", progress_file=""),
    )


def test_the_file_of_all_keys_is_the_defaults() -> None:
    """But for its files: none is written that nobody named."""
    assert without_files(config.parse(SETTINGS, "window.yaml")) == WindowConfig()
    assert config.parse("", "window.yaml") == WindowConfig()


def test_the_defaults_fit_the_budget_manager() -> None:
    allocations = WindowConfig().budget.by_component()
    assert allocations == profile(DEFAULT).allocations
    assert TokenBudgetManager(allocations=allocations).max_context_tokens == 128_000


def test_the_cascade_has_numbers_for_keys_and_begins_with_its_first_step() -> None:
    """See rules.md#window-compression."""
    steps = WindowConfig().compression.cascade
    assert steps_at(0.74, steps) == []
    assert steps_at(0.75, steps) == ["tool_result_summarization"]
    assert steps_at(0.93, steps) == ["tool_result_summarization", "progressive", "conversation_compaction"]
    own = config.parse("compression:\n  cascade:\n    1: sub_agent\n    0.5: progressive\n", "x").compression
    assert steps_at(1.0, own.cascade) == ["progressive", "sub_agent"]


def test_duplicate_key_in_another_notation_is_refused() -> None:
    error = complaint("compression:\n  cascade:\n    0.5: progressive\n    0.50: sub_agent\n")
    assert error.message.startswith("window.yaml:4: ")


def test_number_as_a_top_level_key_is_refused() -> None:
    assert "window.yaml:1" in complaint("5: x\n").message


@pytest.mark.parametrize(
    ("text", "key", "hint"),
    [
        ("presure: {}\n", "`presure`", "did you mean pressure?"),
        ("pressure:\n  thresholds:\n    yelow: 0.4\n", "`pressure.thresholds.yelow`", "did you mean yellow?"),
        ("eviction:\n  weights:\n    fifo: 0.15\n", "`eviction.weights.fifo`", "the keys are recency, priority"),
        ("eviction:\n  0.5: x\n", "`eviction.0.5`", "the keys are policy"),
        ("health_monitoring:\n  alerts:\n    tool_bloat: 0.3\n", "`health_monitoring.alerts.tool_bloat`", "the keys"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest(text: str, key: str, hint: str) -> None:
    error = complaint(text)
    assert error.message == f"window.yaml: there is no setting {key}"
    assert hint in str(error.hint)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("eviction:\n  weights:\n    recency: 0.5\n", "the values must sum to 1, but their sum is 1.2: recency 0.5"),
        ("budget:\n  allocations:\n    message_history: 0.6\n", "their sum is 0.95"),
        ("pressure:\n  thresholds:\n    orange: 0.95\n", "each larger than the one before"),
        ("pressure:\n  velocity_window: 0\n", "pressure.velocity_window"),
        ("pressure: 5\n", "pressure"),
        ("max_context_tokens: many\n", "max_context_tokens"),
        ("eviction:\n  policy: random\n", "eviction.policy"),
        ("eviction:\n  protected_types: [toolresult]\n", "protected_types"),
        ("compression:\n  cascade:\n    1.5: sub_agent\n", "up to 1"),
        ("compression:\n  cascade:\n    0.5: guess\n", "guess"),
        ("compression:\n  notes_file: ../../notes.md\n", "inside the project"),
        ("cross_window:\n  state_file: /etc/state.json\n", "inside the project"),
        ("cross_window:\n  state_file: a.json\n  progress_file: a.json\n", "both are 'a.json'"),
        ("cross_window:\n  state_file: 'C:\\state.json'\n", "inside the project"),
        ("health_monitoring:\n  metrics: [speed]\n", "there is no health metric 'speed'"),
        ("health_monitoring:\n  alerts:\n    fidelity_warning: 75\n", "fidelity_warning"),
    ],
)
def test_a_wrong_value_is_named(text: str, part: str) -> None:
    message = complaint(text).message
    assert message.startswith("window.yaml: ")
    assert part in message


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("eviction:\n  policy: hybird\n", "fifo, lru, priority, semantic_merge, type_based, hybrid"),
        ("eviction:\n  protected_types: [system]\n", "system_prompt, "),
        ("compression:\n  cascade:\n    0.9: compact\n", "conversation_compaction, sub_agent"),
    ],
)
def test_wrong_choice_is_refused_with_the_valid_values(text: str, values: str) -> None:
    assert values in str(complaint(text).hint)


def test_the_text_of_settings_is_not_taken_for_a_files_name() -> None:
    with pytest.raises(MemctlError) as caught:
        subsystems.settings(SETTINGS)
    assert caught.value.message == "the settings must be a mapping or the name of a file, not the text of a file"


def test_empty_keys_mean_the_default() -> None:
    assert config.parse("pressure:\n  thresholds:\nbudget:\n", "x") == WindowConfig()


def test_broken_yaml_is_reported_with_its_line() -> None:
    assert complaint("pressure:\n  thresholds: [\n").message.startswith("window.yaml:2: ")


def test_project_settings_take_the_same_keys_under_window() -> None:
    nested = "".join(f"  {line}\n" if line else "\n" for line in SETTINGS.split("\n"))
    read = project.parse(f"format: 1\nproject: shop\nwindow:\n{nested}", ".memory/config.yaml")
    assert without_files(config.from_values(read.window, ".memory/config.yaml")) == WindowConfig()
    assert config.from_values({}, ".memory/config.yaml") == WindowConfig()


@pytest.mark.parametrize("odd", [5, [], b"window.yaml"])
def test_settings_of_another_type_are_refused_with_what_they_are(odd: Any) -> None:
    with pytest.raises(MemctlError, match=f"not {type(odd).__name__}"):
        subsystems.settings(odd)
