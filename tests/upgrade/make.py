"""Make the archives here: a project with a memory, exactly as an older memctl leaves one behind.

- `868170b.tar.xz`, made by memctl at commit 868170b: every change is a commit of the branch, and some wait for one.
- `2270f7d8.tar.xz`, made at 2270f7d8. Besides, it has `commits: batch`, with closed batches and an open one; programs'
  settings for servers of tools; and a second memory, in `team`, with documents on the default branch alone.

How one was made, in a clone of this repository at that commit with this file in it (`make .venv/.installed` first):

    .venv/bin/python -m tests.upgrade.make tests/upgrade/2270f7d8.tar.xz

Everything is made below PLACE, which hooks and settings then name; whoever unpacks it rewrites that (`unpacked`).
An archive is never made again: it is what users of that version have on their disks.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

from tests.transcript.claude import Transcript
from tests.world import WORLD

PLACE = Path("/tmp/memctl-upgrade")
SHOP, HOME, TEAM = PLACE / "shop", PLACE / "home", PLACE / "team"
PROGRAM = PLACE / "bin" / "memctl"  # a name for the memctl that runs; it is not in the archive
SESSION, LIVE = "0e4d7c52-ended", "5f6c2a10-live"
BEFORE_BATCHES = "868170b"
_CLOCK = "2025-11-{:02}T09:00:00Z"
_ENV = {
    **WORLD,
    "HOME": str(HOME),
    "PATH": f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}",
    "MEMCTL_NOW": _CLOCK.format(1),
    "MEMCTL_AGENT": "claude",
}
_CODE = '''"""Cards."""


def charge(cents: int) -> str:
    """Take money."""
    return f"charged {cents}"


def refund(cents: int) -> str:
    """Give it back."""
    return f"refunded {cents}"
'''


def _run(*command: str, stdin: str = "", where: Path = SHOP, **env: str) -> str:
    process = subprocess.run(
        command, cwd=where, env={**_ENV, **env}, input=stdin, capture_output=True, text=True, check=False
    )
    if process.returncode:
        raise SystemExit(f"{command}: {process.returncode}\n{process.stdout}\n{process.stderr}")
    return process.stdout


def _memctl(*args: str, day: int = 2, stdin: str = "", where: Path = SHOP, **env: str) -> str:
    return _run(str(PROGRAM), *args, stdin=stdin, where=where, MEMCTL_NOW=_CLOCK.format(day), **env)


def _hook(host: str, day: int, **event: Any) -> str:
    values = {"cwd": str(SHOP), **event}
    return _memctl("hook", host, day=day, stdin=json.dumps(values))


def make(archive: Path) -> None:
    """Build the project and pack it."""
    shutil.rmtree(PLACE, ignore_errors=True)
    SHOP.mkdir(parents=True)
    HOME.mkdir()
    PROGRAM.parent.mkdir()
    shutil.copy(Path(sys.executable).with_name("memctl"), PROGRAM)
    _project()
    _records()
    _install()
    _pages_of_sessions()
    _teamwork()
    _counters()
    if not archive.name.startswith(BEFORE_BATCHES):
        _servers_of_tools()
        _team()
        _batches()
    _at_rest()
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        for name in sorted({path.name for path in PLACE.iterdir()} - {PROGRAM.parent.name}):
            tar.add(PLACE / name, name, filter=_anonymous)
    print(f"{archive}: {archive.stat().st_size} bytes")
    shutil.rmtree(PLACE)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _project() -> None:
    (SHOP / "src").mkdir()
    (SHOP / "src" / "card.py").write_text(_CODE)
    (SHOP / "app.py").write_text("print('shop')\n")
    _run("git", "init", "-q", "-b", "main")
    _run("git", "init", "-q", "--bare", "-b", "main", str(PLACE / "origin.git"))
    _run("git", "remote", "add", "origin", str(PLACE / "origin.git"))
    _run("git", "add", "-A")
    _run("git", "commit", "-qm", "start")
    _memctl("init", "--project", "shop", day=1)
    _memctl("project", "set", "--goal", "A shop that takes cards", "--completion", "40", "--priority", "Refunds")
    _memctl("section", "add", "Payment", "--path", "src/**", "--overview", "Takes money and gives it back.")
    _memctl("section", "add", "Catalogue", "--overview", "What there is to buy.")
    _memctl("detail", "add", "Cards", "--section", "2.1", "--code", "src/card.py")
    config = SHOP / ".memory" / "config.yaml"
    config.write_text(
        config.read_text() + "agents:\n  codex:\n    role: You write tests.\nlifecycle:\n  archive_issue_days: 30\n"
    )
    templates = SHOP / ".memory" / "templates"
    templates.mkdir(exist_ok=True)
    (SHOP / ".memctlignore").write_text("*.log\n")
    _run("git", "add", ".memctlignore")
    _run("git", "commit", "-qm", "ignore logs")
    _memctl("commit")


def _records() -> None:
    payment = ("--section", "2.1")
    _memctl(
        *("decide", "Adopt PostgreSQL", "--rationale", "Payments need transactions", "-i", "9", *payment),
        *("--alternative", "MongoDB: no joins", "--tag", "database", "--code", "src/card.py:4"),
    )
    _memctl("decide", "Round half up", "--rationale", "It is simple")
    _memctl("decide", "Round half to even", "--rationale", "The bank does", "--supersedes", "DEC-2025-11-02-002")
    _memctl("issue", "Checkout times out", "--severity", "critical", "--next", "Queue connections", *payment)
    _memctl("issue", "No dark mode", "--severity", "low")
    _memctl("resolve", "ISS-2025-11-02-002", "--resolution", "There is one now")
    _memctl("archive", "ISS-2025-11-02-002", "--reason", "done with")
    _memctl("state", "Profile API", "--completion", "65", "--done", "GET", "--remaining", "PATCH", "--next", "DELETE")
    _memctl("learn", "Retries hide an exhausted pool", "--lesson", "Look at the pool first", "--tag", "performance")
    _memctl("learn", "Grüße: ünï¢ode works", "--lesson", "Titles are text → not ASCII", day=3)
    _memctl("learn", "A slip", "--lesson", "Nothing", day=3)
    _memctl("delete", "LRN-2025-11-03-002", day=3)
    _memctl("link", "LRN-2025-11-02-001", "ISS-2025-11-02-001", day=3)
    _memctl("edit", "STA-2025-11-02-001", "--set", "completion_percentage=80", "--reason", "PATCH works", day=3)


def _install() -> None:
    _run("git", "config", "memctl.verify", "true")
    (SHOP / ".git" / "hooks").mkdir(exist_ok=True)
    own = SHOP / ".git" / "hooks" / "pre-commit"
    own.write_text("#!/bin/sh\necho own hook >> .git/own-hook.log\n")
    own.chmod(0o755)
    _memctl("install", "git")
    (SHOP / ".claude").mkdir()
    (SHOP / ".claude" / "settings.json").write_text('{"permissions": {"allow": ["Bash(ls)"]}}\n')
    (SHOP / "AGENTS.md").write_text("# For agents\n\nRun the tests.\n")
    for agent in ("claude-code", "codex", "gemini", "agents-md"):
        _memctl("install", agent, "--yes")
    (HOME / ".gemini").mkdir()
    (HOME / ".gemini" / "settings.json").write_text('{"theme": "dark"}\n')
    _memctl("install", "gemini", "--user", "--yes")
    _run("git", "add", "-A", ".claude", ".codex", ".gemini", "AGENTS.md", "CLAUDE.md")
    _run("git", "commit", "-qm", "agents have the memory")


def _transcript(name: str) -> Transcript:
    transcript = Transcript(SHOP, name)
    transcript.prompt("Refunds by card: orders can be refunded")
    transcript.call("Read", file_path=str(SHOP / "app.py"))
    transcript.call("Edit", file_path=str(SHOP / "src" / "card.py"), old_string="a", new_string="b")
    transcript.says("DECISION: Refunds are whole, because the bank does no parts.\n\nNext steps:\n- Test with 0.005\n")
    return transcript


def _pages_of_sessions() -> None:
    file = PLACE / "transcripts" / f"{SESSION}.jsonl"
    file.parent.mkdir()
    file.write_text(_transcript(SESSION).text)
    event = {"session_id": SESSION, "transcript_path": str(file)}
    _hook("claude-code", 4, hook_event_name="SessionStart", source="startup", **event)
    _hook("claude-code", 4, hook_event_name="UserPromptSubmit", prompt="Refunds by card", **event)
    for number in range(3):
        tool = {"tool_name": "Bash", "tool_use_id": f"call_{number}", "tool_input": {}, "tool_response": {}}
        _hook("claude-code", 4, hook_event_name="PostToolUse", **tool, **event)
    _hook("claude-code", 4, hook_event_name="PreCompact", trigger="manual", custom_instructions="", **event)
    _hook("claude-code", 4, hook_event_name="SessionStart", source="compact", **event)
    _hook("claude-code", 4, hook_event_name="Stop", **event)
    _hook("claude-code", 4, hook_event_name="SessionEnd", reason="exit", **event)
    talk = PLACE / "transcripts" / "talk.txt"
    talk.write_text("> Make the pool larger\n\nCreated src/pool.py.\nWe went with polars because it is fast.\n")
    _memctl("session", "summarize", "--transcript", str(talk), "--id", "talk", day=5)
    _memctl("session", "start", "by-hand", "--intent", "Look at the pool", day=5)


def _teamwork() -> None:
    main = ("--workflow", "main")
    _memctl("checkpoint", "save", *main, "--task", "Refunds", "--done", "GET", "--doing", "POST", "--next", "T", day=6)
    _memctl("checkpoint", "save", *main, "--done", "POST", "--doing", "DELETE", "--next", "Cascade", day=6)
    _memctl("event", "emit", "--type", "phase_complete", "--phase", "design", "--output", "docs/api.md", day=6)
    _run("git", "push", "-q", "-u", "origin", "main")
    _memctl("own", "acquire", "2.1", "--reason", "New schema", "--remote", "origin", day=6)
    _memctl("own", "acquire", "2.2", "--type", "shared-write", "--for", "9999d", day=6, MEMCTL_AGENT="elena")
    _memctl("coordination", "join", "--task", "Refunds", day=6)
    _memctl("coordination", "assign", "elena", "Write the refund worker", day=6)
    _memctl("coordination", "block", "Staging is down", day=6)
    _memctl("coordination", "share", "staging", "elena, until noon", day=6)
    give = ("--reason", "The schema is done", "--success", "All tests pass", "--summary", "The schema stands")
    _memctl("handoff", "--to", "codex", *give, "--immediate", "Write tests", "--task", "Tests", day=6)
    _memctl("handoff", "accept", "HND-2025-11-06-001", day=6, MEMCTL_AGENT="codex")
    _memctl("handoff", "--to", "elena", "--section", "2.1", *give, "--immediate", "Run it", "--task", "Run", day=6)
    _memctl("sync", day=6)


def _counters() -> None:
    for _ in range(3):
        _memctl("show", "DEC-2025-11-02-001", day=7)
    _memctl("search", "pool", day=7)
    _memctl("rehydrate", day=7)
    _memctl("maintain", day=7)
    _memctl("show", "LRN-2025-11-02-001", day=8)
    _memctl("list", day=8)
    _memctl("why", "src/card.py", day=8)


def _servers_of_tools() -> None:
    for program, file in (("claude-code", ".mcp.json"), ("cursor", ".cursor/mcp.json")):
        path = SHOP / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(_memctl("install", "mcp", "--for", program))
    _run("git", "add", ".mcp.json", ".cursor")
    _run("git", "commit", "-qm", "agents have tools")


def _team() -> None:
    """A second memory, whose documents are on the default branch alone: its clone is on a branch with two records."""
    there = {"where": TEAM, "day": 6}
    _run("git", "init", "-q", "--bare", "-b", "main", str(PLACE / "team.git"))
    _run("git", "clone", "-q", str(PLACE / "team.git"), str(TEAM))
    (TEAM / "team.py").write_text("TEAM = ()\n")
    _run("git", "checkout", "-q", "-b", "main", where=TEAM)
    _run("git", "add", "-A", where=TEAM)
    _run("git", "commit", "-qm", "start", where=TEAM)
    _run("git", "push", "-q", "-u", "origin", "main", where=TEAM)
    _run("git", "remote", "set-head", "origin", "main", where=TEAM)
    _memctl("init", "--project", "team", "--docs", "default-branch", **there)
    _memctl("install", "git", **there)
    _memctl("section", "add", "Members", "--path", "*.py", **there)
    _memctl("decide", "Meet on Mondays", "--rationale", "All are there", "--section", "2.1", **there)
    _memctl("sync", **there)
    _run("git", "switch", "-q", "-c", "topic", where=TEAM)
    _memctl("decide", "Meet on Tuesdays", "--rationale", "Mondays are full", **there)
    _memctl("issue", "No room", "--severity", "critical", **there)
    _run("git", "push", "-q", "-u", "origin", "topic", where=TEAM)


def _batches() -> None:
    """A batch that a commit of the user's closed, one that `memctl commit` closed, both pushed, and an open one."""
    config = SHOP / ".memory" / "config.yaml"
    config.write_text(config.read_text() + "commits: batch\n")
    _memctl("commit", day=7)
    _memctl("decide", "Queue connections", "--rationale", "The pool is small", "--alternative", "A larger pool", day=7)
    _memctl("edit", "DEC-2025-11-07-001", "--add", "tags=database", "--reason", "To find it", day=7)
    (SHOP / "app.py").write_text("print('the shop')\n")
    _run("git", "commit", "-qam", "greet", MEMCTL_NOW=_CLOCK.format(7))
    _memctl("learn", "Queues drain at night", "--lesson", "Measure at noon", day=7)
    _memctl("learn", "Noon is busy", "--lesson", "Deploy at night", day=7)
    _memctl("commit", day=7)
    _memctl("sync", day=7)
    _memctl("issue", "The queue is full", "--severity", "high", day=7)
    _memctl("edit", "DEC-2025-11-07-001", "--set", "importance=8", "--reason", "It matters", day=7)
    _memctl("resolve", "ISS-2025-11-07-001", "--resolution", "A longer queue", day=7)


def _at_rest() -> None:
    """What waits: draft and note of a session that goes on; changes that are held, pending, and cut off half-way."""
    file = PLACE / "transcripts" / f"{LIVE}.jsonl"
    file.write_text(_transcript(LIVE).text)
    event = {"session_id": LIVE, "transcript_path": str(file)}
    _hook("claude-code", 8, hook_event_name="SessionStart", source="startup", **event)
    _hook("claude-code", 8, hook_event_name="UserPromptSubmit", prompt="Go on with refunds", **event)
    tool = {"tool_name": "Bash", "tool_use_id": "call_1", "tool_input": {}, "tool_response": {}}
    _hook("claude-code", 8, hook_event_name="PostToolUse", **tool, **event)
    _hook("claude-code", 8, hook_event_name="Stop", **event)
    session = SHOP / ".git" / "memctl" / "hooks" / ".memory" / "sessions" / LIVE
    for _ in range(100):  # until the work behind the host's back is done
        if (session / "draft.md").exists() and not list(session.parent.parent.glob("undone/*.json")):
            break
        subprocess.run(["sleep", "0.1"], check=True)
    else:
        raise SystemExit("there is no draft")
    _memctl("learn", "Held on purpose", "--lesson", "It waits for memctl commit", "--no-commit", day=8)
    (SHOP / ".git" / "MERGE_HEAD").write_text(_run("git", "rev-parse", "HEAD"))
    _memctl("edit", "LRN-2025-11-02-001", "--set", "lesson=Look at the pool before all", day=8)
    _memctl("learn", "Pending", "--lesson", "It waits for a merge to end", day=8)
    (SHOP / ".git" / "MERGE_HEAD").unlink()
    _cut_off()
    with open(session / "lock", "r+") as lock:  # somebody is at work for the session, so the note stays
        fcntl.flock(lock, fcntl.LOCK_EX)
        _hook("claude-code", 8, hook_event_name="Stop", **event)


def _cut_off() -> None:
    """A change whose process was killed once it was noted, and before its files were there."""
    command = [sys.executable, "-m", "tests.write.killed"]
    change = ["-C", str(SHOP), "learn", "Cut off", "--lesson", "Its process was killed"]
    env = {**_ENV, "MEMCTL_NOW": _CLOCK.format(8)}
    for step in range(1, 100):
        subprocess.run([*command, str(step), *change], env=env, capture_output=True, check=False)
        if list((SHOP / ".git" / "memctl" / ".memory" / "pending").glob("[0-9]*.writing.json")):
            return
    raise SystemExit("no change was cut off")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
