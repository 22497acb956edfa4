"""A program that runs beside us."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from memctl.git.git import Process, stream
from tests.conftest import Memctl, git
from tests.write.test_mishaps import hook

MANY = 300_000  # bytes: more than a pipe holds
_ECHO = """\
import sys
data = sys.stdin.buffer.read()
sys.stderr.buffer.write(data[::-1])
sys.stdout.buffer.write(data)
sys.exit(len(data) and 7)
"""


def python(code: str, *, has_stdin: bool = False) -> Process:
    return Process([sys.executable, "-c", code], os.environ, has_stdin=has_stdin)


def test_process_reads_its_input_while_it_prints_on_both_streams() -> None:
    process, data = python(_ECHO, has_stdin=True), os.urandom(MANY)
    assert process.communicate(data) == (data, data[::-1])
    assert process.returncode == 7
    assert process.communicate() == (b"", b"")


def test_process_without_input_has_no_stdin() -> None:
    process = python(_ECHO)
    assert process.stdin is None
    assert (process.communicate(), process.returncode) == ((b"", b""), 0)


def test_process_answers_while_its_input_is_open() -> None:
    process = python("import sys\nfor line in sys.stdin: print(line.upper(), end='', flush=True)", has_stdin=True)
    assert process.stdin is not None
    for word in (b"one\n", b"two\n"):
        process.stdin.write(word)
        process.stdin.flush()
        assert process.stdout.readline() == word.upper()
    assert process.communicate(b"three\n") == (b"THREE\n", b"")


def test_process_that_ignores_its_input_is_waited_for() -> None:
    process = python("print('done')", has_stdin=True)
    assert process.communicate(b"x" * MANY) == (b"done\n", b"")
    process = python("import os, time; os.close(1); os.close(2); time.sleep(.1)", has_stdin=True)
    assert process.communicate(b"x" * MANY) == (b"", b"")


def test_killed_process_reports_its_signal() -> None:
    process = python("import time; print('on', flush=True); time.sleep(60)")
    assert process.stdout.readline() == b"on\n"
    process.kill()
    assert (process.communicate(), process.returncode) == ((b"", b""), -9)
    process.kill()  # it is over


def test_missing_program_raises_and_leaks_no_descriptor(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(FileNotFoundError):
        Process([str(tmp_path / "nothing")], os.environ, has_stdin=True)
    assert len(os.listdir("/dev/fd")) == before


def test_process_works_when_our_own_streams_are_closed() -> None:
    code = (
        "import os, sys; os.close(0); os.close(1); os.close(2)\n"
        "from memctl.git.git import Process\n"
        "process = Process([sys.executable, '-c', 'import sys; print(sys.stdin.read())'], os.environ, has_stdin=True)\n"
        "os._exit(0 if process.communicate(b'hello') == (b'hello\\n', b'') else 1)"
    )
    process = python(code)
    process.communicate()
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux alone says which signals are ignored")
def test_started_process_does_not_inherit_ignored_signals() -> None:
    status = Process(["cat", "/proc/self/status"], os.environ, has_stdin=False).communicate()[0].decode()
    ignored = int(next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn:")), 16)
    assert not ignored >> (signal.SIGPIPE - 1) & 1
    assert not ignored >> (signal.SIGXFSZ - 1) & 1


LEFT_BEHIND = {
    "sleeper": "import subprocess; subprocess.Popen(['sleep', '20'])",
    "printer": "import subprocess; subprocess.Popen(['sh', '-c', 'for i in $(seq 200); do echo x; sleep .1; done'])",
    "flood": "import subprocess; subprocess.Popen(['timeout', '20', 'yes'])",
}


@pytest.mark.parametrize("has_stdin", [False, True])
@pytest.mark.parametrize("left", LEFT_BEHIND)
def test_process_is_over_whatever_it_leaves_behind_with_its_streams(left: str, has_stdin: bool) -> None:
    begun = time.monotonic()
    process = python(f"print('done', flush=True); {LEFT_BEHIND[left]}", has_stdin=has_stdin)
    out, err = process.communicate(b"x" * MANY if has_stdin else None)
    assert time.monotonic() - begun < 5
    assert (out[:5], err, process.returncode) == (b"done\n", b"", 0)


def test_process_without_pidfd_is_over_whatever_it_leaves_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    test_process_is_over_whatever_it_leaves_behind_with_its_streams("sleeper", has_stdin=True)
    test_process_reads_its_input_while_it_prints_on_both_streams()


def test_stream_of_git_is_over_when_git_is(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "alias.leave", "!echo one; sleep 20 &")
    begun = time.monotonic()
    assert list(stream(["leave"], tmp_path, b"\n")) == [b"one"]
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("name", ["post-commit", "pre-commit"])
def test_hook_that_starts_a_watcher_does_not_hold_a_write(repo: Path, memctl: Memctl, name: str) -> None:
    hook(repo, name, "sleep 20 &")
    begun = time.monotonic()
    assert memctl("learn", "Quick", "--lesson", "x").err == ""
    assert time.monotonic() - begun < 10


def test_fetch_over_an_ssh_master_that_stays_does_not_hold_a_sync(
    repo: Path, memctl: Memctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repo), "hub.git")
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\n(sleep 20) </dev/null >/dev/null &\nshift\nexec sh -c "$*"\n')
    ssh.chmod(0o755)
    git(repo, "remote", "add", "origin", f"ada@host:{tmp_path}/hub.git")
    monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))
    monkeypatch.setenv("GIT_SSH_VARIANT", "simple")
    memctl("learn", "Shared", "--lesson", "x")
    begun = time.monotonic()
    memctl("sync", "origin")
    assert time.monotonic() - begun < 15
