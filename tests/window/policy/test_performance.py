"""How a model does as its context grows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memctl.transcript import window
from memctl.window.policy import performance, quality
from memctl.window.policy.performance import Part, Performance
from tests.conftest import Memctl
from tests.window.policy.texts import measured


def transcript(number: int, slow: int = 1, failing: int = 0) -> list[str]:
    """So many requests of rising size, of 2 s each, in the last third `slow` times that; `failing` calls fail there."""
    lines = []
    for n in range(number):
        is_late = n >= number * 2 // 3
        moment = n * 60
        answered = moment + 2 * (slow if is_late else 1)
        failed = is_late and n < number * 2 // 3 + failing
        result = {"type": "tool_result", "tool_use_id": f"t{n - 1}", "content": "x", "is_error": failed}
        asked = {"role": "user", "content": [result] if n else "Do it."}
        usage = {"input_tokens": 10_000 + 1_000 * n}
        call = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": "ls"}}
        answer = {"id": f"a{n}", "role": "assistant", "model": "claude-opus-4-6", "usage": usage, "content": [call]}
        lines.append(json.dumps({"type": "user", "timestamp": stamp(moment), "message": asked}))
        lines.append(json.dumps({"type": "assistant", "timestamp": stamp(answered), "message": answer}))
    return lines


def stamp(second: int) -> str:
    return f"2025-11-04T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.500Z"


def done(number: int, slow: int = 1, failing: int = 0) -> Performance:
    return performance.measure(window.read(transcript(number, slow, failing)))


def test_requests_are_grouped_by_context_size() -> None:
    found = done(30, slow=3, failing=6)
    assert found.parts == (Part(10, 14_500, 2.0, 10, 0), Part(10, 24_500, 2.0, 10, 1), Part(10, 34_500, 6.0, 9, 5))
    assert found.drop == "failed calls 0% -> 56%, seconds 2.0 -> 6.0"
    assert done(30).drop == ""
    assert done(30, failing=3).drop == ""  # chance


def test_few_requests_and_odd_times_tell_nothing() -> None:
    assert done(29) == Performance(())
    odd = [line.replace("2025-11-04T", "yesterday ") for line in transcript(30)]
    assert performance.measure(window.read(odd)).parts[0].seconds is None


@pytest.mark.parametrize(("given", "fired"), [(None, None), (done(9), None), (done(30), False), (done(60, 4), True)])
def test_a_drop_is_a_trigger(given: Performance | None, fired: bool | None) -> None:
    found = {one.name: one for one in quality.signals(measured("Some text."), given)}["performance drop"]
    assert found.fired is fired


def test_quality_and_health_show_performance_and_unmeasured_metrics(memctl: Memctl, tmp_path: Path) -> None:
    session = tmp_path / "session.jsonl"
    session.write_text("\n".join(transcript(30, slow=3)) + "\n")
    text = tmp_path / "text.md"
    text.write_text("Some text.")
    shown = memctl("quality", str(text), "--transcript", str(session)).out
    assert "performance drop  seconds 2.0 -> 6.0" in shown
    assert "not measured: response quality, consistency" in shown
    assert memctl("quality", str(text), "--json").data["performance"] is None
    assert "is not a transcript" in memctl("quality", str(text), "--transcript", str(text), code=2).err
    health = memctl("window", "health", str(session), "--json", code=None).data["performance"]
    assert [part["seconds"] for part in health["parts"]] == [2.0, 2.0, 6.0]
    assert "10 requests  34,500 tokens  6.0 s" in memctl("window", "health", str(session), code=None).out
