"""What is found in contents, and that it is found once only."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.sources import facts, file_list_update
from memctl.store import load, source_facts
from memctl.store.cache import Cache
from memctl.store.file_list import with_index
from memctl.store.memory import Memory, open_memory
from memctl.store.repository_files import FilesOnDisk
from memctl.store.search_index import SearchIndex
from tests.conftest import Memctl, git

CODE = (
    b'"""Pays by card."""\n\nfrom shop import cart  # TODO: less\n\n\nclass CardClient:\n    def pay_all(self): ...\n'
)


def gathered(memory: Memory, files: FilesOnDisk | None = None) -> tuple[dict[str, facts.Content], dict[str, str]]:
    """Return the contents and the refusals of the worktree's files."""

    def answer(index: SearchIndex) -> tuple[dict[str, facts.Content], dict[str, str]]:
        found = file_list_update.of_worktree(memory, load.disk(memory), files or FilesOnDisk(memory), index)
        return dict(found.contents), found.refusals

    return with_index(memory, answer)


def opened(repo: Path) -> Memory:
    return open_memory(repo, {})


def test_facts_of_code_are_its_lines_todos_imports_and_names() -> None:
    found = facts.of_content("pay.py", CODE)
    assert (found.size, found.lines, found.kind, found.refusal, found.todos) == (len(CODE), 7, "python", "", 1)
    assert found.imports == ("shop|cart",)
    assert found.names == ("CardClient", "pay_all")
    assert {"card", "client", "pays"} <= set(found.words)


def test_binary_file_has_a_size_and_a_refusal_alone() -> None:
    assert facts.of_content("a.py", b"import x\n\0") == facts.FileFacts(10, refusal="binary")


@given(st.binary(max_size=300), st.sampled_from(["a.py", "b.ts", "c.go", "package.json", "d", "e.md", "tsconfig.json"]))
def test_any_bytes_give_facts_with_their_size(content: bytes, path: str) -> None:
    found = facts.of_content(path, content)
    assert found.size == len(content)


def test_unchanged_file_is_not_read_again(repo: Path) -> None:
    memory = opened(repo)
    first = gathered(memory)[0]["app.py"]
    git(repo, "update-index", "--refresh")
    (repo / "app.py").unlink()
    git(repo, "update-index", "--assume-unchanged", "app.py")
    again = gathered(memory)[0]["app.py"]
    # Git says that the file is what it was, so it is not read again.
    assert (again.blob, again.facts) == (first.blob, first.facts)


def test_new_and_changed_files_have_the_blob_that_git_would_give_them(repo: Path) -> None:
    (repo / "app.py").write_text("changed = 1\n")
    (repo / "new.py").write_text("import app\n")
    found, _ = gathered(opened(repo))
    for name in ("app.py", "new.py"):
        assert found[name].blob == git(repo, "hash-object", name).strip()


class _ChangedMeanwhile(FilesOnDisk):
    """Files of which one changes after Git was asked for them."""

    text: str | None

    def tree(self, known: tuple[str, str] = ("", "")) -> tuple[str, str]:
        found = super().tree(known)
        file = self._repository.top / "app.py"
        file.unlink(missing_ok=True) if self.text is None else file.write_text(self.text)
        return found


def test_file_written_during_a_scan_is_read_anew(repo: Path) -> None:
    memory = opened(repo)
    files = _ChangedMeanwhile(memory)
    files.text = "import later\n"
    found = gathered(memory, files)[0]["app.py"]
    assert found.facts.imports == ("later",)
    assert found.blob == git(repo, "hash-object", "app.py").strip()
    git(repo, "checkout", "-q", "app.py")
    assert gathered(memory)[0]["app.py"].facts.imports == ()


def test_files_too_large_and_files_that_can_not_be_read_have_a_reason(repo: Path) -> None:
    (repo / "large.txt").write_bytes(b"x" * 2_200_000)
    memory = opened(repo)
    files = _ChangedMeanwhile(memory)
    files.text = None
    assert gathered(memory, files)[1] == {"app.py": facts.GONE, "large.txt": facts.TOO_LARGE}
    git(repo, "checkout", "-q", "app.py")
    assert "app.py" in gathered(memory)[0]


def test_large_files_beyond_the_time_of_a_run_are_read_by_the_next(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2):
        (repo / f"large{number}.py").write_text(f"pager = {number}\n" * 200)
    monkeypatch.setattr(file_list_update, "_LARGE", 1_000)
    monkeypatch.setattr(file_list_update, "_SECONDS", 0.0)
    first, second = memctl("files", "--task", "pager", "--json"), memctl("files", "--task", "pager", "--json")
    assert {item["path"] for item in first.data["files"]} == {"app.py", "large1.py"}
    assert first.data["refused"] == [{"path": "large2.py", "reason": facts.LATER}]
    assert {item["path"] for item in second.data["files"]} == {"app.py", "large1.py", "large2.py"}
    assert second.data["refused"] == []
    (repo / "large1.py").write_text("pager = 3\n" * 200)
    (repo / "large2.py").write_text("pager = 4\n" * 200)
    assert "hint: large files that are not ranked yet: 1;" in memctl("files", "--task", "pager").err


def test_links_out_of_the_repository_are_not_followed(repo: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text("import secrets\n")
    (repo / "link.py").symlink_to(outside / "secret.py")
    (repo / "src").mkdir()
    (repo / "src" / "secret.py").write_text("inside = 1\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "code")
    (repo / "src" / "secret.py").unlink()
    os.rmdir(repo / "src")
    (repo / "src").symlink_to(outside)
    assert set(gathered(opened(repo))[0]) == {"app.py"}


def test_tokens_of_files_are_deleted_once_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_facts, "_MOST", 2)
    cache = Cache.open(None)
    for number in range(4):
        source_facts.keep(cache, {(f"{number:040x}", "py"): b"x"})
    assert list(source_facts.recall(cache)) == [(f"{3:040x}", "py")]
