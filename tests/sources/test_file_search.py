"""The files that a query is about, for `files` and for search."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memctl.record.restrictions import Withheld
from memctl.record.snapshot import Snapshot
from memctl.sources import file_search
from memctl.store import load
from memctl.store.memory import Memory, open_memory
from tests.conftest import Memctl

KEY = "AK" + "IA" + "QWERTYUIOPASDFGH"


@pytest.fixture
def memory(repo: Path) -> Memory:
    for name, text in {
        "src/pager.py": "def show(text): ...  # opens less on windows\n",
        "src/cart.py": "def total(): ...\n",
        "tests/keys.py": f"PAGER_KEY = '{KEY}'\n",
        ".env": "PAGER=less\n",
        "old/pager.py": "pager\n",
        ".memctlignore": "old/\n",
    }.items():
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).write_text(text)
    return open_memory(repo, os.environ)


def found(memory: Memory, snapshot: Snapshot, query: str) -> list[str]:
    return [hit.path for hit in file_search.search(memory, snapshot, query)[:10]]


def test_files_are_found_by_their_text_and_their_names(memory: Memory) -> None:
    hits = file_search.search(memory, load.disk(memory), "the pager on windows")
    assert [hit.path for hit in hits] == ["src/pager.py", "tests/keys.py"]
    assert hits[0].score > hits[1].score > 0
    assert [why for _, why in hits[0].reasons] == ["its text has pager, windows", "it is called pager"]


def test_file_with_a_credential_is_found_but_not_by_the_credential(memory: Memory) -> None:
    assert found(memory, load.disk(memory), "pager key")[0] == "tests/keys.py"
    assert found(memory, load.disk(memory), KEY) == []


def test_withheld_file_is_not_found(memory: Memory) -> None:
    snapshot = load.disk(memory)
    snapshot.withheld = Withheld(files={"src/pager.py": "§3 is closed"})
    assert found(memory, snapshot, "the pager on windows") == ["tests/keys.py"]


def test_a_record_that_matches_names_its_files(memory: Memory, memctl: Memctl) -> None:
    memctl("decide", "Refunds go through one queue", "--rationale", "One place.", "--code", "src/cart.py")
    assert found(memory, load.disk(memory), "refunds queue")[0] == "src/cart.py"
