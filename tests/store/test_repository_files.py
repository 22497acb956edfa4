"""The repository's own files: which there are, what they are, and what they hold, on the disk and in Git."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memctl.record.source import Files
from memctl.store import load
from memctl.store.files import MAX_BYTES
from memctl.store.memory import open_memory
from tests.conftest import Memctl, git


def on_disk(repo: Path) -> Files:
    return load.disk(open_memory(repo, os.environ)).files


def in_index(repo: Path) -> Files:
    return load.index(open_memory(repo, os.environ)).files


def at(repo: Path, revision: str = "HEAD") -> Files:
    return load.revision(open_memory(repo, os.environ), revision).files


def blob(repo: Path, path: str) -> str:
    return git(repo, "hash-object", "--", path).strip()


ODD = ["", ".", "..", "src", "src/", "./app.py", "/etc/passwd", "a\0b", ":(glob)*", "*.py", "src/\\xe9.py", "../app.py"]


@pytest.fixture
def code(repo: Path) -> Path:
    """The repository with files of every kind, committed; the memory's own are none of them."""
    (repo / "src").mkdir()
    for path, text in {
        "src/größe.py": "g\n",
        "src/with space.py": "s\n",
        "src/gone.py": "x\n",
        "plain.sh": "p\n",
    }.items():
        (repo / path).write_text(text)
    (repo / "plain.sh").chmod(0o755)
    (repo / "link").symlink_to("app.py")
    (repo / ".gitignore").write_text("*.log\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "code")
    return repo


COMMITTED = {"app.py", "src/größe.py", "src/with space.py", "src/gone.py", "plain.sh", ".gitignore"}


def test_clean_worktree_index_and_head_have_the_same_files(code: Path) -> None:
    for files in (on_disk(code), in_index(code), at(code)):
        assert files.names() == COMMITTED
        assert files.blobs(COMMITTED | {"link", "nothing"}) == {path: blob(code, path) for path in COMMITTED}
        assert files.read(["app.py", "link", "nothing"]) == {"app.py": b"print('shop')\n"}
        assert files.read([]) == {}
        assert files.blobs([]) == {}


def test_files_on_disk_are_the_present_ones_not_those_of_the_index(code: Path) -> None:
    (code / "src" / "gone.py").unlink()
    (code / "app.py").write_text("changed\n")
    (code / "new größe.py").write_text("new\n")
    (code / "noise.log").write_text("ignored\n")
    (code / "staged.py").write_text("staged\n")
    git(code, "add", "staged.py")
    (code / "staged.py").write_text("and changed\n")
    git(code, "rm", "-q", "--cached", "plain.sh")
    (code / "new link").symlink_to("app.py")
    files = on_disk(code)
    assert files.names() == COMMITTED - {"src/gone.py"} | {"new größe.py", "staged.py"}
    changed = ("app.py", "new größe.py", "staged.py", "plain.sh", "src/größe.py")
    assert files.blobs(changed) == {path: blob(code, path) for path in changed}
    assert files.read(["app.py", "staged.py", "src/gone.py", "noise.log", "new link"]) == {
        "app.py": b"changed\n", "staged.py": b"and changed\n",
    }  # fmt: skip
    staged = in_index(code)
    assert staged.names() == COMMITTED - {"plain.sh"} | {"staged.py"}
    assert staged.read(["staged.py", "app.py", "src/gone.py"]) == {
        "staged.py": b"staged\n", "app.py": b"print('shop')\n", "src/gone.py": b"x\n",
    }  # fmt: skip
    assert at(code).names() == COMMITTED


def test_link_or_folder_in_place_of_a_file_is_not_that_file(code: Path) -> None:
    for path in ("app.py", "plain.sh", "src/gone.py"):
        (code / path).unlink()
    (code / "app.py").symlink_to("/etc/hostname")
    (code / "plain.sh").mkdir()
    (code / "plain.sh" / "inside").write_text("i\n")
    (code / "src" / "gone.py").symlink_to("nowhere")
    files = on_disk(code)
    assert files.names() == COMMITTED - {"app.py", "plain.sh", "src/gone.py"} | {"plain.sh/inside"}
    assert set(files.blobs(["app.py", "plain.sh", "src/gone.py", "plain.sh/inside"])) == {"plain.sh/inside"}
    assert set(files.read(["app.py", "plain.sh", "src/gone.py", "plain.sh/inside"])) == {"plain.sh/inside"}


def test_files_of_memories_are_left_out(code: Path, memctl: Memctl) -> None:
    (code / "packages" / "one").mkdir(parents=True)
    memctl("init", "--here", where=code / "packages" / "one")
    memctl("learn", "Of the other", where=code / "packages" / "one")
    for name in (".memory.example/x.md", "packages/one/code.py", "memory/x.py", "a.memory/x.py"):
        (code / name).parent.mkdir(exist_ok=True)
        (code / name).write_text("x\n")
    expected = COMMITTED | {".memory.example/x.md", "packages/one/code.py", "memory/x.py", "a.memory/x.py"}
    assert on_disk(code).names() == expected
    git(code, "add", "-A")
    git(code, "commit", "-qm", "more")
    assert at(code).names() == in_index(code).names() == on_disk(code).names() == expected
    inner = load.disk(open_memory(code / "packages" / "one", os.environ)).files
    assert inner.names() == expected  # paths are those below the worktree's top, wherever the memory is


def test_too_large_files_are_listed_but_not_read(code: Path) -> None:
    (code / "huge.bin").write_bytes(b"x" * (MAX_BYTES + 1))
    (code / "large.bin").write_bytes(b"x" * MAX_BYTES)
    git(code, "add", "-A")
    git(code, "commit", "-qm", "large")
    for files in (on_disk(code), in_index(code), at(code)):
        assert {"huge.bin", "large.bin"} <= files.names()
        assert set(files.read(["huge.bin", "large.bin"])) == {"large.bin"}
        assert files.blobs(["huge.bin"]) == {"huge.bin": blob(code, "huge.bin")}


def test_converted_line_ends_do_not_change_the_blob_id(code: Path) -> None:
    (code / ".gitattributes").write_text("*.txt text\n")
    (code / "text.txt").write_bytes(b"a\r\nb\r\n")
    git(code, "add", "-A")
    git(code, "commit", "-qm", "text")
    committed = at(code).blobs(["text.txt"])
    assert on_disk(code).blobs(["text.txt"]) == committed
    (code / "text.txt").write_bytes(b"a\nb\n")
    assert on_disk(code).blobs(["text.txt"]) == committed
    (code / "text.txt").write_bytes(b"a\r\nc\r\n")
    assert on_disk(code).blobs(["text.txt"]) != committed


def test_files_with_odd_names_are_handled(code: Path) -> None:
    names = ["new\nline.py", 'quo"te.py', "back\\slash.py", "tab\t.py", " lead.py", "-dash.py", "a -> b.py"]
    for name in names:
        (code / name).write_text("x\n")
    latin = os.path.join(os.fsencode(code), b"latin\xe9.py")
    with open(latin, "wb") as stream:
        stream.write(b"x\n")
    plain = {'quo"te.py', "back\\slash.py", "tab\t.py", " lead.py", "-dash.py", "a -> b.py"}
    for stage in range(3):
        files = on_disk(code)
        assert plain | COMMITTED <= files.names(), stage
        found = files.blobs(files.names())
        assert {path: found[path] for path in plain} == {path: blob(code, path) for path in plain}, stage
        assert set(files.read(plain)) == plain, stage
        if stage == 0:
            git(code, "add", "-A")
            git(code, "commit", "-qm", "odd")
            assert plain | COMMITTED <= at(code).names()
            assert set(at(code).read(plain)) == plain
        for name in names:
            (code / name).write_text(f"changed {stage}\n")
        with open(latin, "wb") as stream:
            stream.write(b"changed\n")


def test_files_in_a_merge_conflict_are_listed(code: Path) -> None:
    git(code, "checkout", "-qb", "side")
    (code / "app.py").write_text("side\n")
    git(code, "commit", "-qam", "side")
    git(code, "checkout", "-q", "main")
    (code / "app.py").write_text("main\n")
    git(code, "commit", "-qam", "main")
    git(code, "merge", "side", check=False)
    files = on_disk(code)
    assert "app.py" in files.names()
    assert files.blobs(["app.py"]) == {"app.py": blob(code, "app.py")}
    assert b"<<<<<<<" in files.read(["app.py"])["app.py"]
    assert in_index(code).names() == COMMITTED - {"app.py"}  # undecided, so not a file yet


def test_files_are_listed_before_the_first_commit(tmp_path: Path, memctl: Memctl) -> None:
    (tmp_path / "new").mkdir()
    git(tmp_path / "new", "init", "-q")
    memctl("init", where=tmp_path / "new", code=None)
    (tmp_path / "new" / "a.py").write_text("x\n")
    assert "a.py" in on_disk(tmp_path / "new").names()


def worked_on(code: Path) -> list[str]:
    """Changes of every kind; the paths of all files, of folders, and of what is none."""
    (code / "src" / "größe.py").write_text("changed\n")
    (code / "src" / "gone.py").unlink()
    (code / "new.py").write_text("new\n")
    (code / "staged.py").write_text("staged\n")
    (code / "ignored.log").write_text("ignored\n")
    git(code, "add", "staged.py")
    git(code, "rm", "-q", "--cached", "plain.sh")
    (code / os.fsdecode(b"src/\xe9.py")).write_text("no UTF-8\n")
    return [*sorted(COMMITTED), "new.py", "staged.py", "ignored.log", "link", "nothing", ".memory/config.yaml", *ODD]


def test_queries_for_single_files_agree_with_the_whole_list(code: Path) -> None:
    paths = worked_on(code)
    asked_alone, asked_for_all = on_disk(code), on_disk(code)
    asked_for_all.names()
    expected = asked_for_all.blobs(paths)
    assert asked_alone.blobs(paths) == expected
    assert {"src/größe.py", "new.py", "staged.py", "plain.sh", "app.py"} <= expected.keys()
    for path in paths:
        assert on_disk(code).blobs([path]) == ({path: expected[path]} if path in expected else {})


def test_contents_include_ignored_files_but_no_links(code: Path) -> None:
    paths = [*worked_on(code), str(code / "app.py"), "../elsewhere.py", "src/", "", "src/../app.py"]
    (code / "large.py").write_text("x = 1\n" * 200_000)
    (code / "staged.py").write_text("staged, then changed\n")
    expected = on_disk(code).blobs([*paths, "large.py"]) | {"ignored.log": blob(code, "ignored.log")}
    assert {"src/größe.py", "new.py", "plain.sh", "app.py", "large.py"} <= expected.keys()
    files = on_disk(code)
    assert files.contents([*paths, "large.py"]) == expected
    assert files.contents(["app.py"]) == {"app.py": expected["app.py"]}
    assert on_disk(code).contents(["src/", "nothing"]) == {}
    assert on_disk(code).contents([*paths, "large.py"], likely=[*expected.values(), "0" * 40]) == expected


def test_expected_contents_are_recognized_without_git(
    code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    found = {"app.py": blob(code, "app.py")}
    (tmp_path / "trace").unlink()
    assert on_disk(code).contents(["app.py"], found.values()) == found
    assert not (tmp_path / "trace").exists()
    (code / ".gitattributes").write_text("*.py text eol=lf\n")
    (code / "app.py").write_bytes((code / "app.py").read_bytes().replace(b"\n", b"\r\n"))
    assert on_disk(code).contents(["app.py"], found.values()) == found  # for Git it is unchanged


def test_git_is_asked_only_about_the_given_files(code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    assert on_disk(code).blobs(["app.py", "nothing"]) == {"app.py": blob(code, "app.py")}
    asked = [line for line in (tmp_path / "trace").read_text().splitlines() if " status " in line or "ls-files" in line]
    assert len(asked) == 2
    assert all(line.endswith("-- app.py nothing") for line in asked)


@pytest.mark.parametrize("files", [on_disk, at])
def test_files_containing_a_text_include_all_that_a_reference_may_mean(
    code: Path, files: Callable[[Path], Files]
) -> None:
    names = files(code).names()
    for text in ("app", "src.app", "src/app", "[x]", "é", "no such"):
        meant = {name for name in names if text in name or text in name.replace("/", ".")}
        assert meant <= files(code).containing([text]) <= names
    assert files(code).existing(["app.py", "src", *ODD]) == names.intersection(["app.py", "src", *ODD])
