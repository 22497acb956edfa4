"""Globs mean what Git means by them, and end whatever is in them."""

from __future__ import annotations

import itertools
import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memctl.text.globs import MAX_LENGTH, MAX_STARS, Globs, is_pattern
from tests.conftest import git

NAMES = ("a", "b", "ab", "a.b", "x")
FOLDERS = [*NAMES, *map("/".join, itertools.product(NAMES, repeat=2))]
FILES = [f"{folder}/{name}" for folder in FOLDERS for name in ("f", "ab.f", "f x", "]", "\\")] + ["f", "ab.f"]

signs = st.sampled_from(["a", "b", "f", ".", "*", "?", "/", "/", "**/", "/**", "[ab]", "[!a]", "[a-c]", "[[:alpha:]]"])
odd = st.sampled_from(
    ["\\*", "\\", "[", "]", "[]a]", "[^]]", "[a\\]]", "[b-a]", "[[:no:]]", "[a-", "!", "#", " ", "\\ "]
)
patterns = st.lists(st.one_of(signs, signs, signs, odd), min_size=1, max_size=6).map("".join)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with all the files: Git asks the disk what is a folder."""
    top = tmp_path_factory.mktemp("tree")
    git(top, "init", "-q")
    (top / ".git/info").mkdir()
    for path in FILES:
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).touch()
    return top


def ignored_by_git(tree: Path, lines: list[str]) -> set[str]:
    """The files and folders that Git ignores by some lines."""
    (tree / ".git/info/exclude").write_text("\n".join(lines) + "\n")
    asked = "".join(f"{path}\0" for path in [*FOLDERS, *FILES])
    out = git(tree, "check-ignore", "--no-index", "-z", "--stdin", stdin=asked, check=False)
    return set(out.split("\0")) - {""}


def matched(lines: list[str]) -> set[str]:
    return {path for path in FILES if Globs(lines).match(path) is not None}


def is_as_documented(line: str) -> bool:
    """Whether Git does as its manual says: behind a name it takes `**` for folders, and `\\/` for no end of a name."""
    return "\\/" not in line and re.search(r"[^/*]\*\*", line) is None


@given(st.lists(patterns.filter(is_as_documented), min_size=1, max_size=4))
@example(["a/**/b"])
@example(["**/ab/**"])
@example(["/**"])
@example(["a*b*/f*"])
def test_globs_match_the_files_that_git_ignores(tree: Path, lines: list[str]) -> None:
    lines = [line.lstrip("!") for line in lines]
    assert matched(lines) == ignored_by_git(tree, lines) & set(FILES)


@given(
    st.lists(patterns.filter(is_as_documented), min_size=1, max_size=3),
    st.lists(patterns.filter(is_as_documented), min_size=1, max_size=3),
)
def test_exceptions_agree_with_git_where_no_folder_is_ignored(tree: Path, some: list[str], more: list[str]) -> None:
    lines = [*some, *(f"!{line}" for line in more), *some[:1]]
    theirs, ours = ignored_by_git(tree, lines), matched(lines)
    for path in FILES:
        above = {path[:place] for place, sign in enumerate(path) if sign == "/"}
        if not above & theirs:
            assert (path in ours) == (path in theirs), path


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        (["src/"], 0),
        (["src/", "!src/made.py"], None),
        (["!src/made.py", "src/"], 1),
        (["src/made.py", "src/", "!src/"], 0),
        (["*.py", "!src/", "# made.py", ""], 0),
    ],
)
def test_later_exception_includes_a_file_of_an_ignored_folder(lines: list[str], place: int | None) -> None:
    assert Globs(lines).match("src/made.py") == place


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 25 + "b", "a" * 200),
        ("*a" * MAX_STARS + "b", "a" * 4000),
        ("**/a/" * (MAX_STARS // 2) + "b", "a/" * 2000 + "c"),
        ("a*/" * 16 + "**/" + "a*a/" * 14 + "b", "aaa/" * 1000 + "c"),
        ("**/" + "a/" * 500 + "b", "a/" * 2000 + "c"),
        ("*" * MAX_STARS + "b", "a" * 4000),
    ],
)
def test_pattern_with_many_stars_is_matched_quickly(pattern: str, path: str) -> None:
    begin = time.process_time()
    assert Globs([pattern]).match(path) is None
    assert time.process_time() - begin < 0.5


def test_a_pattern_with_many_stars_matches_correctly() -> None:
    assert Globs(["*a" * 25 + "b"]).match("a" * 200 + "b") == 0


@pytest.mark.parametrize(
    "pattern", ["", "!", "/", "# x", "\\", "a[", "[[:no:]]", "a" * (MAX_LENGTH + 1), "*" * (MAX_STARS + 1)]
)
def test_comments_and_malformed_patterns_match_nothing(pattern: str) -> None:
    assert not is_pattern(pattern)
    assert Globs([pattern]).match("a" * (MAX_LENGTH + 1)) is None
