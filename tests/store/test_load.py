"""Snapshots: the cache always says what the files say, whatever happened to either."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memctl.record.snapshot import Snapshot
from memctl.store import cache, cache_update, load
from memctl.store.cache import Cache, Undecodable
from memctl.store.catalogue import StoredCatalogue
from memctl.store.files import FolderReader
from memctl.store.memory import Memory, open_memory
from tests.conftest import Memctl, git, process, slow


def opened(repo: Path) -> Memory:
    return open_memory(repo, os.environ)


def read(memory: Memory) -> Snapshot:
    """The memory as it is now, and not when it is first looked at."""
    snapshot = load.disk(memory)
    assert snapshot.records is not None
    return snapshot


def cached_and_fresh(repo: Path) -> tuple[Snapshot, Snapshot]:
    memory = opened(repo)
    cached = read(memory)
    shutil.rmtree(repo / ".git" / "memctl", ignore_errors=True)
    return cached, read(memory)


def same(one: Snapshot, other: Snapshot) -> bool:
    def hits(snapshot: Snapshot) -> list[tuple[str, float]]:
        return sorted((h.path, round(h.text, 6)) for h in snapshot.texts.match("lesson"))

    return one.records == other.records and one.faults == other.faults and hits(one) == hits(other)


def write(repo: Path, memctl: Memctl, number: int) -> list[Path]:
    return [repo / memctl("learn", f"Lesson {n}", "--lesson", f"text {n}").out.split()[1] for n in range(number)]


def change(pattern: str, text: str) -> Callable[[Path, Path, int], object]:
    def act(_: Path, file: Path, __: int) -> None:
        if file.exists():
            file.write_text(file.read_text().replace(pattern, text))

    return act


ACTIONS: dict[str, Callable[[Path, Path, int], object]] = {
    "edit": change("text", "more text"),
    "edit to the same size": change("text", "tent"),
    "break": change("status: active", "status: awake"),
    "touch": lambda repo, file, turn: file.exists() and file.touch(),
    "delete": lambda repo, file, turn: file.unlink(missing_ok=True),
    "checkout": lambda repo, file, turn: git(repo, "checkout", "-q", "HEAD", "--", ".memory"),
    "reset": lambda repo, file, turn: git(repo, "reset", "-q", "--hard", "start"),
    "stash": lambda repo, file, turn: git(repo, "stash", "-q", "-u", check=False),
    "add": lambda repo, file, turn: git(repo, "add", "-A"),
    "commit": lambda repo, file, turn: git(repo, "commit", "-qam", "by hand", check=False),
    "branch": lambda repo, file, turn: git(repo, "checkout", "-q", "-B", f"branch{turn}", check=False),
    "write": lambda repo, file, turn: process(repo, "learn", f"Lesson at {turn}", "--lesson", "by memctl").wait(),
}


@pytest.mark.parametrize("seed", [0, 1, *slow(2, 3)])
def test_cache_matches_the_files_after_any_change(repo: Path, memctl: Memctl, seed: int) -> None:
    chance = random.Random(seed)
    files = write(repo, memctl, 5)
    git(repo, "tag", "start")
    for turn in range(14):
        memory = opened(repo)
        read(memory)
        file = chance.choice(files)
        action = chance.choice(list(ACTIONS))
        ACTIONS[action](repo, file, turn)
        cached = read(memory)
        copy = repo.parent / f"copy{turn}"
        shutil.copytree(repo, copy, symlinks=True)
        shutil.rmtree(copy / ".git" / "memctl", ignore_errors=True)
        assert same(cached, load.disk(opened(copy))), (turn, action)
        shutil.rmtree(copy)


@pytest.mark.parametrize("damage", ["delete", "truncate", "garbage", "other version", "empty", "undecodable"])
def test_damaged_cache_does_not_change_the_result(repo: Path, memctl: Memctl, damage: str) -> None:
    write(repo, memctl, 3)
    memctl("list")
    cache = repo / ".git" / "memctl" / ".memory" / "cache.db"
    if damage == "delete":
        cache.unlink()
    elif damage == "truncate":
        os.truncate(cache, cache.stat().st_size // 2)
    elif damage == "garbage":
        cache.write_bytes(b"not a database at all" * 1000)
    elif damage == "empty":
        cache.write_bytes(b"")
    else:
        database = sqlite3.connect(cache)
        if damage == "undecodable":
            database.executescript("DELETE FROM packed; UPDATE records SET record = x'93'")
        else:
            database.execute("UPDATE state SET value = 'older' WHERE key = 'version'")
        database.commit()
        database.close()
    assert memctl("list", "--json").data["total"] == 3
    assert memctl("search", "lesson", "--json").data["total"] == 3
    cached, fresh = cached_and_fresh(repo)
    assert same(cached, fresh)


def test_cache_from_a_build_with_other_types_is_replaced(repo: Path, memctl: Memctl) -> None:
    write(repo, memctl, 2)
    program = "import sys, tests.sixth_kind; from memctl.cli.main import main; sys.exit(main(sys.argv[1:]))"
    for args in (("ask", "Why?"), ("list",), ("search", "why")):  # the last makes the index of words
        subprocess.run(
            [sys.executable, "-c", program, "-C", str(repo), *args], cwd=Path(__file__).parents[2], check=True
        )
    listed = memctl("list", "--json")
    assert listed.data["total"] == 2
    assert "questions/" not in listed.out
    assert memctl("search", "why", "--json").data["total"] == 0


def test_cache_from_other_credential_rules_is_replaced(
    repo: Path, memctl: Memctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def verdicts() -> tuple[int, bool]:
        catalogue = StoredCatalogue(load.open_cache(opened(repo)))
        return len(catalogue.suspicious()), catalogue.is_clean(b"a text")

    write(repo, memctl, 2)
    other = tmp_path / "rules.txt"
    other.write_bytes(Path(cache._RULES).read_bytes() + b"# of another version\n")
    with monkeypatch.context() as patch:
        patch.setattr(cache, "_RULES", str(other))
        read(opened(repo))
        made = load.open_cache(opened(repo))
        made.database.execute("UPDATE records SET is_suspicious = 1")
        made.database.execute("INSERT INTO clean VALUES (?)", (b"a text",))
        made.database.close()
        assert verdicts() == (2, True)
    assert verdicts() == (0, False)
    assert len(read(opened(repo)).records) == 2


@pytest.mark.parametrize("question", ["faults", "mentions", "latest"])
def test_undecodable_row_is_an_error_once_and_the_cache_is_replaced(repo: Path, memctl: Memctl, question: str) -> None:
    write(repo, memctl, 2)
    memctl("list")
    cache = load.open_cache(opened(repo))
    cache.database.execute("UPDATE records SET record = x'93', faults = x'93', mentions = x'93'")
    with pytest.raises(Undecodable, match="is deleted now"):
        getattr(StoredCatalogue(cache), question)()
    cache.database.close()
    assert memctl("list", "--json").data["total"] == 2


def test_cache_that_fails_midway_is_bypassed(repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repo, memctl, 2)
    real = cache_update.update
    calls: list[int] = []

    def fails_once(cache: Cache, *args: object) -> bool:
        calls.append(1)
        if len(calls) == 1:
            raise sqlite3.DatabaseError("database disk image is malformed")
        return real(cache, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(cache_update, "update", fails_once)
    assert len(load.disk(opened(repo)).records) == 2


def test_failed_update_leaves_the_cache_unchanged(repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write(repo, memctl, 3)
    memctl("list")
    for file in files:
        file.write_text(file.read_text().replace("timestamp:", "importance: 9\ntimestamp:"))
    real, calls = cache_update._remove, []

    def fails(cache: Cache, path: str) -> None:
        calls.append(path)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(cache, path)

    cache = Cache.open(repo / ".git" / "memctl" / ".memory" / "cache.db")
    before = cache.view()
    with monkeypatch.context() as patch:
        patch.setattr(cache_update, "_remove", fails)
        with pytest.raises(KeyboardInterrupt):
            _ = load.disk(opened(repo)).records
    assert cache.view() == before
    assert [record.importance for record in load.disk(opened(repo)).records] == [9, 9, 9]


def test_filled_cache_has_the_indexes_of_a_new_one(repo: Path, memctl: Memctl) -> None:
    def indexes(cache: Cache) -> list[tuple[str, str]]:
        return cache.database.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'index' ORDER BY name"
        ).fetchall()

    write(repo, memctl, 2)
    cached = load.open_cache(opened(repo))
    assert cached.paths()
    assert indexes(cached) == indexes(Cache.open(None)) != []


def test_file_that_changes_size_while_read_is_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "decisions" / "a.md"
    file.parent.mkdir()
    file.write_text("12345")
    before = file.stat()
    for text in ("123456789", "123", "12345", ""):
        file.write_text(text)
        assert FolderReader(tmp_path).read("decisions/a.md", before) == text


def test_reading_does_not_touch_tree_index_or_head(repo: Path, memctl: Memctl) -> None:
    made = memctl("decide", "Read me", "--rationale", "why")
    (repo / "app.py").write_text("dirty\n")

    def state() -> tuple[object, ...]:
        files = {
            str(f): (f.stat().st_mtime_ns, f.read_bytes())
            for f in repo.rglob("*")
            if f.is_file() and ".git" not in f.parts
        }
        return files, (repo / ".git" / "index").read_bytes(), git(repo, "rev-parse", "HEAD"), git(repo, "for-each-ref")

    before = state()
    for command in (
        ["list"], ["show", made.id], ["search", "read"], ["log"], ["log", made.id], ["diff"], ["status"], ["rehydrate"],
        ["export"], ["show", made.id, "--at", "HEAD"], ["list", "--at", "HEAD"], ["search", "read", "--at", "HEAD"],
        ["rehydrate", "--at", "HEAD"], ["export", "--at", "HEAD"], ["status", "--at", "HEAD"], ["commit", "--dry-run"],
    ):  # fmt: skip
        memctl(*command)
        assert state() == before, command


def test_concurrent_readers_get_the_same_records(repo: Path, memctl: Memctl) -> None:
    write(repo, memctl, 5)
    shutil.rmtree(repo / ".git" / "memctl")
    readers = [process(repo, "list", "--json") for _ in range(4)]
    answers = {reader.communicate()[0] for reader in readers}
    assert len(answers) == 1
    assert [reader.returncode for reader in readers] == [0] * 4


def test_retrievals_are_counted_outside_of_the_tree(repo: Path, memctl: Memctl) -> None:
    made = memctl("decide", "Popular")
    for _ in range(3):
        memctl("show", made.id)
    assert memctl("list", "--json").data["records"][0]["access_count"] == 3
    assert git(repo, "status", "--porcelain") == ""
    counters = repo / ".git" / "memctl" / "access.db"
    counters.write_bytes(b"broken" * 100)
    assert memctl("list", "--json").data["records"][0]["access_count"] == 0
    memctl("show", made.id)
    counters.unlink(missing_ok=True)
    memctl("show", made.id)
    assert memctl("list", "--json").data["records"][0]["access_count"] == 1
    assert "access_count" not in (repo / made.out.split()[1]).read_text()


def test_linked_worktrees_share_counters(repo: Path, memctl: Memctl) -> None:
    made = memctl("decide", "Shared")
    other = repo.parent / "other"
    git(repo, "worktree", "add", "-q", "-b", "side", str(other))
    memctl("show", made.id, where=other)
    assert memctl("list", "--json").data["records"][0]["access_count"] == 1


def test_records_restored_by_a_sparse_checkout_are_listed(repo: Path, memctl: Memctl) -> None:
    memctl("learn", "Sometimes here")
    git(repo, "sparse-checkout", "set", "--no-cone", "/*", "!/.memory/learnings/")
    assert memctl("list", "--json").data["total"] == 0
    git(repo, "sparse-checkout", "disable")
    assert memctl("list", "--json").data["total"] == 1


def test_search_during_a_write_finds_the_same_records(repo: Path, memctl: Memctl) -> None:
    """The index of words is made when it is first needed, in memory if the cache can't be written to."""
    files = write(repo, memctl, 3)
    for file in files:
        os.utime(file, (1, 1))  # what was written a moment ago is looked at again in any case
    shutil.rmtree(repo / ".git" / "memctl")
    memctl("list")
    snapshot = read(opened(repo))
    other = sqlite3.connect(repo / ".git" / "memctl" / ".memory" / "cache.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    while_writing = [(hit.path, hit.text) for hit in snapshot.texts.match('"lesson 1"')]
    other.execute("ROLLBACK")
    other.close()
    assert len(while_writing) == 1
    assert [(hit.path, hit.text) for hit in read(opened(repo)).texts.match('"lesson 1"')] == while_writing


def test_search_index_matches_the_files_after_each_change(repo: Path, memctl: Memctl) -> None:
    first, second = write(repo, memctl, 2)
    shutil.rmtree(repo / ".git" / "memctl")
    memctl("list")
    first.write_text(first.read_text().replace("text 0", "wombat"))
    assert [hit.path for hit in read(opened(repo)).texts.match("wombat")] == [
        first.relative_to(repo / ".memory").as_posix()
    ]
    second.write_text(second.read_text().replace("text 1", "wombat"))
    first.unlink()
    assert [hit.path for hit in read(opened(repo)).texts.match("wombat")] == [
        second.relative_to(repo / ".memory").as_posix()
    ]
    assert same(*cached_and_fresh(repo))
