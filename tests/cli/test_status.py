"""The dashboard: bars, issues by severity, who is at work, what a pack costs; in any terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memctl.git import status
from tests.cli.test_list_records import run_on_terminal
from tests.conftest import Memctl, git


def fill(memctl: Memctl) -> None:
    memctl("section", "add", "Payment with a very long name that no narrow terminal has room for", "--completion", "40")
    memctl("section", "add", "Orders", "--completion", "80")
    first = memctl("issue", "Lost orders", "--severity", "critical", "--section", "2.2").id
    second = memctl("issue", "Slow", "--severity", "low").id
    memctl("link", first, second, "--as", "blocks")
    memctl("coordination", "join", "--task", "Refunds")


def test_status_has_the_figures_of_the_memory(repo: Path, memctl: Memctl) -> None:
    fill(memctl)
    data = memctl("status", "--json").data
    assert data["completion"] == 60
    assert [(one["id"], one["completion"], one["open_issues"]) for one in data["sections"]] == [
        ("§2.1", 40, 0),
        ("§2.2", 80, 1),
    ]
    assert data["open_issues"] == {"critical": 1, "high": 0, "medium": 0, "low": 1}
    assert data["work"] == {"ready": 1, "blocked": 1, "in_parts": 0, "begun": 0}
    assert [(one["agent"], one["task"]) for one in data["at_work"]] == [("claude", "Refunds")]
    assert 0 < data["pack"]["tokens"] <= data["pack"]["budget"]
    assert data["last_session"] is None
    text = memctl("status").out
    assert "1 critical, 1 low" in text
    assert "claude (Refunds)" in text
    assert re.search(r"§2\.2 Orders +\S+ +80 %  1 issue", text)


def test_a_record_too_large_for_a_pack_counts_with_its_title(repo: Path, memctl: Memctl) -> None:
    memctl(
        "issue", "A log", "-f", "-", stdin=f"---\ntitle: A log\n---\n\n## Problem\n\n{'A line of a log. ' * 20_000}\n"
    )
    assert memctl("status", "--json").data["pack"]["tokens"] < 100
    config = repo / ".memory" / "config.yaml"
    config.write_text(f"{config.read_text()}rehydrate_budget: 200000\n")
    assert memctl("status", "--json").data["pack"]["tokens"] > 100_000


def test_work_with_open_parts_is_counted_beside_ready_and_blocked_work(memctl: Memctl) -> None:
    whole = memctl("issue", "Checkout").id
    memctl("issue", "Cards", "--parent", whole)
    assert memctl("status", "--json").data["work"] == {"ready": 1, "blocked": 0, "in_parts": 1, "begun": 0}
    assert "1 ready, 0 blocked, 1 with open parts, 0 in progress" in memctl("status").out


def test_lines_of_bars_fit_a_narrow_terminal_and_colours_can_be_off(repo: Path, memctl: Memctl) -> None:
    fill(memctl)
    shown = run_on_terminal(repo, "status", COLUMNS="40", TERM="xterm")
    assert "\x1b[" in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    bars = [line for line in plain.splitlines() if " %" in line]
    assert len(bars) == 3
    assert max(map(len, bars)) <= 40
    assert "\x1b[" not in run_on_terminal(repo, "status", TERM="xterm", NO_COLOR="1")


def test_long_output_goes_through_gits_pager_only_on_a_terminal(repo: Path, memctl: Memctl) -> None:
    for number in range(30):
        memctl("learn", f"Lesson {number}", "--lesson", "x", "--no-commit")
    pager = "sed 's/^/paged /'"
    assert run_on_terminal(repo, "list", TERM="xterm", GIT_PAGER=pager).count("paged ") == 30
    assert "paged" not in run_on_terminal(repo, "--no-pager", "list", TERM="xterm", GIT_PAGER=pager)
    assert "paged" not in run_on_terminal(repo, "list", "--limit", "3", TERM="xterm", GIT_PAGER=pager)
    assert "paged" not in run_on_terminal(repo, "list", TERM="xterm", GIT_PAGER=pager, CLAUDECODE="1")
    assert "\x1b[" not in run_on_terminal(repo, "list", TERM="xterm", GIT_PAGER=pager, NO_COLOR="1")


def test_cached_figures_of_pages_follow_pages_and_code(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer is asked for twice, so that the second one is the cached one."""

    monkeypatch.setattr(status, "RACY", 0)

    def shown() -> tuple[object, ...]:
        data = [memctl("status", "--json").data for _ in range(2)]
        assert data[0] == data[1]
        return [(one["id"], one["completion"]) for one in data[0]["sections"]], data[0]["stale_pages"]

    (repo / "a.py").write_text("x = 1\n")
    git(repo, "add", "a.py")
    git(repo, "commit", "-qm", "x")
    memctl("section", "add", "Payment", "--completion", "40", "--path", "a.py")
    memctl("detail", "add", "Cards", "--section", "2.1", "--code", "a.py")
    memctl("review", "2.1")
    assert shown() == ([("§2.1", 40)], [])
    memctl("section", "add", "Orders")
    assert shown() == ([("§2.1", 40), ("§2.2", None)], [])
    (repo / "a.py").write_text("x = 22\n")
    assert shown()[1] == [{"id": "§3.1", "files": ["a.py"]}]


def test_cached_last_session_follows_its_page_and_the_sessions_ref(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "RACY", 0)

    def shown() -> object:
        data = [memctl("status", "--json").data["last_session"] for _ in range(2)]
        assert data[0] == data[1]
        return data[0] and (data[0]["id"], data[0]["ended"][:10])

    def page(day: int) -> str:
        return f"---\nsession_id: one\nended: 2025-11-{day:02d}T12:00:00Z\n---\n\n## Session Intent\n\n- Refunds\n"

    def set_ref(text: str) -> None:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        git(repo, "add", ".memory/sessions")
        tree = git(repo, "write-tree").strip()
        git(repo, "reset", "-q")
        git(repo, "update-ref", "refs/memctl/sessions", git(repo, "commit-tree", tree, "-m", "x").strip())
        file.unlink()

    file = repo / ".memory/sessions/one.md"
    memctl("section", "add", "Payment")
    assert shown() is None
    set_ref(page(3))
    assert shown() == ("one", "2025-11-03")
    set_ref(page(4))
    assert shown() == ("one", "2025-11-04")
    file.write_text(page(5))
    assert shown() == ("one", "2025-11-05")
    file.write_text(page(16))
    assert shown() == ("one", "2025-11-16")


def test_long_intent_of_the_last_session_is_shortened(repo: Path, memctl: Memctl) -> None:
    file = repo / ".memory/sessions/one.md"
    file.parent.mkdir(exist_ok=True)
    plan = f"Implement the plan. {'Add a helper and call it everywhere. ' * 30}"
    file.write_text(f"---\nsession_id: one\nended: 2025-11-03T12:00:00Z\n---\n\n## Session Intent\n\n- {plan}\n")
    assert "  session   2025-11-03T12:00:00Z Implement the plan.\n" in memctl("status").out


@pytest.mark.parametrize("is_ours", [True, False])
def test_last_change_is_not_guessed_from_a_cut_history(
    repo: Path, memctl: Memctl, tmp_path: Path, is_ours: bool
) -> None:
    if not is_ours:
        git(repo, "commit", "-q", "--allow-empty", "-m", "code")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repo}", "shallow")
    last = memctl("status", "--json", where=tmp_path / "shallow").data["last_change"]
    assert (last is not None) == is_ours


def test_last_session_is_one_short_line_without_escapes(memctl: Memctl, tmp_path: Path) -> None:
    chat = tmp_path / "chat.txt"
    chat.write_text(
        f"USER: Fix #12 and [the cart]: {'look at every part of it, ' * 40}please.\nASSISTANT: Next: test it.\n"
    )
    memctl("session", "summarize", "-t", str(chat), "--id", "cart")
    line = next(one for one in memctl("status").out.split("\n") if one.strip().startswith("session"))
    assert "Fix #12 and [the cart]" in line
    assert "\\" not in line
    assert len(line) < 140
