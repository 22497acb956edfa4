"""`memctl context window simulate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Memctl
from tests.window import generated


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "session.jsonl"
    found.write_text("".join(generated.transcript(1, 120)))
    return found


def test_policies_are_listed_side_by_side(memctl: Memctl, file: Path) -> None:
    found = memctl("window", "simulate", str(file), "--policy", "fifo,lru,hybrid", "--budget", "60000")
    first, head, *rows = found.out.splitlines()
    assert "requests" in first
    assert "budget of a request: 60,000 tokens; eviction starts above 75% of it and ends at 60%" in first
    assert head.split()[:2] == ["policy", "saved"]
    assert [row.split()[0] for row in rows if row] == ["fifo", "lru", "hybrid", "unmanaged", "fifo", "lru", "hybrid"]


@pytest.mark.slow
def test_all_six_are_tried_if_none_is_named(memctl: Memctl, file: Path) -> None:
    data = memctl("window", "simulate", str(file), "--budget", "60000", "--json").data
    assert [one["policy"] for one in data["policies"]] == [
        "fifo", "lru", "priority", "semantic_merge", "type_based", "hybrid",
    ]  # fmt: skip
    for one in data["policies"]:
        assert one["tokens"] + one["saved"] == data["unmanaged"]["tokens"] == sum(data["unmanaged"]["curve"])
        assert one["peak"] == max(one["curve"]) <= 60_000
        assert one["regrets_per_100_requests"] == round(100 * one["regrets"] / data["requests"], 1)


def test_messages_as_json_are_replayed_too(memctl: Memctl, tmp_path: Path) -> None:
    (tmp_path / "chat.json").write_text(json.dumps({"model": "gpt-5", "messages": generated.chat(2, 40)}))
    data = memctl(
        "window", "simulate", str(tmp_path / "chat.json"), "--policy", "fifo", "--budget", "5000", "--json"
    ).data
    assert data["model"] == "gpt"
    assert data["policies"][0]["evictions"] > 0


@pytest.mark.parametrize(
    ("args", "why", "code"),
    [
        (("--budget", "1000", "--policy", "magic"), "there is no eviction policy 'magic'", 2),
        (("--budget", "1000", "--trigger", "0.5", "--target", "0.6"), "--target must be lower than --trigger", 2),
        ((), "Missing option '--budget'", 2),
    ],
)
def test_invalid_options_of_simulate_are_refused(
    memctl: Memctl, file: Path, args: tuple[str, ...], why: str, code: int
) -> None:
    found = memctl("window", "simulate", str(file), *args, code=code)
    assert why in found.err


def test_a_file_without_an_answer_is_refused(memctl: Memctl, tmp_path: Path) -> None:
    (tmp_path / "short.json").write_text(json.dumps([{"role": "user", "content": "Fix it."}]))
    found = memctl("window", "simulate", str(tmp_path / "short.json"), "--budget", "10", code=1)
    assert "has no answer of a model" in found.err
