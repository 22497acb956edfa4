"""The plugin and the skill are what memctl says elsewhere, in the forms that their readers take."""

from __future__ import annotations

import json
import re
import shlex

import click
import frontmatter
import pytest

from memctl.cli.main import cli
from memctl.hooks import settings
from memctl.hooks.hosts import CLAUDE_CODE
from tests import plugin
from tests.plugin import ROOT, SKILL

FILES = plugin.files()


def test_the_files_are_current() -> None:
    assert {name: (ROOT / name).read_text() for name in FILES} == FILES, "run `make docs` and look at the difference"
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "plugin").rglob("*") if path.is_file()}
    assert there == {name for name in FILES if name.startswith("plugin/")}


def test_its_hooks_are_those_that_install_writes() -> None:
    text = settings.added("", CLAUDE_CODE, settings.call(CLAUDE_CODE, "", is_own=False, windows=False), "settings.json")
    assert json.loads(FILES["plugin/hooks/hooks.json"])["hooks"] == json.loads(text)["hooks"]


def test_the_skill_has_the_form_of_agent_skills() -> None:
    skill = frontmatter.loads(FILES[f"plugin/skills/{SKILL}/SKILL.md"])
    assert skill["name"] == SKILL
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", SKILL)
    assert len(SKILL) <= 64
    assert 1 <= len(skill["description"]) <= 1024
    assert len(skill.content.splitlines()) < 500


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".md")])
def test_the_commands_that_are_named_are_there(name: str) -> None:
    text = frontmatter.loads(FILES[name]).content
    named = re.findall(r"(?:`|^    )memctl ([^`\n]+)", text, re.MULTILINE)
    assert named
    for line in named:
        words, found = shlex.split(line.split(";")[0]), cli
        while isinstance(found, click.Group) and words and not words[0].startswith("-"):
            command = found.get_command(click.Context(found), words[0])
            if command is None:
                break
            found, words = command, words[1:]  # type: ignore[assignment]
        options = {option for param in found.params for option in param.opts}
        assert found is not cli, line
        assert {word for word in words if word.startswith("--")} <= options, line
