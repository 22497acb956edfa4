"""Cutting a text into sentences and blocks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.statements.units import CODE, HEADING, SENTENCE, TABLE, units


def told(text: str) -> list[tuple[int, str, str]]:
    return [(unit.line, unit.form, unit.text) for unit in units(text)]


def sentences(text: str) -> list[str]:
    return [unit.text for unit in units(text)]


def test_sentences_have_the_lines_they_begin_in() -> None:
    assert told("One is here.\nTwo goes\non. Three is\n\nfour.\n") == [
        (1, SENTENCE, "One is here."),
        (2, SENTENCE, "Two goes on."),
        (3, SENTENCE, "Three is"),
        (5, SENTENCE, "four."),
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "Add tests to auth.test.ts today.",
        "It takes 4.5 s with v1.2.3 here.",
        "Some tools, e.g. Git, are there.",
        "Compare it, i.e. Read both.",
        "`a. B` stays whole.",
        "See src/a.py. there is more",
        "Ask J. Smith first.",
    ],
)
def test_no_sentence_is_cut_in_its_middle(sentence: str) -> None:
    assert sentences(sentence) == [sentence]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Is it? Yes! Done.", ["Is it?", "Yes!", "Done."]),
        ("Use `x`. `y` is old.", ["Use `x`.", "`y` is old."]),
        ('He said "stop." Then it stopped.', ['He said "stop."', "Then it stopped."]),
        ("In src/a.py. In 4.5. /etc is next.", ["In src/a.py.", "In 4.5.", "/etc is next."]),
    ],
)
def test_sentences_end_where_another_begins(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


def test_items_and_quotations_are_units_without_their_marks() -> None:
    assert told("- one\n  goes on\n* two. Three.\n  1. nested\n- [x] done\n\n> quoted\n> text\n") == [
        (1, SENTENCE, "one goes on"),
        (3, SENTENCE, "two."),
        (3, SENTENCE, "Three."),
        (4, SENTENCE, "nested"),
        (5, SENTENCE, "done"),
        (7, SENTENCE, "quoted text"),
    ]


def test_blocks_are_units_of_their_own() -> None:
    text = "Text\n```py\nx = 1\n\ny. Z\n```\n| a | b |\n|---|---|\n# Heading #\n**Bold:**\nend\n~~~\nopen"
    assert told(text) == [
        (1, SENTENCE, "Text"),
        (2, CODE, "```py\nx = 1\n\ny. Z\n```"),
        (7, TABLE, "| a | b |\n|---|---|"),
        (9, HEADING, "# Heading #"),
        (10, HEADING, "**Bold:**"),
        (11, SENTENCE, "end"),
        (12, CODE, "~~~\nopen"),
    ]


def test_a_unit_has_the_heading_above_it() -> None:
    assert [unit.heading for unit in units("a\n\n# One #\nb\n\n**Two:**\n- c\n```\nd\n```")] == [
        "", "", "One", "One", "Two", "Two",
    ]  # fmt: skip


LINES = (
    *(
        "One. Two.",
        "word",
        "- item. More",
        "  * x",
        "1. one",
        "# Head",
        "**Bold**",
        "",
        " ",
        "---",
        "***",
        "> q",
        "| a |",
    ),
    *("```", "~~~", "`a. B`", "e.g. This", "``", "x...", "日本。 Ok. ", "\t- y", "- [ ] z", "> > - q", ">", "-", "#"),
)
texts = st.lists(st.sampled_from(LINES), max_size=12).map("\n".join)


@given(texts)
def test_every_word_of_a_text_is_in_a_unit_and_in_one_only(text: str) -> None:
    marks = "#>-*|` ~0123456789.)[]_:"
    told = "".join(unit.text for unit in units(text))
    letters = [c for c in text if c not in marks and not c.isspace()]
    assert sorted(letters) == sorted(c for c in told if c not in marks and not c.isspace())


@given(texts)
def test_units_come_in_the_order_of_their_lines(text: str) -> None:
    lines = [unit.line for unit in units(text)]
    assert lines == sorted(lines)
    assert all(1 <= line <= text.count("\n") + 1 for line in lines)


def test_line_of_many_sentences_is_cut_quickly() -> None:
    """Counting the lines before each from the beginning would take minutes."""
    found = told("1. " * 300_000 + "\nIt ends.")
    assert found[-1] == (2, SENTENCE, "It ends.")
