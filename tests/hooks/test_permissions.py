"""What an agent may run without asking: only what reads the memory or records in it, whatever its options."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from memctl.cli.command_list import SYNONYMS
from memctl.cli.main import Memctl as Root
from memctl.hooks import permissions
from memctl.hooks.guide import GUIDE, TOPICS
from memctl.hooks.hosts import HOSTS
from memctl.hooks.permissions import FORMS, choose, write_rules
from memctl.store.agent_env import COMMANDS, READ, RECORD
from tests.conftest import Memctl, commits, git
from tests.hooks.session import NAMES, Session, forbidden

ALLOWED = [command for of in COMMANDS.values() for command in of if command.split()[0] not in SYNONYMS]
NOT_FOR_AGENTS = {"--out", "--copy", "--edit", "--file", "--allow-secret", "--allow-owned", "--fix"}
WORDS = {
    "show": ("DEC-2025-11-04-001",),
    "search": ("PostgreSQL",),
    "why": ("app.py",),
    "impact": ("app.py",),
    "page impact": ("app.py",),
    "checkpoint show": (),
    "session show": ("s1",),
}


def options(command: str) -> dict[str, click.Option]:
    """The options of a command, by their longest names."""
    found: click.Command | None = Root("memctl")
    for word in command.split():
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), word)
    assert found is not None
    return {max(one.opts, key=len): one for one in found.params if isinstance(one, click.Option)}


def test_commands_of_the_permission_groups_exist() -> None:
    named = {command.split()[0] for of in COMMANDS.values() for command in of}
    assert named <= NAMES
    assert not set(COMMANDS[READ]) & set(COMMANDS[RECORD])


@pytest.mark.parametrize("command", ALLOWED)
def test_options_that_reach_beyond_the_memory_are_refused_in_an_agents_shell(
    memctl: Memctl, repo: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    found = options(command)  # with ID|PATH, PATH[:LINE] and --active a file is only named
    reaching = {
        name
        for name, one in found.items()
        if name in NOT_FOR_AGENTS or one.metavar == "FILE" or isinstance(one.type, click.Path | click.File)
    }
    reaching -= {name for name, one in found.items() if one.metavar in ("ID|PATH", "PATH[:LINE]")} | {"--active"}
    assert reaching <= NOT_FOR_AGENTS
    monkeypatch.setenv("CLAUDECODE", "1")
    for name in sorted(reaching):
        value = () if found[name].is_flag else (str(repo / "evil"),)
        err = memctl(*command.split(), *WORDS.get(command, ()), name, *value, code=1).err
        assert f"an agent may not use {name} (memctl runs in a shell of Claude Code)" in err
    assert not (repo / "evil").exists()


def test_an_agent_signs_with_no_other_name_and_overrides_no_owner(
    memctl: Memctl, bob: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    memctl("section", "add", "Payment")
    bob("own", "acquire", "2.1", "--for", "4h")
    monkeypatch.setenv("CLAUDECODE", "1")
    assert "an agent may not use --agent" in memctl("decide", "One", "--agent", "bob", code=1).err
    refused = memctl("decide", "One", "--section", "2.1", code=1).err
    assert "or ask the user to write with --allow-owned" in refused
    given = ("--section", "2.1", "--allow-owned", "--reason", "it is urgent")
    assert "an agent may not use --allow-owned" in memctl("decide", "One", *given, code=1).err
    monkeypatch.delenv("CLAUDECODE")
    memctl("decide", "One", *given, "--agent", "elena")


def test_command_that_needs_permission_takes_every_option(
    memctl: Memctl, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user sees the whole line, and says yes to it."""
    made = memctl("learn", "Look at the pool first").id
    monkeypatch.setenv("CLAUDECODE", "1")
    command = [sys.executable, "-m", "memctl", "prompt", "system", "--out", "prompt.md"]
    subprocess.run(command, cwd=repo, check=True, stdin=subprocess.DEVNULL)
    assert (repo / "prompt.md").exists()
    memctl("edit", made, "--set", "lesson=The word is hunter2-Zebra-77 as password=hunter2Zebra77", "--allow-secret")


def test_standard_input_is_for_agents_too(memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_CLI", "1")
    assert memctl("learn", "--file", "-", stdin="# Look at the pool first\n").id


def test_commands_allowed_for_reading_change_nothing(memctl: Memctl, repo: Path) -> None:
    memctl("decide", "Adopt PostgreSQL", "--rationale", "Payments need transactions", "--code", "app.py")
    memctl("checkpoint", "save", "--task", "T", "--done", "A", "--doing", "B", "--next", "C")
    memctl("session", "summarize", "-t", "-", "--id", "s1", stdin="USER: Round half to even\nASSISTANT: Done.\n")
    before, count = git(repo, "status", "--porcelain"), commits(repo)
    for command in COMMANDS[READ]:
        memctl(*command.split(), *WORDS.get(command, ()))
    assert (git(repo, "status", "--porcelain"), commits(repo)) == (before, count)


@pytest.mark.parametrize("text", [GUIDE, *(topic.text for topic in TOPICS.values())])
def test_an_agent_may_run_what_a_text_tells_it_to_run_or_is_told_to_ask(text: str) -> None:
    assert list(forbidden(text)) == []


def test_a_session_is_told_of_no_command_that_it_may_not_run(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    memctl("issue", "Checkout times out", "--severity", "critical")
    for number in range(40):
        memctl("decide", f"Decision {number}", "--rationale", "It is right. " * 50, "-i", "9")
    memctl("checkpoint", "save", "--task", "Refunds", "--doing", "Rounding", "--next", "Test")
    session = Session(repo, tmp_path / "s.jsonl")
    starts = [session.context("SessionStart", source="startup")]
    session.transcript.prompt("Refunds by card: orders can be refunded")
    session.send("PreCompact", trigger="auto")
    starts.append(session.context("SessionStart", source="compact"))
    for text in starts:
        assert "memctl checkpoint" in text
        assert list(forbidden(text)) == []


@pytest.mark.parametrize(
    ("groups", "asked"), [((READ,), "read"), ((RECORD,), "record"), ((READ, RECORD), "all"), ((), "none")]
)
@pytest.mark.parametrize("what", HOSTS)
def test_each_group_can_be_left_out(memctl: Memctl, repo: Path, what: str, asked: str, groups: tuple[str, ...]) -> None:
    memctl("install", what, "--yes", "--allow", asked)
    text = "".join(file.read_text() for file in (repo / HOSTS[what].folder).rglob("*") if file.is_file())
    for group, rules in FORMS[what].rules().items():
        assert [rule in text for rule in rules] == [group in groups] * len(rules)
    memctl("install", what, "--yes", "--uninstall")
    assert not (repo / HOSTS[what].folder).exists()


@pytest.mark.parametrize("what", HOSTS)
def test_removed_rule_is_not_offered_again_until_asked_for(memctl: Memctl, repo: Path, what: str) -> None:
    memctl("install", what, "--yes")
    form, folder = FORMS[what], repo / HOSTS[what].folder
    file = folder / (form.file or HOSTS[what].shared)
    first, second, *_ = form.rules()[RECORD]
    if form.file:
        file.write_text(file.read_text().replace(f"{first}\n", ""))
    else:
        values = json.loads(file.read_text())
        values["permissions"]["allow"].remove(first)
        file.write_text(json.dumps(values, indent=2))
    memctl("install", what, "--yes")
    assert first not in file.read_text()
    assert second in file.read_text()
    memctl("install", what, "--yes", "--allow", "all")
    assert first in file.read_text()
    memctl("install", what, "--yes", "--allow", "read")
    assert "without asking: to read, memctl" in memctl("install", what, "--yes").err  # and so it stays
    assert second not in file.read_text()
    memctl("install", what, "--yes", "--uninstall")
    assert not [rule for of in form.rules().values() for rule in of if file.exists() and rule in file.read_text()]


@pytest.mark.parametrize("what", HOSTS)
def test_rules_declined_in_user_settings_are_not_written_into_a_clone(
    memctl: Memctl, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    memctl("install", what, "--user", "--yes", "--allow", "read")
    memctl("install", what, "--yes")
    form = FORMS[what]
    file = repo / HOSTS[what].folder / (form.file or HOSTS[what].shared)
    text = file.read_text()
    assert [rule in text for rule in form.rules()[READ]] == [True] * len(COMMANDS[READ])
    assert not [rule for rule in form.rules()[RECORD] if rule in text]
    memctl("install", what, "--yes", "--allow", "all")
    assert form.rules()[RECORD][0] in file.read_text()


def test_settings_of_an_earlier_version_are_offered_rules(memctl: Memctl, repo: Path) -> None:
    file = repo / ".claude" / "settings.json"
    file.parent.mkdir()
    old = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "memctl hook claude-code"}]}]}}
    file.write_text(json.dumps({**old, "permissions": {"allow": ["Bash(ls:*)", "Bash(memctl search:*)"]}}))
    shown = memctl("install", "claude-code", code=1)
    assert "Bash(memctl decide:*)" in shown.out
    assert "memctl decide" not in file.read_text()
    memctl("install", "claude-code", "--yes")
    assert json.loads(file.read_text())["permissions"]["allow"][:3] == [
        "Bash(ls:*)",
        "Bash(memctl search:*)",
        "Bash(memctl help:*)",
    ]
    memctl("install", "claude-code", "--yes", "--uninstall")
    assert json.loads(file.read_text()) == {"permissions": {"allow": ["Bash(ls:*)", "Bash(memctl search:*)"]}}


@pytest.mark.parametrize(
    ("denied", "left"),
    [("Bash(memctl decide:*)", ["search"]), ("Bash(memctl *)", []), ("Bash", []), ("Bash(memctl dec:*)", None)],
)
def test_denied_rules_are_not_reported_as_granted(
    memctl: Memctl, repo: Path, denied: str, left: list[str] | None
) -> None:
    rules = ["Bash(memctl search:*)", "Bash(memctl decide:*)"]
    values = {"permissions": {"allow": rules, "ask": [denied]}, "note": "Bash(memctl why:*)"}
    text = f"// Bash(memctl learn:*)\n{json.dumps(values)}"
    named = permissions.granted_rules(HOSTS["claude-code"], text, "", "settings.json")
    assert named == (rules if left is None else [f"Bash(memctl {one}:*)" for one in left])
    (repo / ".claude").mkdir()
    (repo / ".claude" / "settings.json").write_text(text)
    assert ("memctl help" in memctl("install", "claude-code", "--yes").err) == (left != [])


@pytest.mark.parametrize("what", ["codex", "gemini"])
def test_other_lines_in_a_rules_file_are_kept(memctl: Memctl, repo: Path, what: str) -> None:
    form = FORMS[what]
    file = repo / HOSTS[what].folder / form.file
    memctl("install", what, "--yes", "--allow", "read")
    file.write_text(f"# mine\n{file.read_text()}")
    memctl("install", what, "--yes", "--allow", "all")
    assert (
        file.read_text()
        == "# mine\n"
        + form.opening
        + "".join(f"{rule}\n" for of in form.rules().values() for rule in of)
        + form.closing
    )
    memctl("install", what, "--yes", "--uninstall")
    assert file.read_text() == f"# mine\n{form.opening}{form.closing}"


def test_rules_below_the_opening_of_an_earlier_version_are_removed_with_it() -> None:
    form = FORMS["codex"]
    rules = form.rules()["read"]
    for opening in (form.opening, *form.earlier):
        assert write_rules("".join([opening, *(f"{rule}\n" for rule in rules)]), form, [], rules) == ""


def test_a_group_that_was_left_out_is_not_offered_with_a_later_versions_commands() -> None:
    rules = {READ: ["search", "why", "new"], RECORD: ["decide", "newer"]}
    offered = ("search", "why", "decide")
    assert choose(rules, None, offered, ["search"]) == ["search", "new"]
    assert choose(rules, None, offered, ["decide"]) == ["decide", "newer"]
    assert choose(rules, None, (), []) == ["search", "why", "new", "decide", "newer"]
    assert choose(rules, (RECORD,), offered, ["search"]) == ["decide", "newer"]


def test_an_agent_reads_no_file_of_the_repository_through_memctl(
    memctl: Memctl, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memctl("show", "§4.app.py")
    monkeypatch.setenv("CLAUDECODE", "1")
    refused = memctl("show", "§4.app.py", code=1)
    assert refused.out == ""
    assert "an agent may not use" in refused.err
    memctl("show", "§4")
