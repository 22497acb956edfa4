"""The query by which hooks find the records of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from memctl.git.repository import open_repository
from memctl.store import file_records
from tests.conftest import Memctl, git

NOW = "2025-11-04T14:32:00Z"
Keep = Callable[[Mapping[str, str]], None]


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

    def find_renamed(missing: Sequence[str], keep: Keep) -> None:
        asked.append(missing)
        keep({"queue.py": "jobs.py"})

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


def test_renames_that_are_known_are_kept_if_git_takes_too_long(repo: Path, memctl: Memctl) -> None:
    for name in ("queue.py", "gone.py"):
        (repo / name).write_text(name * 9)
        memctl("decide", f"Keep {name}", "--rationale", "It works.", "--code", name)
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "all")
    memctl("list")
    answers = [{"queue.py": "jobs.py"}, {}]

    def find_renamed(_: Sequence[str], keep: Keep) -> None:
        if answer := answers.pop(0):
            keep(answer)

    def found() -> list[str]:
        repository = open_repository(repo)
        private = repository.private_of(".memory")
        rows = file_records.records_of_files(repository, private, ["jobs.py"], NOW, find_renamed)
        return [row.reference for row in rows.get("jobs.py", [])]

    git(repo, "mv", "queue.py", "jobs.py")
    assert found() == ["queue.py"]
    git(repo, "rm", "-q", "gone.py")
    assert found() == ["queue.py"]
    assert answers == []
