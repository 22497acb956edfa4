"""The critical issues and the records of importance 9 and more are named in every pack, before anything is whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memctl.pack import item_sources, items, last_work, rank, rehydrate
from memctl.pack.budget_fill import FORMATS, Pack, fill
from memctl.pack.rehydrate import NO_CONDITIONS
from memctl.store import load
from memctl.store.memory import open_memory
from memctl.write.setup import build_example
from tests.conftest import Memctl, git, record_all, slow
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
        if items.weight(record) >= rank.CRITICAL
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


@pytest.mark.parametrize("budget", [300, 400, 600, 1_000, 4_000, 20_000])
def test_what_no_pack_may_lose_stands_early_after_its_files_changed(memctl: Memctl, repo: Path, budget: int) -> None:
    for name in ("a", "b", "c"):
        (repo / f"{name}.py").write_text("x = 1\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "code")
    texts = {"severity": "high", "description": "{}. " + "It is slow. " * 40, "timestamp": "2021-01-01"}
    record_all(memctl, "issue", [f"Old issue {number}" for number in range(15)], **texts)
    memctl("decide", "Braces in paths", "--rationale", "The old syntax panics. " * 9, "-i", "9", "--code", "a.py")
    memctl("learn", "WebSocket close frames", "--lesson", "They have to be flushed. " * 9, "--code", "b.py")
    memctl(
        "issue", "Uploads hang", "--severity", "high", "--description", "The limit comes late. " * 9, "--code", "c.py"
    )
    for name in ("a", "b", "c"):
        (repo / f"{name}.py").write_text("x = 2\n")
    git(repo, "commit", "-qam", "change")
    pack = memctl("rehydrate", "--budget", str(budget)).out
    of_task = memctl("rehydrate", "--budget", str(budget), "--task", "websocket close frame is lost").out
    for title, text in (("Braces in paths", pack), ("Uploads hang", pack), ("WebSocket close frames", of_task)):
        assert title in text
        assert budget < 1_000 or text.index(title) < len(text) / 3
    assert "Check before use" not in pack + of_task


def test_titles_of_all_records_of_importance_9_are_named_within_a_third(memctl: Memctl) -> None:
    texts = {"rationale": "{}. " + "It has to be. " * 40, "importance": 9, "timestamp": "2021-01-01"}
    record_all(memctl, "decision", [f"Rule {number}" for number in range(30)], **texts)
    record_all(memctl, "issue", [f"Bug {number}" for number in range(30)], description="{}. " + "x " * 99)
    text = memctl("rehydrate", "--budget", "3000").out
    assert all(f"Rule {number}\n" in text or f"Rule {number};" in text for number in range(30))


def test_explain_says_where_each_record_is_and_why(memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = memctl("decide", "Keep it", "--rationale", "It has to be", "-i", "9").id
    same = [memctl("learn", "Look", "--lesson", "Look at the pool").id for number in range(2)]
    gone = memctl("decide", "Never", "--rationale", "x", "--expires", "2025-11-05").id
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-07T00:00:00Z")
    lines = memctl("rehydrate", "--explain").out.splitlines()
    assert "1 record left out as expired" in memctl("rehydrate").out
    assert f"whole     {whole} Keep it: among the most important, importance 9, of 2025-11-04" in lines
    assert f"title     {same[1]} Look: same text as {same[0]}" in lines
    assert lines[-1].startswith(f"left out  {gone} Never: expired at 2025-11-0")
