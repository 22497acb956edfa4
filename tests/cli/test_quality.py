"""`quality`: its outputs, exit codes, and what a memory adds."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import Memctl


def test_a_bad_text_gets_changes_and_a_good_one_none(memctl: Memctl) -> None:
    good = "## Goal\n\nSell lanterns.\n\n## Notes\n\nThere are two kinds of lanterns.\n"
    assert memctl("quality", "-", "--strict", stdin=good).code == 0
    plan = "The plan is to move the carts out of Redis and into PostgreSQL before the sale begins.\n\n"
    bad = memctl("quality", "-", "--strict", stdin=plan * 3, code=1)
    assert "missed  redundancy" in bad.out
    assert "repeats lines 1-1" in bad.out
    assert memctl("quality", "-", stdin=plan * 3).code == 0


def test_json_has_metrics_triggers_changes_and_blocks(memctl: Memctl) -> None:
    found = memctl("quality", "-", "--json", "--task", "checkout", stdin="The checkout is slow.\n\nThe moon is far.\n")
    assert found.json["kind"] == "quality"
    assert (found.data["format"], found.data["task"]) == ("markdown", "checkout")
    names = [item["name"] for item in found.data["metrics"]]
    assert names == [
        "relevance", "irrelevant", "placement", "redundancy", "staleness", "density", "block size", "boundaries",
        "flow", "health",
    ]  # fmt: skip
    assert len(found.data["triggers"]) == 12
    assert [(item["line"], item["is_relevant"]) for item in found.data["blocks"]] == [(1, True), (3, False)]
    assert found.data["changes"][0]["action"] == "remove the block, or load it only when it is needed"


def test_blocks_can_be_listed(memctl: Memctl) -> None:
    shown = memctl("quality", "-", "--blocks", stdin="# A\n\nText.\n\n```\nx\n```\n").out
    assert shown.split("\n")[0].split() == ["lines", "kind", "tokens", "weight", "task", "repeated", "stale", "title"]
    assert "code" in shown


def test_records_tell_which_blocks_are_stale(memctl: Memctl, tmp_path: Path) -> None:
    old = memctl("decide", "Adopt MySQL", "--rationale", "Known").id
    memctl("decide", "Adopt PostgreSQL", "--supersedes", old, "--rationale", "Transactions")
    text = f"All data goes where {old} says.\n"
    found = memctl("quality", "-", "--json", stdin=text).data
    assert next(item for item in found["metrics"] if item["name"] == "staleness")["is_met"] is False
    assert found["changes"][0]["why"] == f"{old} is superseded"
    outside = tmp_path / "outside"
    outside.mkdir()
    found = memctl("quality", "-", "--json", stdin=text, where=outside).data
    assert next(item for item in found["metrics"] if item["name"] == "staleness")["value"] == 0.0


def test_many_changes_are_listed_on_request(memctl: Memctl) -> None:
    text = "\n\n".join(f"obsolete thing number {number} and more of it" for number in range(20))
    assert "more changes: --all" in memctl("quality", "-", stdin=text).out
    assert "more changes: --all" not in memctl("quality", "-", "--all", stdin=text).out


def test_odd_inputs_are_judged_or_refused_by_name(memctl: Memctl, tmp_path: Path) -> None:
    assert "- is empty" in memctl("quality", "-", stdin=" \n", code=1).err
    (tmp_path / "b").write_bytes(b"a\0b")
    (tmp_path / "c").write_bytes(b"\xff\xfe")
    (tmp_path / "d.xml").write_text('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')
    assert "is not text" in memctl("quality", str(tmp_path / "b"), code=1).err
    assert "not UTF-8" in memctl("quality", str(tmp_path / "c"), code=1).err
    refused = memctl("quality", str(tmp_path / "d.xml"), code=1)
    assert "has a DOCTYPE" in refused.err
    assert refused.out == ""
    memctl("quality", str(tmp_path / "none"), code=2)


def test_a_broken_memory_is_not_taken_for_none(memctl: Memctl, repo: Path) -> None:
    (repo / ".memory" / "config.yaml").write_text("format: 99\nproject: x\n")
    assert "format 99" in memctl("quality", "-", stdin="x", code=1).err


def test_staleness_at_a_revision_is_judged_by_its_memory(memctl: Memctl) -> None:
    old = memctl("decide", "Adopt MySQL", "--rationale", "Known").id
    memctl("decide", "Adopt PostgreSQL", "--supersedes", old, "--rationale", "Transactions")
    text = f"All data goes where {old} says.\n"

    def stale(*more: str) -> float:
        found = memctl("quality", "-", "--json", *more, stdin=text).data["metrics"]
        return float(next(item["value"] for item in found if item["name"] == "staleness"))

    assert stale() > 0
    assert stale("--at", "HEAD~1") == 0


def test_records_that_can_t_be_read_are_named(memctl: Memctl, repo: Path) -> None:
    made = memctl("decide", "Adopt MySQL")
    path = repo / made.out.split()[1]
    path.write_text(path.read_text().replace("timestamp:", "importance: 77\ntimestamp:"))
    found = memctl("quality", "-", stdin="Text.", code=1)
    assert path.name in found.err
    assert "health" in found.out
    assert memctl("quality", "-", "--json", stdin="Text.", code=1).json["faults"][0]["field"] == "importance"


def test_messages_are_judged_by_their_text_and_not_their_json(memctl: Memctl) -> None:
    says = [
        "Port the shop to fetch.",
        'The shop has "three" calls:\n\n- load()\n- save()\n- list()',
        "Go on with load().",
    ]
    roles = ("user", "assistant", "user")
    messages = [{"role": role, "content": text} for role, text in zip(roles, says, strict=True)]
    plain = memctl("quality", "-", "--json", stdin="\n\n".join(says)).data
    for given in (messages, {"model": "claude", "messages": messages}):
        for indent in (None, 4):
            found = memctl("quality", "-", "--json", stdin=json.dumps(given, indent=indent)).data
            assert found["format"] == "json"
            assert abs(found["tokens"] - plain["tokens"]) <= 8
            assert next(item for item in found["metrics"] if item["name"] == "density")["is_met"]
            assert "less markup" not in str(found["changes"])


def test_one_phrase_of_padding_has_the_singular(memctl: Memctl) -> None:
    text = "Please note that the carts are in Redis.\n\nThe sale begins in May.\n"
    assert "1 phrase that can be left out: please note that" in memctl("quality", "-", stdin=text).out
