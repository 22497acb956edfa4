"""Lists of files in worktrees, clones and checkouts of several kinds, and after builders that were killed."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

import pytest

from memctl.sources import file_list_update, generated_files
from memctl.store import file_texts, load, search_index
from memctl.store.file_list import with_index
from memctl.store.memory import open_memory
from memctl.store.repository_files import FilesOnDisk
from memctl.store.search_index import SearchIndex
from tests.conftest import git

FILES = {
    "src/pay.py": "def pay_card(): ...\n",
    "src/cart.py": "from src import pay\n",
    "docs/zebra.md": "# Zebra\n",
}
Found = tuple[dict[str, str], list[str]]
# Stops a builder when the files are in the index and their list is not, or within a transaction of files.
BUILDER = """
import os, sys
from memctl.sources import file_list_update
from memctl.store import file_list, load, search_index
from memctl.store.memory import open_memory
from memctl.store.repository_files import FilesOnDisk

def stop(*_):
    print("within", flush=True)
    sys.stdin.read()

search_index._CACHE = 1
if sys.argv[2] == "files":
    file_list.FileList.change = stop
else:
    stem_of = file_list.stem_of
    file_list.stem_of = lambda path: stop() if "module9" in path else stem_of(path)
memory = open_memory(sys.argv[1], os.environ)
files = FilesOnDisk(memory)
file_list.with_index(memory, lambda index: file_list_update.of_worktree(memory, load.disk(memory), files, index))
"""


@pytest.fixture
def code(repo: Path) -> Path:
    write(repo, FILES)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "code")
    return repo


def write(repo: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(text)


def found(repo: Path, *, anew: bool = False) -> Found:
    """Return the blob ids of the listed files that are code or a text, by path, and the remarks."""
    if anew:
        shutil.rmtree(repo / git(repo, "rev-parse", "--git-common-dir").strip() / "memctl", ignore_errors=True)
    memory = open_memory(repo, os.environ)

    def answer(index: SearchIndex) -> dict[str, str]:
        contents = file_list_update.of_worktree(memory, load.disk(memory), FilesOnDisk(memory), index).contents
        return {path: contents[path].blob for path in contents if path.startswith(("src/", "docs/"))}

    return with_index(memory, answer), memory.remarks


def index_of(repo: Path) -> Path:
    return repo / ".git/memctl" / search_index.NAME


def test_worktrees_on_different_branches_list_their_own_files(code: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(code, "worktree", "add", "-q", str(other), "-b", "other")
    write(other, {"src/pay.py": "def refund(): ...\n", "src/order.py": "\n"})
    git(other, "rm", "-qf", "docs/zebra.md")
    git(other, "add", "-A")
    git(other, "commit", "-qm", "orders")
    for repo, paths in ((code, set(FILES)), (other, {"src/pay.py", "src/cart.py", "src/order.py"}), (code, set(FILES))):
        blobs, remarks = found(repo)
        assert blobs == {path: git(repo, "rev-parse", f"HEAD:{path}").strip() for path in paths}
        assert remarks == []
    git(code, "merge", "-q", "other")
    assert found(code) == found(other)
    assert found(code) == found(code, anew=True)


def test_partial_clone_fetches_nothing_when_head_moves(code: Path, tmp_path: Path) -> None:
    git(code, "config", "uploadpack.allowFilter", "true")
    write(code, {"src/pay.py": "def refund(): ...\n", "src/order.py": "\n"})
    git(code, "add", "-A")
    git(code, "commit", "-qm", "orders")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{code}", str(clone))
    assert found(clone)[0].keys() == {*FILES, "src/order.py"}
    git(clone, "checkout", "-q", "HEAD~")
    git(clone, "remote", "set-url", "origin", str(tmp_path / "gone"))
    objects = git(clone, "count-objects", "-v")
    assert found(clone) == ({path: git(clone, "rev-parse", f"HEAD:{path}").strip() for path in FILES}, [])
    git(clone, "reset", "-q", "--soft", "HEAD~")
    assert found(clone)[0].keys() == FILES.keys()
    assert git(clone, "count-objects", "-v") == objects


def test_sparse_checkout_lists_the_files_that_it_has(code: Path) -> None:
    every = found(code)
    git(code, "sparse-checkout", "set", "--cone", "docs", ".memory")
    assert found(code)[0].keys() == {"docs/zebra.md"}
    assert found(code) == found(code, anew=True)
    git(code, "sparse-checkout", "disable")
    assert found(code) == every


def test_read_only_git_directory_gives_the_files_with_a_remark(code: Path) -> None:
    every, _ = found(code)
    write(code, {"src/new.py": "\n"})
    shutil.rmtree(code / ".git/memctl")
    (code / ".git/memctl").write_text("")  # where no folder can be made, also by root
    blobs, remarks = found(code)
    assert blobs.keys() == every.keys() | {"src/new.py"}
    assert ["memctl read the files directly, which takes longer" in remark for remark in remarks] == [True]


@pytest.mark.parametrize("moment", ["files", "texts"])
def test_builder_that_is_killed_changes_no_later_answer(code: Path, moment: str) -> None:
    for number in range(40):
        write(code, {f"src/module{number}.py": f"def name{number}(): ...\n" * 200})
    builder = subprocess.Popen(
        [sys.executable, "-c", BUILDER, str(code), moment], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert builder.stdout is not None
    assert builder.stdout.readline() == b"within\n"
    builder.send_signal(signal.SIGKILL)
    builder.communicate()
    after = found(code)
    with closing(sqlite3.connect(index_of(code))) as database:
        database.execute("INSERT INTO file_texts (file_texts) VALUES ('integrity-check')")
        assert database.execute("SELECT count(*), count(DISTINCT path) FROM files").fetchone() == (44, 44)
    assert after[1] == []
    assert len(after[0]) == 43
    assert after == found(code, anew=True)


@pytest.mark.slow
def test_two_builders_at_once_list_each_file_once(code: Path) -> None:
    write(code, {f"src/module{number}.py": f"def name{number}(): ...\n" for number in range(300)})
    command = [sys.executable, "-c", "import sys; from memctl.cli.main import main; main()"]
    git(code, "add", "-A")
    subprocess.run([*command, "init", "--project", "code"], cwd=code, check=True, capture_output=True)
    pipe = subprocess.PIPE
    asks = [*command, "files", "--task", "change name7", "--json"]
    both = [subprocess.Popen(asks, cwd=code, stdout=pipe, stderr=pipe) for _ in range(2)]
    (first, warning), (second, other_warning) = (process.communicate() for process in both)
    assert [process.returncode for process in both] == [0, 0]
    assert (first, warning, other_warning) == (second, b"", b"")
    with closing(sqlite3.connect(index_of(code))) as database:
        [(count, different)] = database.execute("SELECT count(*), count(DISTINCT path) FROM files")
        assert count == different >= 303
        assert database.execute("SELECT count(*) FROM lists").fetchone() == (1,)


@pytest.mark.parametrize("damage", ["no list", "no words", "state"])
def test_damaged_index_gives_the_same_files(code: Path, damage: str) -> None:
    every = found(code)
    with closing(sqlite3.connect(index_of(code))) as database:
        statement = {
            "no list": "DROP TABLE listed",
            "no words": "DROP TABLE file_words",
            "state": "UPDATE lists SET state = x'c1'",
        }[damage]
        database.execute(statement)
        database.commit()
    write(code, {"src/new.py": "\n"})
    assert found(code)[0].keys() == every[0].keys() | {"src/new.py"}
    assert found(code)[0].keys() == every[0].keys() | {"src/new.py"}


def test_newer_index_is_left_alone_with_a_remark(code: Path) -> None:
    every = found(code)
    with closing(sqlite3.connect(index_of(code))) as database:
        database.execute(f"PRAGMA user_version = {search_index.FORM + 1}")
    newer = index_of(code).read_bytes()
    blobs, remarks = found(code)
    assert blobs == every[0]
    assert ["by a newer version of memctl" in remark for remark in remarks] == [True]
    assert index_of(code).read_bytes() == newer


def test_files_are_listed_anew_when_git_writes_no_checksum_of_its_index(code: Path) -> None:
    memory = open_memory(code, os.environ)
    known = FilesOnDisk(memory).tree()
    assert FilesOnDisk(memory).tree(known) == known
    index = code / ".git/index"
    index.write_bytes(index.read_bytes()[:-20] + bytes(20))  # as with index.skipHash
    assert FilesOnDisk(memory).tree(("", "of another index")) == ("", known[1])
    write(code, {"src/new.py": "\n"})
    git(code, "add", "-A")
    assert FilesOnDisk(memory).tree(known)[1] != known[1]


def test_index_of_a_hook_has_no_known_files(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = FilesOnDisk(open_memory(code, os.environ)).tree()
    monkeypatch.setenv("GIT_INDEX_FILE", str(code / ".git/other"))
    assert FilesOnDisk(open_memory(code, os.environ)).tree(known)[0] == ""


def test_text_that_fits_in_later_stays_in_the_list_of_another_worktree(
    code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    git(code, "worktree", "add", "-q", "--detach", str(other))
    for folder in (code, other):
        write(folder, {"src/pay.py": f"# {'pay ' * 25}\n"})
    monkeypatch.setattr(file_texts, "MOST", 125)
    every = found(code)
    assert found(other) == every
    with closing(sqlite3.connect(index_of(code))) as database:
        reason = "SELECT reason = '' FROM files WHERE path = 'src/pay.py'"
        assert database.execute(reason).fetchall() == [(False,)]
        (code / "src/cart.py").unlink()
        (code / "docs/zebra.md").unlink()
        assert found(code)[0].keys() == {"src/pay.py"}
        assert database.execute(reason).fetchall() == [(True,)]
    assert found(other) == every


def test_tree_of_generated_files_is_listed_and_not_read(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generated_files, "_TREE", 30)
    monkeypatch.setattr(generated_files, "_SAMPLED", 5)
    made = {
        f"docs/api/{number % 3}/page{number}.html": f"<!-- Generated by javadoc -->\n{number}" for number in range(40)
    }
    written = {f"docs/hand/page{number}.html": f"<p>By hand {number}" for number in range(40)}
    write(code, made | written | {"docs/api/index.md": "# By hand\n"})
    git(code, "add", "-A")
    git(code, "commit", "-qm", "documentation")
    read: list[str] = []
    read_listed = FilesOnDisk.read_listed

    def counted(self: FilesOnDisk, paths: Collection[str]) -> dict[str, bytes]:
        read.extend(paths)
        return read_listed(self, paths)

    monkeypatch.setattr(FilesOnDisk, "read_listed", counted)
    monkeypatch.setattr(FilesOnDisk, "is_settled", lambda *_: True)
    contents, _ = found(code)
    assert made.keys() | written.keys() <= contents.keys()
    assert written.keys() <= set(read)
    assert len(made.keys() & set(read)) <= 12
