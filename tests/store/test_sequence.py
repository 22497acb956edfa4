"""Numbers for ids, as one command asks for them several times."""

from __future__ import annotations

import os
from pathlib import Path

from memctl.record.kinds import LEARNING
from memctl.store.memory import open_memory
from memctl.store.sequence import Sequence
from tests.conftest import Memctl

DAY = "2025-11-04"


def test_new_sequence_has_the_stored_counters(repo: Path, memctl: Memctl) -> None:
    memory = open_memory(repo, os.environ)
    first = Sequence(memory)
    assert first.take(LEARNING, DAY) == [f"LRN-{DAY}-001"]
    assert Sequence(memory).take(LEARNING, DAY) == [f"LRN-{DAY}-001"]  # nothing was saved
    assert memctl("learn", "Meanwhile").id == f"LRN-{DAY}-001"
    assert Sequence(memory).take(LEARNING, DAY, 2) == [f"LRN-{DAY}-002", f"LRN-{DAY}-003"]
    assert first.take(LEARNING, DAY) == [f"LRN-{DAY}-002"]
