"""`install claude-code|codex|gemini|agents-md`: shown first, nothing of anybody's is lost, and all of it goes again."""

from __future__ import annotations

import json
import os
import pty
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.cli.command_list import all_commands
from memctl.hooks import agents_md, json_edit, permissions, settings
from memctl.hooks.hosts import CLAUDE_CODE, HOSTS
from tests.conftest import Memctl

CALL = settings.hook_call(CLAUDE_CODE, "", is_own=False, windows=False)
LINE = CALL["command"]
FORMS = {
    "none": None,
    "empty": b"",
    "object": b"{}",
    "object and newline": b"{}\n",
    "flat": b'{"model": "opus", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}',
    "tabs": b'{\n\t"model": "opus",\n\t"hooks": {\n\t\t"PreCompact": []\n\t}\n}\n',
    "windows": b'{\r\n    "z": 1,\r\n    "a": {"b": [1, 2,3]},\r\n    "hooks": {}\r\n}\r\n',
    "mark": b'\xef\xbb\xbf{\n  "model": "opus"\n}',
    "odd spaces": b' { "hooks" :{ "PostToolUse":[ { "hooks":[{"type":"command","command":"x"}] } ] } , "k" : 1 }  ',
    "text": '{\n  "name": "J\u00fcrgen \\u00e9 \U0001f600",\n  "n": 1.0e3\n}\n'.encode(),
}


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    return folder


def put(file: Path, data: bytes | None) -> None:
    if data is not None:
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data)


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and ".git/" not in f"{file.relative_to(folder)}/"
    }


def commands(file: Path) -> dict[str, list[str]]:
    hooks = json.loads(file.read_bytes().removeprefix(b"\xef\xbb\xbf"))["hooks"]
    return {event: [hook["command"] for group in groups for hook in group["hooks"]] for event, groups in hooks.items()}


@pytest.mark.parametrize("form", FORMS)
def test_existing_settings_are_kept_and_restored_byte_by_byte(memctl: Memctl, repo: Path, form: str) -> None:
    file = repo / ".claude" / "settings.json"
    put(file, FORMS[form])
    before = files(repo)
    memctl("install", "claude-code", "--yes")
    found = commands(file)
    assert [event for event in CLAUDE_CODE.events if LINE in found[event]] == [*CLAUDE_CODE.events]
    old = json.loads(FORMS[form].removeprefix(b"\xef\xbb\xbf") or b"{}") if FORMS[form] is not None else {}
    new = json.loads(file.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    rules = permissions.FORMS["claude-code"].rules()
    assert new["permissions"]["allow"] == [rule for of in rules.values() for rule in of]
    assert {key: value for key, value in new.items() if key not in ("hooks", "permissions")} == {
        k: v for k, v in old.items() if k != "hooks"
    }
    for event, groups in old.get("hooks", {}).items():
        assert new["hooks"][event][: len(groups)] == groups
    once = files(repo)
    assert "unchanged" in memctl("install", "claude-code", "--yes").err
    assert files(repo) == once
    memctl("install", "claude-code", "--uninstall", "--yes")
    assert files(repo) == before
    assert (repo / ".claude").exists() == (FORMS[form] is not None)


@pytest.mark.parametrize("form", FORMS)
def test_uninstall_keeps_later_changes_to_the_settings(memctl: Memctl, repo: Path, form: str) -> None:
    file = repo / ".claude" / "settings.json"
    put(file, FORMS[form])
    memctl("install", "claude-code", "--yes")
    text = file.read_text(encoding="utf-8-sig")
    changed = json_edit.insert(text, json_edit.value_at(text, []) or 0, "later", "added")
    put(file, changed.encode())
    memctl("install", "claude-code", "--uninstall", "--yes")
    old: dict[str, Any] = json.loads(FORMS[form].removeprefix(b"\xef\xbb\xbf") or b"{}") if FORMS[form] else {}
    new = json.loads(file.read_text())
    assert new.pop("added") == "later"
    kept = {event: groups for event, groups in old.get("hooks", {}).items() if groups}
    assert new.get("hooks", {}) == kept
    assert {k: v for k, v in new.items() if k != "hooks"} == {k: v for k, v in old.items() if k != "hooks"}


def test_other_hooks_in_our_group_are_kept(memctl: Memctl, repo: Path) -> None:
    file = repo / ".claude" / "settings.json"
    theirs = {"type": "command", "command": "say done"}
    ours = {"type": "command", "command": "/opt/old/bin/memctl hook claude-code", "timeout": 99}
    put(file, json.dumps({"hooks": {"Stop": [{"hooks": [ours, theirs]}]}}, indent=2).encode())
    memctl("install", "claude-code", "--yes")
    assert commands(file)["Stop"] == [LINE, "say done"]
    memctl("install", "claude-code", "--uninstall", "--yes")
    file.write_text(file.read_text() + "\n")
    memctl("install", "claude-code", "--uninstall", "--yes")
    assert json.loads(file.read_text()) == {"hooks": {"Stop": [{"hooks": [theirs]}]}}


@pytest.mark.parametrize("what", HOSTS)
def test_calls_of_other_memctls_are_replaced_by_one_of_this(memctl: Memctl, repo: Path, what: str) -> None:
    memctl("install", what, "--yes")
    file = repo / HOSTS[what].folder / HOSTS[what].shared
    wanted = file.read_bytes()
    memctl("install", what, "--yes", "--uninstall")
    old = [
        f"/opt/old/bin/memctl hook {what}",
        f"uvx --from git-memctl memctl hook {what}",
        f"'/a b/memctl' hook {what}",
    ]
    groups = [{"hooks": [{"type": "command", "command": line}]} for line in old]
    put(file, json.dumps({"hooks": dict.fromkeys([*HOSTS[what].events, "Gone"], groups)}, indent=2).encode())
    memctl("install", what, "--yes")
    made = json.loads(file.read_text())["hooks"]
    assert made == json.loads(wanted)["hooks"]


def test_old_form_of_our_hook_is_updated_in_place(memctl: Memctl, repo: Path) -> None:
    file = repo / ".claude" / "settings.json"
    group = {"hooks": [{"type": "command", "command": "memctl hook claude-code", "timeout": 3}]}
    put(file, json.dumps({"hooks": {"Stop": [group, {"hooks": []}]}}, indent=2).encode())
    memctl("install", "claude-code", "--yes")
    assert json.loads(file.read_text())["hooks"]["Stop"] == [
        settings.hook_groups(CLAUDE_CODE, CALL)["Stop"],
        {"hooks": []},
    ]


def test_install_again_adds_the_hooks_that_an_older_memctl_did_not_have(memctl: Memctl, repo: Path) -> None:
    memctl("install", "claude-code", "--yes")
    file = repo / ".claude" / "settings.json"
    new = file.read_text()
    old = json.loads(new)
    del old["hooks"]["PostToolUseFailure"]
    put(file, json.dumps(old, indent=2).encode())
    memctl("install", "claude-code", "--yes")
    assert json.loads(file.read_text()) == json.loads(new)


@pytest.mark.parametrize(
    "data",
    [
        b'{\n  // mine "model": "opus"\n',
        b'{"a": 1,,}',
        b'{"a": 1 /* }',
        b"{",
        b"[]",
        b"7",
        b'{"hooks": []}',
        b'{"hooks": {"Stop": {}}}',
        b'{"a": NaN}',
        b'\xff\xfe{"a": 1}',
        b"[" * 50_000,
    ],
)
def test_invalid_json_settings_are_refused_and_left_unchanged(memctl: Memctl, repo: Path, data: bytes) -> None:
    file = repo / ".claude" / "settings.json"
    put(file, data)
    result = memctl("install", "claude-code", "--yes", code=1)
    assert ".claude/settings.json" in result.err
    assert file.read_bytes() == data
    assert memctl("install", "claude-code", "--uninstall", "--yes", code=None).code in (0, 1)
    assert file.read_bytes() == data


@pytest.mark.parametrize("program", ["", "C:\\Program Files\\memctl.exe"])
@pytest.mark.parametrize("what", HOSTS)
def test_windows_hooks_need_no_posix_shell_and_can_be_removed(what: str, program: str) -> None:
    """The forms alone: nothing was ever run there."""
    host = HOSTS[what]
    call = settings.hook_call(host, program, is_own=bool(program), windows=True)
    if what == "claude-code":
        assert call == {"command": program or "memctl", "args": ["hook", "claude-code"]}
    else:
        line = call["commandWindows" if what == "codex" else "command"]
        assert program in line
        assert "/dev/null" not in line
    made = settings.add_hooks('{"a": 1}', host, call, "x")
    assert settings.add_hooks(made, host, call, "x") == made
    assert settings.remove_hooks(made, "x") == '{"a": 1}'


COMMENTED = """{
  // mine
  "model": "opus", // "the, best"
  "permissions": {
    "allow": ["Bash(ls)", /* harmless */],
  },
  "hooks": {
    /* when it is done: */
    "Stop": [
      {"hooks": [{"type": "command", "command": "say done"}]}, // aloud
    ],
  },
  // "theme": "dark"
}
"""


@pytest.mark.parametrize("what", ["claude-code", "gemini"])
def test_comments_and_trailing_commas_in_settings_are_kept(memctl: Memctl, repo: Path, what: str) -> None:
    file = repo / HOSTS[what].folder / "settings.json"
    put(file, COMMENTED.encode())
    refused = "comments and trailing commas" if what == "claude-code" else "trailing commas"
    assert (
        f"can't read settings with {refused}: it ignores all of {HOSTS[what].folder}/"
        in memctl("install", what, "--yes").err
    )
    text = file.read_text()
    assert "unchanged" in memctl("install", what, "--yes").err
    for line in (
        "  // mine",
        '  "model": "opus", // "the, best"',
        "    /* when it is done: */",
        '  // "theme": "dark"',
    ):
        assert f"{line}\n" in text
    values = json_edit.parse(text, "settings")
    assert list(values)[:3] == ["model", "permissions", "hooks"]
    assert values["permissions"]["allow"][0] == "Bash(ls)"
    assert values["hooks"]["Stop"][0]["hooks"][0]["command"] == "say done"
    assert set(HOSTS[what].events) <= set(values["hooks"])
    memctl("install", what, "--uninstall", "--yes")
    assert file.read_text() == COMMENTED
    # The same once somebody has changed the file.
    memctl("install", what, "--yes")
    file.write_text(file.read_text().replace("// mine", "// yours"))
    memctl("install", what, "--uninstall", "--yes")
    left = file.read_text()
    assert json_edit.parse(left, "settings") == json_edit.parse(COMMENTED, "settings")
    for comment in ("// yours", '// "the, best"', "/* harmless */", "/* when it is done: */", "// aloud"):
        assert comment in left


def test_settings_that_cannot_be_edited_are_printed_for_manual_entry(memctl: Memctl, repo: Path) -> None:
    file = repo / ".claude" / "settings.json"
    put(file, b'{"model": opus}')
    _, _, lines = memctl("install", "claude-code", "--yes", code=1).err.partition("add this by hand:\n")
    assert json.loads(lines)["hooks"]["Stop"] == [settings.hook_groups(CLAUDE_CODE, CALL)["Stop"]]
    assert "Bash(memctl search:*)" in json.loads(lines)["permissions"]["allow"]


def test_hooks_that_settings_turn_off_are_reported(memctl: Memctl, repo: Path) -> None:
    file = repo / ".claude" / "settings.json"
    put(file, b'\xef\xbb\xbf{"disableAllHooks": true}')
    for args in (("--dry-run",), ("--yes",), ("--yes",)):
        assert ".claude/settings.json sets `disableAllHooks`" in memctl("install", "claude-code", *args).err
    assert "disableAllHooks" not in memctl("install", "claude-code", "--uninstall", "--yes").err
    file.write_text('{"disableAllHooks": false}')
    assert "disableAllHooks" not in memctl("install", "claude-code", "--yes").err


def test_install_without_a_terminal_shows_the_change_and_writes_nothing(memctl: Memctl, repo: Path) -> None:
    before = files(repo)
    result = memctl("install", "claude-code", code=1)
    assert "+++ .claude/settings.json" in result.out
    assert "--yes" in result.err
    assert memctl("install", "claude-code", "--dry-run").out == result.out
    assert memctl("install", "claude-code", "--json", code=1).data["done"] is False
    assert files(repo) == before


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1), ("\n", 1)])
def test_on_a_terminal_install_asks_before_it_writes(repo: Path, answer: str, code: int) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, answer.encode())
    command = [sys.executable, "-m", "memctl", "-C", str(repo), "install", "claude-code"]
    done = subprocess.run(command, stdin=theirs, capture_output=True, text=True, timeout=60)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == code
    assert done.stdout.startswith("--- /dev/null")
    assert "Write this?" in done.stderr
    assert (repo / ".claude" / "settings.json").exists() == (code == 0)


def test_mode_and_link_of_a_settings_file_are_kept(memctl: Memctl, repo: Path) -> None:
    target = repo / "dotfiles" / "claude.json"
    put(target, b'{\n  "env": {"TOKEN": "x"}\n}\n')
    target.chmod(0o600)
    (repo / ".claude").mkdir()
    (repo / ".claude" / "settings.json").symlink_to("../dotfiles/claude.json")
    memctl("install", "claude-code", "--yes")
    assert (repo / ".claude" / "settings.json").is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert LINE in commands(target)["Stop"]
    kept = list((repo / ".git" / "memctl" / "installed").iterdir())
    assert [stat.S_IMODE(file.stat().st_mode) for file in kept] == [0o600]
    memctl("install", "claude-code", "--uninstall", "--yes")
    assert target.read_bytes() == b'{\n  "env": {"TOKEN": "x"}\n}\n'


def test_a_link_out_of_the_project_is_refused(memctl: Memctl, repo: Path, tmp_path: Path) -> None:
    put(tmp_path / "outside.json", b"{}")
    (repo / ".claude").mkdir()
    (repo / ".claude" / "settings.json").symlink_to(tmp_path / "outside.json")
    assert "outside of the project" in memctl("install", "claude-code", "--yes", code=1).err
    assert (tmp_path / "outside.json").read_bytes() == b"{}"


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_folder_or_pipe_as_settings_is_refused(memctl: Memctl, repo: Path, kind: str) -> None:
    file = repo / ".claude" / "settings.json"
    file.parent.mkdir()
    file.mkdir() if kind == "folder" else os.mkfifo(file)
    assert "not a regular file" in memctl("install", "claude-code", "--yes", code=1).err


def test_user_settings_are_installed_outside_of_a_project(
    memctl: Memctl, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # on which there is no memctl
    put(home / ".claude" / "settings.json", b'{"model": "opus"}\n')
    memctl("install", "claude-code", "--user", "--yes", where=tmp_path)
    ((hook,),) = [
        group["hooks"] for group in json.loads((home / ".claude" / "settings.json").read_text())["hooks"]["Stop"]
    ]
    assert os.path.isabs(hook["command"])
    assert hook["args"] == ["hook", "claude-code"]  # no shell comes in between
    memctl("install", "claude-code", "--user", "--uninstall", "--yes", where=tmp_path)
    assert (home / ".claude" / "settings.json").read_bytes() == b'{"model": "opus"}\n'


def program(folder: Path) -> Path:
    """A memctl in a folder."""
    folder.mkdir(parents=True)
    (folder / "memctl").write_text("#!/bin/sh\n")
    (folder / "memctl").chmod(0o755)
    return folder / "memctl"


@pytest.mark.parametrize("what", HOSTS)
def test_a_memctl_that_only_a_virtual_environment_has_is_warned_of(
    memctl: Memctl, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    inside = program(tmp_path / "env" / "bin").parent
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "env"))
    monkeypatch.setenv("PATH", f"{inside}:/usr/bin:/bin")
    err = memctl("install", what, "--yes").err
    assert f"only while {tmp_path / 'env'} is active" in err
    assert "`pipx install PATH`, with the path of its checkout" in err


@pytest.mark.parametrize("there", ["another", "a link", "no environment", "another environment is active"])
def test_memctl_found_without_an_active_environment_gives_no_warning(
    memctl: Memctl, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str
) -> None:
    inside, outside = tmp_path / "env" / "bin", tmp_path / "bin"
    own = program(inside)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "env"))
    path = [str(inside), str(outside)]
    if there == "another":
        program(outside)
    elif there == "a link":
        outside.mkdir()
        (outside / "memctl").symlink_to(own)
        path = path[::-1]
    elif there == "no environment":
        monkeypatch.delenv("VIRTUAL_ENV")
    else:
        monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "environment"))
    monkeypatch.setenv("PATH", ":".join([*path, "/usr/bin", "/bin"]))
    assert "warning" not in memctl("install", "claude-code", "--yes").err
    assert LINE in commands(repo / ".claude" / "settings.json")["Stop"]


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="this Python is in no virtual environment")
def test_inactive_virtual_environment_is_warned_of_in_shared_settings(
    memctl: Memctl, repo: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Path(sys.executable).with_name("memctl")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.setenv("PATH", f"{own.parent}:/usr/bin:/bin")
    assert f"only while {Path(sys.prefix).resolve()}" in memctl("install", "claude-code", "--yes").err
    assert "warning" not in memctl("install", "claude-code", "--local", "--yes").err
    assert "warning" not in memctl("install", "claude-code", "--user", "--yes").err
    for file in (repo / ".claude" / "settings.local.json", home / ".claude" / "settings.json"):
        assert commands(file)["Stop"] == [str(own)]


def test_local_install_writes_and_removes_only_local_settings(memctl: Memctl, repo: Path) -> None:
    memctl("install", "claude-code", "--local", "--yes")
    assert sorted(files(repo / ".claude")) == ["settings.local.json"]
    memctl("install", "claude-code", "--local", "--uninstall", "--yes")
    assert not (repo / ".claude").exists()


@pytest.mark.parametrize("memctl_is", ["missing", "broken"])
def test_shared_hook_does_nothing_when_memctl_is_missing_or_broken(tmp_path: Path, memctl_is: str) -> None:
    """It reads the event, too: more than a pipe holds, which a host would fail to write."""
    (tmp_path / "cat").symlink_to(str(shutil.which("cat")))
    if memctl_is == "broken":
        (tmp_path / "memctl").write_text("#!/bin/sh\nexit 2\n")
        (tmp_path / "memctl").chmod(0o755)
    shell = subprocess.Popen(
        ["/bin/sh", "-c", LINE],
        env={"PATH": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert shell.stdin
    shell.stdin.write(b"x" * 1_000_000)
    assert shell.communicate() == (b"", b"")
    assert shell.returncode == 0


@pytest.mark.parametrize(("what", "name"), [("codex", ".codex/hooks.json"), ("gemini", ".gemini/settings.json")])
def test_other_hosts_have_their_own_files_events_and_units(memctl: Memctl, repo: Path, what: str, name: str) -> None:
    memctl("install", what, "--yes")
    found = json.loads((repo / name).read_text())["hooks"]
    assert list(found) == list(HOSTS[what].events)
    (hook,) = next(iter(found.values()))[0]["hooks"]
    assert hook["timeout"] == (10_000 if what == "gemini" else 10)
    (last,) = found["SessionEnd"][0]["hooks"]
    assert last["timeout"] == (60_000 if what == "gemini" else 3)
    memctl("install", what, "--uninstall", "--yes")
    assert not (repo / name).parent.exists()


def test_agents_md_is_written_and_claude_md_refers_to_it(memctl: Memctl, repo: Path) -> None:
    (repo / "AGENTS.md").write_bytes(b"# Rules\r\n\r\nBe kind.\r\n")
    before = files(repo)
    memctl("install", "agents-md", "--yes")
    text = (repo / "AGENTS.md").read_bytes()
    assert text.startswith(b"# Rules\r\n\r\nBe kind.\r\n\r\n" + agents_md.BEGIN.encode())
    assert text.count(b"\n") == text.count(b"\r\n")
    assert "\n@AGENTS.md\n" in (repo / "CLAUDE.md").read_text()
    assert "unchanged" in memctl("install", "agents-md", "--yes").err
    memctl("install", "agents-md", "--uninstall", "--yes")
    assert files(repo) == before


def test_block_is_refreshed_in_place_and_removed_from_an_edited_file(memctl: Memctl, repo: Path) -> None:
    file = repo / "AGENTS.md"
    file.write_text(f"# A\n\n{agents_md.BEGIN}\nold\n{agents_md.END}\n\n# B\n")
    memctl("install", "agents-md", "--yes")
    assert "old" not in file.read_text()
    assert file.read_text().endswith(f"{agents_md.END}\n\n# B\n")
    file.write_text(file.read_text() + "more\n")
    memctl("install", "agents-md", "--uninstall", "--yes")
    assert file.read_text() == "# A\n\n# B\nmore\n"


@pytest.mark.parametrize("text", ["See @AGENTS.md\n", "@./AGENTS.md\n"])
def test_claude_md_that_refers_to_agents_md_is_kept(memctl: Memctl, repo: Path, text: str) -> None:
    (repo / "CLAUDE.md").write_text(text)
    memctl("install", "agents-md", "--yes")
    assert (repo / "CLAUDE.md").read_text() == text


def test_claude_md_that_is_a_link_is_kept(memctl: Memctl, repo: Path) -> None:
    (repo / "AGENTS.md").write_text("# Rules\n")
    (repo / "CLAUDE.md").symlink_to("AGENTS.md")
    memctl("install", "agents-md", "--yes")
    assert (repo / "CLAUDE.md").is_symlink()
    assert (repo / "AGENTS.md").read_text().count(agents_md.BEGIN) == 1


@pytest.mark.parametrize("text", [None, "# Rules\n", "# Rules\r\n"])
@pytest.mark.parametrize(("link", "target"), [("AGENTS.md", "CLAUDE.md"), ("CLAUDE.md", "AGENTS.md")])
def test_link_between_both_files_is_one_file(
    memctl: Memctl, repo: Path, link: str, target: str, text: str | None
) -> None:
    if text:
        (repo / target).write_bytes(text.encode())
    (repo / link).symlink_to(target)
    for _ in range(2):
        memctl("install", "agents-md", "--yes")
        assert (repo / target).read_text().count(agents_md.BEGIN) == 1
        assert "## Project memory" in (repo / target).read_text()
        assert "@AGENTS.md" not in (repo / target).read_text()
    memctl("install", "agents-md", "--uninstall", "--yes")
    assert (repo / link).is_symlink()
    assert (repo / target).exists() == (text is not None)
    assert text is None or (repo / target).read_bytes() == text.encode()


def test_files_that_are_links_to_a_third_one_are_one_file(memctl: Memctl, repo: Path) -> None:
    (repo / "docs").mkdir()
    for name in ("AGENTS.md", "CLAUDE.md"):
        (repo / name).symlink_to("docs/rules.md")
    memctl("install", "agents-md", "--yes")
    assert (repo / "docs/rules.md").read_text().count(agents_md.BEGIN) == 1
    memctl("install", "agents-md", "--uninstall", "--yes")
    assert not (repo / "docs/rules.md").exists()


def test_unpaired_marks_are_refused(memctl: Memctl, repo: Path) -> None:
    (repo / "AGENTS.md").write_text(f"{agents_md.BEGIN}\nhalf\n")
    assert "block must have one line" in memctl("install", "agents-md", "--yes", code=1).err
    assert (repo / "AGENTS.md").read_text() == f"{agents_md.BEGIN}\nhalf\n"


def test_block_names_only_existing_commands() -> None:
    block = agents_md.add_block("", agents_md.AGENTS)
    known = {name for names in all_commands().values() for name in names}
    named = {words.split()[1] for words in block.split("`")[1::2] if words.startswith("memctl ")}
    assert named
    assert named <= known
    assert len(block) < 1_100  # every session pays for it


@pytest.mark.parametrize("args", [("codex", "--local"), ("agents-md", "--user"), ("claude-code", "--for", "github")])
def test_options_that_do_not_go_together_are_refused(memctl: Memctl, args: tuple[str, ...]) -> None:
    memctl("install", *args, code=2)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)
THEIRS = st.fixed_dictionaries({"command": st.text(max_size=5)})
GROUP = st.fixed_dictionaries({"hooks": st.lists(THEIRS, max_size=2)})
HOOKS = st.dictionaries(st.sampled_from([*CLAUDE_CODE.events, "Notification"]), st.lists(GROUP, max_size=2))


@given(
    rest=st.dictionaries(st.text(max_size=6).filter(lambda key: key != "hooks"), VALUES, max_size=4),
    hooks=st.none() | HOOKS,
    first=st.booleans(),
    indent=st.sampled_from([None, 0, 1, 2, 4, "\t"]),
    windows=st.booleans(),
)
def test_adding_and_removing_our_hooks_changes_nothing_else(
    rest: dict[str, Any], hooks: dict[str, Any] | None, first: bool, indent: Any, windows: bool
) -> None:
    ours = {} if hooks is None else {"hooks": hooks}
    values = {**ours, **rest} if first else {**rest, **ours}
    text = json.dumps(values, indent=indent, ensure_ascii=False)
    text = text.replace("\n", "\r\n") if windows else text
    made = settings.add_hooks(text, CLAUDE_CODE, CALL, "x")
    assert settings.add_hooks(made, CLAUDE_CODE, CALL, "x") == made
    assert {key: value for key, value in json.loads(made).items() if key != "hooks"} == rest
    assert [key for key in json.loads(made) if key != "hooks"] == [key for key in values if key != "hooks"]
    back = json.loads(settings.remove_hooks(made, "x"))
    assert {key: value for key, value in back.items() if key != "hooks"} == rest
    assert {e: g for e, g in back.get("hooks", {}).items() if g} == {e: g for e, g in (hooks or {}).items() if g}


@pytest.mark.parametrize("blank", ["", "\n", " \n\t\n"])
def test_settings_of_only_white_space_count_as_empty(repo: Path, memctl: Memctl, blank: str) -> None:
    file = repo / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(blank)
    memctl("install", "claude-code", "--yes")
    assert "SessionStart" in json.loads(file.read_text())["hooks"]
    memctl("install", "claude-code", "--uninstall", "--yes")
    assert file.read_text() == blank


@pytest.mark.parametrize(("what", "needed"), [("codex", "`/hooks`"), ("gemini", "`--skip-trust`")])
def test_steps_that_a_program_needs_before_it_runs_hooks_are_printed(memctl: Memctl, what: str, needed: str) -> None:
    assert needed in memctl("install", what, "--yes").err
    assert needed not in memctl("install", what, "--uninstall", "--yes").err


@pytest.mark.parametrize(
    ("what", "variable", "name"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("codex", "CODEX_HOME", "hooks.json"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
    ],
)
def test_user_settings_are_installed_where_the_variable_points(
    memctl: Memctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, variable: str, name: str
) -> None:
    moved = tmp_path / "moved"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv(variable, str(moved))
    result = memctl("install", what, "--user", "--yes")
    hook = next(iter(json.loads((moved / name).read_text())["hooks"].values()))[0]["hooks"][0]
    assert " ".join([hook["command"], *hook.get("args", [])]).endswith(f"memctl hook {what}")
    assert str(moved / name) in result.err
    assert not (tmp_path / "home" / HOSTS[what].folder).exists()
    memctl("install", what, "--user", "--uninstall", "--yes")
    assert not (moved / name).exists()
    memctl("install", what, "--yes")  # the project's are where they were
    assert not (moved / name).exists()


@pytest.mark.parametrize("what", list(HOSTS))
def test_memctl_in_a_folder_with_spaces_is_called_by_its_path(what: str) -> None:
    program = "/home/ada/my apps/memctl"
    called = settings.hook_call(HOSTS[what], program, is_own=True, windows=False)
    words = [called["command"], *called["args"]] if "args" in called else shlex.split(called["command"])
    assert words == [program, "hook", what]


def test_own_settings_name_a_memctl_in_a_folder_with_blanks(
    memctl: Memctl, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = str(tmp_path / "my apps" / "memctl")
    monkeypatch.setattr("memctl.write.install.own_program", lambda *_: program)
    monkeypatch.setattr("memctl.cli.install._is_on_path", lambda _: False)
    memctl("install", "claude-code", "--local", "--yes")
    hooks = json.loads((repo / ".claude" / "settings.local.json").read_text())["hooks"]
    assert hooks["Stop"][0]["hooks"][0]["command"] == program
