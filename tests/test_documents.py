"""What the documents say is what memctl does."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click
import pytest

from memctl.cli.command import Command
from memctl.cli.main import COMMANDS, cli
from memctl.store import load
from memctl.store.memory import open_memory
from tests.regenerate import DOCUMENTS, ROOT, with_commands
from tests.transcript import commands, regenerate

OVERVIEW = [name for group in COMMANDS.values() for name in group]


def command(name: str) -> click.Command:
    """A command by its name; a subcommand by both of its names."""
    found: click.Command | None = cli
    for word in name.split():
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), word)
    assert found is not None, name
    return found


def all_names() -> list[str]:
    """The names of all commands that do something: not of those that only have subcommands."""
    names = []
    for name in OVERVIEW:
        found = command(name)
        names += (
            [f"{name} {sub}" for sub in found.list_commands(click.Context(found))]
            if isinstance(found, click.Group)
            else [name]
        )
    return names


NAMES = all_names()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_outputs_in_a_document_are_real(document: Path, tmp_path: Path) -> None:
    text = document.read_text()
    assert regenerate(text, tmp_path) == text, "run `make docs` and look at the difference"


def test_a_session_of_thirty_commands_is_told() -> None:
    longest = max(len(commands(document.read_text())) for document in DOCUMENTS if document.name != "README.md")
    assert longest >= 30


def test_the_list_of_commands_is_complete() -> None:
    text = (ROOT / "README.md").read_text()
    assert with_commands(text) == text
    assert all(f"`memctl {name}" in text for name in OVERVIEW)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_examples_that_stand_first_and_parse(name: str) -> None:
    found = command(name)
    assert isinstance(found, Command)
    assert found.examples
    text = found.get_help(click.Context(found, info_name=f"memctl {name}", help_option_names=["-h", "--help"]))
    assert text.index("Examples:") < text.index(str(found.help).split("\n")[0][:40])
    options = {option for param in found.params for option in param.opts} | {"-C", "-h", "--help"}
    for line, _ in found.examples:
        own = line.split(f"memctl {name}", 1)[1].split("|")[0]
        own = re.sub(r"'[^']*'|\"[^\"]*\"", "", own)
        assert set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", own)) <= options, line


@pytest.mark.parametrize("name", OVERVIEW)
def test_the_overview_says_what_the_command_says(name: str) -> None:
    line = next(group[name][1] for group in COMMANDS.values() if name in group)
    assert str(command(name).help).replace("\n", " ").startswith(line.rstrip("."))


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_explained(name: str) -> None:
    for param in command(name).params:
        if isinstance(param, click.Option):
            assert param.help, f"{name} {param.opts}"


def test_nothing_in_the_project_names_a_machine() -> None:
    for file in [*ROOT.rglob("*.md"), *ROOT.glob("memctl/**/*.py"), *ROOT.glob("bench/*.py")]:
        if ".venv" not in file.parts:
            assert "/work/" not in file.read_text(), file


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no checkout")
def test_the_projects_own_memory_is_whole() -> None:
    snapshot = load.disk(open_memory(ROOT, os.environ))
    assert snapshot.faults == ()
    assert len(snapshot.records) > 15
    assert snapshot.config.project == "memctl"
