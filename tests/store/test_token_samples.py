"""What models reported, as it is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl.errors import MemctlError
from memctl.store import token_samples
from memctl.store.token_samples import MOST_KEPT, TokenSample


def made(number: int) -> TokenSample:
    return TokenSample(number.to_bytes(16, "big"), "prose", 100 + number, 110 + number)


def test_added_samples_are_kept_in_order_and_by_model(tmp_path: Path) -> None:
    token_samples.add(tmp_path / "new", "a", [made(2), made(1)])
    token_samples.add(tmp_path / "new", "b", [made(3)])
    assert token_samples.samples_of(tmp_path / "new", "a") == [made(2), made(1)]
    assert token_samples.models(tmp_path / "new") == ["a", "b"]


def test_equal_samples_are_stored_once(tmp_path: Path) -> None:
    token_samples.add(tmp_path, "a", [made(1)])
    token_samples.add(tmp_path, "a", [made(1), made(2), made(2)])
    assert token_samples.samples_of(tmp_path, "a") == [made(1), made(2)]
    token_samples.add(tmp_path, "b", [made(1)])
    assert token_samples.samples_of(tmp_path, "b") == [made(1)], "another model may have seen the same text"


def test_only_the_latest_samples_are_kept(tmp_path: Path) -> None:
    token_samples.add(tmp_path, "b", [made(0)])
    token_samples.add(tmp_path, "a", [made(number) for number in range(MOST_KEPT + 5)])
    assert token_samples.samples_of(tmp_path, "a") == [made(number) for number in range(5, MOST_KEPT + 5)]
    assert token_samples.samples_of(tmp_path, "b") == [made(0)]


def test_forget_deletes_the_samples_of_one_model(tmp_path: Path) -> None:
    token_samples.forget(tmp_path, "a")
    token_samples.add(tmp_path, "a", [made(1)])
    token_samples.add(tmp_path, "b", [made(1)])
    token_samples.forget(tmp_path, "a")
    assert token_samples.models(tmp_path) == ["b"]


def test_damaged_file_of_samples_counts_as_empty(tmp_path: Path) -> None:
    for damaged in (b"this is no JSON", b'{"a": [{"digest": 1}]}', b"\xff"):
        (tmp_path / "token-samples.json").write_bytes(damaged)
        assert token_samples.samples_of(tmp_path, "a") == []
        assert token_samples.models(tmp_path) == []
        token_samples.add(tmp_path, "a", [made(1)])
        assert token_samples.samples_of(tmp_path, "a") == [made(1)]


def test_file_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "token-samples.json").mkdir()
    with pytest.raises(MemctlError, match=r"token-samples\.json can't be written"):
        token_samples.add(tmp_path, "a", [made(1)])
