"""The audit log: whole lines, bounded, without credentials."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.errors import MemctlError
from memctl.window.audit import LONGEST, AuditLog, Decision
from memctl.window.pressure.monitor import ContextPressureMonitor, PressureZone

NOW = "2025-11-04T14:32:00Z"
KEY = "sk-ant-" + "a1B2c3D4" * 4


def log(folder: Path, **options: int) -> AuditLog:
    return AuditLog(folder / "audit" / "window.jsonl", lambda: NOW, **options)


def test_a_decision_is_a_line_with_before_and_after(tmp_path: Path) -> None:
    audit = log(tmp_path)
    audit.record("eviction", "evict b2, b4", turn=8, before={"tokens": 3_382}, after={"tokens": 2_812}, reason="orange")
    audit.record("zone_change", "watch", turn=9)
    first, second = (msgspec.json.decode(line) for line in audit.file.read_bytes().splitlines())
    assert first == {
        "timestamp": NOW, "event": "eviction", "decision": "evict b2, b4", "turn": 8, "reason": "orange",
        "before": {"tokens": 3_382}, "after": {"tokens": 2_812},
    }  # fmt: skip
    assert second["event"] == "zone_change"
    assert [decision.turn for decision in audit.read()] == [8, 9]


def test_readings_and_zones_can_be_recorded_directly(tmp_path: Path) -> None:
    reading = ContextPressureMonitor(100_000).measure(80_000)
    made = log(tmp_path).record("pressure", "evict", after={"reading": reading, "zone": PressureZone.ORANGE})
    assert made.after["zone"] == "orange"
    assert made.after["reading"]["zone"] == "orange"
    assert made.after["reading"]["current_tokens"] == 80_000


@pytest.mark.parametrize(
    "details",
    [
        {"command": f"curl -H 'x-api-key: {KEY}' https://example.org"},
        {"env": {"ANTHROPIC_API_KEY": KEY}},
        {"arguments": ["--password", "x", {"password": "correct-horse-battery"}], "text": "correct"},
        {"output": f"line one\nkey {KEY}\nline three"},
        {KEY: 1},
        {"output": "x" * (LONGEST - 10) + KEY},
    ],
)
def test_credentials_are_redacted(tmp_path: Path, details: dict[str, object]) -> None:
    audit = log(tmp_path)
    audit.record("tool_result", f"summarise, token={KEY}", details=details)
    text = audit.file.read_text()
    assert KEY[:20] not in text
    assert "correct-horse" not in text
    assert "[redacted: " in text


def test_texts_and_lists_are_cut_and_endless_ones_refused(tmp_path: Path) -> None:
    made = log(tmp_path).record("x", "y", details={"text": "word " * 10_000, "list": list(range(900))})
    assert len(made.details["text"]) == LONGEST
    assert len(made.details["list"]) == 200
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(MemctlError, match="nested too deep"):
        log(tmp_path).record("x", "y", details={"deep": endless})


def test_the_log_is_bounded_and_the_oldest_goes(tmp_path: Path) -> None:
    audit = log(tmp_path, most_bytes=1_000, most_files=3)
    for turn in range(100):
        audit.record("eviction", "evict", turn=turn)
    found = sorted(audit.file.parent.glob("window.jsonl*"))
    assert [file.name for file in found] == ["window.jsonl", "window.jsonl.1", "window.jsonl.2", "window.jsonl.lock"]
    assert all(file.stat().st_size <= 1_000 for file in found)
    turns = [decision.turn for decision in audit.read()]
    assert turns == list(range(turns[0], 100))
    assert len(turns) > 15


def test_log_of_one_file_keeps_the_latest_decisions(tmp_path: Path) -> None:
    audit = log(tmp_path, most_bytes=300, most_files=1)
    for turn in range(20):
        audit.record("eviction", "evict", turn=turn)
    assert [decision.turn for decision in audit.read()][-1] == 19
    assert not list(audit.file.parent.glob("*.1"))


def test_a_half_line_of_somebody_killed_costs_that_line_only(tmp_path: Path) -> None:
    audit = log(tmp_path)
    audit.record("a", "one")
    with open(audit.file, "ab") as stream:
        stream.write(b'{"timestamp":"2025')
    audit.record("b", "two")
    assert [decision.event for decision in audit.read()] == ["a", "b"]


def test_a_decision_larger_than_the_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MemctlError, match="the audit log may have only"):
        log(tmp_path, most_bytes=50).record("eviction", "evict")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "audit").write_text("a file")
    with pytest.raises(MemctlError, match=r"window\.jsonl can't be written"):
        log(tmp_path).record("eviction", "evict")


def test_unwritable_log_counts_missed_decisions_and_records_them_later(tmp_path: Path) -> None:
    audit = log(tmp_path)
    audit.file.mkdir(parents=True)
    for number in range(3):
        audit.attempt("eviction", "evicted", turn=number)
    assert audit.missed == 3
    audit.file.rmdir()
    audit.attempt("eviction", "evicted", turn=4)
    missed, found = audit.read()
    assert (missed.event, missed.decision, missed.details) == ("audit", "missed", {"decisions": 3})
    assert missed.reason.endswith("can't be written: Is a directory")
    assert found.turn == 4
    assert audit.missed == 0


def test_without_a_file_there_is_nothing_to_read(tmp_path: Path) -> None:
    assert list(log(tmp_path).read()) == []


def test_many_processes_lose_no_line(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from memctl.window.audit import AuditLog;"
        "log = AuditLog(Path(sys.argv[1]), lambda: '', most_bytes=2_000, most_files=60);"
        "[log.record('e', sys.argv[2], turn=n) for n in range(40)]"
    )
    file = tmp_path / "window.jsonl"
    running = [subprocess.Popen([sys.executable, "-c", code, str(file), str(n)]) for n in range(4)]
    assert [process.wait() for process in running] == [0] * 4
    found = list(AuditLog(file, lambda: "", most_files=60).read())
    for n in range(4):
        assert [one.turn for one in found if one.decision == str(n)] == list(range(40))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=12,
    )
)
def test_any_recorded_value_can_be_read_back(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    audit = log(tmp_path_factory.mktemp("audit"))
    made = audit.record("x", "y", details={"value": value})
    (found,) = audit.read()
    assert isinstance(found, Decision)
    assert msgspec.json.encode(found) == msgspec.json.encode(made)
