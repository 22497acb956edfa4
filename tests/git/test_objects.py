"""Reading objects through one process of Git's."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.errors import MemctlError
from memctl.git import git as git_calls
from memctl.git import trees
from memctl.git.coprocess import _batches
from memctl.git.git import GitFailed
from memctl.git.objects import Object, Objects
from memctl.git.repository import open_repository
from tests.conftest import Memctl, git


def data(found: list[Object | None]) -> list[bytes | None]:
    return [item and item.data for item in found]


def test_objects_are_read_in_order_with_none_for_missing_ones(repo: Path) -> None:
    commit = git(repo, "rev-parse", "HEAD").strip()
    objects = open_repository(repo).objects
    names = [f"{commit}:app.py", f"{commit}:app.py blob", f"{commit}^{{tree}}", "0" * 40, f"{commit}:app.py"]
    file, spaced, tree, nothing, again = objects.read(names)
    assert (spaced, nothing) == (None, None)
    assert file == again == Object(git(repo, "rev-parse", "HEAD:app.py").strip(), "blob", b"print('shop')\n")
    assert tree is not None
    assert (tree.id, tree.kind) == (git(repo, "rev-parse", "HEAD^{tree}").strip(), "tree")
    assert objects.read([]) == []


def test_too_large_object_is_none_and_the_next_is_read(repo: Path) -> None:
    blobs = [git(repo, "hash-object", "-w", "--stdin", stdin="x" * size).strip() for size in (200_000, 10, 11)]
    assert data(open_repository(repo).objects.read(blobs, 10)) == [None, b"x" * 10, None]


def test_thousands_of_large_objects_are_read_without_a_deadlock(repo: Path) -> None:
    blob = git(repo, "hash-object", "-w", "--stdin", stdin="y" * 9_000).strip()
    assert data(open_repository(repo).objects.read([blob] * 2_000)) == [b"y" * 9_000] * 2_000


def test_object_stored_after_the_first_read_is_found(repo: Path) -> None:
    objects = open_repository(repo).objects
    assert objects.read(["0" * 40]) == [None]
    blob = git(repo, "hash-object", "-w", "--stdin", stdin="later").strip()
    assert data(objects.read([blob])) == [b"later"]
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "more", "--allow-empty")
    git(repo, "repack", "-adq")
    assert data(objects.read(["HEAD:app.py"])) == [b"print('shop')\n"]


def test_process_that_ended_is_started_again(repo: Path) -> None:
    objects = open_repository(repo).objects
    before = objects.read(["HEAD:app.py"])
    assert objects.process is not None
    os.kill(objects.process.pid, signal.SIGKILL)
    assert objects.read(["HEAD:app.py"]) == before


def test_interrupted_read_does_not_affect_the_next_one(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = open_repository(repo).objects
    with monkeypatch.context() as patch:
        patch.setattr("memctl.git.objects._read_exactly", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            objects.read(["HEAD:app.py"])
    assert data(objects.read(["HEAD:.memory/config.yaml"]))[0] != b"print('shop')\n"


def test_damaged_object_is_none_and_raises_when_required(repo: Path) -> None:
    blob = git(repo, "hash-object", "-w", "--stdin", stdin="whole").strip()
    file = repo / ".git" / "objects" / blob[:2] / blob[2:]
    file.chmod(0o644)
    file.write_bytes(b"no object")
    assert Objects(repo).read([blob]) == [None]
    with pytest.raises(MemctlError, match=blob):
        trees.blobs(open_repository(repo), [blob], 10)


def test_failure_to_start_git_has_a_reason(tmp_path: Path) -> None:
    with pytest.raises(GitFailed, match="not a git repository"):
        Objects(tmp_path).read(["HEAD"])


def test_closed_object_process_starts_again(repo: Path) -> None:
    repository = open_repository(repo)
    repository.close()
    first = repository.objects.read(["HEAD:app.py"])
    process = repository.objects.process
    assert process is not None
    repository.close()
    assert process.returncode is not None
    repository.close()
    assert repository.objects.read(["HEAD:app.py"]) == first


def test_commands_leave_no_object_process_behind(repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[git_calls.Process] = []

    def start(*args: Any) -> git_calls.Process:
        started.append(_start(*args))
        return started[-1]

    _start = git_calls.start_answering
    monkeypatch.setattr(git_calls, "start_answering", start)
    memctl("coordination", "join")
    memctl("coordination", "show")
    assert started
    assert all(process.returncode is not None for process in started)


def test_process_ends_with_its_objects_instance(repo: Path) -> None:
    objects = Objects(repo)
    objects.read(["HEAD:app.py"])
    process = objects.process
    assert process is not None
    del objects
    assert process.returncode is not None


@given(st.lists(st.text("abc", min_size=1, max_size=3_000)))
def test_batches_hold_all_names_in_order_and_fit_into_a_pipe(names: list[str]) -> None:
    batches = list(_batches(names))
    assert [name.decode() for some in batches for name in some] == names
    assert all(len(some) == 1 or sum(len(name) + 1 for name in some) <= 4096 for some in batches)
