"""Whatever a repository brings, each command that reads and each event of a hook ends soon, and in little memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from memctl.hooks.hosts import CLAUDE_CODE, HOSTS
from tests.conftest import slow
from tests.hostile.repositories import ALL, LARGE, RECORD, REPEATED, SIZE, commit, large, worst

SECONDS, MEGABYTES = 5, 500  # what a command may take: the processor's seconds, which a busy machine does not stretch
HANGS = 180  # seconds by the clock after which it counts as hanging, busy machine or not

READING: Sequence[Sequence[str]] = (
    ("check",),
    ("check", "--staged"),
    ("render", "-n"),
    ("list", "--json"),
    ("show", RECORD),
    ("show", "§2.1"),
    ("show", "§3.1"),
    ("search", "pager"),
    ("rehydrate",),
    ("rehydrate", "--format", "xml"),
    ("rehydrate", "--task", "mend the pager in app.py", "--budget", "100000"),
    ("index", "--tokens"),
    ("why", "app.py:1"),
    ("impact", "--all"),
    ("files", "--task", "mend the pager in app.py"),
    ("files", "--task", "pager", "--pack"),
    ("files", "--path", "*a" * 25 + "b"),
    ("summarize", "app.py"),
    ("summarize", "notes.md"),
    ("summarize", "server.log"),
    ("status",),
    ("log",),
    ("diff", "--at", "HEAD~1"),
    ("prompt", "system"),
    ("prompt", "user", "Why does the pager ring?"),
    ("export", "--all"),
    ("export", "adr", "adr", "-n"),
    ("handoff", "--to", "codex", "--section", "2.1", "--reason", "done", "--success", "ok", "--summary", "All", "-n"),
    ("context-summary",),
    ("context-summary", "notes.md", "--decision", "PROCEED"),
    ("quality", "notes.md"),
    ("policy", "triggers", "notes.md"),
    ("checkpoint", "list"),
    ("checkpoint", "resume"),
    ("session", "list"),
    ("session", "show", "hostile"),
    ("session", "status"),
    ("budget",),
    ("tokens", "app.py"),
    ("coordination", "show"),
    ("own", "list"),
)
# Those that look at every text, each in its own way. All of them, and all events, are tried in slow tests.
FEW = (
    *(("check",), ("show", "§3.1"), ("search", "pager"), ("impact", "--all"), ("status",)),
    *(("rehydrate", "--task", "mend the pager in app.py"), ("files", "--task", "mend the pager in app.py")),
    *(("summarize", "app.py"), ("quality", "notes.md"), ("context-summary", "notes.md", "--decision", "PROCEED")),
)


class Run(msgspec.Struct, frozen=True):
    """What a run came to."""

    what: str
    code: int
    seconds: float
    megabytes: int
    err: str

    @property
    def fault(self) -> str:
        """What is wrong with it, "" if nothing."""
        if self.code not in (0, 1):
            return f"exit {self.code}: {self.err[-300:]}"
        if self.seconds > SECONDS or self.megabytes > MEGABYTES:
            return f"{self.seconds:.1f} s, {self.megabytes} MB"
        return "a traceback" if "Traceback" in self.err else ""


# The runner forks, so that a command costs no start of Python, limits each, and says what each took.
_RUNNER = """
import json, os, re, resource, signal, sys, time
import memctl.cli.main as it
import memctl.write.documents, memctl.pack.rehydrate, memctl.sources.priorities  # what most commands import
from memctl.hooks import dispatch, hosts

hangs, megabytes = int(sys.argv[1]), int(sys.argv[2])
for line in sys.stdin:
    what, args, data = json.loads(line)
    given, out, err = (os.memfd_create(name) for name in ("in", "out", "err"))
    os.write(given, data.encode())
    os.lseek(given, 0, os.SEEK_SET)
    child = os.fork()
    if child == 0:
        for number, file in enumerate((given, out, err)):
            os.dup2(file, number)
        for number, mode in ((0, "r"), (1, "w"), (2, "w")):
            setattr(sys, ("stdin", "stdout", "stderr")[number], open(number, mode, encoding="utf-8", closefd=False))
        resource.setrlimit(resource.RLIMIT_AS, (3 * megabytes << 20,) * 2)
        signal.alarm(hangs)
        if args[0] == "hook":
            dispatch.run(hosts.HOSTS[args[1]], os.environ)
            code = 0
        else:
            try:
                code = it.main(args)
            except SystemExit as exit:
                code = exit.code
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code or 0)
    _, status, used = os.wait4(child, 0)
    print(json.dumps([what, os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss >> 10,
                      os.pread(err, 100_000, 0).decode(errors="replace")]), flush=True)
    for file in (given, out, err):
        os.close(file)
"""


def run(repo: Path, commands: Sequence[Sequence[str]], events: Sequence[tuple[str, str]] = ()) -> list[Run]:
    """Run commands, and events of hosts, each in a process of its own."""
    asked = [[" ".join(args)[:60], ["-C", str(repo), *args], ""] for args in commands]
    for host, event in events:
        given = {"session_id": "hostile", "cwd": str(repo), "hook_event_name": event, "source": "startup"}
        given |= {
            "prompt": "Mend it",
            "transcript_path": str(repo / "none.jsonl"),
            "tool_use_id": f"{host}{event}",
        }
        asked.append([f"hook {host} {event}", ["hook", host], json.dumps(given)])
    command = [sys.executable, "-c", _RUNNER, str(HANGS), str(MEGABYTES)]
    process = subprocess.run(
        command, input="".join(json.dumps(one) + "\n" for one in asked), capture_output=True, text=True, cwd=repo
    )
    assert process.returncode == 0, process.stderr
    return [Run(*json.loads(line)) for line in process.stdout.splitlines()]


def faults(runs: Sequence[Run]) -> dict[str, str]:
    return {one.what: one.fault for one in runs if one.fault}


EVENTS = tuple((host.name, event) for host in HOSTS.values() for event in host.events)
FEW_EVENTS = tuple((CLAUDE_CODE.name, event) for event in ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"))
pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="it measures as Linux does")


@pytest.mark.slow
def test_commands_that_read_every_text_end_soon_on_the_worst_repository(repo: Path) -> None:
    """With a third of the size of the slow test's, for which quadratic work still takes more than it may."""
    worst(repo, SIZE // 3)
    commit(repo)
    assert faults(run(repo, FEW, FEW_EVENTS)) == {}


@pytest.mark.parametrize("size", [LARGE // 16, *slow(LARGE)])
def test_word_repeated_in_large_records_is_found_soon(repo: Path, size: int) -> None:
    large(repo, size)
    commit(repo)
    asked = (("search", "password secret", "--json"), ("rehydrate", "--task", "a password"))
    assert faults(run(repo, asked)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ALL if name not in REPEATED])
def test_reading_commands_end_soon_on_each_repository(repo: Path, name: str) -> None:
    ALL[name](repo)
    commit(repo)
    assert faults(run(repo, READING, EVENTS)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", REPEATED)
def test_reading_commands_end_soon_on_repetitive_repositories(repo: Path, name: str) -> None:
    """Each other command is tried on a quarter of these repositories, and all on the one with all these texts."""
    ALL[name](repo)
    commit(repo)
    turn = list(REPEATED).index(name) % 4
    others = [args for args in READING if args not in FEW][turn::4]
    assert faults(run(repo, (*FEW, *others), EVENTS[turn::4])) == {}


def test_hanging_command_is_detected() -> None:
    """The measure itself can fail."""
    assert "exit" in Run("x", -signal.SIGALRM, 0.1, 10, "").fault
    assert "6.0 s" in Run("x", 0, 6.0, 10, "").fault
    assert "600 MB" in Run("x", 1, 0.1, 600, "").fault


# A tool's output may be one line of megabytes: each of these took minutes by some expression that looked back in it.
_READERS = """
import resource
from memctl.text import credentials
from memctl.session import extraction, shell
from memctl.statements import reader
from memctl.transcript import events, plain_text
from memctl.window.results import rows
resource.setrlimit(resource.RLIMIT_CPU, ({seconds},) * 2)
resource.setrlimit(resource.RLIMIT_AS, ({megabytes} << 20,) * 2)
n = 100_000
credentials.find("_" * 19 * n)
plain_text.read("you: a\\n\\nagent: b\\n● Read(a)\\n" + " " * n + "● Read(")
for text in ('"$(cat <<A\\n' * (n // 10), "echo {{" + "," * n, '"$(cat <<A\\n' + "\\n " * n):
    list(shell.commands(text))
for text in ("./" * n, "a.a." * n, "/" * n, "a/1-" * n, "= 1 passed " * n, "Tests:" + " " * n, "ok" + "\\n" * n):
    rows.HIT.match(text)
extraction.of_events([events.Event(events.ANSWER, "We " + "chose " * n + ".")])
for text in ("DECISION: " * n, "> " * n, "| Next " * n, "2025-01-01 " * n, "Attempted: " + "a (b), " * n, "**a" * n):
    reader.read(text)
"""


def test_transcript_readers_end_soon_on_one_long_line() -> None:
    found = subprocess.run(
        [sys.executable, "-c", _READERS.format(seconds=2 * SECONDS, megabytes=MEGABYTES)],
        capture_output=True,
        text=True,
    )
    assert (found.returncode, found.stderr) == (0, "")
