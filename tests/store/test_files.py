"""Files below `.memory/`: of a write that fails nothing is left."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memctl.errors import MemctlError
from memctl.record.change import Write
from memctl.store import files
from tests.conftest import Memctl, git

CLOSED = Path("/sys/kernel")  # a folder in which nobody may make a file, whoever it is


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let no file grow beyond so many bytes: what a full disk does to a write, too."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_failed_write_leaves_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("old")
    writes = [Write("a.md", "short", None), Write("b.md", "x" * 100_000, "old")]
    with files_of_at_most(4096), pytest.raises(MemctlError, match="can't be written: File too large"):
        files.prepare(tmp_path, writes)
    assert [file.name for file in tmp_path.iterdir()] == ["b.md"]
    with files_of_at_most(4096), pytest.raises(OSError, match="too large"):
        files.replace(tmp_path / "b.md", "x" * 100_000)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]


@pytest.mark.skipif(not CLOSED.is_dir(), reason="this system has no folder that is closed to all")
def test_folder_that_cant_be_written_is_named_with_a_hint() -> None:
    with pytest.raises(MemctlError, match=r"^/sys/kernel/a\.md can't be written: ") as raised:
        files.prepare(CLOSED, [Write("a.md", "text", None)])
    assert raised.value.hint.startswith("make /sys/kernel writable (`ls -ld` shows ")


def test_text_that_utf8_cannot_encode_is_refused_with_its_file_and_line(tmp_path: Path) -> None:
    with pytest.raises(MemctlError, match=r"^line 2 of a\.md would contain '\\udc80', which is not a character$"):
        files.prepare(tmp_path, [Write("a.md", "one\ntwo \udc80", None)])
    assert not [*tmp_path.iterdir()]


def test_failed_replacement_leaves_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "a.md").mkdir()
    with pytest.raises(OSError, match="directory"):
        files.replace(tmp_path / "a.md", "text")
    assert [file.name for file in tmp_path.iterdir()] == ["a.md"]


def test_status_lists_leftovers_and_commit_deletes_them(repo: Path, memctl: Memctl) -> None:
    left = [repo / ".memory" / "docs" / ".memctl-INDEX.md", repo / ".memory" / "learnings" / ".memctl-LRN.md"]
    for file in left:
        file.parent.mkdir(exist_ok=True)
        file.write_text("half")
        os.utime(file, (time.time() - 120,) * 2)
    assert memctl("status", "--json").data["uncommitted"] == [str(file.relative_to(repo)) for file in left]
    memctl("commit")
    assert not any(file.exists() for file in left)
    assert git(repo, "status", "--porcelain") == ""


def test_leftovers_of_a_killed_write_are_removed_by_the_next_write(repo: Path, memctl: Memctl) -> None:
    memctl("learn", "Held", "--lesson", "x", "--no-commit")  # as after a kill, a change is noted still
    left = [repo / ".memory" / "docs" / ".memctl-INDEX.md"]
    left.append(repo / ".git" / "memctl" / ".memory" / "pending" / ".memctl-1.writing.json")
    for file in left:
        file.write_text("half")
    memctl("learn", "Next", "--lesson", "x")
    assert not any(file.exists() for file in left)
