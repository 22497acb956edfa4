"""Names that stand in a text whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.pack import names_in_text


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("pool.py", "carpool.py pool.py", 11),
        ("src/pool.py", "lib/src/pool.py", -1),
        ("pool_size", "max_pool_size, pool_size", 15),
        ("pool.acquire", "self.pool.acquire()", 5),
        ("HTTPError", "requests.HTTPError", 9),
        ("42", "1423 42", 5),
        ("42", "1.42 42,5 42/3 42ms", -1),
        ("30 s", "30 seconds, 30s", 12),
        ("the pool is", "carthe pool isle", 3),
        ("", "text", -1),
        ("a", "", -1),
    ],
)
def test_a_name_is_found_only_as_a_whole(name: str, text: str, place: int) -> None:
    assert names_in_text.place(name, text) == place


@given(st.from_regex(r"(?:[a-z]{1,4}/){0,2}[a-z]{1,4}\.py", fullmatch=True), st.text("abz./ -_\n", max_size=20))
def test_path_is_found_in_text_that_names_it(path: str, around: str) -> None:
    text = f"{around} {path}, {around}"
    assert names_in_text.place_of_path(path, text) >= 0
    assert all(
        names_in_text.place_of_path(found, text) >= 0 for found in names_in_text.paths(text) if "-" not in around
    )
