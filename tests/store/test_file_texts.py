"""The index of what files say: what is found, what is left out, what becomes of changed and of damaged ones."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memctl.sources import file_list_update
from memctl.store import file_list, file_texts, load
from memctl.store.file_list import with_index
from memctl.store.file_texts import FileMatches
from memctl.store.memory import Memory, open_memory
from memctl.store.repository_files import FilesOnDisk
from memctl.store.search_index import SearchIndex
from tests.conftest import git

SECRET = "AK" + "IA" + "QWERTYUIOPASDFGH"
FILES = {
    "src/pager.py": "def echo_via_pager(text): ...  # opens less\n",
    "src/HTTPServer.cs": "class RequestHandler { void readHeaders() {} }\n",
    "src/terminal.rs": "fn read_key() {}\n",
    "docs/windows.md": "Windows has another pager.\n",
}


@pytest.fixture
def memory(repo: Path) -> Memory:
    for name, text in FILES.items():
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).write_text(text)
    return open_memory(repo, os.environ)


def found(memory: Memory, query: str) -> FileMatches:
    def answer(index: SearchIndex) -> FileMatches:
        sources = file_list_update.of_worktree(memory, load.disk(memory), FilesOnDisk(memory), index)
        return file_texts.matches(sources.contents, query)

    return with_index(memory, answer)


def best(memory: Memory, query: str) -> list[str]:
    shares = found(memory, query).shares
    return sorted(shares, key=lambda path: (-shares[path], path))


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("the pager on Windows", "docs/windows.md"),
        ("echo_via_pager", "src/pager.py"),
        ("echo", "src/pager.py"),
        ("request handlers", "src/HTTPServer.cs"),
        ("read headers", "src/HTTPServer.cs"),
        ("HTTP", "src/HTTPServer.cs"),
        ("key", "src/terminal.rs"),
        ("terminal", "src/terminal.rs"),
        ('"opens less"', "src/pager.py"),
    ],
)
def test_words_of_texts_names_and_identifiers_find_a_file(memory: Memory, query: str, path: str) -> None:
    assert best(memory, query)[0] == path


@pytest.mark.parametrize("query", ["", "the of", '"less opens"', "zebra", '"', "OR AND NEAR(", "col:x*"])
def test_query_without_matching_words_finds_nothing(memory: Memory, query: str) -> None:
    assert found(memory, query).shares == {}


def test_best_file_is_a_full_match_only_with_half_of_the_query(memory: Memory) -> None:
    assert max(found(memory, "pager on Windows").shares.values()) == 1
    assert 0 < max(found(memory, "zebra invoices quarterly Windows").shares.values()) < 0.7
    assert found(memory, "pager Windows").words["docs/windows.md"] == ["pager", "windows"]


def test_changed_file_is_found_by_its_new_text_only(memory: Memory, repo: Path) -> None:
    assert set(best(memory, "pager")) == {"docs/windows.md", "src/pager.py"}
    (repo / "src/pager.py").write_text("def zebra(): ...\n")
    (repo / "docs/windows.md").unlink()
    again = open_memory(repo, os.environ)
    assert best(again, "zebra") == ["src/pager.py"]
    assert best(again, "opens less another") == []


@pytest.mark.parametrize("query", ["pager other", '"another pager" pager'])
def test_earlier_versions_of_a_file_do_not_make_its_words_frequent(memory: Memory, repo: Path, query: str) -> None:
    for number in range(40):
        (repo / f"src/other{number}.py").write_text(f"other = {number}\n")
    before = found(memory, query)
    for number in range(60):
        (repo / "docs/windows.md").write_text(FILES["docs/windows.md"] + f"{number}\n")
        found(open_memory(repo, os.environ), query)
    (repo / "docs/windows.md").write_text(FILES["docs/windows.md"])
    after = found(open_memory(repo, os.environ), query)
    assert after.words == before.words
    assert after.shares == pytest.approx(before.shares, abs=0.02)  # the average length is still that of all versions


def test_old_rows_are_forgotten_when_they_are_many(memory: Memory, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_list, "_SPARE", 2)
    for number in range(20):
        (repo / "src/pager.py").write_text(f"def zebra{number}(): ...\n")
        assert best(open_memory(repo, os.environ), f"zebra{number}") == ["src/pager.py"]
    database = sqlite3.connect(memory.repository.shared / "index.db")
    assert database.execute("SELECT count(*) FROM files").fetchone()[0] < 20


def test_worktrees_keep_the_index_rows_of_each_other(
    memory: Memory, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def numbers() -> list[int]:
        with closing(sqlite3.connect(memory.repository.shared / "index.db")) as database:
            return [row[0] for row in database.execute("SELECT number FROM files WHERE path LIKE 'src/zebra%'")]

    monkeypatch.setattr(file_list, "_SPARE", 2)
    git(repo, "worktree", "add", "-q", "--detach", str(repo.parent / "other"))
    for number in range(20):
        (repo / f"src/zebra{number:02}.py").write_text(f"zebra = {number}\n")
    other = open_memory(repo.parent / "other", os.environ)
    assert len(best(memory, "zebra")) == 20
    before = numbers()
    (repo.parent / "other" / "horse.py").write_text("horse = 1\n")
    assert best(other, "horse") == ["horse.py"]
    assert numbers() == before
    git(repo, "worktree", "remove", "--force", str(repo.parent / "other"))
    for path in repo.glob("src/zebra*"):
        path.unlink()
    (repo / "src/pager.py").write_text("def pager(): ...\n")
    assert best(open_memory(repo, os.environ), "zebra") == []
    assert numbers() == []


def test_large_and_binary_files_are_left_out_and_the_large_ones_named(
    memory: Memory, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "big.txt").write_text("pager " * 50_000)
    (repo / "logo.png").write_bytes(b"\x89PNG\0pager")
    once = found(memory, "pager")
    assert once.left_out == {"big.txt": "it has more than 256 KB"}
    assert set(once.shares) == {"docs/windows.md", "src/pager.py"}
    monkeypatch.setattr(file_texts, "MOST", 130)
    (memory.repository.shared / "index.db").unlink()
    full = found(memory, "pager")
    assert set(full.left_out) == {"big.txt", "src/HTTPServer.cs"}, "of the others the largest"
    assert "holds at most" in full.left_out["src/HTTPServer.cs"]
    (repo / "src/pager.py").unlink()
    again = found(open_memory(repo, os.environ), "request handlers")
    assert again.shares.keys() == {"src/HTTPServer.cs"}
    assert again.left_out.keys() == {"big.txt"}


def test_a_credential_is_not_indexed_and_the_rest_of_its_file_is(memory: Memory, repo: Path) -> None:
    (repo / "keys.py").write_text(f'ZEBRA_KEY = "{SECRET}"\n')
    assert list(found(memory, "zebra").shares) == ["keys.py"]
    assert found(memory, SECRET).shares == {}


def test_only_the_owner_can_read_the_index(memory: Memory) -> None:
    found(memory, "pager")
    assert (memory.repository.shared / "index.db").stat().st_mode & 0o777 == 0o600


def test_a_damaged_index_is_made_anew(memory: Memory, repo: Path) -> None:
    found(memory, "pager")
    file = memory.repository.shared / "index.db"
    file.write_bytes(b"SQLite format 3\0" + b"x" * 5_000)
    assert best(memory, "echo") == ["src/pager.py"]
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2] + b"\xff" * (len(whole) - len(whole) // 2))
    damaged = open_memory(repo, os.environ)
    assert best(damaged, "echo") == ["src/pager.py"]
    again = open_memory(repo, os.environ)
    assert best(again, "echo") == ["src/pager.py"]
    assert again.remarks == []


@pytest.mark.slow
def test_search_during_a_write_uses_the_old_index_with_a_remark(memory: Memory, repo: Path) -> None:
    found(memory, "pager")
    (repo / "src/new.py").write_text("zebra = 1\n")
    with closing(sqlite3.connect(memory.repository.shared / "index.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        memory = open_memory(repo, os.environ)
        assert best(memory, "echo zebra") == ["src/pager.py"]
    assert memory.remarks == [
        "another process is writing to the search index: recent changes of files are not found yet"
    ]
    assert "src/new.py" in best(open_memory(repo, os.environ), "echo zebra")


def test_unwritable_index_reads_the_files_for_one_answer(memory: Memory) -> None:
    shared = memory.repository.shared
    shared.parent.mkdir(exist_ok=True)
    if shared.is_dir():
        for file in shared.glob("index.db*"):
            file.unlink()
    (shared / "index.db").mkdir()
    assert best(memory, "echo") == ["src/pager.py"]
    assert "memctl read the files directly, which takes longer" in memory.remarks[0]


def test_concurrent_searches_index_each_file_once(memory: Memory, repo: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    memories = [open_memory(repo, os.environ) for _ in range(4)]  # each with processes of Git's of its own
    with ThreadPoolExecutor(4) as pool:
        assert len({tuple(each) for each in pool.map(lambda one: best(one, "pager"), memories)}) == 1
    database = sqlite3.connect(memory.repository.shared / "index.db")
    assert database.execute("SELECT count(*), count(DISTINCT path) FROM files WHERE reason = ''").fetchone()[0] == 5


def test_word_of_most_of_many_files_finds_a_file_only_if_no_other_word_does(
    memory: Memory, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(10):
        (repo / f"src/other{number}.py").write_text("common = 1\n")
    (repo / "src/other3.py").write_text("common = rare\n")
    again = open_memory(repo, os.environ)
    assert len(best(again, "common rare")) == 10
    monkeypatch.setattr(file_texts, "_MANY", 8)
    assert best(again, "common rare") == ["src/other3.py"]
    assert found(again, "common rare").words == {"src/other3.py": ["common", "rare"]}
    assert len(best(again, "common zebra")) == 8
    assert len(best(again, '"common"')) == 8
    assert len(found(again, "common").shares) == 8
