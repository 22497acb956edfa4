"""Planned, in progress, done."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.errors import MemctlError
from memctl.record.checkpoint import PROGRESS, key, mixed
from memctl.record.required_text import MOST_LINES
from memctl.task.save import moved
from tests.checkpoints import made

# Few items, some of which differ in case and spaces alone, each for one list or none.
_item = st.sampled_from(["a", "A", "b", "b  c", "B c", "d"])
_given = st.dictionaries(_item, st.sampled_from(PROGRESS)).map(
    lambda places: {name: tuple(item for item, place in places.items() if place == name) for name in PROGRESS}
)


@given(st.lists(_given, max_size=6))
def test_an_item_stands_in_one_list_the_one_that_it_was_last_given_for(steps: list[dict[str, tuple[str, ...]]]) -> None:
    last: dict[str, str] = {}
    before = None
    for step in steps:
        if mixed(step):
            with pytest.raises(MemctlError, match="two of"):
                moved(before, step, ())
            continue
        lists = moved(before, step, ())
        last |= {key(item): name for name in PROGRESS for item in step[name]}
        assert mixed(lists) == []
        assert {key(item): name for name in PROGRESS for item in lists[name]} == last
        assert sum(len(items) for items in lists.values()) == len(last)
        before = made(**lists)


def test_of_what_is_done_the_latest_is_kept() -> None:
    before = made(done=tuple(map(str, range(MOST_LINES))))
    assert moved(before, {"done": ("new",)}, ())["done"][-2:] == (str(MOST_LINES - 1), "new")
    assert len(moved(before, {"done": ("new",)}, ())["done"]) == MOST_LINES
