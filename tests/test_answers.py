"""The same question through the command, the Python interface and the Model Context Protocol has the same answer."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memctl import Memory
from memctl.cli import schemas
from tests.conftest import Memctl, commits, git

_WORDS = ("queue", "retry", "card", "refund", "pool", "timeout", "ledger")
_FILES = ("src/pay.py", "src/queue.py", "src/ledger.py")
_KINDS = ("decision", "issue", "state", "learning")


@pytest.fixture(params=range(3))
def opened(request: pytest.FixtureRequest, repo: Path, memctl: Memctl) -> Iterator[Memory]:
    """A memory with records, sections and commits by lot."""
    lot = random.Random(request.param)
    for file in _FILES:
        (repo / file).parent.mkdir(exist_ok=True)
        (repo / file).write_text(f"# {lot.choice(_WORDS)}\nVALUE = {lot.randrange(9)}\n")
        git(repo, "add", file)
        git(repo, "commit", "-qm", f"feat: {lot.choice(_WORDS)}")
    memctl("section", "add", "Payment", "--path", "src/pay.py")
    with Memory.open(repo) as memory:
        for number in range(8):
            record = {
                "title": f"{' '.join(lot.sample(_WORDS, 3))} {number}",
                "importance": lot.randrange(1, 11),
                "code_refs": lot.sample(_FILES, lot.randrange(3)),
            }
            kind = _KINDS[number] if number < len(_KINDS) else lot.choice(_KINDS)
            record |= {"rationale": lot.choice(_WORDS)} if kind == "decision" else {}
            write: Any = {
                "decision": memory.decide, "issue": memory.issue, "state": memory.state, "learning": memory.learn,
            }[kind]  # fmt: skip
            write(**record)
        yield memory


def as_json(memory: Memory, kind: str, value: Any) -> Any:
    """What `--json` prints of a value of the Python interface."""
    made = schemas.answer(kind, value, memory._memory, 0)
    return msgspec.json.decode(msgspec.json.encode(made))


def test_python_and_the_tools_answer_as_the_commands_do(opened: Memory, memctl: Memctl) -> None:
    from memctl.mcp_server import _recall, _why  # each worker reads all modules of tests, and one of them needs this

    for place in (*_FILES, "src/pay.py:1", "src/"):
        said = memctl("why", place, "--json").data
        assert as_json(opened, "why", opened.why(place)) == said
        told = _why(opened, place)
        assert said["answer"] is None or said["answer"] in told
        assert all(item["id"] in told for name in ("records", "perhaps") for item in said[name])
    for limit in (0, 1, 5):
        assert as_json(opened, "next", opened.next(limit=limit)) == memctl("next", "--limit", str(limit), "--json").data
    for words in itertools.combinations(_WORDS, 2):
        query = " ".join(words)
        found = [result["id"] for result in memctl("search", query, "--limit", "8", "--json").data["results"]]
        assert [result.id for result in opened.search(query, limit=8)] == found
        told = _recall(opened, query)
        assert [told.find(f"- {name} ") for name in found] == sorted(told.find(f"- {name} ") for name in found)
        assert all(f"- {name} " in told for name in found)
    listed = memctl("list", "--all", "--limit", "0", "--json").data["records"]
    assert {record.id for record in opened.records(archived=True)} == {record["id"] for record in listed}
    for record in listed:
        shown = memctl("show", record["id"], "--json").data["records"][0]
        assert opened.get(record["id"]).title == shown["title"]
        assert _recall(opened, record["id"]).rstrip().endswith(shown["body"].rstrip())


def test_sync_is_the_same_by_python_and_by_the_command(opened: Memory, repo: Path, memctl: Memctl) -> None:
    git(repo, "init", "-q", "--bare", "../remote.git")
    git(repo, "remote", "add", "origin", "../remote.git")
    git(repo, "push", "-qu", "origin", "HEAD")
    opened.learn("Only here")
    said = memctl("sync", "--dry-run", "--json").data
    assert as_json(opened, "sync", opened.sync(dry_run=True)) == said
    assert said["pushed"] == 1
    before = commits(repo)
    assert opened.sync().pushed == 1
    assert commits(repo) == before
    assert git(repo, "rev-parse", "HEAD") == git(repo, "rev-parse", "@{upstream}")
