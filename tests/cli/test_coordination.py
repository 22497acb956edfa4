"""`coordination`: who is at work, on what, and what stands in their way."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import NOW, Memctl, git, process

REF = "refs/memctl/coordination"


def state(memctl: Memctl) -> dict[str, object]:
    return dict(memctl("coordination", "show", "--json").data)


def test_coordination_without_a_write_shows_an_empty_state(memctl: Memctl, repo: Path) -> None:
    assert state(memctl)["sync_version"] == 0
    assert memctl("coordination", "show").out == "version 0\n"
    assert git(repo, "for-each-ref", "refs/memctl") == ""


def test_agents_join_and_leave(memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    memctl("coordination", "join", "--task", "Refunds")
    assert "nothing to change" in memctl("coordination", "join").err
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-04T15:00:00Z")
    memctl("coordination", "join", "--task", "Search")
    assert state(memctl)["active_agents"] == {"claude": {"joined_at": NOW, "task": "Search", "handoffs": {}}}
    memctl("coordination", "leave", "--agent", "elena", code=2)
    memctl("coordination", "leave", "--agent", "elena", "--reason", "gone", code=1)
    memctl("coordination", "leave")
    assert state(memctl)["active_agents"] == {}
    assert state(memctl)["sync_version"] == 3


def test_leave_keeps_sections_unless_release_is_given(memctl: Memctl) -> None:
    memctl("section", "add", "Payment")
    memctl("own", "acquire", "2.1")
    for options, kept in (((), ["§2.1"]), (("--release",), [])):
        memctl("coordination", "join")
        memctl("coordination", "leave", *options)
        assert list(state(memctl)["section_ownership_map"]) == kept  # type: ignore[call-overload]


def test_tasks_are_assigned_and_removed(memctl: Memctl) -> None:
    for task in ("Refunds", "Search", "Refunds"):
        memctl("coordination", "assign", "elena", task, code=None)
    assert state(memctl)["agent_task_assignments"] == {"elena": ["Refunds", "Search"]}
    refused = memctl("coordination", "assign", "elena", "Cards", "--remove", code=1)
    assert "its tasks are: Refunds; Search" in refused.err
    for task in ("Refunds", "Search"):
        memctl("coordination", "assign", "elena", task, "--remove")
    assert state(memctl)["agent_task_assignments"] == {}


def test_blockers_remain_until_unblocked(memctl: Memctl) -> None:
    memctl("coordination", "block", "Staging is down")
    memctl("coordination", "block", "No key yet")
    assert "nothing to change" in memctl("coordination", "block", "Staging  is down").err
    shown = memctl("coordination", "show").out
    assert "Staging is down (claude, 2025-11-04T14:32:00Z)" in shown
    assert "the blockers are: " in memctl("coordination", "unblock", "Nothing", code=1).err
    assert "matches several" in memctl("coordination", "unblock", "B-", code=1).err
    memctl("coordination", "unblock", "No key yet")
    (left,) = state(memctl)["global_blockers"]  # type: ignore[misc]
    memctl("coordination", "unblock", left)
    assert state(memctl)["global_blockers"] == {}


def test_resources_are_shared_and_removed(memctl: Memctl) -> None:
    memctl("coordination", "share", "staging", "elena, until noon")
    assert state(memctl)["shared_resources"] == {"staging": "elena, until noon"}
    memctl("coordination", "share", "staging", "")
    memctl("coordination", "share", "staging", "", code=1)
    assert state(memctl)["shared_resources"] == {}


@pytest.mark.parametrize("text", ["", "a\x1b[1mb", "x" * 501])
def test_blocker_without_printable_text_is_wrong_usage(memctl: Memctl, text: str) -> None:
    memctl("coordination", "block", text, code=2)


def test_the_history_of_the_state_has_actor_change_and_reason(memctl: Memctl, repo: Path) -> None:
    memctl("coordination", "block", "Staging is down", "--reason", "the disk is full")
    said = git(repo, "log", "-1", "--format=%B", REF)
    assert "Staging is down" in said
    assert "Memctl-Op: block\nMemctl-Actor: claude\nMemctl-Reason: the disk is full" in said


def test_concurrent_writes_are_all_kept(memctl: Memctl, repo: Path) -> None:
    writing = [process(repo, "coordination", "assign", name, f"task of {name}") for name in "abcdef"]
    assert [(one.communicate()[1], one.returncode) for one in writing] == [("", 0)] * 6
    assert state(memctl)["agent_task_assignments"] == {name: [f"task of {name}"] for name in "abcdef"}
    assert state(memctl)["sync_version"] == 6


def test_exactly_one_of_concurrent_writes_with_a_version_succeeds(memctl: Memctl, repo: Path) -> None:
    memctl("coordination", "join")
    args = ("coordination", "assign", "elena")
    writing = [process(repo, *args, f"task {n}", "--expect-version", "1") for n in range(4)]
    ended = [(one.communicate()[1], one.returncode) for one in writing]
    assert sorted(code for _, code in ended) == [0, 1, 1, 1]
    assert all(
        "the coordination state has version 2, not the expected version 1; the last change was `assign" in err
        for err, code in ended
        if code
    )
    memctl(*args, "again", "--expect-version", "2")


def test_a_memory_below_the_top_has_a_state_of_its_own(memctl: Memctl, repo: Path) -> None:
    shutil.copytree(repo / ".memory", repo / "part" / ".memory")
    memctl("coordination", "join", where=repo / "part")
    assert state(memctl)["sync_version"] == 0
    assert git(repo, "for-each-ref", "--format=%(refname)", "refs/memctl").startswith(f"{REF}-")


def test_blockers_are_in_level_1_and_in_packs(memctl: Memctl) -> None:
    assert "Staging" not in memctl("show", "§1.0").out
    memctl("coordination", "block", "Staging is down")
    assert "**Blocked for all agents**:\n\n- Staging is down" in memctl("show", "§1.0").out
    assert "Blocked for all agents: Staging is down" in memctl("rehydrate").out
    assert memctl("context-summary").out.startswith("CLARIFY: a blocker stops all agents")
    assert memctl("check", code=None).code == 0  # no document has it
