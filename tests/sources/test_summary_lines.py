"""What is told of files of each kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.sources.summary_lines import SummaryLine, rows

PATHS = ["a.py", "a.ts", "a.go", "a.md", "a.json", "a.yaml", "a.toml", "a.log", "Makefile", "a.csv"]


def lines(found: list[SummaryLine]) -> list[str]:
    """The lines as they stand, with what may follow in each."""
    told: list[str] = []
    for row in found:
        if row.is_rest:
            told[-1] += row.text
        else:
            told.append(row.text)
    return told


def test_code_is_summarized_by_imports_and_definitions() -> None:
    text = 'import os\nfrom .a import b\n\n\nclass Cart:\n    """Holds items. Two."""\n\n'
    text += "    def add(self): ...\n\n\ndef _hidden(): ...\n"
    assert lines(rows("cart.py", text)) == [
        "os, .a",
        " 5  class Cart: Holds items.",
        " 8    Cart.add()",
        "11  _hidden()",
    ]


def test_outer_public_and_long_definitions_rank_first() -> None:
    text = (
        "def short(): ...\n\n\nclass Big:\n    def inner(self):\n        return 1\n\n\ndef _private():\n    return 2\n"
    )
    found = sorted(rows("a.py", text), key=lambda row: row.rank)
    assert [row.text.split()[-1] for row in found] == ["Big", "short()", "Big.inner()", "_private()"]


def test_go_and_typescript_have_comments_above() -> None:
    go = 'package cart\n\nimport "fmt"\n\n// Cart holds items.\ntype Cart struct{}\n\n'
    go += "// Add puts one in.\nfunc (c *Cart) Add() {}\n"
    assert lines(rows("cart.go", go)) == [
        "fmt",
        " 6  type Cart: Cart holds items.",
        " 9  func (c *Cart) Add: Add puts one in.",
    ]
    ts = 'import { a } from "./a";\n\n/** Pays. */\nexport class Card {\n  // Once.\n  pay() {}\n}\n'
    assert lines(rows("a.ts", ts)) == ["./a", "4  class Card: Pays.", "6    Card.pay(): Once."]


def test_markdown_is_summarized_by_headings_with_their_first_sentences() -> None:
    text = "Before all. More.\n\n# Shop\n\nIt sells. A lot.\n\nSecond paragraph.\n\n## Empty\n\n## Buy\n\nPay first.\n"
    assert lines(rows("README.md", text)) == [
        *("Before all.", "    3  # Shop: It sells.", "    9  ## Empty", "   11  ## Buy: Pay first.")
    ]


def test_json_is_summarized_by_its_keys() -> None:
    text = (
        '{"name": "shop", "deps": {"a": 1, "b": [1, 2]}, "list": [{"x": 1}], "long": "' + "x" * 100 + '", "none": null}'
    )
    assert lines(rows("package.json", text)) == [
        'name: "shop"',
        "deps: {2 keys}",
        "  a: 1",
        "  b: [2 items]",
        "list: [1 item, the first {1 key}]",
        "long: a text of 100 characters",
        "none: null",
    ]
    assert lines(rows("a.json", '[{"id": 1}, 2]')) == ["[2 items, the first {1 key}]", "id: 1"]


def test_yaml_is_outlined_by_its_keys_and_not_by_block_text() -> None:
    text = "# c\nname: shop\non:\n  push:\n    branches: [main]\nrun: |\n  fake: 1\n  other: 2\nlast:\n- a: 1\n"
    assert lines(rows("ci.yml", text)) == [
        *("    2  name: shop", "    3  on:", "    4    push:", "    6  run: |", "    9  last:", "   10  a: 1")
    ]


def test_toml_is_summarized_by_tables_and_keys() -> None:
    text = 'top = 1\n[a]\nb = "x" # c\ntext = """\nfake = 1\n"""\n[[c]]\nd = 2\n'
    assert lines(rows("a.toml", text)) == [
        *("    1  top = 1", "    2  [a]", '    3    b = "x" # c', "    4    text = …", "    7  [[c]]", "    8    d = 2")
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.json", '{"db": {"pass' + 'word": "hunter2"}, "apiKey": "hunter2"}'),
        ("a.yaml", "db_pass" + "word: hunter2\n"),
        ("a.toml", 'access_token = "hunter2"\n'),
    ],
)
def test_values_with_secret_keys_are_not_shown(path: str, text: str) -> None:
    found = lines(rows(path, text))
    assert found
    assert "hunter2" not in "\n".join(found)


def test_a_log_is_summarized_by_its_ends_and_the_shapes_of_its_lines() -> None:
    text = "".join(f"2025-11-04 10:00:{n % 60:02d} worker {n} done\n" for n in range(100)) + "ERROR 'disk' full\n"
    told = lines(rows("server.log", text))
    assert told[0] == "2025-11-04 10:00:00 worker 0 done"
    assert told[-1] == "ERROR 'disk' full"
    assert "    100 x #-#-# #:#:# worker # done" in told


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.json", "[" * 100_000),
        ("a.json", "{broken"),
        ("min.js", "var a=" + "(" * 20_000),
        ("min.js", "function f(){" * 3_000),
        ("a.log", "x" * 500_000),
        ("a.log", "\n" * 100_000),
        ("a.yaml", ": " * 50_000),
        ("a.yaml", "a" * 50_000 + ":"),
        ("a.toml", "[" * 50_000),
        ("a.toml", 'a = """' * 2_000),
        ("a.md", "#" * 20_000 + "\n" + "> " * 5_000),
        ("a.py", "def f(" * 10_000),
        ("a.log", "'" * 100_000 + '"' * 100_001),
    ],
)
def test_hostile_texts_are_summarized_in_short_lines(path: str, text: str) -> None:
    assert all(len(row.text) <= 1_200 and "\n" not in row.text for row in rows(path, text))


@given(st.sampled_from(PATHS), st.text(max_size=400))
def test_any_text_can_be_summarized_in_plain_lines(path: str, text: str) -> None:
    found = rows(path, text.replace("\r\n", "\n").replace("\r", "\n"))
    assert all(row.text.isprintable() for row in found)
    assert not found or not found[0].is_rest
    assert found == rows(path, text.replace("\r\n", "\n").replace("\r", "\n"))
