"""`hook log` and `hook stats`: what the hooks noted before compactions, and what transcripts say afterwards."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from memctl.hooks import log
from tests.conftest import Memctl
from tests.hooks.session import Session


def compact(session: Session, trigger: str, before: int, after: int, calls: int) -> None:
    session.holds(before)
    for _ in range(calls):
        session.send("PostToolUse")
    session.send("PreCompact", trigger=trigger)
    session.transcript.add(
        "system",
        subtype="compact_boundary",
        compactMetadata={"trigger": trigger, "preTokens": before + 20, "postTokens": after},
    )
    session.send("SessionStart", source="compact")


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-04T09:00:30Z")  # when the transcripts of these tests are written


@pytest.mark.usefixtures("now")
def test_compaction_is_logged_with_tokens_before_and_after(session: Session, memctl: Memctl) -> None:
    compact(session, "manual", 140_000, 9_000, 3)
    session.send("Stop")
    (one,) = memctl("hook", "log", "--json").data["compactions"]
    assert one == {
        "at": "2025-11-04T09:00:30Z",
        "session": session.name,
        "host": "claude-code",
        "trigger": "manual",
        "before": 140_020,
        "after": 9_000,
        "limit": 167_000,
        "calls": 3,
        "suggested": ["orange"],
    }
    lines = memctl("hook", "log").out.splitlines()
    assert lines[1].split() == ["2025-11-04T09:00:30Z", "5f6c2a10", "manual", "140,020", "9,000", "3", "orange"]


@pytest.mark.usefixtures("now")
def test_stats_are_counts_and_medians(session: Session, memctl: Memctl) -> None:
    for number, (before, calls) in enumerate([(140_000, 2), (100_000, 4), (20_000, 6)]):
        compact(session, "manual" if number else "auto", before, 9_000, calls)
    session.send("Stop")
    data = memctl("hook", "stats", "--json").data
    assert data["by_trigger"] == {"auto": 1, "manual": 2}
    assert (data["compactions"], data["sessions"], data["median_calls"]) == (3, 1, 4)
    assert (data["median_tokens_before"], data["median_tokens_after"]) == (100_020, 9_000)
    assert data["suggested_before"] == pytest.approx(1 / 3)
    assert "3 in 1 session" in memctl("hook", "stats").out


def test_compaction_unseen_by_hooks_is_logged_once_from_the_transcript(
    session: Session, repo: Path, tmp_path: Path, memctl: Memctl
) -> None:
    session.transcript.prompt("Work")
    session.transcript.compaction("The summary")
    session.send("Stop")
    fork = Session(repo, tmp_path / "fork.jsonl", "fork")
    fork.transcript = session.transcript  # a session that goes on from another has its lines
    fork.send("Stop")
    (one,) = memctl("hook", "log", "--json").data["compactions"]
    assert (one["trigger"], one["before"], one["after"], one["calls"]) == ("auto", 167_000, None, None)


def test_tokens_after_a_compaction_are_those_of_the_next_request(session: Session, memctl: Memctl) -> None:
    session.transcript.prompt("Work")
    session.transcript.compaction("The summary")
    session.holds(70_000, isSidechain=True)
    session.holds(80_000, model="<synthetic>")
    session.holds(31_000)
    session.holds(45_000)
    session.send("Stop")
    assert [one["after"] for one in memctl("hook", "log", "--json").data["compactions"]] == [31_000]
    assert memctl("hook", "stats", "--json").data["median_tokens_after"] == 31_000


def test_tokens_after_a_compaction_are_filled_in_by_a_late_request(session: Session, memctl: Memctl) -> None:
    session.transcript.prompt("Work")
    session.transcript.compaction("The first summary")
    session.send("SessionEnd")
    session.transcript.compaction("The second summary")  # nothing was asked between them
    session.send("Stop")
    assert [one["after"] for one in memctl("hook", "log", "--json").data["compactions"]] == [None, None]
    session.holds(31_000)
    session.send("Stop")
    session.holds(45_000)
    session.send("Stop")
    assert [one["after"] for one in memctl("hook", "log", "--json").data["compactions"]] == [31_000, None]


@pytest.mark.usefixtures("now")
def test_two_compactions_seen_by_hooks_are_logged_as_two(session: Session, memctl: Memctl) -> None:
    session.transcript.prompt("Work")
    for tokens in (20_000, 31_000):
        session.transcript.prompt("Work on")
        session.send("PreCompact", trigger="auto")
        session.transcript.compaction("The summary")
        session.holds(tokens)
    session.send("Stop")
    assert sorted(one["after"] for one in memctl("hook", "log", "--json").data["compactions"]) == [20_000, 31_000]


def test_log_without_compactions_is_empty(memctl: Memctl) -> None:
    assert memctl("hook", "log", "--json").data == {"total": 0, "compactions": []}
    assert "no compaction of a context is logged yet" in memctl("hook", "log").err
    assert memctl("hook", "stats", "--json").data["suggested_before"] is None


def test_broken_lines_and_odd_values_of_the_log_are_skipped(session: Session, memctl: Memctl) -> None:
    session.root.mkdir(parents=True)
    good = {"kind": "compaction", "at": "2025-11-04T09:00:00Z", "session": "s", "calls": True, "before": -5}
    odd = [
        b"{",
        b"[]",
        b'{"at": 5}',
        b'{"at": "never"}',
        b"\xff",
        b'{"kind": "left", "line": "unknown", "after": 5}',
        b'{"kind": "left", "after": "many"}',
        json.dumps({**good, "suggested": [1, "red"]}).encode(),
    ]
    (session.root / log.COMPACTIONS).write_bytes(b"\n".join(odd))
    (one,) = memctl("hook", "log", "--json").data["compactions"]
    assert (one["calls"], one["before"], one["suggested"]) == (None, None, ["red"])


def test_the_logs_stay_within_a_size(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "_MOST_BYTES", 2_000)
    for number in range(200):
        log.add(session.root, log.COMPACTIONS, {"number": number})
        log.fault(session.root, "Stop", "s", ValueError("x" * 10_000))
    kept = [entry["number"] for entry in log.entries(session.root, log.COMPACTIONS)]
    assert kept[-1] == 199
    assert kept == list(range(kept[0], 200))
    assert sum(file.stat().st_size for file in session.root.glob("*.jsonl*")) < 4 * 2_000 + 4 * 2_500


def test_the_oldest_sessions_are_forgotten(session: Session) -> None:
    for number in range(210):
        (session.root / "sessions" / f"old-{number}").mkdir(parents=True)
        os.utime(session.root / "sessions" / f"old-{number}", (number, number))
    session.send("SessionStart", source="startup")
    left = {path.name for path in (session.root / "sessions").iterdir()}
    assert len(left) <= 201
    assert "old-209" in left
    assert "old-0" not in left


@pytest.mark.usefixtures("now")
def test_the_log_of_a_memory_that_can_not_be_opened_can_be_read(session: Session, memctl: Memctl) -> None:
    session.send("PreCompact", trigger="auto")
    (session.repo / ".memory" / "config.yaml").write_text("project_id: [shop\n")
    session.send("SessionStart", source="compact")
    faults = memctl("hook", "log", "--faults")
    assert "config.yaml:1: not valid YAML" in faults.out
    assert faults.err.startswith(
        "warning: the hooks of agents can do nothing in this folder: .memory/config.yaml:1: not valid YAML"
    )
    assert memctl("hook", "log", "--json").data["total"] == 1
    assert memctl("hook", "stats", "--json").data["compactions"] == 1
    (session.repo / ".memory").rename(session.repo / "elsewhere")
    assert "there is no memory" in memctl("hook", "log", code=1).err
