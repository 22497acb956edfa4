"""Headings and code in Markdown."""

from __future__ import annotations

import pytest

from memctl.text import headings


def test_split_keeps_what_precedes_the_first_heading() -> None:
    found = headings.split("intro\n\n## One\n\na\n## Two ##\nb")
    assert [section.heading for section in found] == ["", "One", "Two"]
    assert found[1].text == "## One\n\na\n"


@pytest.mark.parametrize("line", ["### Deeper", "##No space", " ## Indented", "\\## Escaped", "text ## x"])
def test_other_lines_open_no_section(line: str) -> None:
    assert len(headings.split(f"## One\n{line}\n")) == 1


@pytest.mark.parametrize(("fence", "close"), [("```", "```"), ("~~~", "~~~~"), ("````md", "````")])
def test_a_heading_in_fenced_code_opens_no_section(fence: str, close: str) -> None:
    body = f"## One\n{fence}\n## Not\n{close}\n## Two\n"
    assert [section.heading for section in headings.split(body)] == ["One", "Two"]


@pytest.mark.parametrize(("fence", "inner"), [("```", "~~~"), ("````", "```"), ("```", "``` x"), ("~~~", "```")])
def test_a_fence_is_closed_only_by_its_like(fence: str, inner: str) -> None:
    assert len(headings.split(f"## One\n{fence}\n{inner}\n## Not\n{fence}\n")) == 1


def test_back_ticks_in_a_line_of_text_open_no_fence() -> None:
    assert len(headings.split("## One\n``` `a` ```\n## Two\n")) == 2


def test_a_fence_closed_with_a_no_break_space_is_still_open() -> None:
    """CommonMark lets only blanks and tabs follow a closing fence."""
    assert len(headings.split("## One\n```\n```\u00a0\n## Not\n")) == 1


def test_a_fence_in_a_list_item_ends_with_the_item() -> None:
    assert [s.heading for s in headings.split("## One\n- ```\n  x\n\n## Two\n")] == ["One", "Two"]
