"""What may be the name of a file in a text, and which file it means."""

from __future__ import annotations

import pytest

from memctl.text import named_files


def test_paths_base_names_and_lines_are_found_once_each_and_in_order() -> None:
    text = "Fix `src/card.py:12` and (./lib/a-b.test.ts); card.py, src/card.py, bin/run and docs/Guide.MD.\nSee go.mod."
    found = ["src/card.py", "lib/a-b.test.ts", "card.py", "bin/run", "docs/Guide.MD", "go.mod"]
    assert named_files.in_text(text) == found


@pytest.mark.parametrize("text", ["version 0.24.1", "at 12:30, 2025/11/04", "the end.", "x.Println", "a" * 300 + ".py"])
def test_numbers_sentences_and_overlong_words_are_no_names(text: str) -> None:
    assert named_files.in_text(text) == []


def test_a_long_list_of_files_is_cut() -> None:
    assert len(named_files.in_text(" ".join(f"a{number}.py" for number in range(999)))) == 200


@pytest.mark.parametrize(
    ("name", "file", "is_unique", "is_meant"),
    [
        ("src/card.py", "src/card.py", False, True),
        ("/home/dev/shop/src/card.py", "src/card.py", False, True),
        ("card.py", "src/card.py", True, True),
        ("card.py", "src/card.py", False, False),
        ("card.py", "card.py", False, False),
        ("src/card.py", "app/src/card.py", True, True),
        ("discard.py", "src/card.py", True, False),
        ("test/card.py", "src/card.py", True, False),
    ],
)
def test_a_name_means_a_file_by_its_path_or_by_an_end_that_no_other_has(
    name: str, file: str, is_unique: bool, is_meant: bool
) -> None:
    assert named_files.means(name, file, lambda _: is_unique) is is_meant
