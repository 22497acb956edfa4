"""All that memctl does with a record, for every type of record; and for one that a single entry adds."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memctl.exchange.jsonl import export_lines
from memctl.record.kinds import HANDOFF, KINDS, Kind
from memctl.record.notices import escape_model_tokens
from memctl.store import agent_env, load
from memctl.store.memory import open_memory
from memctl.text import credentials
from memctl.write import documents, merge
from tests.conftest import Memctl, git

ROOT = Path(__file__).parents[1]
EACH = pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
WITH_COMMAND = pytest.mark.parametrize(
    "kind", [kind for kind in KINDS.values() if kind.help], ids=lambda kind: kind.name
)


def make(memctl: Memctl, kind: Kind, title: str = "Cards", *options: str) -> str:
    """Make a record of a type with a text in each field that has an option, and return its id."""
    given = [word for field in kind.fields if field.option for word in (f"--{field.option}", f"About {field.name}")]
    if kind is HANDOFF:
        memctl("handoff", "--to", "codex", *given, "--out", os.devnull, *options)
        return str(memctl("list", "--type", "handoff", "--json").data["records"][0]["id"])
    return memctl(kind.verb, title, *given, *options).id


@EACH
def test_a_record_is_made_found_linked_loaded_and_rendered(memctl: Memctl, repo: Path, kind: Kind) -> None:
    memctl("section", "add", "Payment")
    decision = memctl("decide", "Use Stripe").id
    identifier = make(memctl, kind)
    assert identifier.startswith(f"{kind.prefix}-2025-11-04-")
    listed = memctl("list", "--type", kind.name, "--status", kind.statuses[0], "--json").data["records"]
    [path] = [one["path"] for one in listed if one["id"] == identifier]
    assert path.startswith(f".memory/{kind.folder}/2025-11/{identifier}")
    shown = memctl("show", identifier, "--json").data["records"][0]
    assert shown["content"].keys() >= {field.name for field in kind.fields if field.option}
    assert kind.defaults.items() <= shown.items()

    memctl("link", identifier, decision)
    both = memctl("show", identifier, decision, "--json").data["records"]
    assert [one["relates_to"] for one in both] == [[decision], [identifier]]

    loaded = memctl("load", stdin=f"please load {identifier} and {decision}")
    assert identifier in loaded.out
    assert decision in loaded.out
    assert f"{identifier[:-3]}999" in memctl("load", stdin=f"load {identifier[:-3]}999", code=1).out

    memctl("section", "edit", "2.1", "--overview", f"See {identifier}.")
    document = (repo / ".memory/docs/2.1-payment.md").read_text()
    assert f"See [{identifier}](../{path.removeprefix('.memory/')})." in document

    assert not list(credentials.find(f"{identifier}-cards-and-their-many-words"))
    assert escape_model_tokens(f"</{kind.name}>") == f"&lt;/{kind.name}>"
    assert re.search(rf"^{kind.folder}/\*\*\S* merge=memctl-record$", documents.attributes(), re.MULTILINE)
    found = memctl("check", "--json", code=None).data["findings"]
    assert not [one for one in found if one["severity"] == "error"], found


@EACH
def test_open_knowledge_is_given_to_a_model_and_other_records_are_not(memctl: Memctl, kind: Kind) -> None:
    identifier = make(memctl, kind)
    for form in ("markdown", "xml", "yaml"):
        given = memctl("rehydrate", "--format", form, "--budget", "3000").out
        named = re.sub(rf"{identifier} [^\n|]+:\n", "", given)  # next actions stand with their record
        assert len(re.findall(identifier, named)) == 1 + kind.is_knowledge, form  # once as the last that was recorded
    singular = kind.plural.removesuffix("s")
    assert (f"Records: 1 {singular}." in memctl("rehydrate", "--budget", "3000").out) == kind.is_knowledge


@WITH_COMMAND
def test_status_changes_only_to_allowed_successors(memctl: Memctl, kind: Kind) -> None:
    ways = [(step, other) for step in kind.steps for other in step.following or (step.name,)]
    titles = [f"From {step.name} to {other}" for step, other in ways]
    lines = [
        f'{{"memory_type": "{kind.name}", "title": "{title}", "status": "{step.name}"}}'
        for title, (step, _) in zip(titles, ways, strict=True)
    ]
    memctl("import", "-", stdin="\n".join(lines))
    records = {one["title"]: one["id"] for one in memctl("list", "--all", "--json").data["records"]}
    for title, (step, other) in zip(titles, ways, strict=True):
        for refused in sorted(set(kind.statuses) - {step.name, *step.following}):
            result = memctl("edit", records[title], "--set", f"status={refused}", code=1)
            assert f"is {step.name} and can't become {refused}" in result.err
        if other == "superseded" != step.name:
            memctl("supersede", records[title], memctl(kind.verb, f"After {title}").id, "--no-commit")
        else:
            memctl("edit", records[title], "--set", f"status={other}", "--no-commit")
    listed = memctl("list", "--all", "--json").data["records"]
    now = {one["title"]: one["status"] for one in listed if not one["title"].startswith("After")}
    assert now == {title: other for title, (_, other) in zip(titles, ways, strict=True)}


@WITH_COMMAND
def test_resolve_works_only_for_types_with_a_resolved_status(memctl: Memctl, kind: Kind) -> None:
    identifier = make(memctl, kind)
    result = memctl("resolve", identifier, code=None)
    assert (result.code == 0) == bool(kind.resolved)
    [record] = memctl("show", identifier, "--json").data["records"]
    assert record["status"] == (kind.resolved or kind.statuses[0])
    assert memctl("reopen", identifier, code=None).code == (0 if kind.resolved else 1)


@EACH
def test_records_are_exported_and_imported_whole(memctl: Memctl, repo: Path, tmp_path: Path, kind: Kind) -> None:
    identifier = make(memctl, kind)
    exported = memctl("export", "--type", kind.name).out
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    memctl("init", "--project", "other", where=other)
    memctl("import", "-", stdin=exported, where=other)
    [made] = memctl("list", "--type", kind.name, "--json", where=other).data["records"]
    shown = [
        memctl("show", one, "--json", where=where).data["records"][0]["content"]
        for one, where in ((identifier, repo), (made["id"], other))
    ]
    assert shown[0] == shown[1]


@EACH
def test_a_merge_takes_the_status_further_on_and_both_sides_texts(memctl: Memctl, repo: Path, kind: Kind) -> None:
    identifier = make(memctl, kind)
    memory = open_memory(repo, os.environ)
    record = load.disk(memory).resolve(identifier)
    base = (memory.folder / record.path).read_text()
    first, last = kind.steps[0], max(kind.steps, key=lambda step: step.rank)
    ours = base.replace("agent_id: ", "section: §2.1\nagent_id: ")
    theirs = base.replace(f"status: {first.name}", f"status: {last.name}")
    merged = merge.merge(base, ours, theirs)
    assert not merged.conflicts
    assert f"status: {last.name}\n" in merged.text
    assert "section: §2.1\n" in merged.text
    added = merge.merge("", base, theirs)
    assert f"status: {last.name}\n" in added.text
    [line] = export_lines(load.disk(memory), [record])
    assert identifier in line


def test_help_names_the_command_of_every_type_that_has_one(memctl: Memctl) -> None:
    listed = memctl("help", "--all").out
    for kind in KINDS.values():
        assert not kind.help or f"{kind.verb} " in listed
        assert kind.help in listed
        for line, meaning in kind.examples:
            helped = memctl(kind.verb, "-h").out
            assert line in helped
            assert meaning in helped


def test_added_kind_entry_makes_a_complete_sixth_type() -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-rA",
        "-x",
        "-p",
        "tests.sixth_kind",
        "-p",
        "no:cacheprovider",
        __file__,
    ]
    result = subprocess.run([*command, "-k", "question or help_names"], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
    assert result.stdout.count("PASSED") == 8


def test_agents_may_record_every_type_that_comes_with_memctl_without_asking() -> None:
    verbs = [kind.verb for kind in KINDS.values() if kind.help]
    assert list(agent_env.COMMANDS[agent_env.RECORD][: len(verbs)]) == verbs


def test_id_prefixes_are_three_capitals_and_unique() -> None:
    prefixes: list[Any] = [kind.prefix for kind in KINDS.values()]
    assert all(re.fullmatch("[A-Z]{3}", prefix) for prefix in prefixes)
    assert len({*prefixes}) == len(prefixes)


@WITH_COMMAND
def test_fields_have_the_names_of_options_too(memctl: Memctl, kind: Kind) -> None:
    given = {"tag": ["db"], "code": ["pay.py"], "agent": "bob", "expires": "2099-01-01"}
    given |= {field.option: ["One text"] if field.is_list else "One text" for field in kind.fields}
    made = memctl(kind.verb, "--file", "-", stdin=json.dumps({"title": "By option", **given})).id
    [record] = memctl("show", made, "--json").data["records"]
    assert (record["tags"], record["code_refs"], record["agent_id"]) == (["db"], ["pay.py"], "bob")
    assert record["expires_at"].startswith("2099-01-01")
    assert list(record["content"]) == [field.name for field in kind.fields]
    for name, text in {"tag": "web", "code": "web.py", "agent": "ann", "expires": "2098-01-01"}.items():
        memctl("edit", made, "--set", f"{name}={text}", "--no-commit")
    [record] = memctl("show", made, "--json").data["records"]
    assert (record["tags"], record["code_refs"], record["agent_id"]) == (["web"], ["web.py"], "ann")
    assert record["expires_at"].startswith("2098-01-01")
