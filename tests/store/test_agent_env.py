"""An agent's own calls of memctl, from the shell that its program opens for it: whose they are."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from memctl.git import trust
from memctl.store import agent_env
from tests.conftest import Memctl, git, process

NAMES = ("MEMCTL_AGENT", "MEMCTL_SESSION")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, ("", "")),
        ({"CODEX_SESSION_ID": "01a2-be"}, ("codex", "01a2-be")),
        ({"CODEX_SESSION_ID": "../../x y"}, ("codex", "x-y")),
        ({"CODEX_SESSION_ID": ""}, ("", "")),
        ({"CLAUDECODE": "1"}, ("claude-code", "")),
        ({"GEMINI_CLI": "1"}, ("gemini", "")),
        ({"CODEX_THREAD_ID": "01a2"}, ("codex", "")),
        ({"COPILOT_AGENT_SESSION_ID": "01a2"}, ("copilot", "01a2")),
        ({"CLAUDECODE": "1", "CURSOR_TRACE_ID": "a"}, ("claude-code", "")),
        ({"GEMINI_CLI": "1", "MEMCTL_AGENT": "ada", "MEMCTL_SESSION": "refunds"}, ("ada", "refunds")),
        ({"CODEX_SESSION_ID": "01a2", "MEMCTL_AGENT": "ada"}, ("ada", "01a2")),
    ],
)
def test_variables_of_a_program_name_its_agent_unless_already_set(given: dict[str, str], told: tuple[str, str]) -> None:
    found = agent_env.with_agent(given)
    assert tuple(found.get(name, "") for name in NAMES) == told
    assert {name: found[name] for name in given} == given


def test_record_from_an_agents_shell_has_its_agent_and_session(
    memctl: Memctl, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMCTL_AGENT")
    monkeypatch.setenv("CODEX_SESSION_ID", "01a2be")
    memctl("learn", "Retries hide an exhausted pool", "--lesson", "Look at the pool first")
    (learned,) = memctl("list", "--type", "learning", "--json").data["records"]
    assert learned["agent_id"] == "codex"
    assert git(repo, "log", "-1", "--format=%(trailers:key=Memctl-Session,valueonly)").strip() == "01a2be"


PROGRAMS = {
    "CLAUDECODE": "claude-code", "CODEX_SESSION_ID": "codex", "GEMINI_CLI": "gemini", "OPENCODE": "opencode",
    "QWEN_CODE": "qwen-code", "COPILOT_CLI": "copilot", "CURSOR_AGENT": "cursor", "CURSOR_TRACE_ID": "cursor",
    "CRUSH": "crush", "AMP_CURRENT_THREAD_ID": "amp",
}  # fmt: skip
LEARN = ("learn", "As the project told me", "--lesson", "x")


@pytest.fixture
def foreign(repo: Path, memctl: Memctl, tmp_path: Path) -> Path:
    """A clone of a project with a memory, which its user has not used yet."""
    memctl("learn", "Theirs", "--lesson", "x")
    git(tmp_path, "clone", "-q", str(repo), str(tmp_path / "foreign"))
    return tmp_path / "foreign"


@pytest.fixture
def terminal() -> Iterator[int]:
    outer, inner = pty.openpty()
    yield inner
    os.close(inner)
    os.close(outer)


def run(folder: Path, *args: str, stdin: int = subprocess.DEVNULL, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run memctl as a process in a folder, without MEMCTL_AGENT unless it is given."""
    started = process(folder, *args, stdin=stdin, cwd=folder, env={"MEMCTL_AGENT": "", **environ})
    out, err = started.communicate()
    return subprocess.CompletedProcess(args, started.returncode, out, err)


def actor(folder: Path) -> str:
    return git(folder, "log", "-1", "--format=%(trailers:key=Memctl-Actor,valueonly)").strip()


@pytest.mark.parametrize(("variable", "name"), PROGRAMS.items(), ids=list(PROGRAMS))
def test_known_program_trusts_nothing_writes_nothing_outside_and_signs(
    repo: Path, foreign: Path, tmp_path: Path, variable: str, name: str
) -> None:
    before = (foreign / ".git/config").read_bytes()
    for more in ({}, {"MEMCTL_TRUST": "1"}, {"MEMCTL_AGENT": "Ada", "MEMCTL_TRUST": "1"}):
        refused = run(foreign, *LEARN, **{variable: "1"}, **more)
        assert (refused.returncode, trust.COMMAND in refused.stderr) == (1, True)
    for command in (("rehydrate", "--out", "../evil.md"), ("export", "--out", "../evil.md"), ("export", "adr", "..")):
        assert run(foreign, *command, **{variable: "1"}).returncode == 1
    assert (foreign / ".git/config").read_bytes() == before
    assert not (tmp_path / "evil.md").exists()
    assert run(repo, *LEARN, **{variable: "1"}, MEMCTL_AGENT="ada").returncode == 0
    assert actor(repo) == name  # not the user, whose name in Git it claims to have


def test_program_without_a_terminal_may_record_here_but_not_trust_nor_write_outside(
    repo: Path, foreign: Path, tmp_path: Path
) -> None:
    for more in ({}, {"MEMCTL_AGENT": "helper"}):
        refused = run(foreign, *LEARN, **more)
        assert (refused.returncode, trust.COMMAND in refused.stderr) == (1, True)
        assert "Theirs" in run(foreign, "list", **more).stdout
    assert run(foreign, "rehydrate", "--out", "../evil.md").returncode == 1
    assert run(foreign, "demo", "../demo").returncode == 1
    assert run(foreign, "schema", "--out", "../schemas").returncode == 1
    assert {file.name for file in tmp_path.iterdir()} == {"foreign", "shop"}
    assert run(foreign, "rehydrate", "--out", "pack.md").returncode == 0
    assert run(repo, *LEARN).returncode == 0
    assert actor(repo) == agent_env.UNKNOWN


def test_script_says_who_it_is_and_trusts_for_one_command(foreign: Path, tmp_path: Path) -> None:
    job = {"MEMCTL_AGENT": "nightly", "MEMCTL_TRUST": "1"}
    assert run(foreign, *LEARN, **job).returncode == 0
    assert actor(foreign) == "nightly"
    assert run(foreign, "rehydrate", "--out", "../pack.md", **job).returncode == 0
    assert git(foreign, "config", "--get", trust.SETTING, check=False) == ""
    assert run(foreign, "install", "git", **job).returncode == 1  # which would stay
    assert run(foreign, *LEARN).returncode == 1


def test_person_at_a_terminal_trusts_a_clone_by_a_write(foreign: Path, terminal: int) -> None:
    done = run(foreign, *LEARN, stdin=terminal, CURSOR_TRACE_ID="of the editor's terminal")
    assert "this clone is trusted from now on" in done.stderr
    assert actor(foreign) == "Ada"
    assert run(foreign, "rehydrate", "--out", "../pack.md", stdin=terminal).returncode == 0


def test_name_in_the_variable_makes_nobody_a_person(foreign: Path, terminal: int) -> None:
    for environ in ({"MEMCTL_AGENT": "cursor"}, {"MEMCTL_AGENT": "Ada"}):
        refused = run(foreign, *LEARN, stdin=terminal, **environ)
        assert (refused.returncode, trust.COMMAND in refused.stderr) == (1, True)
        assert git(foreign, "config", "--get", trust.SETTING, check=False) == ""
    git(foreign, "config", trust.SETTING, "true")
    assert run(foreign, *LEARN, stdin=terminal, MEMCTL_AGENT="cursor").returncode == 0
    assert actor(foreign) == "cursor"


def test_memory_set_up_without_a_terminal_is_trusted(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "plain")
    assert run(tmp_path / "plain", "init").returncode == 0
    assert run(tmp_path / "plain", *LEARN).returncode == 0


def test_commit_of_an_owner_from_a_program_without_a_terminal_passes_the_hook(
    repo: Path, memctl: Memctl, terminal: int
) -> None:
    """A graphical program commits for the user, who owns the section."""
    memctl("section", "add", "Payment", "--path", "app.py")
    assert run(repo, "own", "acquire", "2.1", stdin=terminal).returncode == 0
    memctl("install", "git")
    page = next((repo / ".memory/sections").iterdir())
    page.write_text(page.read_text() + "\nMore.\n")
    git(repo, "add", str(page))
    env = {name: value for name, value in os.environ.items() if name != "MEMCTL_AGENT"}
    made = subprocess.run(
        ["git", "commit", "-qm", "x"], cwd=repo, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert "MEM601" not in made.stderr


def test_agent_signs_as_itself_by_every_door(repo: Path, memctl: Memctl) -> None:
    agent = {"CLAUDECODE": "1"}
    draft = repo.parent / "draft.json"
    draft.write_text('{"title": "Fridays are fine", "agent_id": "Ada", "rationale": "The owner said so"}')
    with draft.open() as stream:
        assert run(repo, "decide", "--file", "-", stdin=stream.fileno(), **agent).returncode == 0
    (made,) = memctl("list", "--type", "decision", "--json").data["records"]
    assert made["agent_id"] == actor(repo) == "claude-code"
    theirs = memctl("learn", "Mine", "--lesson", "x").id
    text = memctl("show", theirs).out.replace("agent_id: claude", "agent_id: Linus")
    draft.write_text(text)
    for command in (("--set", "agent_id=Linus"), ("--agent", "Linus")):
        assert run(repo, "edit", theirs, *command, **agent).returncode == 1
    with draft.open() as stream:
        assert run(repo, "edit", theirs, "--file", "-", stdin=stream.fileno(), **agent).returncode != 0
    assert memctl("show", theirs, "--json").data["records"][0]["agent_id"] == "claude"
    assert run(repo, "edit", theirs, "--set", "importance=3", **agent).returncode == 0


def test_person_may_record_for_somebody_else(repo: Path, memctl: Memctl, terminal: int) -> None:
    assert run(repo, *LEARN, "--agent", "Linus", stdin=terminal).returncode == 0
    (made,) = memctl("list", "--json").data["records"]
    assert made["agent_id"] == "Linus"
    assert run(repo, "edit", made["id"], "--set", "agent_id=Ada", stdin=terminal).returncode == 0


def test_pack_says_who_made_a_record_by_its_commit(repo: Path, memctl: Memctl, terminal: int) -> None:
    for title, *options in (("Own",), ("Theirs", "--agent", "Linus"), ("By hand",)):
        assert run(repo, "learn", title, "--lesson", "x", *options, stdin=terminal).returncode == 0
    by_hand = next((repo / ".memory/learnings").rglob("*by-hand.md"))
    git(repo, "mv", str(by_hand), str(by_hand).replace("by-hand", "without-memctl"))
    git(repo, "commit", "-qm", "docs: squashed")
    lines = memctl("rehydrate", "--budget", "3000").out.splitlines()
    by = {line.split(" | ")[0][-3:]: part for line in lines for part in line.split(" | ") if part.startswith("by ")}
    assert by == {"001": "by Ada", "002": "by Linus (recorded by Ada)", "003": "by Ada (unverified)"}
    memctl("show", "LRN-2025-11-04-002")
    assert memctl("check", "--select", "MEM117").out.count("MEM117") == 1


def test_shallow_clone_does_not_judge_who_made_its_oldest_records(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    memctl("learn", "Theirs", "--lesson", "x", "--agent", "Linus")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repo}", str(tmp_path / "shallow"))
    assert "| by Linus |" in memctl("rehydrate", where=tmp_path / "shallow").out
    assert "MEM117" not in memctl("check", where=tmp_path / "shallow", code=None).out
