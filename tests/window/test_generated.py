"""The generator of conversations is what it says it is."""

from __future__ import annotations

import json
import statistics
from itertools import chain

import pytest

from memctl.window import validate
from memctl.window.messages import transcript
from tests.window import generated

SESSIONS = [generated.requests(seed, 600) for seed in range(8)]
REQUESTS = list(chain.from_iterable(SESSIONS))
RESULTS = sorted(len(step.result) for request in REQUESTS for step in request.steps)


def characters(request: generated.Request) -> int:
    arguments = sum(len(json.dumps(step.arguments)) + len(step.result) for step in request.steps)
    return len(request.said) + len(request.thought) + len(request.answer) + arguments


def test_results_are_two_thirds_of_it_and_few_of_them_hold_half() -> None:
    large = [size for size in RESULTS if size >= generated.LARGE]
    assert sum(RESULTS) / sum(map(characters, REQUESTS)) == pytest.approx(0.68, abs=0.05)
    assert len(large) / len(RESULTS) == pytest.approx(0.049, abs=0.01)
    assert sum(large) / sum(RESULTS) == pytest.approx(0.5, abs=0.06)


def test_requests_grow_as_real_ones_do() -> None:
    growth = sorted(map(generated._tokens, REQUESTS))
    assert statistics.median(growth) == pytest.approx(603, rel=0.25)
    assert statistics.mean(growth) == pytest.approx(1_329, rel=0.15)
    assert growth[int(len(growth) * 0.99)] == pytest.approx(14_800, rel=0.25)


def test_windows_are_compacted_as_often_as_real_ones() -> None:
    between = []
    for session in SESSIONS:
        calls = 0
        for request in session:
            if request.is_compacted:
                between.append(calls)
                calls = 0
            calls += len(request.steps)
    assert statistics.median(between) == pytest.approx(87, rel=0.25)


@pytest.mark.parametrize("seed", range(4))
def test_all_forms_are_valid_and_the_same_for_the_same_seed(seed: int) -> None:
    assert validate(generated.anthropic(seed)) == []
    assert validate(generated.chat(seed)) == []
    lines = list(generated.transcript(seed))
    assert lines == list(generated.transcript(seed))
    read = transcript.read(lines)
    assert validate(read.messages) == []
    assert (read.left_out, read.broken) == (0, 0)
    assert len(read.messages) == len(generated.anthropic(seed))
    assert generated.anthropic(seed) != generated.anthropic(seed + 1)
