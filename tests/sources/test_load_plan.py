"""The verdict on files, and how they fill a budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memctl.sources.load_plan import (
    JUST_IN_TIME,
    NO_ROOM,
    ON_DEMAND,
    PRELOAD,
    Choice,
    LoadBudget,
    ScoredFile,
    budget_of,
    choose,
    verdict,
)
from memctl.sources.score import Score
from memctl.store.source_facts import Content, FileFacts
from memctl.tokens.count import Count

ROOM = LoadBudget(200_000, 0, 70_000, 40)


def choices(files: list[tuple[float, int]], room: LoadBudget = ROOM, why: str = "") -> list[Choice]:
    """What becomes of files of some scores and tokens."""
    ordered = sorted(files, key=lambda file: -file[0])
    scored = [
        ScoredFile(f"{number}", Content(str(number), FileFacts(tokens)), Score(score, 0, 0, 0, ()))
        for number, (score, tokens) in enumerate(ordered)
    ]

    def counted(content: Content) -> Count:
        return Count(content.facts.size, "counted", 0)

    return list(choose(scored, room, counted, lambda _, content: counted(content), 0, lambda path: why))


def test_the_budget_is_seventy_percent_of_the_active_half() -> None:
    assert budget_of(200_000) == 70_000


def test_the_verdict_depends_on_score_size_and_used_tokens() -> None:
    assert verdict(70, "", ROOM) == PRELOAD
    assert verdict(69.9, "", ROOM) == JUST_IN_TIME
    assert verdict(40, "", ROOM) == JUST_IN_TIME
    assert verdict(39.9, "", ROOM) == ON_DEMAND
    assert verdict(100, "it is large", ROOM) == JUST_IN_TIME
    assert verdict(0, "it is large", ROOM) == ON_DEMAND
    crowded = LoadBudget(200_000, 160_001, 70_000, 40)
    assert {verdict(score, "", crowded) for score in (0, 50, 100)} == {JUST_IN_TIME}
    assert verdict(100, "", LoadBudget(200_000, 160_000, 70_000, 40)) == PRELOAD


def test_a_file_too_large_for_what_is_left_does_not_keep_out_smaller_ones() -> None:
    found = choices([(90, 800), (80, 300), (70, 150)], LoadBudget(200_000, 0, 1_000, 40))
    assert [choice.is_loaded for choice in found] == [True, False, True]
    assert found[1].left_out == NO_ROOM


def test_left_out_file_has_a_reason() -> None:
    assert choices([(39, 1)])[0].left_out == "its score is below 40"
    assert choices([(39, 1)], LoadBudget(200_000, 0, 100, 0))[0].is_loaded
    assert "in use" in choices([(90, 1)], LoadBudget(100, 81, 100, 40))[0].left_out


def test_large_and_generated_files_are_loaded_in_outline() -> None:
    large = choices([(90, 20_000)])[0]
    assert (large.is_loaded, large.outline, large.cost) == (True, "the file has more than 10,000 tokens", 500)
    generated = choices([(90, 200)], why="it is a lock file")[0]
    assert (generated.is_loaded, generated.outline, generated.cost) == (True, "it is a lock file", 200)
    assert choices([(90, 20_000)], LoadBudget(200_000, 0, 499, 40))[0].left_out == NO_ROOM


@given(
    st.lists(st.tuples(st.floats(0, 100), st.integers(0, 20_000)), max_size=40),
    st.integers(1, 100_000),
    st.integers(0, 100),
)
def test_the_budget_is_never_exceeded_and_nothing_that_fits_is_left_out(
    files: list[tuple[float, int]], budget: int, least: int
) -> None:
    found = choices(files, LoadBudget(200_000, 0, budget, least))
    loaded = sum(choice.cost for choice in found if choice.is_loaded)
    assert loaded <= budget
    for choice in found:
        if choice.score.score >= least and 0 < choice.cost <= budget - loaded:
            assert choice.is_loaded
