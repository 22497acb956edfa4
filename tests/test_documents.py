"""What the documents say is what memctl does."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click
import msgspec
import pytest

from memctl.cli.command import Command
from memctl.cli.command_list import all_commands
from memctl.cli.main import cli
from memctl.record.config import Config
from memctl.store import load
from memctl.store.memory import open_memory
from tests import picture
from tests.conftest import slow
from tests.reference import REFERENCE, ROOT, runnable_commands
from tests.regenerate import DOCS, DOCUMENTS, PAGES, llms_txt, with_generated
from tests.shell_session import commands, regenerate

OVERVIEW = [name for group in all_commands().values() for name in group]
RUNNABLE = dict(runnable_commands())
_LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")
_RULE = re.compile(r"\brules\.md#([\w-]+)")
# How the requirements were cited before docs/rules.md; Amazon's store is meant by its name.
_REQUIREMENT = re.compile(r"(?<!AWS )(?<!Amazon )\bS[0-4]\b|\b[Tt]he seeds?\b|\bseed's\b")


@pytest.mark.parametrize("document", [DOCUMENTS[0], *slow(*DOCUMENTS[1:])], ids=lambda path: path.name)
def test_outputs_in_documents_equal_those_of_the_commands(document: Path, tmp_path: Path) -> None:
    text = document.read_text()
    assert regenerate(text, tmp_path) == text, "run `make docs` and look at the difference"


def test_a_document_shows_a_session_of_thirty_commands() -> None:
    assert max(len(commands(document.read_text())) for document in DOCUMENTS) >= 30


def test_the_generated_tables_and_help_texts_are_current() -> None:
    for document in DOCUMENTS:
        text = document.read_text()
        assert with_generated(text) == text, f"{document.name}: run `make docs` and look at the difference"


def test_the_list_of_pages_for_models_is_that_of_the_readme() -> None:
    assert (DOCS / "llms.txt").read_text() == llms_txt(), "run `make docs`"
    listed = set(re.findall(r"\]\((\w+\.md)\)", llms_txt()))
    assert listed == {page.name for page in (*PAGES, REFERENCE)} - {"index.md"}


def test_picture_shows_the_printed_status() -> None:
    assert picture.PICTURE.read_text() == picture.draw(picture.status()), "run `make docs`"


def test_readme_has_at_most_250_lines() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 250


def test_links_between_documents_lead_to_files_and_headings() -> None:
    for document in DOCUMENTS:
        for path, heading in _LINK.findall(re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)):
            target = (document.parent / path) if path else document
            if "://" in path:
                continue
            assert target.exists(), f"{document.name}: {path}"
            if heading:
                assert heading in _anchors(target), heading


def test_contributing_names_existing_modules() -> None:
    named = re.findall(r"`([a-z_]+/(?:[a-z_]+/)*(?:[a-z_]+\.(?:py|txt))?)`", (ROOT / "CONTRIBUTING.md").read_text())
    assert len(named) > 40
    assert [name for name in named if not any((folder / name).exists() for folder in (ROOT, ROOT / "memctl"))] == []


def _anchors(document: Path, level: str = "#+") -> set[str]:
    """Return the anchors of a document's headings of a level, as GitHub makes them."""
    titles = re.findall(rf"^{level} (.+)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one).lower().replace(" ", "-") for one in titles}


def test_the_code_cites_rules_that_are_documented_and_all_of_them() -> None:
    cited: dict[str, Path] = {}
    for folder in ("memctl", "tests", "bench", "templates"):
        for file in (ROOT / folder).rglob("*.*"):
            if file.suffix in (".py", ".j2", ".md"):
                text = file.read_text()
                found = _REQUIREMENT.search(text)
                assert found is None, f"{file}: {found and found[0]!r} means nothing to a reader; cite rules.md#…"
                cited |= dict.fromkeys(_RULE.findall(text), file)
    rules = _anchors(DOCS / "rules.md", "##")
    assert {one: file for one, file in cited.items() if one not in rules} == {}
    assert rules <= cited.keys()


def test_every_setting_of_a_project_is_documented_with_its_default() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \|([^|]*)\|", (DOCS / "configuration.md").read_text(), re.MULTILINE)
    documented = {key: default.strip().strip("`") for key, default in rows}
    for field in msgspec.structs.fields(Config):
        assert field.encode_name in documented
        if not isinstance(field.default, msgspec.Struct):
            continue
        for below in msgspec.structs.fields(field.default):
            default = str(below.default).lower().removesuffix(".0")
            assert documented[f"{field.encode_name}.{below.encode_name}"] == default


@pytest.mark.parametrize("name", RUNNABLE)
def test_every_command_help_begins_with_examples_that_parse(name: str) -> None:
    found = RUNNABLE[name]
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
def test_command_list_agrees_with_the_help_of_each_command(name: str) -> None:
    line = next(group[name] for group in all_commands().values() if name in group)
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    assert str(found.help).replace("\n", " ").startswith(line.rstrip("."))


@pytest.mark.parametrize("name", RUNNABLE)
def test_every_option_is_explained(name: str) -> None:
    for param in RUNNABLE[name].params:
        if isinstance(param, click.Option):
            assert param.help, f"{name} {param.opts}"


def test_nothing_in_the_project_names_a_machine() -> None:
    for file in [*ROOT.rglob("*.md"), *ROOT.glob("memctl/**/*.py"), *ROOT.glob("bench/*.py")]:
        if ".venv" not in file.parts:
            assert "/work/" not in file.read_text(), file


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no checkout")
def test_project_memory_has_no_faults() -> None:
    snapshot = load.disk(open_memory(ROOT, os.environ))
    assert snapshot.faults == ()
    assert len(snapshot.records) > 15
    assert snapshot.config.project == "memctl"
