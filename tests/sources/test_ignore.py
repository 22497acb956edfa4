"""`.memctlignore`, at the top and in folders."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memctl.sources.ignore import ignored_files

NAMES = [
    "a.py",
    "docs/a.md",
    "docs/keep.md",
    "gen/x.py",
    "gen/deep/y.py",
    "lib/a b/z.txt",
    "lib/[x]/z.txt",
    "lib/z.txt",
]


def test_patterns_are_those_of_gitignore() -> None:
    text = "# what nobody needs\n*.md\n!keep.md\n/gen/\n\n"
    assert set(ignored_files(NAMES, {".memctlignore": text})) == {"docs/a.md", "gen/x.py", "gen/deep/y.py"}


def test_ignore_file_nearest_to_a_file_overrides_those_above() -> None:
    texts = {".memctlignore": "*.py\n", "gen/.memctlignore": "!x.py\n/deep/\n", "docs/.memctlignore": "a.*\n"}
    found = ignored_files(NAMES, texts)
    assert set(found) == {"a.py", "docs/a.md", "gen/deep/y.py"}
    assert (found["a.py"], found["docs/a.md"]) == (".memctlignore", "docs/.memctlignore")


def test_special_characters_in_folder_names_match_literally() -> None:
    texts = {"lib/[x]/.memctlignore": "z.txt\n", "lib/a b/.memctlignore": "z.txt"}
    assert set(ignored_files(NAMES, texts)) == {"lib/a b/z.txt", "lib/[x]/z.txt"}


def test_without_patterns_nothing_is_ignored() -> None:
    assert ignored_files(NAMES, {}) == ignored_files(NAMES, {".memctlignore": "# nothing\n\n"}) == {}


def test_invalid_patterns_are_skipped() -> None:
    assert set(ignored_files(NAMES, {".memctlignore": "!\n\\\n[z-a]\na.py\n"})) == {"a.py"}


def test_a_pattern_of_many_stars_ends_at_once() -> None:
    assert not ignored_files(["a" * 200], {".memctlignore": "*a" * 30 + "b\n"})


@given(st.text(max_size=60), st.sampled_from(["", "lib/", "lib/[x]/"]))
def test_ignore_file_leaves_out_only_files_below_its_folder(text: str, folder: str) -> None:
    assert all(name.startswith(folder) for name in ignored_files(NAMES, {f"{folder}.memctlignore": text}))
