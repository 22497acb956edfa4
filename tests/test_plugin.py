"""The plugin and the skill are what memctl says elsewhere, in the forms that their readers take."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import anyio
import click
import frontmatter
import jsonschema
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from memctl.cli.main import cli
from memctl.hooks import settings
from memctl.hooks.hosts import CLAUDE_CODE
from tests import plugin
from tests.agents.program import CACHE
from tests.plugin import ROOT, SKILL

FILES = plugin.files()
NAME = "io.github.ada/memctl"
SCHEMA = CACHE / "server.schema.json"  # of `plugin.SERVER_SCHEMA`


def test_plugin_files_are_current() -> None:
    assert {name: (ROOT / name).read_text() for name in FILES} == FILES, "run `make docs` and look at the difference"
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "plugin").rglob("*") if path.is_file()}
    assert there == {name for name in FILES if name.startswith("plugin/")}


def test_plugin_hooks_equal_the_installed_hooks() -> None:
    text = settings.add_hooks(
        "", CLAUDE_CODE, settings.hook_call(CLAUDE_CODE, "", is_own=False, windows=False), "settings.json"
    )
    assert json.loads(FILES["plugin/hooks/hooks.json"])["hooks"] == json.loads(text)["hooks"]


def test_registry_entry_meets_the_requirements_of_the_registry() -> None:
    """By the published schema of 2025-12-11 and the registry's page of requirements."""
    server: Any = plugin.server(NAME)
    assert all(1 <= len(server[name]) <= 100 for name in ("title", "description"))
    assert re.fullmatch(r"\d+\.\d+\.\d+", server["version"])
    (package,) = server["packages"]
    assert package["version"] == server["version"]
    assert {"registryType", "identifier", "transport"} <= package.keys()
    assert package["runtimeHint"]  # there are runtimeArguments
    for argument in (*package["runtimeArguments"], *package["packageArguments"]):
        assert {"named": "name" in argument, "positional": bool({"value", "valueHint"} & argument.keys())}[
            argument["type"]
        ]


@pytest.mark.skipif(not SCHEMA.exists(), reason="the registry's schema is not on this machine (.ci/run fetches it)")
def test_registry_entry_is_valid_by_the_published_schema() -> None:
    schema = json.loads(SCHEMA.read_text())
    jsonschema.validate(plugin.server(NAME), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**plugin.server(NAME), "name": "memctl"}, schema)


@pytest.mark.parametrize(
    "name", ["", "memctl", "io.github.YOU/memctl", "/memctl", "io.github.ada/a/b", "github/memctl"]
)
def test_no_registry_entry_is_made_without_an_owners_name(name: str) -> None:
    with pytest.raises(ValueError, match="NAME is"):
        plugin.server(name)


def test_no_shipped_file_has_a_placeholder_for_an_owner() -> None:
    shipped = [ROOT / name for name in (*FILES, "README.md", "pyproject.toml")]
    assert not [path for path in shipped if re.search(r"\bOWNER\b|io\.github\.", path.read_text())]


def test_the_registry_entry_starts_the_server(repo: Path) -> None:
    server: Any = plugin.server(NAME)
    (package,) = server["packages"]
    words = [argument.get("value", str(repo)) for argument in package["packageArguments"]]
    command = StdioServerParameters(
        command=str(Path(sys.executable).with_name(package["identifier"])), args=words, env=dict(os.environ)
    )

    async def ask() -> list[str]:
        async with Client(stdio_client(command)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert "recall" in anyio.run(ask)


def test_the_skill_has_the_form_of_agent_skills() -> None:
    skill = frontmatter.loads(FILES[f"plugin/skills/{SKILL}/SKILL.md"])
    assert skill["name"] == SKILL
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", SKILL)
    assert len(SKILL) <= 64
    assert 1 <= len(skill["description"]) <= 1024
    assert len(skill.content.splitlines()) < 500


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".md")])
def test_commands_named_in_the_plugin_exist(name: str) -> None:
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
