"""Suggestions after tool calls: by their number and by pressure, each once, where the model sees them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memctl.hooks import pressure
from memctl.hooks.pressure import ContextFill
from memctl.tokens import model_windows
from memctl.tokens.model_windows import GREEN, ORANGE, RED, YELLOW
from memctl.transcript import line
from memctl.window import limits
from tests.hooks.session import Session


def calls(session: Session, number: int) -> list[tuple[int, str]]:
    """So many tool calls more; those at which something was said."""
    data = session.event("PostToolUse", tool_name="Bash", tool_response={"stdout": "x" * 1_000})
    from memctl.hooks import dispatch

    found = []
    for _ in range(number):
        session.number += 1
        if text := dispatch.answer(session.host, data + b" " * session.number, {}):  # each an event of its own
            found.append((session.folder.calls(), json.loads(text)["hookSpecificOutput"]["additionalContext"]))
    return found


def test_half_full_context_gets_a_notice_at_50_100_and_150_calls(session: Session) -> None:
    session.holds(90_000)  # 54 % of 167,000
    found = calls(session, 220)
    assert [number for number, _ in found] == [50, 100, 150]
    assert "50 tool calls since" in found[0][1]
    assert "90,000 tokens, 54% of the 167,000" in found[0][1]
    assert "/compact" in found[0][1]


def test_context_with_room_gets_no_notice(session: Session) -> None:
    session.holds(80_000)
    assert calls(session, 160) == []


def test_notice_missed_with_room_comes_once_the_context_fills(session: Session) -> None:
    session.holds(20_000)
    assert calls(session, 70) == []
    session.holds(100_000)
    assert [number for number, _ in calls(session, 20)] == [71]


def test_high_pressure_gives_one_notice_per_zone(session: Session) -> None:
    session.holds(130_000)
    assert [(number, "(orange)" in text) for number, text in calls(session, 5)] == [(1, True)]
    session.holds(152_000)
    assert [(number, "(red)" in text) for number, text in calls(session, 5)] == [(6, True)]
    session.holds(130_000)
    assert calls(session, 5) == []


def test_compaction_resets_the_count_of_calls(session: Session) -> None:
    session.holds(100_000)
    assert len(calls(session, 60)) == 1
    session.send("PreCompact", trigger="auto")
    session.transcript.compaction("The summary")
    session.send("SessionStart", source="compact")
    assert session.folder.calls() == 0
    session.holds(100_000)
    assert [number for number, _ in calls(session, 60)] == [50]


def test_missing_transcript_leaves_the_call_count_as_trigger(session: Session) -> None:
    session.file = session.file.with_name("gone") / "nowhere.jsonl"
    data = json.dumps({"hook_event_name": "PostToolUse", "session_id": "x", "cwd": str(session.repo)}).encode()
    from memctl.hooks import dispatch

    said = [number for number in range(1, 161) if dispatch.answer(session.host, data + b" " * number, {})]
    assert said == [50, 100, 150]


def test_the_last_answer_of_the_main_agent_counts(session: Session) -> None:
    session.holds(150_000)
    session.transcript.prompt("next")
    session.transcript.agent = "a1"
    session.holds(10_000)
    session.transcript.agent = ""
    session.holds(5, model="<synthetic>")
    session.transcript.raw('{"type": "assistant", "message": {"usage": "none"}}')
    session.transcript.raw('{"type":"assistant","message":{"usage":{"input_tokens":7')  # being written
    session.event("PostToolUse")
    assert pressure.last_context(str(session.file)) == (150_000, "claude-opus-4-5")


def test_a_compaction_mentioned_in_a_tools_result_does_not_count(session: Session) -> None:
    session.holds(150_000)
    session.transcript.call("Bash", '{"type":"system","subtype":"compact_boundary"}', command="cat transcript")
    session.holds(151_000)
    session.transcript.prompt('{"type":"system","subtype":"compact_boundary"} "usage"')
    session.event("PostToolUse")
    assert pressure.last_context(str(session.file)) == (151_000, "claude-opus-4-5")


def test_calls_before_a_compaction_do_not_count_after_it(session: Session) -> None:
    session.holds(160_000)
    facts = {"trigger": "auto", "preTokens": 160_000, "postTokens": 9_000}
    session.transcript.add("system", subtype="compact_boundary", compactMetadata=facts)
    session.event("PostToolUse")
    assert pressure.last_context(str(session.file)) == (9_000, "")


@pytest.mark.parametrize(
    ("model", "window"),
    [  # as Claude Code 2.1.330 says with `--output-format json`, under modelUsage
        ("claude-sonnet-4-5", 200_000),
        ("claude-sonnet-4-5[1m]", 1_000_000),
        ("claude-opus-4-5-20251101", 200_000),
        ("claude-opus-4-6", 200_000),
        ("claude-sonnet-4-6", 200_000),
        ("claude-haiku-4-5", 200_000),
        ("claude-sonnet-4-20250514", 200_000),
        ("claude-3-5-sonnet-20241022", 200_000),
        ("claude-opus-4-7", 1_000_000),
        ("claude-opus-4-10", 1_000_000),
        ("claude-opus-5", 1_000_000),
        ("claude-opus-5-5", 1_000_000),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000),  # as other vendors call it
        ("some-other", 1_000_000),
        ("", 1_000_000),
    ],
)
def test_the_window_follows_from_the_model(model: str, window: int) -> None:
    assert pressure.window_of(model, 1_000, {}) == window


def test_a_context_beyond_the_small_window_is_in_the_large_one() -> None:
    assert pressure.window_of("claude-sonnet-4-5", 200_000, {}) == 200_000
    assert pressure.window_of("claude-sonnet-4-5", 200_001, {}) == 1_000_000


@pytest.mark.parametrize("tokens", [170_000, 173_215, 199_000])
def test_full_window_of_200000_tokens_is_red(session: Session, tokens: int) -> None:
    session.holds(tokens, "claude-opus-4-6")
    session.event("PostToolUse")
    found = pressure.measure(str(session.file), {})
    assert found is not None
    assert (found.tokens, found.limit, found.zone) == (tokens, 167_000, RED)


def test_a_compaction_by_the_host_proves_the_small_window(session: Session) -> None:
    session.holds(174_247, "claude-opus-4-7")
    facts = {"trigger": "auto", "preTokens": 174_247, "postTokens": 9_000}
    session.transcript.add("system", subtype="compact_boundary", compactMetadata=facts)
    session.holds(160_000, "claude-opus-4-7")
    session.event("PostToolUse")
    assert pressure.measure(str(session.file), {}) == ContextFill(160_000, 167_000)
    session.holds(200_001, "claude-opus-4-7")  # which a small one does not hold
    session.event("PostToolUse")
    assert pressure.measure(str(session.file), {}) == ContextFill(200_001, 967_000)


def test_manual_compaction_does_not_prove_the_small_window(session: Session) -> None:
    facts = {"trigger": "manual", "preTokens": 150_000, "postTokens": 9_000}
    session.transcript.add("system", subtype="compact_boundary", compactMetadata=facts)
    session.holds(160_000, "claude-opus-4-7")
    session.event("PostToolUse")
    assert pressure.measure(str(session.file), {}) == ContextFill(160_000, 967_000)


def test_setting_overrides_the_window_and_odd_values_are_ignored() -> None:
    assert pressure.window_of("claude-opus-5", 1_000, {"MEMCTL_CONTEXT_WINDOW": "128_000"}) == 128_000
    for odd in ("", "many", "-5", "0", "1000", "9" * 5_000):
        assert pressure.window_of("claude-opus-5", 1_000, {"MEMCTL_CONTEXT_WINDOW": odd}) == 1_000_000


@pytest.mark.parametrize(
    ("model", "environ", "limit"),
    [
        ("claude-sonnet-4-5", {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}, 67_000),
        ("claude-sonnet-4-5", {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "1000000"}, 167_000),
        ("claude-sonnet-4-5", {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}, 90_000),
        ("claude-sonnet-4-5", {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "99"}, 167_000),
        ("claude-sonnet-4-5", {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "0"}, 167_000),
        ("claude-sonnet-4-5", {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "much"}, 167_000),
        ("claude-sonnet-4-5", {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "²"}, 167_000),
        ("claude-opus-5", {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200000"}, 167_000),
        ("claude-opus-5", {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200000", "MEMCTL_CONTEXT_WINDOW": "300000"}, 267_000),
    ],
)
def test_compaction_point_follows_the_settings_of_the_program(model: str, environ: dict[str, str], limit: int) -> None:
    """As 2.1.330 was seen to: 67,000 of a window of 100,000, and half of 180,000."""
    window = pressure.window_of(model, 1_000, environ)
    assert model_windows.host_limit(window, environ) == limit
    assert (
        limits.limit_of(model, limits.CLAUDE_CODE, window=model_windows.window_setting(environ), environ=environ).usable
        == limit
    )


def test_zones_are_shares_of_the_compaction_point_of_the_host() -> None:
    zones = {share: ContextFill(share * 1_670, 167_000).zone for share in (0, 49, 50, 74, 75, 89, 90, 120)}
    assert zones == {0: GREEN, 49: GREEN, 50: YELLOW, 74: YELLOW, 75: ORANGE, 89: ORANGE, 90: RED, 120: RED}
    assert ContextFill(180_000, 167_000).zone == RED  # 90 % of the window: the host has compacted long before


def test_unreadable_transcript_yields_no_lines() -> None:
    memory = "/proc/self/mem"  # a plain file by its looks, of which nothing can be read at its beginning
    if not Path(memory).exists():
        pytest.skip("there is no such file here")
    assert list(line.lines_after(memory, 0)) == []
    assert pressure.last_context(memory) is None


def test_invalid_window_setting_is_logged_once_per_session(session: Session) -> None:
    for odd in ("abc", "60000"):
        session.send("PostToolUse", {"MEMCTL_CONTEXT_WINDOW": odd}, tool_name="Bash")
    session.send("PreCompact", trigger="auto")
    session.send("PostToolUse", {"MEMCTL_CONTEXT_WINDOW": "abc"}, tool_name="Bash")
    (fault,) = session.faults()
    assert "MEMCTL_CONTEXT_WINDOW is 'abc'" in fault["fault"]
    session.send("PostToolUse", {"MEMCTL_CONTEXT_WINDOW": "128000"}, tool_name="Bash")
    assert len(session.faults()) == 1
