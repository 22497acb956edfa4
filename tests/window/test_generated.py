"""The generator of conversations is what it says it is: every measured figure, within a tolerance.

The tolerances are what a few sessions scatter by; the figures themselves come from 279 real ones.
"""

from __future__ import annotations

import json
import statistics
from functools import cache
from itertools import chain

import pytest

from memctl.transcript import window as transcript
from memctl.window import validate
from tests.window import generated, touches
from tests.window.invented import LARGE, Request, Session, tokens_of

CALLS = 600
NEXT = 10  # reads of a window that are the next ones: the facts don't say how many they looked at


@cache
def sessions() -> list[tuple[Request, ...]]:
    return [generated.requests(seed, CALLS) for seed in range(12)]


def requests() -> list[Request]:
    return list(chain.from_iterable(sessions()))


def results() -> list[int]:
    return sorted(len(step.result) for request in requests() for step in request.steps)


def characters(request: Request) -> int:
    arguments = sum(len(json.dumps(step.arguments)) + len(step.result) for step in request.steps)
    return len(request.said) + len(request.thought) + len(request.answer) + arguments


def test_results_are_two_thirds_of_it_and_few_of_them_hold_half() -> None:
    sizes = results()
    large = [size for size in sizes if size >= LARGE]
    assert sum(sizes) / sum(map(characters, requests())) == pytest.approx(0.68, abs=0.03)
    assert len(large) / len(sizes) == pytest.approx(0.049, abs=0.01)
    assert sum(large) / sum(sizes) == pytest.approx(0.5, abs=0.05)


def test_requests_grow_as_real_ones_do() -> None:
    growth = sorted(map(tokens_of, requests()))
    assert statistics.median(growth) == pytest.approx(603, rel=0.2)
    assert statistics.mean(growth) == pytest.approx(1_329, rel=0.1)
    assert growth[int(len(growth) * 0.99)] == pytest.approx(14_800, rel=0.2)


def test_windows_are_compacted_as_often_as_real_ones() -> None:
    between = []
    for session in sessions():
        calls = 0
        for request in session:
            if request.is_compacted:
                between.append(calls)
                calls = 0
            calls += len(request.steps)
    assert statistics.median(between) == pytest.approx(87, rel=0.15)


def test_after_a_compaction_known_files_are_read_again_and_mostly_the_latest() -> None:
    found = [touches.reads(session, NEXT) for session in sessions()]
    number, known, listed = (sum(getattr(one, name) for one in found) for name in ("number", "known", "listed"))
    assert number >= 300
    assert known / number == pytest.approx(0.75, abs=0.04)
    assert listed / known == pytest.approx(0.96, abs=0.02)


def test_a_file_that_is_read_twice_and_was_not_changed_has_the_same_lines() -> None:
    seen: dict[str, set[str]] = {}
    again = 0
    for step in chain.from_iterable(request.steps for request in sessions()[0]):
        path = step.arguments.get("file_path", "")
        lines = set(step.result.splitlines())
        if step.tool in ("Edit", "Write"):
            seen.pop(path, None)
        elif step.tool == "Read" and path in seen and "offset" not in step.arguments:
            again += 1
            assert seen[path] <= lines
        if step.tool == "Read" and "offset" not in step.arguments:
            seen[path] = lines
    assert again >= 10


@pytest.mark.parametrize("seed", range(3))
def test_generated_forms_are_valid_and_reproducible_by_seed(seed: int) -> None:
    assert validate(generated.anthropic(seed)) == []
    assert validate(generated.chat(seed)) == []
    assert generated.requests(seed) == tuple(Session(seed, 120).requests())
    lines = list(generated.transcript(seed))
    assert lines == list(generated.transcript(seed))
    read = transcript.read(lines)
    assert validate(read.messages) == []
    assert (read.left_out, read.broken) == (0, 0)
    assert len(read.messages) == len(generated.anthropic(seed))
    assert generated.anthropic(seed) != generated.anthropic(seed + 1)
