"""The first things that people type: help, other words for commands, memctl alone; and errors for programs."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.shell_completion import ShellComplete

from memctl.cli.command_list import EVERY_DAY, MODULES, SYNONYMS, all_commands
from memctl.cli.main import cli
from memctl.cli.startup import Start
from memctl.cli.usage_errors import LEADS
from memctl.hooks.guide import TOPICS
from tests.conftest import Memctl


def test_the_help_fits_a_small_terminal_and_the_rest_is_one_command_away(memctl: Memctl) -> None:
    lines = memctl("-h").out.splitlines()
    assert len(lines) < 25
    assert max(map(len, lines)) <= 90
    assert all(any(line.startswith(f"  {name} ") for line in lines) for name in EVERY_DAY)
    everything = memctl("help", "--all").out
    assert all(f"  {name}" in everything for group in all_commands().values() for name in group)


def test_a_subject_and_a_command_have_a_page(memctl: Memctl) -> None:
    for name, topic in TOPICS.items():
        assert memctl("help", name).out == topic.text
        assert name in memctl("help").out
    assert memctl("help", "section", "add").out == memctl("page", "section", "add", "-h").out
    assert "subjects are agents, recording" in memctl("help", "nonsense", code=2).err


def test_other_words_for_a_command_work(repo: Path, memctl: Memctl) -> None:
    made = memctl("issue", "Slow checkout").id
    assert memctl("find", "checkout").out == memctl("search", "checkout").out
    assert memctl("todo").out == memctl("next").out
    memctl("close", made, "--resolution", "A pool of 20")
    assert "resolved" in memctl("list").out
    memctl("rm", made)
    assert made not in memctl("list").out
    names = {name for group in all_commands().values() for name in group}
    assert not names & (SYNONYMS.keys() | LEADS.keys())
    assert set(SYNONYMS.values()) <= {*names, *MODULES}
    assert "`memctl decide`" in memctl("add", "x", code=2).err
    assert "did you mean resolve" in memctl("resolv", code=2).err


@pytest.mark.parametrize(
    ("words", "lead"),
    [
        ("decide Tabs -m why", "adds the reason"),
        ("decide Tabs --consequence none", "--impact TEXT"),
        ("issue Crash --label bug", "--tag NAME"),
        ("delete ISS -y", "`memctl undo` undoes it"),
        ("project show", "`memctl show §1.0`"),
        ("section", "give one of add, edit, list, remove; `memctl section -h`"),
        ("prompt", "give one of system, user;"),
        ("install hooks", "`memctl install git`"),
        ("uninstall git", "--uninstall"),
        ("doctor", "`memctl check`"),
        ("claim", "`memctl team own acquire §2.1`"),
        ("release", "`release` frees it"),
        ("relate", "`memctl link ID OTHER --as"),
        ("watch", "`memctl help --all`"),
        ("serch retries", "did you mean search?"),
        ("import .", "`memctl import adr .`"),
    ],
)
def test_unknown_words_are_refused_with_the_right_command(memctl: Memctl, words: str, lead: str) -> None:
    assert lead in memctl(*words.split(), code=2).err


def test_memctl_without_a_command_prints_the_status_or_the_help(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    assert memctl().out == memctl("status").out
    (tmp_path / "bare").mkdir()
    assert memctl(where=tmp_path / "bare").out.startswith("Usage: memctl")


@pytest.mark.parametrize(
    ("command", "code", "exit_code"),
    [
        (("show", "DEC-1999-01-01-001", "--json"), "not-found", 1),
        (("list", "--json", "--colour"), "usage", 2),
        (("nonsense", "--json"), "unknown-command", 2),
        (("edit", "ISS", "--json", "--importance", "11"), "usage", 2),
        (("log", "--at", "v9", "--json"), "refused", 1),
        (("learn", "Key", "--lesson", "AKIA" + "IOSFODNN7EXAMPLB", "--json"), "credential", 1),
    ],
)
def test_an_error_under_json_is_a_line_of_json(
    repo: Path, memctl: Memctl, command: tuple[str, ...], code: str, exit_code: int
) -> None:
    result = memctl(*command, code=exit_code)
    assert result.out == ""
    error = msgspec.json.decode(result.err)
    assert (error["schema"], error["kind"], error["data"]["code"]) == (1, "error", code)
    assert error["data"]["exit_code"] == exit_code
    assert error["data"]["message"]


def test_a_section_is_named_where_its_number_is_taken(repo: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Order API")
    memctl("section", "add", "Order mail")
    made = memctl("issue", "Slow", "--section", "order-api").id
    assert memctl("show", made, "--json").data["records"][0]["section"] == "§2.1"
    memctl("edit", made, "--section", "Order Mail")
    assert made in memctl("list", "--section", "mail").out
    assert made not in memctl("list", "--section", "Order API").out
    memctl("detail", "add", "Routes", "--section", "Order API")
    memctl("section", "edit", "order-api", "--completion", "40")
    memctl("own", "acquire", "Order API")
    assert "§2.1" in memctl("own", "list").out
    assert "Order API" in memctl("rehydrate", "--section", "Order API").out
    several = memctl("list", "--section", "order", code=2).err
    assert "§2.1 Order API, §2.2 Order mail" in several
    assert "§2.1 Order API" in memctl("issue", "X", "--section", "nowhere", code=2).err
    memctl("edit", made, "--section", "")
    assert memctl("list", "--section", "mail").out == ""


def test_the_shell_completes_what_commands_take(repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    memctl("section", "add", "Order API")
    memctl("issue", "Slow", "--tag", "checkout")
    memctl("checkpoint", "save", "--task", "T", "--done", "a", "--next", "n")

    def completed(*words: str) -> list[str]:
        found = ShellComplete(cli, {"obj": Start([])}, "memctl", "_MEMCTL_COMPLETE")
        return [one.value for one in found.get_completions(["-C", str(repo), *words[:-1]], words[-1])]

    assert completed("list", "--section", "2") == ["2.1"]
    assert completed("issue", "x", "--tag", "che") == ["checkout"]
    assert completed("show", "§2") == ["§2.1"]
    assert completed("show", "iss")[0].startswith("ISS-")
    assert "MEM305" in completed("check", "--explain", "mem3")
    assert "severity=" in completed("edit", "ISS", "--set", "sev")
    assert completed("checkpoint", "show", "")
