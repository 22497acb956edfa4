"""Settings of a memory."""

from __future__ import annotations

import pytest

from memctl.errors import MemctlError
from memctl.record import config

PATH = ".memory/config.yaml"
NO_WEIGHTS = "{title: 0, content: 0, importance: 0, recency: 0, access: 0}"


def complaint(text: str) -> MemctlError:
    with pytest.raises(MemctlError) as caught:
        config.parse(text, PATH)
    return caught.value


def test_format_and_project_are_enough() -> None:
    assert config.parse("format: 1\nproject: shop\n", PATH) == config.Config(format=1, project="shop")


def test_missing_weights_have_default_values() -> None:
    weights = config.parse("format: 1\nproject: shop\nsearch_weights:\n  recency: 40\n", PATH).search_weights
    assert weights == config.SearchWeights(title=15, content=25, importance=25, recency=40, access=15)


def test_comments_unknown_keys_and_empty_values_are_accepted() -> None:
    text = "# settings\r\nformat: 1\r\nproject: shop # ours\r\nmodel:\r\ncolour: blue\r\n\r\n"
    assert config.parse(text, PATH) == config.Config(format=1, project="shop")


def test_a_document_may_begin_with_three_dashes() -> None:
    assert config.parse("---\nformat: 1\nproject: shop\n", PATH).project == "shop"


def test_newer_format_is_reported_before_other_errors() -> None:
    error = complaint("format: 3\nproject: [new, shape]\n")
    assert "format 3" in error.message
    assert error.hint == "install a newer version of memctl"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("project: shop\n", "format"),
        ("format: 1\n", "project"),
        ("format: 1\nproject: ''\n", "project"),
        ("format: '1'\nproject: shop\n", "format"),
        ("format: 1\nproject: 5\n", "project"),
        ("format: 1\nproject: shop\nrehydrate_budget: 49\n", "rehydrate_budget"),
        ("format: 1\nproject: shop\nrehydrate_budget: many\n", "rehydrate_budget"),
        ("format: 1\nproject: shop\nsearch_weights: {title: -1}\n", "search_weights.title"),
        ("format: 1\nproject: shop\nsearch_weights: {titel: 1}\n", "titel"),
        (f"format: 1\nproject: shop\nsearch_weights: {NO_WEIGHTS}\n", "more than 0"),
        ("", "format"),
    ],
)
def test_invalid_setting_is_reported_with_its_name(text: str, part: str) -> None:
    message = complaint(text).message
    assert message.startswith(PATH)
    assert part in message


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("format: 1\nproject: a\nproject: b\n", 3),
        ("format: 1\nproject: no\n", 2),
        ("format: 1\nproject: [\n", 2),
        ("- a\n", 1),
    ],
)
def test_broken_yaml_is_reported_with_its_line_in_the_file(text: str, line: int) -> None:
    assert complaint(text).message.startswith(f"{PATH}:{line}: ")
