"""Headed sections of a body."""

from __future__ import annotations

import pytest

from memctl.record import content_fields
from memctl.record.kinds import DECISION, ISSUE, KINDS, STATE, Field

FIELDS = {field.name: field for kind in (DECISION, STATE) for field in kind.fields}
TEXT, LIST = FIELDS["rationale"], FIELDS["alternatives_considered"]


@pytest.mark.parametrize("field", [field for kind in KINDS.values() for field in kind.fields], ids=lambda f: f.name)
def test_every_field_is_read_back(field: Field) -> None:
    kind = next(kind for kind in KINDS.values() if field in kind.fields)
    value: str | list[str] = ["one", "two\n\nmore"] if field.is_list else "Some\n\ntext"
    assert content_fields.content(kind, content_fields.compose(field, value)) == {field.name: value}


@pytest.mark.parametrize("value", ["", "  ", "\n\n", [], ["", " \n"]])
def test_an_empty_value_makes_no_section(value: str | list[str]) -> None:
    assert content_fields.compose(LIST if isinstance(value, list) else TEXT, value) == ""


def test_headings_are_matched_in_any_case_and_the_first_counts() -> None:
    assert content_fields.content(DECISION, "## RATIONALE\n\na\n\n## Rationale\n\nb\n") == {"rationale": "a"}


def test_sections_with_other_headings_are_ignored() -> None:
    assert content_fields.content(DECISION, "x\n\n## Notes\n\na\n") == {}


@pytest.mark.parametrize("line", ["## Context", "\\## Context", "\\\\## Context", "## ", "<<<<<<< HEAD", "\\<<<<<<<"])
def test_line_that_would_open_a_section_is_escaped_and_read_back(line: str) -> None:
    body = content_fields.compose(TEXT, f"a\n{line}\nb")
    assert f"\n\\{line}\n" in body
    assert content_fields.content(DECISION, body) == {"rationale": f"a\n{line}\nb"}


def test_a_heading_in_fenced_code_is_not_escaped() -> None:
    value = "```\n## x\n```"
    assert content_fields.compose(TEXT, value) == f"## Rationale\n\n{value}\n"


def test_an_open_fence_is_closed() -> None:
    assert content_fields.compose(TEXT, "~~~~py\nx") == "## Rationale\n\n~~~~py\nx\n~~~~\n"


def test_items_keep_paragraphs_and_nested_lists() -> None:
    items = ["MySQL\n\n- cheap\n- known", "- a dash", "Files\n    code"]
    body = content_fields.compose(LIST, items)
    assert body == ("## Alternatives considered\n\n- MySQL\n\n  - cheap\n  - known\n- - a dash\n- Files\n      code\n")
    assert content_fields.content(DECISION, body) == {"alternatives_considered": items}


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("- a\n- b", ["a", "b"]),
        ("* a\n+ b\n1. c\n2) d", ["a", "b", "c", "d"]),
        ("- a\n  more\n\n  para", ["a\nmore\n\npara"]),
        ("- a\n\tmore", ["a\nmore"]),
        ("- a\nlazy", ["a\nlazy"]),
        ("prose\nmore\n\nagain", ["prose\nmore", "again"]),
        ("- a\n\nprose", ["a", "prose"]),
        ("-a", ["-a"]),
        ("", []),
        ("- \n- a", ["a"]),
    ],
)
def test_lists_written_by_hand_are_read(text: str, items: list[str]) -> None:
    assert content_fields.parse_items(text) == items


def test_an_open_fence_in_an_item_adds_no_item() -> None:
    body = content_fields.compose(LIST, ["```\n  ", "b\n~~~\n "])
    assert len(content_fields.content(DECISION, body)["alternatives_considered"]) == 2


def test_replace_with_the_same_value_changes_nothing() -> None:
    body = "intro\n##  Rationale ##\nwhy\n\n\n\n"
    assert content_fields.replace(DECISION, body, TEXT, "why") == body


def test_replace_touches_only_its_section() -> None:
    body = "intro\n\n## Decision\n\na\n\n## Rationale\n\nb\n\n## Notes\n\nc\n"
    assert content_fields.replace(DECISION, body, TEXT, "new") == body.replace("\nb\n", "\nnew\n")


def test_replace_puts_a_new_section_in_the_order_of_the_type() -> None:
    body = "## Decision\n\na\n\n## Context\n\nc\n"
    assert (
        content_fields.replace(DECISION, body, TEXT, "b")
        == "## Decision\n\na\n\n## Rationale\n\nb\n\n## Context\n\nc\n"
    )


@pytest.mark.parametrize("nothing", ["", " \n"])
def test_replace_with_nothing_removes_the_section(nothing: str) -> None:
    body = "## Decision\n\na\n\n## Rationale\n\nb\n\n## Context\n\nc\n"
    assert content_fields.replace(DECISION, body, TEXT, nothing) == "## Decision\n\na\n\n## Context\n\nc\n"


def test_replace_removes_the_last_section_and_ends_in_one_newline() -> None:
    assert content_fields.replace(DECISION, "## Decision\n\na\n\n## Rationale\n\nb\n", TEXT, "") == "## Decision\n\na\n"


def test_removing_a_missing_section_changes_nothing() -> None:
    assert content_fields.replace(ISSUE, "x\n\n", ISSUE.fields[0], "") == "x\n\n"


@pytest.mark.parametrize("body", ["```\nopen\n", "## Notes\n\n~~~\nopen\n", "## Decision\n\n```py\nopen"])
def test_new_section_behind_an_open_fence_stays_a_section(body: str) -> None:
    assert (
        content_fields.content(DECISION, content_fields.replace(DECISION, body, TEXT, "why")).get("rationale") == "why"
    )
