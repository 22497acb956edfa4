"""Headings and code in Markdown."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from memctl.text import headings

LINES = (
    *("text", "", " ", "# One", "## Two ##", "## \\##", "##", "#\tTab", "####### Seven", "#No", " ## Indented"),
    *(
        "   # Three",
        "    ## Code",
        "\t## Code",
        "- ## Item",
        "  ## In an item",
        "> ## Quoted",
        "## \u00a0",
        "## a # \u00a0",
    ),
    *("---", "--", "-", "===", "  ---  ", "***", "[a]: /b", "- item", "1. item", "2) item", "| a | b |"),
    *("```", "``` `", "~~~", "  ```", "- ```", "> ~~~", "````", "    ```"),
    *("<!-- a", "-->", "<!-- a -->", "<div>", "</div>", "<pre>", "</pre>", "<https://example.org>", "<a b>"),
)
texts = st.lists(st.sampled_from(LINES), max_size=12).map("\n".join)


@given(texts)
@example("## One\n<!--\n## Not\n-->\n## Two")
@example("a\nb\n---\n```\nc\n---\n```\n- d\n---\n")
def test_headings_agree_with_the_commonmark_parser(text: str) -> None:
    """The parser alone is the oracle: its headings of the top level, by level, text and line."""
    tokens = MarkdownIt("commonmark").parse(text)
    expected: list[Any] = [
        (int(opening.tag[1:]), inline.content.replace("\n", " "), *(opening.map or ()))
        for opening, inline in pairwise(tokens)
        if opening.type == "heading_open" and opening.level == 0
    ]
    found = headings.parse(text)
    lines = len(text.split("\n"))
    ends = [text.count("\n", 0, one.end) if one.end < len(text) or text.endswith("\n") else lines for one in found]
    placed = [(one.level, one.title, text.count("\n", 0, one.start), end) for one, end in zip(found, ends, strict=True)]
    assert placed == expected


@given(texts)
def test_parts_of_a_text_join_to_the_text(text: str) -> None:
    parts = headings.split(text)
    assert "".join(part.heading_text + part.body for part in parts) == text
    assert "".join(part.text for part in parts) == text
    assert [part.is_headed for part in parts[1:]] == [True] * (len(parts) - 1)


@given(texts)
def test_text_after_a_closed_fence_is_outside_of_it(text: str) -> None:
    closed = headings.close_fence(text)
    assert closed.startswith(text)
    assert headings.parse(f"{closed}\n\n## Next\n")[-1].title == "Next"


@pytest.mark.parametrize("open_", ["```", "  ~~~", "<!-- a", "<pre>", "<?php", "<![CDATA[", "<!DOCTYPE"])
def test_an_open_fence_is_closed_once(open_: str) -> None:
    closed = headings.close_fence(f"{open_}\n## Not")
    assert closed != f"{open_}\n## Not"
    assert headings.close_fence(closed) == closed


def test_underlined_heading_is_found() -> None:
    found = headings.split("Intro\n\nOne\nand a half\n---\na\n## Two\nb")
    assert [(part.heading, part.body) for part in found] == [("", "Intro\n\n"), ("One and a half", "a\n"), ("Two", "b")]
    assert headings.take_title("The title\n===\n\ntext") == ("The title", "\ntext")


def test_split_keeps_what_precedes_the_first_heading() -> None:
    found = headings.split("intro\n\n## One\n\na\n## Two ##\nb")
    assert [section.heading for section in found] == ["", "One", "Two"]
    assert found[1].text == "## One\n\na\n"


@pytest.mark.parametrize(
    "line",
    [
        "### Deeper",
        "##No space",
        "    ## Indented",
        "- ## Item",
        "> ## Quoted",
        "\\## Escaped",
        "text ## x",
        "===",
        "\n---",
    ],
)
def test_lines_that_are_no_headings_open_no_section(line: str) -> None:
    assert len(headings.split(f"## One\n{line}\n")) == 1


@pytest.mark.parametrize(("fence", "close"), [("```", "```"), ("~~~", "~~~~"), ("````md", "````")])
def test_a_heading_in_fenced_code_opens_no_section(fence: str, close: str) -> None:
    body = f"## One\n{fence}\n## Not\n{close}\n## Two\n"
    assert [section.heading for section in headings.split(body)] == ["One", "Two"]


@pytest.mark.parametrize(("fence", "inner"), [("```", "~~~"), ("````", "```"), ("```", "``` x"), ("~~~", "```")])
def test_fence_is_closed_only_by_the_same_kind_of_fence(fence: str, inner: str) -> None:
    assert len(headings.split(f"## One\n{fence}\n{inner}\n## Not\n{fence}\n")) == 1


def test_backticks_inside_a_line_open_no_fence() -> None:
    assert len(headings.split("## One\n``` `a` ```\n## Two\n")) == 2


def test_fence_followed_by_a_no_break_space_is_not_closed() -> None:
    """CommonMark lets only blanks and tabs follow a closing fence."""
    assert len(headings.split("## One\n```\n```\u00a0\n## Not\n")) == 1


def test_a_fence_in_a_list_item_ends_with_the_item() -> None:
    assert [s.heading for s in headings.split("## One\n- ```\n  x\n\n## Two\n")] == ["One", "Two"]
