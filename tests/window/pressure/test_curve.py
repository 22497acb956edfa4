"""The curve of a session, its picture, and what a window looks like now."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.errors import MemctlError
from memctl.transcript import window
from memctl.window import status
from memctl.window.budget.profiles import BudgetComponent
from memctl.window.config import WindowConfig
from memctl.window.pressure.curve import Compaction, Curve, bar, of_transcript, sparkline, svg
from memctl.window.pressure.limits import Limit
from memctl.window.pressure.monitor import CLIENT_ESTIMATED, MODEL_REPORTED, PressureZone, Thresholds
from tests.window import generated
from tests.window.texts import COUNTER, TASK, assistant, result, text, use, user

LIMIT = Limit(200_000, 167_000, "test")


def line(**fields: Any) -> str:
    return json.dumps(fields) + "\n"


def answer(identifier: str, tokens: int, *blocks: dict[str, Any], **fields: Any) -> str:
    usage = {"input_tokens": 10, "cache_read_input_tokens": tokens - 30, "cache_creation_input_tokens": 20}
    message = {"id": identifier, "model": "claude-opus-4-5", "usage": usage, "content": list(blocks) or [text("ok")]}
    return line(type="assistant", message={"role": "assistant", **message}, **fields)


def prompt(said: str) -> str:
    return line(type="user", message=user(said))


def read(lines: Iterable[str]) -> Curve:
    return of_transcript(window.read(lines))


def test_each_request_is_a_point_though_its_answer_has_many_lines() -> None:
    curve = read([prompt(TASK), answer("m1", 30_000), answer("m1", 30_000), answer("m2", 31_000)])
    assert curve.points == (30_000, 31_000)
    assert curve.beginning == TASK
    assert curve.source == MODEL_REPORTED


def test_curve_ignores_sub_agents_synthetic_answers_and_broken_lines() -> None:
    curve = read(
        [
            "{broken\n",
            "\n",
            "[1]\n",
            answer("m1", 30_000),
            answer("s1", 90_000, isSidechain=True),
            line(type="assistant", message={"model": "<synthetic>", "id": "x", "usage": {"input_tokens": 5}}),
            line(type="assistant", message={"id": "m3", "usage": {"input_tokens": "many"}}),
            line(type="assistant", message={"id": "m4", "usage": [5]}),
            line(type="assistant", message="none", usage=5),
            answer("m2", 31_000),
        ]
    )
    assert curve.points == (30_000, 31_000)


def test_lines_that_a_resumption_repeats_count_once() -> None:
    lines = [answer("m1", 30_000, uuid="a"), answer("m2", 40_000, uuid="b")]
    assert read([*lines, *lines, answer("m3", 41_000, uuid="c")]).points == (30_000, 40_000, 41_000)


def test_a_compaction_is_marked_with_what_the_host_says_of_it() -> None:
    boundary = line(
        type="system", subtype="compact_boundary", compactMetadata={"trigger": "auto", "preTokens": 166_000}
    )
    curve = read([answer("m1", 166_000), boundary, answer("m2", 40_000), answer("m2", 40_000)])
    assert curve.compactions == (Compaction(1, 2, "auto", 166_000, 0),)
    assert curve.points == (166_000, 40_000)
    odd = line(type="system", subtype="compact_boundary", compactMetadata="?")
    assert read([odd]).compactions == (Compaction(0, 1),)


def test_memory_use_does_not_grow_with_the_transcript() -> None:
    base = [one.rstrip("\n") + "\n" for one in generated.transcript(1, 300)]

    def peak(times: int) -> int:
        lines: Iterator[str] = (one.replace('"uuid": "', f'"uuid": "{n}') for n in range(times) for one in base)
        tracemalloc.start()
        try:
            seen = status.read(lines, "x", lambda model: COUNTER)
            assert len(seen.curve.points) > 200 * times
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert sum(map(len, base)) > 1_000_000
    assert peak(6) < 2 * peak(1)


def judged(lines: Iterable[str], limit: Limit = LIMIT) -> tuple[status.SeenConversation, status.Status]:
    seen = status.read(lines, "x", lambda model: COUNTER)
    return seen, status.judge(seen, limit, WindowConfig())


def test_the_parts_of_a_reported_window_sum_to_it() -> None:
    _, found = judged(generated.transcript(1, 120))
    used = {part.name: part.used for part in found.parts}
    assert sum(used.values()) == pytest.approx(found.reading.current_tokens, abs=3)
    assert used["system_prompt + tool_definitions"] == pytest.approx(generated.FRAME, rel=0.03)
    assert used["tool_results"] > used["message_history"]
    assert found.reading.source == MODEL_REPORTED
    assert found.reading.disagreement is None  # the client has no count of the whole


def test_the_parts_of_messages_are_counted() -> None:
    body = {
        "system": "Be brief. " * 50,
        "tools": [{"name": "Read", "input_schema": {"type": "object"}}],
        "messages": [
            user(TASK),
            assistant(use("t1", "Read", file_path="src/api.ts")),
            user(result("t1", "const x = 1;\n" * 400)),
            assistant("Done."),
        ],
    }
    seen, found = judged([json.dumps(body)])
    used = {part.components[0]: part.used for part in found.parts}
    assert all(used[part] for part in BudgetComponent if part.value not in ("memory_injection", "output_reserved"))
    assert found.reading.source == CLIENT_ESTIMATED
    assert seen.curve.points[-1] == found.reading.current_tokens
    assert found.largest[0].about == "src/api.ts"
    assert (found.largest[0].tool, found.largest[0].line) == ("Read", 0)


def test_the_largest_results_are_named_without_credentials() -> None:
    key = "sk-ant-" + "a1B2c3D4" * 4
    lines = [
        prompt(TASK),
        answer("m1", 30_000, use("t1", "Bash", command=f"curl -H 'x-api-key: {key}' x"), use("t2", "Read", path="b")),
        line(type="user", message=user(result("t1", "big " * 5_000), result("t2", "small"))),
        answer("m2", 40_000),
    ]
    _, found = judged(lines)
    assert [(one.tool, one.line) for one in found.largest] == [("Bash", 3), ("Read", 3)]
    assert key[:12] not in found.largest[0].about


def test_answer_reserve_is_used_last() -> None:
    lines = [prompt(TASK), answer("m1", 165_000)]
    _, found = judged(lines)
    (reserve,) = [part for part in found.parts if part.components == (BudgetComponent.OUTPUT_RESERVED,)]
    assert (reserve.used, reserve.limit) == (8_350 - 2_000, 8_350)
    assert found.reading.zone is PressureZone.RED


def test_health_follows_the_requests() -> None:
    boundary = line(type="system", subtype="compact_boundary", compactMetadata={"preTokens": 160_000})
    lines = [prompt(TASK), answer("m1", 150_000), answer("m2", 158_000), boundary, prompt(TASK), answer("m3", 40_000)]
    _, found = judged(lines)
    first, second, third = found.history
    assert (first.burn_rate, second.burn_rate, third.burn_rate) == (None, 8_000, None)
    assert (second.compression_ratio, third.compression_ratio) == (None, 4)
    assert [one.window_id for one in found.history] == [1, 1, 2]
    assert third.utilization == pytest.approx(40_000 / 167_000)
    assert first.tool_result_bloat is None
    assert third.tool_result_bloat == 0
    assert all(one.fidelity_score is None and one.eviction_rate is None for one in found.history)


def test_a_window_too_small_for_a_budget_is_refused() -> None:
    with pytest.raises(MemctlError, match="no room for 4,000"):
        judged([prompt(TASK), answer("m1", 100)], Limit(5_000, 5_000, "test"))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**12) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "id"]), inner),
    max_leaves=6,
)


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "type": st.sampled_from(["user", "assistant", "system", "x"]) | _JSON,
                "message": _JSON
                | st.fixed_dictionaries(
                    {
                        "id": _JSON,
                        "model": _JSON,
                        "content": _JSON,
                        "usage": _JSON | st.dictionaries(st.sampled_from(["input_tokens", "prompt_tokens"]), _JSON),
                    }
                ),
            },
            optional={
                "subtype": st.just("compact_boundary") | _JSON,
                "compactMetadata": _JSON | st.dictionaries(st.sampled_from(["preTokens", "postTokens"]), _JSON),
                "uuid": _JSON,
                "isSidechain": _JSON,
            },
        ),
        max_size=8,
    )
)
def test_any_transcript_is_read_or_refused(lines: list[dict[str, Any]]) -> None:
    with suppress(MemctlError):  # there are no messages in it
        judged(["{}\n", *(json.dumps(one) + "\n" for one in lines)])


def test_a_sparkline_marks_compactions_and_keeps_peaks() -> None:
    curve = Curve((0, 50, 100, 10), compactions=(Compaction(3, 9),))
    assert sparkline(curve, 100) == "▁▅█|▁"
    long = Curve((*[10] * 500, 100, *[10] * 499))
    drawn = sparkline(long, 100, 50)
    assert len(drawn) == 50
    assert drawn.count("█") == 1
    assert sparkline(Curve(), 100) == ""


def test_a_sparkline_of_very_many_windows_shows_the_last() -> None:
    curve = Curve((1, 100) * 300, compactions=tuple(Compaction(2 * n, 0) for n in range(1, 300)))
    drawn = sparkline(curve, 100, 60)
    assert drawn.startswith("…")
    assert len(drawn) < 90


@given(
    st.lists(st.integers(0, 10**7), max_size=300), st.lists(st.integers(0, 300), max_size=5),
    st.text(), st.integers(1, 80),
)  # fmt: skip
def test_any_curve_can_be_drawn(points: list[int], cuts: list[int], title: str, width: int) -> None:
    found = sorted({min(cut, len(points)) for cut in cuts})
    curve = Curve(tuple(points), compactions=tuple(Compaction(cut, 0) for cut in found))
    drawn = sparkline(curve, 167_000, width)
    assert "\n" not in drawn
    root = ElementTree.fromstring(svg(curve, LIMIT, Thresholds(), title))
    lines = [one for one in root.iter() if one.get("class") == "compaction"]
    assert len(lines) == len(found)


def test_a_picture_names_its_zones_and_its_ends() -> None:
    root = ElementTree.fromstring(svg(Curve((1, 2)), LIMIT, Thresholds(), "t"))
    texts = {one.text for one in root.iter() if one.tag.endswith("text")}
    assert {"yellow", "orange", "red", "tokens", "0", "167,000", "150,300"} <= texts


def test_the_components_of_counted_messages_sum_to_the_whole() -> None:
    found = status.read([json.dumps([user("Fix it."), assistant("Done.")])], "m", lambda _: COUNTER)
    judged = status.judge(found, LIMIT, WindowConfig())
    assert sum(part.used for part in judged.parts) == judged.reading.current_tokens > 0


def test_a_picture_escapes_its_title_and_fits_both_kinds_of_page() -> None:
    drawn = svg(Curve((1, 2)), LIMIT, Thresholds(), "</title><script>alert(1)</script>\x00")
    root = ElementTree.fromstring(drawn)
    assert not [one for one in root.iter() if one.tag.endswith("script")]
    assert "prefers-color-scheme: dark" in drawn
    assert "\ufffd" in drawn


def test_a_bar_is_full_at_its_limit_and_shows_the_least() -> None:
    assert [bar(share, 4) for share in (0, 0.01, 0.5, 1, 9)] == ["....", "#...", "##..", "####", "####"]
