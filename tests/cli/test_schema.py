"""The schemas of what programs read; that each answer fits its own, the fixture `memctl` checks wherever it is used."""

from __future__ import annotations

import re
from pathlib import Path

import jsonschema
import msgspec
import pytest

from memctl.cli import schemas
from memctl.session.extraction import Extract
from tests import json_schemas
from tests.conftest import EXAMPLE, Memctl
from tests.reference import ROOT

_PRINTED = re.compile(r"""output\.(?:json|json_list|answer)\(\s*"([\w-]+)\"""")

LISTS = (
    *(("list", "--limit", "2"), ("search", "One", "--limit", "1"), ("index",), ("section", "list"), ("export",)),
    *(("detail", "list"), ("session", "list"), ("own", "list"), ("handoff", "list"), ("check", "--explain", "all")),
    *(("log",), ("checkpoint", "list"), ("event", "list"), ("next",)),
)
BESIDES = ("steps", "unreadable_lines", "elsewhere", "everywhere")  # lists of what is no item
WRONG = (
    *(("show", "§9.9"), ("why", "nowhere.py"), ("session", "show", "x"), ("checkpoint", "show", "x")),
    *(("handoff", "show", "x"), ("event", "show", "7"), ("import", "absent.jsonl"), ("restore", "x")),
    *(("own", "acquire", "x"), ("supersede", "a", "b"), ("tokens", "absent"), ("quality", "absent")),
    *(("window", "status", "absent"), ("export", "adr"), ("undo", "HEAD~9")),
)


def test_every_kind_that_a_command_prints_has_a_schema() -> None:
    printed = {kind for file in (ROOT / "memctl" / "cli").glob("*.py") for kind in _PRINTED.findall(file.read_text())}
    assert len(printed) > 60
    packs = {"rehydration", "system-prompt", "user-message", "files_pack", "loaded"}  # by one function for all
    assert printed | packs | {"error", "sections", "details"} == set(schemas.KINDS)


@pytest.mark.parametrize("kind", [*schemas.KINDS, schemas.CONFIG])
def test_schema_is_valid_and_self_contained(kind: str) -> None:
    schema = schemas.schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    references = re.findall(r"#/\$defs/(\w+)", msgspec.json.encode(schema).decode())
    assert set(references) <= schema.get("$defs", {}).keys()


def test_an_answer_with_another_key_type_or_kind_is_refused(repo: Path, memctl: Memctl) -> None:
    memctl("learn", "Retries hide a full pool")
    text = memctl("list", "--json").out
    json_schemas.check(text)
    for old, new in (
        ('"importance": 5', '"importance": "5"'),
        ('"total"', '"sum"'),
        ('"is_archived"', '"x": 1, "is_archived"'),
    ):
        assert old in text
        with pytest.raises(AssertionError, match="records"):
            json_schemas.check(text.replace(old, new))
    with pytest.raises(KeyError):
        json_schemas.check(text.replace('"kind": "records"', '"kind": "recrods"'))


def test_review_of_an_empty_log_fits_its_schema(memctl: Memctl) -> None:
    assert memctl("policy", "threshold", "-", "--json", stdin="").data["median"] is None


def test_every_value_of_a_struct_is_in_its_shape() -> None:
    extract = schemas.schema("sessions-under-way")["properties"]["data"]["properties"]["sessions"]["items"]
    named = extract["properties"]["found"]["items"]["required"]
    assert set(named) == set(msgspec.to_builtins(Extract("decision", "Retry once", explicit=True)))


def test_lists_say_how_many_there_are_in_all(repo: Path, memctl: Memctl) -> None:
    for title in ("One", "Two", "Three"):
        memctl("learn", title)
    memctl("section", "add", "Payment")
    for command in LISTS:
        data = memctl(*command, "--json").data
        items = [value for key, value in data.items() if isinstance(value, list) and key not in BESIDES]
        assert len(items) == 1, command
        assert data["total"] >= len(items[0]), command
    assert memctl("list", "--limit", "2", "--json").data["total"] == 3


def test_errors_of_any_command_are_json_with_a_code(repo: Path, memctl: Memctl) -> None:
    for command in WRONG:
        result = memctl(*command, "--json", code=None)
        assert result.code in (1, 2), command
        assert result.out == "", command
        json_schemas.check(result.err.splitlines()[-1])
        assert msgspec.json.decode(result.err.splitlines()[-1])["data"]["exit_code"] == result.code


def test_the_schema_of_the_settings_takes_what_memctl_takes(memctl: Memctl, tmp_path: Path) -> None:
    from memctl.record.frontmatter import read_yaml

    validator = jsonschema.Draft202012Validator(schemas.schema(schemas.CONFIG))
    settings = read_yaml((EXAMPLE / "config.yaml").read_text(), "config.yaml")
    assert validator.is_valid(settings)
    assert not validator.is_valid({**settings, "rehydrate_budget": "much"})
    assert not validator.is_valid({**settings, "lifecycle": {"keep_importance": 9}})
    memctl("schema", "--out", str(tmp_path / "schemas"))
    assert {file.stem for file in (tmp_path / "schemas").iterdir()} == {*schemas.KINDS, schemas.CONFIG}
    assert "did you mean records?" in memctl("schema", "record", code=2).err
