"""The query by which hooks find the records of a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memctl.git.repository import open_repository
from memctl.store import file_records
from tests.conftest import Memctl, git

NOW = "2025-11-04T14:32:00Z"


def test_git_is_asked_about_renames_only_if_a_path_of_an_open_record_is_missing(repo: Path, memctl: Memctl) -> None:
    for name in ("queue.py", "gone.py"):
        (repo / name).write_text(name * 9)
        memctl("decide", f"Keep {name}", "--rationale", "It works.", "--code", name)
    resolved = memctl("issue", "Old file", "--description", "It is slow.", "--code", "gone.py").id
    memctl("resolve", resolved, "--resolution", "Gone.")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "all")
    memctl("list")
    asked = list[Sequence[str]]()

    def find_renamed(missing: Sequence[str]) -> dict[str, str]:
        asked.append(missing)
        return {"queue.py": "jobs.py"}

    def found(name: str) -> list[tuple[str, str]]:
        repository = open_repository(repo)
        private = repository.private_of(".memory")
        rows = file_records.records_of_files(repository, private, [name], NOW, find_renamed)
        return [(row.file, row.reference) for row in rows.get(name, [])]

    for number in range(2):
        git(repo, "commit", "-q", "--allow-empty", "-m", f"{number}")
        assert found("queue.py") == [("queue.py", "queue.py")]
    assert asked == []
    git(repo, "mv", "queue.py", "jobs.py")
    for _ in range(2):
        assert found("jobs.py") == [("jobs.py", "queue.py")]
    git(repo, "commit", "-qm", "rename")
    assert found("jobs.py") == [("jobs.py", "queue.py")]
    assert asked == [["queue.py"]]
    git(repo, "mv", "jobs.py", "tasks.py")  # its present path is missing, too
    assert found("app.py") == []
    assert asked == [["queue.py"], ["queue.py"]]
