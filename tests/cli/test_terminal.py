"""What reaches a terminal, a pipe and a CI system: any encoding will do, and no text of a repository steers them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from memctl.cli import progress, terminal
from memctl.errors import UNANSWERED
from tests.cli.test_list_records import run_on_terminal
from tests.conftest import Memctl, Result, commits, git, slow
from tests.upgrade.test_upgrade import READS

FORGED = "\n::warning::PWNED"  # in the name of a file


def run(repo: Path, *args: str, **env: str) -> Result:
    """memctl as a process of its own, with its output as bytes of some encoding."""
    command = [sys.executable, "-m", "memctl", "-C", str(repo), *args]
    done = subprocess.run(command, capture_output=True, env={**os.environ, **env})
    return Result(done.returncode, done.stdout.decode("latin-1"), done.stderr.decode("latin-1"))


@pytest.mark.parametrize("encoding", ["ascii", *slow("cp1252", "latin-1", "utf-8")])
def test_output_in_any_encoding_is_printed(repo: Path, memctl: Memctl, encoding: str) -> None:
    made = memctl("learn", "Pager → 返金", "--lesson", "x … y 𝄞").id
    memctl("section", "add", "Grüße …")
    for args in (("search", "pager"), ("index",), ("list",), ("show", made), ("rehydrate",), ("list", "-h")):
        result = run(repo, *args, PYTHONIOENCODING=encoding)
        assert result.code == 0, result.err
        assert result.out
    assert run(repo, "show", "→", PYTHONIOENCODING=encoding).code == 1


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_json_is_the_same_in_any_encoding(repo: Path, memctl: Memctl, encoding: str) -> None:
    memctl("learn", "Pager → 返金", "--lesson", "x … y 𝄞")
    plain = memctl("list", "--json").json
    command = [sys.executable, "-m", "memctl", "-C", str(repo), "list", "--json"]
    out = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": encoding}).stdout
    assert json.loads(out.decode(encoding)) == plain


def test_json_escapes_terminal_controls_and_loses_nothing() -> None:
    steering = "\x7f\x80\x9b\x9f\u200b\u200e\u200f\u202a\u202e\u2066\u2069"
    text = msgspec.json.encode({"a": f"{steering} é 返"}).decode()
    for encoding in ("utf-8", "latin-1"):
        written = terminal.json(text, encoding)
        assert not set(steering) & set(written)
        assert json.loads(written) == json.loads(text)
    assert "é 返" in terminal.json(text, "UTF8")
    assert terminal.json('"𝄞"', "ascii") == '"\\ud834\\udd1e"'


def test_control_characters_of_an_author_are_escaped_in_json(repo: Path, memctl: Memctl) -> None:
    memctl("learn", "One", "--lesson", "x")
    git(repo, "commit", "-q", "--amend", "--no-edit", "--author", "Eve\u202e\x9b31m <eve@example.org>")
    memctl("learn", "Two", "--lesson", "x")
    for args in (("log", "--json"), ("status", "--json"), ("export", "--all")):
        said = run_on_terminal(repo, *args)
        assert "\u202e" not in said, args
        assert "\x9b" not in said, args
    assert "\\u202e" in memctl("log", "--json").out


@pytest.fixture
def forged(repo: Path, memctl: Memctl) -> Path:
    """A repository with files whose names hold a line that a CI system would take for a command."""
    memctl("section", "add", "Pay", "--path", "src/**")
    memctl("decide", "One", "--section", "2.1")
    memctl("checkpoint", "save", "--task", "T", "--done", "a", "--next", "n")
    record = next((repo / ".memory" / "decisions").rglob("DEC*.md"))
    for path, text in (
        (record.with_name(f"DEC-2025-01-01-001{FORGED}.md"), record.read_text()),
        (repo / "src" / f"a{FORGED}.py", "x = 1\n"),
        (repo / ".memory" / "sections" / f"2.3-x{FORGED}.md", "broken"),
        (repo / ".memory" / "docs" / f"y{FORGED}.md", "text"),
        (repo / ".memory" / "sessions" / f"y{FORGED}.md", "broken"),
        (repo / ".memory" / "checkpoints" / "main" / f"w1-v2-aaaaaa{FORGED}.json", "{}"),
        (repo / ".memory" / f"foreign{FORGED}", "text"),
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "forged")
    (repo / ".memory" / "docs" / f"y{FORGED}.md").write_text("by hand")
    return repo


def test_no_name_of_a_file_begins_a_line_that_ci_takes_for_a_command(memctl: Memctl, forged: Path) -> None:
    more = [("commit", "-n"), ("render", "-n"), ("diff",), ("learn", "x"), ("commit",), ("why", "src"), ("impact",)]
    more += [("tokens", f"no{FORGED}"), ("rehydrate", "--out", f"no/{FORGED}"), ("import", f"no{FORGED}")]
    for command in (*READS, *more, ("check", "--format", "github")):
        result = memctl(*command, stdin="load §2.1", code=None)
        for line in (result.out + result.err).splitlines():
            assert not line.lstrip().startswith("::warning::PWNED"), (command, result)


def test_a_write_with_an_unprintable_answer_reports_that_it_is_committed(repo: Path) -> None:
    before = commits(repo)
    command = f"{sys.executable} -m memctl -C {repo} learn One --lesson x >/dev/full"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert commits(repo) == before + 1
    assert done.returncode == UNANSWERED
    made = git(repo, "rev-parse", "HEAD")[:10]
    assert (
        f"standard output: No space left on device; but the change is already written, in commit {made}" in done.stderr
    )
    assert "learn LRN-2025-11-04-001 One" in done.stderr
    assert "hint: do not run the command again" in done.stderr


@pytest.mark.parametrize("option", [(), ("--json",)])
def test_a_write_with_a_closed_pipe_reports_that_it_is_committed(repo: Path, option: tuple[str, ...]) -> None:
    before = commits(repo)
    done = into_closed_pipe(repo, "learn", "One", "--lesson", "x", *option)
    assert commits(repo) == before + 1
    assert done.returncode == UNANSWERED
    made = git(repo, "rev-parse", "HEAD")[:10]
    assert (
        "standard output: the program that reads memctl's output has ended; "
        f"but the change is already written, in commit {made}" in done.stderr
    )
    assert "do not run the command again" in done.stderr


@pytest.mark.parametrize(("command", "code"), [("learn One --lesson x", UNANSWERED), ("list", 0)])
def test_a_closed_output_is_treated_as_a_closed_pipe(repo: Path, command: str, code: int) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m memctl -C {repo} {command} >&-"], capture_output=True, text=True
    )
    assert (done.returncode, "the change is already written" in done.stderr) == (code, code == UNANSWERED)


def test_a_read_with_a_closed_pipe_ends_quietly(repo: Path, memctl: Memctl) -> None:
    memctl("learn", "One", "--lesson", "x")
    done = into_closed_pipe(repo, "list")
    assert (done.returncode, done.stderr) == (0, "")


def into_closed_pipe(repo: Path, *args: str) -> subprocess.CompletedProcess[str]:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = [sys.executable, "-m", "memctl", "-C", str(repo), *args]
        return subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(writing)


def test_a_read_that_can_not_be_printed_is_refused(repo: Path, memctl: Memctl) -> None:
    memctl("learn", "One", "--lesson", "x")
    command = f"{sys.executable} -m memctl -C {repo} list >/dev/full"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "error: standard output: No space left on device\n")


def test_a_limit_on_files_is_not_blamed_on_standard_output(repo: Path) -> None:
    command = f"ulimit -n 5; {sys.executable} -m memctl -C {repo} learn One --lesson x"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "Too many open files" in done.stderr
    assert "standard output" not in done.stderr


def test_unwritable_standard_error_keeps_the_exit_code(repo: Path) -> None:
    command = f"{sys.executable} -m memctl -C {repo} show DEC-1 2>/dev/full"
    assert subprocess.run(["sh", "-c", command], capture_output=True).returncode == 1


def test_progress_is_shown_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return is_terminal

    for is_terminal in (True, False):
        monkeypatch.setattr(sys, "stderr", stream := Stream())
        with progress.working("importing", after=0.001):
            while is_terminal and "importing ... 0 s" not in stream.getvalue():
                time.sleep(0.001)
        assert stream.getvalue().endswith("\r\033[K") == is_terminal
    assert stream.getvalue() == ""
