"""The cache after a commit of memctl's own: it is for the new commit, and says what the files say."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from memctl.git import git as plumbing
from memctl.store import cache_update, files, load
from memctl.store.memory import Memory, open_memory
from tests.conftest import Memctl, git

NOBODYS = "decisions/2025-11/DEC-2025-11-04-999-nobodys.md"


def opened(repo: Path) -> Memory:
    return open_memory(repo, os.environ)


def commit_of_cache(repo: Path) -> str:
    return load.open_cache(opened(repo)).state().head[0]


def head(repo: Path) -> str:
    return git(repo, "rev-parse", "HEAD").strip()


def is_right(repo: Path) -> bool:
    """Whether the cache gives the same as reading everything anew."""
    memory = opened(repo)
    known = [(record.id, record.title, record.tags) for record in load.disk(memory).records]
    (memory.private / "cache.db").unlink()
    return known == [(record.id, record.title, record.tags) for record in load.disk(opened(repo)).records]


def test_cache_is_advanced_over_every_commit_of_memctl(repo: Path, memctl: Memctl) -> None:
    made = memctl("decide", "One")
    assert commit_of_cache(repo) == head(repo)
    memctl("edit", made.id, "--add", "tags=x")
    assert commit_of_cache(repo) == head(repo)
    other = memctl("learn", "Two")
    memctl("delete", made.id, "--reason", "wrong")
    assert commit_of_cache(repo) == head(repo)
    assert [record["id"] for record in memctl("list", "--json").data["records"]] == [other.id]
    assert is_right(repo)


def test_next_write_reads_no_file_of_the_last_commit_again(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    memctl("decide", "One")
    asked: list[str] = []
    spawn = plumbing._spawn

    def noted(args: list[str], *more: object, **how: object) -> object:
        asked.append(args[2] if args[0] == "-c" else args[0])
        return spawn(args, *more, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(plumbing, "_spawn", noted)
    memctl("decide", "Two")
    assert set(asked) == {"add", "check-ignore", "fast-import", "status", "var"}
    assert is_right(repo)


def test_commits_of_other_programs_update_the_cache(repo: Path, memctl: Memctl) -> None:
    one, two = memctl("decide", "One"), memctl("decide", "Two")
    file = repo / one.out.split()[1]
    file.write_text(file.read_text().replace("title: One", "title: Other"))
    git(repo, "commit", "-qam", "by hand")
    memctl("edit", two.id, "--add", "tags=x")
    assert is_right(repo)
    git(repo, "reset", "-q", "--hard", "HEAD~2")
    memctl("learn", "Three")
    assert is_right(repo)


def test_commit_of_code_alone_keeps_the_cached_packs(repo: Path, memctl: Memctl) -> None:
    memctl("decide", "One")
    memctl("export", "--all")
    kept = load.open_cache(opened(repo)).database.execute("SELECT * FROM packed").fetchall()
    assert kept
    git(repo, "commit", "-q", "--allow-empty", "-m", "code")
    memctl("export", "--all")
    assert commit_of_cache(repo) == head(repo)
    assert load.open_cache(opened(repo)).database.execute("SELECT * FROM packed").fetchall() == kept
    git(repo, "rm", "-rq", ".memory")
    git(repo, "commit", "-qm", "no memory")
    git(repo, "checkout", "-q", "HEAD~1", "--", ".memory")
    git(repo, "reset", "-q")
    assert is_right(repo)


@pytest.mark.parametrize("case", ["another commit", "a record it has not seen", "too many"])
def test_cache_that_missed_a_change_is_not_advanced(repo: Path, memctl: Memctl, case: str) -> None:
    made = memctl("decide", "One")
    seen = made.out.split()[1].removeprefix(".memory/")
    memctl("edit", made.id, "--add", "tags=x", "--no-commit")
    before = commit_of_cache(repo)
    many = [f"sections/2.{number}-x.md" for number in range(101)]
    paths = {"a record it has not seen": [seen, NOBODYS], "too many": many}.get(case, [seen])
    known = "0" * 40 if case == "another commit" else before
    cache_update.advance(opened(repo), dict.fromkeys(paths), known, "1" * 40)
    assert commit_of_cache(repo) == before
    cache_update.advance(opened(repo), dict.fromkeys([seen, "docs/INDEX.md"]), before, "1" * 40)
    assert commit_of_cache(repo) == "1" * 40


def test_record_just_committed_is_not_read_again(repo: Path, memctl: Memctl) -> None:
    made = memctl("decide", "One")
    file = repo / made.out.split()[1]
    assert load.open_cache(opened(repo)).state().differing == {}
    file.write_text(file.read_text().replace("title: One", "title: Own"))  # as long, and in the same moment
    assert "Own" in memctl("list").out
    git(repo, "checkout", "-q", ".memory")
    assert "One" in memctl("list").out


def test_record_changed_during_its_commit_is_read_again(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = files.contents

    def changed(folder: Path, paths: Iterable[str]) -> dict[str, bytes | None]:
        (file,) = (repo / ".memory/decisions").rglob("*.md")
        file.write_text(file.read_text().replace("title: One", "title: Own"))
        return contents(folder, paths)

    monkeypatch.setattr(files, "contents", changed)
    memctl("decide", "One")
    assert "Own" in git(repo, "show", "HEAD")
    assert "Own" in memctl("list").out
    assert is_right(repo)
