"""Windows by models' names, and where hosts compact them."""

from __future__ import annotations

import pytest

from memctl.errors import USAGE, MemctlError
from memctl.hooks import pressure as hooks
from memctl.window.pressure.limits import CLAUDE_CODE, NO_HOST, compaction_point, limit_of, window_of
from memctl.window.pressure.monitor import PressureZone, Thresholds


def test_claude_code_compacts_at_167000_of_200000() -> None:
    assert compaction_point(200_000, CLAUDE_CODE) == 167_000
    assert compaction_point(1_000_000, CLAUDE_CODE) == 967_000
    assert compaction_point(200_000, CLAUDE_CODE, max_output=8_000) == 179_000
    assert compaction_point(128_000, NO_HOST) == 128_000


def test_red_zone_begins_before_the_host_compacts() -> None:
    at_compaction = 166_999
    assert at_compaction / 200_000 < 0.90  # by shares of the whole window: orange to the end
    assert Thresholds().zone(at_compaction / compaction_point(200_000, CLAUDE_CODE)) is PressureZone.RED


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("claude-sonnet-4-5-20250929", 200_000),
        ("claude-sonnet-4-5[1m]", 1_000_000),
        ("claude-opus-4-1m", 1_000_000),
        ("claude-opus-4-6", 200_000),
        ("claude-opus-4-7", 1_000_000),
        ("claude-opus-5", 1_000_000),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", 200_000),
        ("anthropic/claude-sonnet-4-20250514", 200_000),
        ("claude", 200_000),
        ("claude-4.5", 200_000),
        ("gpt-4.1-mini", 1_047_576),
        ("gpt-4o", 128_000),
        ("openai/o3-mini", 200_000),
        ("a-model-of-ours", None),
    ],
)
def test_a_window_is_known_by_the_models_name(model: str, window: int | None) -> None:
    assert window_of(model) == window


def test_a_window_that_held_more_than_its_name_says_is_a_larger_one() -> None:
    limit = limit_of("claude-sonnet-4-5", CLAUDE_CODE, seen=412_000)
    assert (limit.window, limit.usable) == (1_000_000, 967_000)
    assert "412,000" in limit.source
    assert limit_of("claude-sonnet-4-5", NO_HOST, seen=180_000).window == 200_000


@pytest.mark.parametrize("seen", [167_000, 167_001, 173_215, 199_999, 200_000])
def test_only_more_than_the_window_proves_a_larger_one(seen: int) -> None:
    """Claude Code compacts after the request that went over its point."""
    limit = limit_of("claude-opus-4-6", CLAUDE_CODE, seen=seen)
    assert (limit.window, limit.usable, limit.is_guessed) == (200_000, 167_000, False)
    assert Thresholds().zone(seen / limit.usable) is PressureZone.RED
    assert limit_of("claude-opus-4-6", CLAUDE_CODE, seen=200_001).window == 1_000_000


def test_a_compaction_by_the_host_below_the_small_window_proves_it() -> None:
    limit = limit_of("claude-opus-4-7", CLAUDE_CODE, seen=173_215, compacted=174_247)
    assert (limit.window, limit.usable, limit.is_guessed) == (200_000, 167_000, False)
    assert "174,247" in limit.source
    assert limit_of("claude-opus-4-7", CLAUDE_CODE, seen=201_000, compacted=174_247).window == 1_000_000
    assert limit_of("claude-opus-4-7", NO_HOST, compacted=174_247).window == 1_000_000


def test_the_hooks_and_the_windows_tools_know_the_same_windows_and_zones() -> None:
    for model in ("claude-sonnet-4-5", "claude-opus-4-7", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-x"):
        for seen in (1_000, 167_001, 200_000, 200_001):
            assert limit_of(model, CLAUDE_CODE, seen=seen).window == hooks.window_of(model, seen, {})
    for tokens in range(0, 200_000, 835):
        zone = Thresholds().zone(tokens / compaction_point(200_000, CLAUDE_CODE))
        assert hooks.ContextFill(tokens, 167_000).zone == zone.value


def test_seen_tokens_beyond_200000_mean_the_larger_claude_window() -> None:
    assert limit_of("claude-sonnet-4-5", NO_HOST, seen=300_000).window == 1_000_000


def test_window_of_a_family_name_is_assumed() -> None:
    assert limit_of("claude").is_assumed
    assert not limit_of("claude-opus-5").is_assumed


def test_given_window_overrides_model_and_seen_tokens() -> None:
    assert limit_of("claude-sonnet-4-5", NO_HOST, window=64_000, seen=70_000).usable == 64_000


def test_a_model_that_is_not_known_is_asked_for() -> None:
    with pytest.raises(MemctlError) as caught:
        limit_of("a-model-of-ours")
    assert caught.value.exit_code == USAGE
    assert "--window" in str(caught.value.hint)


def test_an_unknown_host_and_a_window_without_room_are_refused() -> None:
    with pytest.raises(MemctlError, match="does not know the host 'emacs'"):
        compaction_point(200_000, "emacs")
    with pytest.raises(MemctlError, match="too small"):
        compaction_point(30_000, CLAUDE_CODE)
