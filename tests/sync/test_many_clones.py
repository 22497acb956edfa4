"""Many clones of one repository, each in a process of its own: nothing is lost, and all come to the same memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Memctl, git, share_templates, slow

ROOT = Path(__file__).parents[2]
COORDINATION = "refs/memctl/coordination"
TURNS = "refs/memctl/remotes/*/turns/*"  # who was to push next, seen at a fetch: nothing that is to be kept


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock runs: under a fixed one two clones would make up the same memory_id."""
    monkeypatch.delenv("MEMCTL_NOW")


@pytest.fixture
def clones(live: None, repo: Path, tmp_path: Path, memctl: Memctl, number: int) -> list[Path]:
    """So many clones of a repository, and their remote."""
    for part in range(number):
        memctl("section", "add", f"Part {part}")
    for part in range(3):
        memctl("learn", f"Shared {part}", "--lesson", "Nothing yet.")
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(tmp_path / "bare.git"))
    found = [tmp_path / f"clone{one:02}" for one in range(number)]
    for folder in found:
        git(tmp_path, "clone", "-q", str(tmp_path / "bare.git"), str(folder))
        git(folder, "config", "memctl.trusted", "true")
    share_templates(repo, *found)
    return found


def at_work(clones: list[Path], tmp_path: Path, changes: int) -> list[dict[str, Any]]:
    """Let somebody make so many changes in each clone, all at once; what they did."""
    running = []
    for seed, folder in enumerate(clones):
        log = tmp_path / f"{folder.name}.jsonl"
        command = [
            sys.executable,
            "-m",
            "tests.sync.clone",
            str(folder),
            folder.name,
            str(changes),
            str(seed),
            str(log),
        ]
        running.append(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    for process in running:
        out, err = process.communicate()
        print(out, end="")
        assert process.returncode == 0, err
    return [
        json.loads(line) for folder in clones for line in (tmp_path / f"{folder.name}.jsonl").read_text().splitlines()
    ]


@pytest.mark.parametrize(("number", "changes"), slow((3, 4), (10, 50)))
def test_concurrent_clones_lose_nothing_and_end_up_equal(
    clones: list[Path], tmp_path: Path, memctl: Memctl, changes: int
) -> None:
    done = at_work(clones, tmp_path, changes)
    assert len(done) == len(clones) * changes
    committed = {
        commit for folder in clones for commit in git(folder, "rev-list", f"--exclude={TURNS}", "--all").split()
    }
    for folder in clones:
        memctl("sync", where=folder)
    carried = ["HEAD", COORDINATION]
    assert committed <= set(git(clones[0], "rev-list", *carried).split())
    assert len({git(folder, "rev-parse", "HEAD", COORDINATION) for folder in clones}) == 1
    for folder in clones:
        assert git(folder, "status", "--porcelain") == ""
    last = clones[-1]
    assert [
        f for f in memctl("check", "--json", where=last, code=None).data["findings"] if f["severity"] == "error"
    ] == []
    found = memctl("list", "--all", "--limit", "0", "--json", where=last).data["records"]
    ids = Counter(record["id"] for record in found)
    assert [identifier for identifier, count in ids.items() if count > 1] == []
    by_memory_id = {record["memory_id"]: record for record in found}
    of_kind = lambda kind: [item for item in done if item["kind"] == kind]  # noqa: E731
    for item in of_kind("new"):
        assert by_memory_id[item["memory_id"]]["title"] == item["title"]
    assert len(found) == len(of_kind("new")) + 3
    for item in of_kind("tag"):
        assert item["value"] in by_memory_id[item["memory_id"]]["tags"]
    for item in of_kind("link"):
        ends = by_memory_id[item["value"]], by_memory_id[item["memory_id"]]
        assert ends[1]["id"] in ends[0]["relates_to"]
        assert ends[0]["id"] in ends[1]["relates_to"]
    patches = "log", "-p", "--format=%B"
    history = git(last, *patches, "--first-parent", "-m") + git(last, *patches, *carried)
    for item in of_kind("text"):
        assert f"What {item['value']} has learned." in history
    accesses = Counter(item["memory_id"] for item in of_kind("access"))
    assert {name: by_memory_id[name]["access_count"] for name in accesses} == accesses
    importance = {(item["memory_id"], item["value"]) for item in of_kind("importance")}
    for memory_id in {name for name, _ in importance}:
        assert (memory_id, str(by_memory_id[memory_id]["importance"])) in importance
    state = memctl("coordination", "show", "--json", where=last).data
    assert set(state["shared_resources"]) == {item["value"] for item in of_kind("share")}
    assert set(state["section_ownership_map"]) == {f"§{item['value']}" for item in of_kind("own")}
