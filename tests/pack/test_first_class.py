"""The critical issues and the records of importance 9 and more are named in every pack, before anything is whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memctl.pack import item_sources, items, last_work, rehydrate
from memctl.pack.budget_fill import FORMATS, Pack, fill
from memctl.pack.rehydrate import NO_CONDITIONS
from memctl.store import load
from memctl.store.memory import open_memory
from memctl.write.setup import build_example
from tests.conftest import Memctl, slow
from tests.generated import COUNTERS

RECENT, YEARS_LATER = "2025-11-04T14:00:00Z", "2027-11-04T14:00:00Z"


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "lantern"
    build_example(folder)
    return folder


@pytest.mark.parametrize("step", [50, *slow(10)])
@pytest.mark.parametrize("now", [RECENT, *slow(YEARS_LATER)])
@pytest.mark.parametrize("form", ["markdown", "xml", *slow(*sorted({*FORMATS} - {"markdown", "xml"}))])
def test_larger_pack_loses_no_record_of_great_weight_and_names_all_from_400_tokens_on(
    example: Path, form: str, now: str, step: int
) -> None:
    memory = open_memory(example, os.environ)
    snapshot, count = load.disk(memory), COUNTERS["claude"].tokens
    sources = item_sources.sources(memory, snapshot, None)
    weighty = {
        record.id: record.title
        for record in rehydrate.current_records(snapshot, now)
        if items.weight(record) >= rehydrate.CRITICAL
    }
    assert len(weighty) == 6

    def named(pack: Pack) -> set[str]:
        return {one for one, title in weighty.items() if f"{one} {title}" in pack.text or one in pack.included()}

    before = set[str]()
    for budget in range(200, 3_001, step):
        draft = rehydrate.draft(snapshot, now, NO_CONDITIONS, sources, count, last_work.room(budget))
        pack = fill(draft, form, budget, count)
        assert count(pack.text) == pack.tokens <= budget
        assert before <= named(pack), budget
        before = named(pack)
        assert budget < 400 or before == set(weighty)


def test_critical_issue_is_whole_before_shorter_lesser_records_and_those_without_text(memctl: Memctl) -> None:
    text = "The pool of connections is exhausted when the import runs. "
    for number in range(6):
        memctl("issue", f"Real issue {number}", "--severity", "high")
    memctl("decide", "Use Redis", "--rationale", text * 3, "-i", "7")
    memctl("issue", "Slow search", "--severity", "high", "--description", text * 3)
    critical = memctl("issue", "Money is lost", "--severity", "critical", "--description", text * 5).id
    data = memctl("rehydrate", "--budget", "400", "--json").data
    whole = [one for part in data["parts"].values() for one in part]
    assert critical in whole
    assert "### Real issue" not in data["text"]
