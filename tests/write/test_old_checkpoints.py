"""`maintain` deletes checkpoints that newer ones replaced, by the settings, and `restore` brings them back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.checkpoints import saved
from tests.conftest import Memctl, commits, git

OLD, YOUNG = "2025-10-01T00:00:00Z", "2025-10-20T00:00:00Z"  # 34 and 15 days ago


def write(
    repo: Path, *found: str | tuple[int, str] | tuple[int, str, str], workflow: str = "main", **more: Any
) -> None:
    """Checkpoints by version and time, committed; `more` are fields that all have."""
    for version, saved_at, mark in ((*one, "0a0a0a")[:3] for one in found):
        file = repo / f".memory/checkpoints/{workflow}/w1-v{version}-{mark}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(saved(1, int(version), mark, workflow, saved_at=saved_at, next_actions=("Go on",), **more))
        file.with_suffix(".md").write_text(f"# {version}\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "checkpoints")


def settings(repo: Path, text: str) -> None:
    config = repo / ".memory" / "config.yaml"
    config.write_text(f"{config.read_text()}lifecycle: {{{text}}}\n")
    git(repo, "commit", "-qam", "settings")


def ids(memctl: Memctl) -> list[str]:
    return sorted(
        one["checkpoint_id"] for one in memctl("checkpoint", "list", "--limit", "0", "--json").data["checkpoints"]
    )


def test_the_last_versions_and_the_young_ones_are_kept(repo: Path, memctl: Memctl) -> None:
    write(repo, *((version, OLD) for version in range(1, 7)), (7, YOUNG), (8, OLD), (9, YOUNG))
    settings(repo, "keep_checkpoints: 2, delete_checkpoint_days: 30")
    planned = memctl("maintain", "--dry-run", "--json").data
    before = commits(repo)
    done = memctl("maintain", "--json").data
    assert planned["deeds"] == done["deeds"]
    assert done["deeds"][0] == {
        "action": "delete",
        "id": "main-w1-v1-0a0a0a",
        "reason": "main-w1-v9-0a0a0a is the newest, 34 days old",
    }
    assert ids(memctl) == [f"main-w1-v{version}-0a0a0a" for version in (7, 8, 9)]
    assert commits(repo) == before + 1
    assert git(repo, "log", "-1", "--format=%s") == "docs(memory): maintain 6 checkpoints deleted\n"
    assert len(list((repo / ".memory/checkpoints/main").iterdir())) == 6
    assert git(repo, "status", "--porcelain") == ""
    assert memctl("maintain").out == "nothing to change\n"
    assert memctl("check").out == ""


def test_default_settings_delete_only_the_eleventh_old_checkpoint(repo: Path, memctl: Memctl) -> None:
    write(repo, *((version, OLD) for version in range(1, 11)))
    write(repo, (1, "2020-01-01T00:00:00Z"), workflow="other")
    assert memctl("maintain").out == "nothing to change\n"
    write(repo, (11, OLD))
    assert memctl("maintain", "--json").data["deeds"][0]["id"] == "main-w1-v1-0a0a0a"
    assert len(ids(memctl)) == 11


def test_setting_delete_false_keeps_all_checkpoints(repo: Path, memctl: Memctl) -> None:
    write(repo, *((version, OLD) for version in range(1, 21)))
    settings(repo, "delete: false, keep_checkpoints: 1")
    assert memctl("maintain").out == "nothing to change\n"


@pytest.mark.parametrize("value", ["keep_checkpoints: 0", "delete_checkpoint_days: -1", "keep_checkpoints: many"])
def test_invalid_checkpoint_settings_are_refused(repo: Path, memctl: Memctl, value: str) -> None:
    settings(repo, value)
    assert value.partition(":")[0] in memctl("maintain", code=1).err


def test_finished_task_keeps_only_its_newest_checkpoint(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMCTL_NOW", OLD)
    memctl("checkpoint", "save", "--task", "Refunds", "--doing", "POST", "--next", "Write it")
    memctl("checkpoint", "save", "--done", "POST", "--next", "None.")
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-04T14:32:00Z")
    assert memctl("maintain", "--json").data["deeds"][0]["reason"] == "the task is finished, 34 days old"
    (last,) = ids(memctl)
    assert "-v2-" in last
    assert memctl("checkpoint", "save", "--task", "Returns", "--next", "Look").id.startswith("main-w1-v3-")


def test_two_checkpoints_of_the_newest_version_are_both_kept(repo: Path, memctl: Memctl) -> None:
    write(repo, (1, OLD), (2, OLD, "0a0a0a"), (2, OLD, "0b0b0b"))
    settings(repo, "keep_checkpoints: 1")
    memctl("maintain")
    assert ids(memctl) == ["main-w1-v2-0a0a0a", "main-w1-v2-0b0b0b"]


def test_checkpoint_changed_by_hand_is_kept_with_a_reason(repo: Path, memctl: Memctl) -> None:
    write(repo, (1, OLD), (2, OLD), (3, OLD))
    settings(repo, "keep_checkpoints: 1")
    (repo / ".memory/checkpoints/main/w1-v1-0a0a0a.md").write_text("my notes\n")
    assert memctl("maintain", "--dry-run").out.startswith("would delete main-w1-v2-0a0a0a: ")
    done = memctl("maintain", "--json").data
    assert [deed["id"] for deed in done["deeds"]] == ["main-w1-v2-0a0a0a"]
    assert [(one["id"], one["why"]) for one in done["kept"]] == [
        ("main-w1-v1-0a0a0a", "its file has uncommitted changes")
    ]
    assert (repo / ".memory/checkpoints/main/w1-v1-0a0a0a.md").read_text() == "my notes\n"


def test_unreadable_checkpoint_is_kept_and_counts_as_a_version(repo: Path, memctl: Memctl) -> None:
    write(repo, (1, OLD), (2, OLD), (3, OLD))
    settings(repo, "keep_checkpoints: 2")
    for version in (2, 3):
        (repo / f".memory/checkpoints/main/w1-v{version}-0a0a0a.json").write_text("{broken")
    git(repo, "commit", "-qam", "broken")
    assert [deed["id"] for deed in memctl("maintain", "--json").data["deeds"]] == ["main-w1-v1-0a0a0a"]


def test_deleted_checkpoint_is_listed_and_restored_whole(repo: Path, memctl: Memctl) -> None:
    write(repo, (1, OLD), (2, OLD))
    settings(repo, "keep_checkpoints: 1")
    before = {file.name: file.read_text() for file in (repo / ".memory/checkpoints/main").iterdir()}
    memctl("maintain")
    assert "checkpoint list --all" in memctl("checkpoint", "show", "main-w1-v1", code=1).err
    assert "main-w1-v1-0a0a0a  deleted" in memctl("checkpoint", "list", "--all").out
    assert memctl("checkpoint", "list", "--all", "--json").data["deleted"] == ["main-w1-v1-0a0a0a"]
    assert "deleted" not in memctl("checkpoint", "list", "--json").data
    memctl("checkpoint", "list", "--all", "--at", "HEAD", code=2)
    memctl("restore", "main-w1-v1-0a0a0a")
    assert {file.name: file.read_text() for file in (repo / ".memory/checkpoints/main").iterdir()} == before
    assert git(repo, "status", "--porcelain") == ""
    assert "still exists" in memctl("restore", "main-w1-v1-0a0a0a", code=1).err
    assert memctl("checkpoint", "list", "--all", "--json").data["deleted"] == []
    memctl("restore", "main-w9-v9-0a0a0a", code=1)


def test_impossible_date_is_a_check_finding(repo: Path, memctl: Memctl) -> None:
    write(repo, (1, "2025-02-31T00:00:00Z"), (2, OLD))
    settings(repo, "keep_checkpoints: 1")
    assert memctl("maintain").out == "nothing to change\n"
    assert "is not a time" in memctl("check", code=1).out
