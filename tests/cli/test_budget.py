"""`budget`: the division, what was measured, the levels, and what memctl itself would load."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl.hooks import pressure as hooks_pressure
from memctl.window import Thresholds, profile
from memctl.window.budget.profiles import limits_of
from tests.conftest import Memctl


def test_the_window_is_divided_without_any_file(memctl: Memctl) -> None:
    found = memctl("budget", "--json")
    assert found.json["kind"] == "budget"
    types = {item["type"]: (item["soft_limit"], item["hard_limit"], item["used"]) for item in found.data["types"]}
    assert types == {
        "system": (70_000, 80_000, None),
        "active": (90_000, 100_000, None),
        "session": (25_000, 30_000, None),
        "buffer": (15_000, 20_000, None),
    }
    assert found.data["measured"] is None
    assert "35.0 %" in memctl("budget").out


def test_files_are_counted_against_their_types(memctl: Memctl, tmp_path: Path) -> None:
    one, two = tmp_path / "one.md", tmp_path / "two.md"
    one.write_text("word " * 1_000)
    two.write_text("word " * 500)
    found = memctl(
        "budget", "--model", "gpt", "--active", str(one), str(two), "--session", "-", "--json", stdin="word " * 100
    ).data
    used = {item["type"]: item["used"] for item in found["types"]}
    assert 1_400 < used["active"] < 1_600
    assert 90 < used["session"] < 110
    assert used["system"] == 0
    assert found["measured"]["level"] == "green"
    assert found["measured"]["used"] == sum(used.values())


def test_zone_matches_window_status_and_strict_sets_the_exit_code(memctl: Memctl) -> None:
    for used, capacity, code in (
        (159_999, "normal", 0),
        (160_000, "plan", 0),
        (180_000, "compact", 1),
        (190_000, "emergency", 1),
        (300_000, "emergency", 1),
    ):
        measured = memctl("budget", "--used", str(used), "--strict", "--json", code=code).data["measured"]
        zone = Thresholds().zone(used / 200_000).value
        assert (measured["level"], measured["capacity"]) == (zone, capacity)
    assert "\norange: 160,000 tokens used" in memctl("budget", "--used", "160000").out


def test_zone_is_a_share_of_the_compaction_point_of_the_host(memctl: Memctl) -> None:
    for used in (83_000, 84_000, 126_000, 151_000):
        found = memctl("budget", "--used", str(used), "--host", "claude-code", "--json").data["measured"]
        assert found["level"] == hooks_pressure.ContextFill(used, 167_000).zone


def test_window_follows_from_the_environment_or_the_model(memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    assert memctl("budget", "--json").data["window"] == 200_000
    assert memctl("budget", "--model", "claude-opus-5", "--json").data["window"] == 1_000_000
    assert memctl("budget", "--model", "gpt", "--json").data["window"] == 200_000
    monkeypatch.setenv("MEMCTL_CONTEXT_WINDOW", "128000")
    assert memctl("budget", "--json").data["window"] == 128_000


def test_a_profile_of_components_divides_a_request(memctl: Memctl) -> None:
    found = memctl("budget", "--profile", "code_review", "--window", "128000", "--json").data
    assert found["profile"] == "code-review"
    assert {item["type"]: item["hard_limit"] for item in found["types"]} == {
        part.value: tokens for part, tokens in limits_of(128_000, profile("code-review").allocations).items()
    }
    assert "did you mean research?" in memctl("budget", "--profile", "reserch", code=2).err
    assert "has no room for 4,000 tokens" in memctl("budget", "--profile", "research", "--window", "100", code=2).err


def test_the_responses_of_a_level_are_printed(memctl: Memctl) -> None:
    assert "plan a compaction within 10 operations" in memctl("budget", "--used", "170000").out
    assert "put off loading files that are not critical" in memctl("budget", "--used", "181000").out
    red = memctl("budget", "--used", "210000").out
    assert "score below 30" in red
    assert "over the window by 10,000" in red
    assert "free 20,000 more tokens" in red


def test_a_type_over_its_hard_limit_is_reported(memctl: Memctl, tmp_path: Path) -> None:
    large = tmp_path / "large.md"
    large.write_text("word " * 200)
    shown = memctl("budget", "--window", "1000", "--model", "gpt", "--session", str(large), "--strict", code=1).out
    assert "over the hard limit by" in shown


def test_budget_lists_the_memctl_pages_only_in_a_memory(memctl: Memctl, tmp_path: Path) -> None:
    memctl("section", "add", "Payment", "--overview", "Takes money by card.")
    own = {item["what"]: item["tokens"] for item in memctl("budget", "--json").data["memctl"]}
    assert list(own) == ["level 1: 1 page", "level 2: 1 page", "level 3: 0 pages", "memctl rehydrate, at most"]
    assert own["memctl rehydrate, at most"] == 20_000
    assert own["level 2: 1 page"] > 10
    outside = tmp_path / "outside"
    outside.mkdir()
    assert memctl("budget", "--json", where=outside).data["memctl"] == []


def test_team_profile_has_a_shared_part(memctl: Memctl) -> None:
    found = memctl("budget", "--profile", "multi-agent", "--json").data
    assert (found["team"]["effective"], found["team"]["efficiency"]) == (720_000, 0.72)
    assert found["types"][0]["type"] == "shared"
    assert (
        "5 agents: 720,000 of 1,000,000 tokens remain (72%) if what all agents share counts once"
        in memctl("budget", "--profile", "multi-agent").out
    )


def test_shared_files_belong_to_a_team_only(memctl: Memctl, repo: Path) -> None:
    refused = memctl("budget", "--shared", str(repo / "app.py"), code=2)
    assert "--profile multi-agent" in refused.err
    assert memctl("budget", "--profile", "multi-agent", "--shared", str(repo / "app.py")).out


def test_window_of_one_or_more_tokens_is_divided(memctl: Memctl) -> None:
    found = memctl("budget", "--window", "1", "--used", "0", "--json").data
    assert sum(item["soft_limit"] for item in found["types"]) == 1
    assert memctl("budget", "--window", "1", "--used", "1", "--json").data["measured"]["level"] == "red"
    memctl("budget", "--window", "0", code=2)


def test_binary_or_missing_file_is_refused(memctl: Memctl, tmp_path: Path) -> None:
    binary, empty = tmp_path / "x.png", tmp_path / "empty.md"
    binary.write_bytes(b"\x89PNG\xff\xfe")
    empty.write_text("")
    assert "is not UTF-8 text" in memctl("budget", "--active", str(binary), code=1).err
    assert "can't be read" in memctl("budget", "--active", str(tmp_path / "none"), code=2).err
    assert memctl("budget", "--active", str(empty), "--json").data["measured"]["used"] == 0


def test_budget_at_a_revision_counts_its_pages(memctl: Memctl) -> None:
    memctl("section", "add", "Payment", "--overview", "Takes money by card.")
    memctl("section", "add", "Stock", "--overview", "Counts lanterns.")
    assert memctl("budget", "--json").data["memctl"][1]["what"] == "level 2: 2 pages"
    assert memctl("budget", "--json", "--at", "HEAD~1").data["memctl"][1]["what"] == "level 2: 1 page"
