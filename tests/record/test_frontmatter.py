"""Front matter: strict reading, canonical writing, and changes that touch one key only."""

from __future__ import annotations

from typing import Any

import pytest

from memctl.record import frontmatter, frontmatter_edit
from memctl.record.errors import FrontMatterError

HAND = """---
# written by hand
id: 'DEC-2025-11-04-001'
title:   "Adopt it"   # short
tags: [db, "on"]
# why it matters
x-origin:
  tool: 'wiki'
  pages:
    - 1   # the first
    - 2
og:image: cover.png
-odd: 1
key with spaces: yes please
note: |
  line one

  line two
status: accepted
# the end
---

Body --- text
---
more
"""
ORDER = ("id", "title", "status", "tags", "is_archived")


def head(*lines: str) -> str:
    return "---\n" + "".join(line + "\n" for line in lines) + "---\n"


def complaint(*lines: str) -> FrontMatterError:
    with pytest.raises(FrontMatterError) as caught:
        frontmatter.read(head(*lines))
    return caught.value


def test_windows_and_old_mac_line_ends_become_lf() -> None:
    assert frontmatter.clean_newlines("a\r\nb\rc\n") == "a\nb\nc\n"


def test_a_byte_order_mark_is_dropped() -> None:
    assert frontmatter.clean_newlines("\ufeff---\n") == "---\n"


def test_blank_lines_above_the_front_matter_are_dropped() -> None:
    assert frontmatter.clean("\ufeff\n \n---\na: 1\n...\n\nx\n") == "---\na: 1\n---\n\nx\n"
    assert frontmatter.clean("\n\n# Title\n---\n") == "\n\n# Title\n---\n"


def test_split_cuts_at_the_first_closing_fence() -> None:
    assert frontmatter.split("---\na: 1\n---\n\nx\n---\ny\n") == ("a: 1\n", "\nx\n---\ny\n")


def test_an_empty_front_matter_is_read() -> None:
    assert frontmatter.read("---\n---\n") == ({}, "")


def test_the_closing_fence_may_end_the_file() -> None:
    assert frontmatter.read("---\na: 1\n---") == ({"a": 1}, "")


@pytest.mark.parametrize("text", ["", "# Title\n", " ---\na: 1\n---\n", "----\n"])
def test_a_file_without_front_matter_is_refused(text: str) -> None:
    with pytest.raises(FrontMatterError, match="must begin with front matter"):
        frontmatter.split(text)


@pytest.mark.parametrize("text", ["---\n", "---\na: 1\n", "---\na: 1\n --- \n", "---\na: 1\n----\n"])
def test_front_matter_that_is_not_closed_is_refused(text: str) -> None:
    with pytest.raises(FrontMatterError, match="must end with a line"):
        frontmatter.split(text)


def test_a_huge_front_matter_is_refused() -> None:
    with pytest.raises(FrontMatterError, match="at most 65,536"):
        frontmatter.split(head("a: " + "x" * frontmatter.MAX_HEAD))


@pytest.mark.parametrize("label", ["", " HEAD"])
def test_conflict_markers_are_named_with_their_line(label: str) -> None:
    with pytest.raises(FrontMatterError) as caught:
        frontmatter.split(head("a: 1", f"<<<<<<<{label}", "b: 1", "=======", "b: 2", f">>>>>>>{label}"))
    assert (caught.value.line, caught.value.message) == (3, "this line begins an unresolved merge conflict")


def test_a_conflict_in_the_body_is_refused_as_well() -> None:
    with pytest.raises(FrontMatterError, match="merge conflict"):
        frontmatter.read("---\na: 1\n---\n\n<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n")


def test_heading_underline_alone_is_no_conflict() -> None:
    assert frontmatter.read("---\na: 1\n---\n\nTitle\n=======\n")[1] == "Title\n=======\n"


def test_one_blank_line_between_head_and_body_is_not_part_of_the_body() -> None:
    assert frontmatter.read("---\na: 1\n---\n\n\nx")[1] == "\nx"


@pytest.mark.parametrize(
    ("head", "values"),
    [
        ("a: 1\n# why\n\nb:\n  - x\n# why\n  - 2\nc:\nd: null\n", {"a": 1, "b": ["x", 2], "c": None, "d": None}),
        ("a: null\n  - x\n", None),
        ("a:\nb: 1\n  - x\n", None),
        ("  - x\n", None),
        ("a: 1\na:\n", None),
        ("yes:\n", None),
        ("a\n", None),
    ],
)
def test_only_canonical_front_matter_is_read_without_yaml(head: str, values: dict[str, Any] | None) -> None:
    assert frontmatter.read_canonical(head) == values


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("Adopt PostgreSQL", "k: Adopt PostgreSQL\n"),
        ("src/auth.py:10", "k: src/auth.py:10\n"),
        ("§2.1", "k: §2.1\n"),
        ("Größe", "k: Größe\n"),
        ("2025-11-04T14:32:00Z", "k: 2025-11-04T14:32:00Z\n"),
        ("01900000-0000-7000-8000-000000000000", "k: 01900000-0000-7000-8000-000000000000\n"),
        (7, "k: 7\n"),
        (-0.5, "k: -0.5\n"),
        (True, "k: true\n"),
        (None, "k: null\n"),
        (["a", "no"], 'k:\n  - a\n  - "no"\n'),
        ({"a": [1]}, 'k: {"a": [1]}\n'),
    ],
)
def test_emit_writes_values_plain_where_that_is_safe(value: Any, line: str) -> None:
    assert frontmatter.emit("k", value) == line


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        "no",
        "On",
        "NULL",
        "~",
        "010",
        "1e3",
        "0x1F",
        "12:30:45",
        "2025-11-04",
        "a: b",
        "a #b",
        "- a",
        "a ",
        " a",
        "a\tb",
        "it's",
        '"',
        "\\",
        "{a}",
        "a\u00a0b",
        "a\u2028b",
        "\x85",
        "\ufeff",
        "😀",
        "a\nb",
    ],
)
def test_emit_quotes_texts_that_yaml_could_misread(value: str) -> None:
    line = frontmatter.emit("k", value)
    assert line.startswith('k: "')
    assert line.count("\n") == 1
    assert frontmatter.read(f"---\n{line}---\n")[0] == {"k": value}


@pytest.mark.parametrize("value", ["2025-13-45T99:99:99Z", "2025-02-31T00:00:00Z", "0000-00-00T00:00:00Z"])
def test_emit_quotes_a_time_that_does_not_exist(value: str) -> None:
    """Other YAML readers make a date of it, and fail."""
    assert frontmatter.emit("k", value) == f'k: "{value}"\n'


@pytest.mark.parametrize("value", [1e22, 1e-07, 1.5e-07, -2.5e300, 10**18, 10**30, -(10**20)])
def test_numbers_of_any_size_are_read_back(value: float) -> None:
    assert frontmatter.read(frontmatter.compose({"weight": value}, ""))[0] == {"weight": value}


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_a_value_that_is_not_a_number_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="weight"):
        frontmatter.compose({"weight": value}, "")


@pytest.mark.parametrize("key", ["", "no", "On", "null", "a b", "a:b", "1a", "-a", "é", "a\n"])
def test_keys_that_yaml_could_misread_are_refused(key: str) -> None:
    with pytest.raises(ValueError, match="can't be a key"):
        frontmatter.emit(key, "x")


def test_compose_leaves_out_empty_fields() -> None:
    assert frontmatter.compose({"a": None, "b": [], "c": 0, "d": False, "e": ""}, "") == (
        '---\nc: 0\nd: false\ne: ""\n---\n'
    )


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("k: 'it''s'", "it's"),
        ("k: [a, b]", ["a", "b"]),
        ("k: 1.50", 1.5),
        ("k: ~", None),
        ("k:", None),
        ("k: # nothing", None),
        ("k: 2025-11-04", "2025-11-04"),
        ("k: 2025-11-04 10:00:00", "2025-11-04 10:00:00"),
        ("k: >-\n  a\n  b", "a b"),
        ('k: "a\\/b"', "a/b"),
        ("k: {a: {b: [1, x]}}", {"a": {"b": [1, "x"]}}),
    ],
)
def test_front_matter_in_other_yaml_is_read(line: str, value: Any) -> None:
    assert frontmatter.read(head(line))[0] == {"k": value}


@pytest.mark.parametrize(
    "line",
    ["k: no", "k: Yes", "k: on", "k: 010", "k: 0x1F", "k: 1_000", "k: 12:30:45", "k: .inf"],
)
def test_yaml_traps_are_errors_with_line_and_key(line: str) -> None:
    error = complaint("a: 1", line)
    assert (error.line, error.key) == (3, "k")
    assert "put it in quotes" in error.message


def test_yaml_trap_in_a_list_is_an_error_with_its_line() -> None:
    error = complaint("tags:", "  - ok", "  - no")
    assert (error.line, error.key) == (4, "tags")


@pytest.mark.parametrize("second", ["a: 2", "'a': 2", '"a": [1]'])
def test_duplicate_keys_are_errors(second: str) -> None:
    error = complaint("a: 1", "b: 1", second)
    assert (error.line, error.key) == (4, "a")
    assert "occurs twice" in error.message


def test_duplicate_keys_deep_inside_are_errors() -> None:
    assert complaint("x: {a: 1, a: 2}").line == 2


@pytest.mark.parametrize("lines", [("a: &x 1", "b: *x"), ("a: &x 1",), ("a: 1", "b: *nothing")])
def test_anchors_and_aliases_are_errors(lines: tuple[str, ...]) -> None:
    assert "not" in complaint(*lines).message


def test_deep_nesting_is_an_error() -> None:
    assert "nest" in complaint("k: " + "[" * 20_000 + "]" * 20_000).message  # PyYAML 6.0.4 has a limit of its own


@pytest.mark.parametrize("character", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_unusual_line_breaks_are_errors(character: str) -> None:
    error = complaint("a: 1", f"b: x{character}c: 1")
    assert error.line == 3
    assert f"U+{ord(character):04X}" in error.message


@pytest.mark.parametrize("line", ["- a", "just words", "{a: 1}", "1: x", "a: [", 'a: "x', "a: b: c", "a: \x01"])
def test_anything_but_a_mapping_of_texts_is_an_error(line: str) -> None:
    assert complaint(line).message


def test_blocks_keep_comments_with_the_key_above() -> None:
    found = {block.key: block for block in frontmatter_edit.blocks(HAND)}
    assert found[""].text == "# written by hand\n"
    assert found["tags"].text == 'tags: [db, "on"]\n# why it matters\n'
    assert (found["x-origin"].line, found["note"].line) == (7, 15)


def test_blocks_find_every_key_that_is_read() -> None:
    assert [block.key for block in frontmatter_edit.blocks(HAND) if block.key] == list(frontmatter.read(HAND)[0])


def test_blocks_joined_are_the_head() -> None:
    assert "".join(block.text for block in frontmatter_edit.blocks(HAND)) == frontmatter.split(HAND)[0]


def test_replace_changes_one_line_only() -> None:
    new = frontmatter_edit.replace(HAND, {"status": "superseded"}, ORDER)
    assert new == HAND.replace("status: accepted\n", "status: superseded\n")


def test_replace_keeps_the_comment_below_a_key() -> None:
    new = frontmatter_edit.replace(HAND, {"tags": ["x"]}, ORDER)
    assert new == HAND.replace('tags: [db, "on"]\n', "tags:\n  - x\n")


@pytest.mark.parametrize("nothing", [None, []])
def test_replace_removes_a_key_but_not_the_comment_below_it(nothing: Any) -> None:
    new = frontmatter_edit.replace(HAND, {"tags": nothing}, ORDER)
    assert new == HAND.replace('tags: [db, "on"]\n', "")


def test_removing_a_missing_key_changes_nothing() -> None:
    assert frontmatter_edit.replace(HAND, {"severity": None}, ORDER) == HAND


def test_replace_with_the_present_values_changes_nothing() -> None:
    """An edit that changes nothing yields no diff, however the value is written."""
    values = frontmatter.read(HAND)[0]
    for key in ("id", "title", "tags", "status"):
        assert frontmatter_edit.replace(HAND, {key: values[key]}, ORDER) == HAND


@pytest.mark.parametrize("line", ["og:image: cover.png", "-odd: 1", "a.b: 1", '"a\\"b": 1', "'it''s': 1", "? odd\n: 1"])
def test_replace_keeps_an_unknown_key_of_any_spelling(line: str) -> None:
    new = frontmatter_edit.replace(head("title: a", line, "status: accepted"), {"title": "b"}, ORDER)
    assert new == head("title: b", line, "status: accepted")


def test_replace_ignores_a_key_inside_quoted_text() -> None:
    text = head('note: "one', 'status: two"', "status: accepted")
    assert frontmatter.read(frontmatter_edit.replace(text, {"status": "rejected"}, ORDER))[0] == {
        "note": "one status: two",
        "status": "rejected",
    }


def test_keys_that_are_all_indented_are_refused() -> None:
    """A key put in would begin its line, and the file could not be read any more."""
    with pytest.raises(FrontMatterError):
        frontmatter.read(head("  title: a", "  status: accepted"))


def test_new_key_is_placed_behind_its_predecessor() -> None:
    text = head("id: a", "# why", "status: b", "own: c")
    assert frontmatter_edit.replace(text, {"tags": ["x"]}, ORDER) == head(
        "id: a", "# why", "status: b", "tags:\n  - x", "own: c"
    )
    assert frontmatter_edit.replace(text, {"title": "t"}, ORDER) == head(
        "id: a", "# why", "title: t", "status: b", "own: c"
    )


def test_new_key_without_a_predecessor_is_placed_last() -> None:
    assert frontmatter_edit.replace(head("own: c", "id: a"), {"zeal": 1}, ORDER) == head("own: c", "id: a", "zeal: 1")


def test_replace_keeps_a_file_that_ends_with_its_fence() -> None:
    assert frontmatter_edit.replace("---\na: 1\n---", {}, ORDER) == "---\na: 1\n---"


def test_replace_refuses_invalid_front_matter() -> None:
    with pytest.raises(FrontMatterError):
        frontmatter_edit.replace(head("a: 1", "a: 2"), {"b": 1}, ORDER)


def test_a_block_of_text_at_the_end_keeps_its_line_end() -> None:
    assert frontmatter.read("---\na: 1\nnote: |\n  one\n  two\n---\n")[0] == {"a": 1, "note": "one\ntwo\n"}


def test_line_numbers_count_empty_lines_at_the_beginning() -> None:
    with pytest.raises(FrontMatterError) as caught:
        frontmatter.read("---\n\n\na: 'x'\nb: no\n---\n")
    assert caught.value.line == 5
