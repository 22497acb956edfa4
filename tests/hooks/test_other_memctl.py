"""A memctl that is hooked beside this one is named: at an installation, and once at a start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memctl.hooks import settings
from memctl.hooks.hosts import CLAUDE_CODE, HOSTS
from tests.conftest import Memctl
from tests.hooks.session import Session


def program(file: Path) -> Path:
    file.parent.mkdir(parents=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


@pytest.mark.parametrize("what", HOSTS)
def test_another_program_in_other_settings_is_named_once(
    memctl: Memctl, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    host = HOSTS[what]
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    old = program(tmp_path / "old versions" / "bin" / "memctl")
    own = tmp_path / "home" / host.folder / host.shared
    own.parent.mkdir(parents=True)
    called = settings.hook_call(host, str(old), is_own=True, windows=False)
    own.write_text(
        json.dumps({"hooks": {event: [group] for event, group in settings.hook_groups(host, called).items()}})
    )
    named = f"~/{host.folder}/{host.shared} has hooks of another memctl, {old}, "
    removed_by = f"`memctl install {what} --user --uninstall` removes these hooks"

    err = memctl("install", what, "--yes").err
    assert named in err
    assert removed_by in err
    starts = [
        Session(repo, tmp_path / "t.jsonl", name, host).context("SessionStart", source="startup") for name in ("a", "b")
    ]
    assert [named in one for one in starts] == [True, False]
    assert removed_by in starts[0]

    memctl("install", what, "--user", "--yes", "--uninstall")
    assert "another memctl" not in memctl("install", what, "--yes").err


def test_same_program_in_all_settings_gives_no_warning(memctl: Memctl, repo: Path, tmp_path: Path) -> None:
    for option in ((), ("--user",), ("--local",)):
        assert "another memctl" not in memctl("install", "claude-code", "--yes", *option).err
    assert "another memctl" not in Session(repo, tmp_path / "t.jsonl").context("SessionStart", source="startup")


@pytest.mark.parametrize(
    ("hook", "called"),
    [
        ({"command": "memctl hook claude-code"}, "memctl"),
        ({"command": "command -v memctl >/dev/null && memctl hook claude-code || cat >/dev/null"}, "memctl"),
        ({"command": "'/a b/memctl' hook claude-code"}, "/a b/memctl"),
        ({"command": "C:\\x\\memctl.exe", "args": ["hook", "claude-code"]}, "C:\\x\\memctl.exe"),
        ({"command": "/py/bin/python3 -m memctl hook claude-code"}, "/py/bin/python3 -m memctl"),
    ],
)
def test_program_of_a_hook_entry_is_read_from_its_command(hook: dict[str, object], called: str) -> None:
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", **hook}]}]}})
    assert settings.programs(text, "settings.json", CLAUDE_CODE) == [called]
