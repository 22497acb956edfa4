"""Match paths with patterns as in `.gitignore`, in time linear in the pattern and the path.

Each pattern becomes a regular expression that never backtracks: a `*` takes the shortest text after which the rest of
the pattern up to the next `*` matches, and no other length is tried later. The expression does that by a lookahead with
a back reference, as those of Python's `fnmatch` do.

Patterns have the meaning that gitignore(5) and Git's wildmatch.c define, with one exception for the globs of pages: a
file below an excluded folder can be included again (`!src/made.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import count

from memctl.text.lazy_regex import lazy_regex

# A pattern with more characters or stars matches nothing. The time grows with the stars times the folders of a path;
# within these limits a path of 4096 characters takes a few milliseconds. People write patterns of under 100 characters.
MAX_LENGTH, MAX_STARS = 1024, 32
_MAX_FOLDERS = 100  # patterns for deeper folders do not match the files in them; people make folders up to 30 deep
_CLASSES = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": " \t", "cntrl": "\x00-\x1f\x7f", "digit": "0-9",
    "graph": "!-~", "lower": "a-z", "print": " -~", "punct": "!-/:-@\\[-`{-~", "space": " \t-\r",
    "upper": "A-Z", "xdigit": "0-9a-fA-F",
}  # fmt: skip
_FOLDERS = lazy_regex(r"\*{2,}(?=/|\Z)")  # `**` where it matches folders
_RANGE = lazy_regex(r"-(?!\])(?:\\(.)|([^\\]))", re.DOTALL)
_MEMBER = lazy_regex(r"\[:(?P<class_name>[^\]]*):\]|\\(?P<escaped>.)|(?P<plain>[^\\])", re.DOTALL)
_ANY_FOLDERS, _ANY, _SLASH = "(?:[^/]+/)*?", "[^/]*?", "/"


class Globs:
    """A list of patterns as in `.gitignore`: of those that match a path, the last one counts."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._patterns = [_Pattern(line) for line in lines]
        self._names = _union(pattern for pattern in self._patterns if pattern.is_for_names)
        self._paths = _union(pattern for pattern in self._patterns if not pattern.is_for_names)
        self._folders: dict[str, tuple[int, ...]] = {"": ()}

    def match(self, path: str) -> int | None:
        """Return the index of the last pattern that matches the file at `path`.

        The result is None if no pattern matches, or if the last one that matches is an exception (`!…`). A pattern
        matches a file by itself or through a folder above it.
        """
        folder, _, name = path.rpartition("/")
        exception = -1
        if folder.count("/") >= _MAX_FOLDERS:
            folder = "/".join(folder.split("/", _MAX_FOLDERS)[:_MAX_FOLDERS])
        for last in (*self._last(path, name), *self._above(folder)):
            if last > exception and not self._patterns[last].is_exception:
                return last
            exception = max(exception, last)
        return None

    def _above(self, folder: str) -> tuple[int, ...]:
        """Return the last matching pattern of `folder` and of each folder above it.

        Patterns that come before those of an inner folder are left out, since they decide nothing.
        """
        missing = []
        while folder not in self._folders:
            missing.append(folder)
            folder = folder.rpartition("/")[0]
        above = self._folders[folder]
        for missing_folder in reversed(missing):
            own = self._last(missing_folder, missing_folder.rpartition("/")[2], is_folder=True)
            above = self._folders[missing_folder] = (
                (*own, *(place for place in above if place > own[0])) if own else above
            )
        return above

    def _last(self, path: str, name: str, is_folder: bool = False) -> tuple[int, ...]:
        """Return the index of the last pattern that matches a path itself, not a folder above it; () if none does."""
        if self._names.fullmatch(name) is None and self._paths.fullmatch(path) is None:
            return ()
        places = reversed(range(len(self._patterns)))
        return next(((place,) for place in places if self._patterns[place].fits(path, name, is_folder)), ())


class _Pattern:
    """One line of a list of globs. An empty line, a comment and a malformed pattern match nothing."""

    __slots__ = ("_is_for_folders", "expression", "is_exception", "is_for_names")

    def __init__(self, line: str) -> None:
        text = _strip_line(line)
        self.is_exception = text.startswith("!")
        text = text.removeprefix("!")
        self._is_for_folders = text.endswith("/")
        text = text.removesuffix("/")
        self.is_for_names = "/" not in text
        self.expression = _expression(text.removeprefix("/"), self.is_for_names)

    def fits(self, path: str, name: str, is_folder: bool) -> bool:
        if self.expression is None or (self._is_for_folders and not is_folder):
            return False
        return self.expression.fullmatch(name if self.is_for_names else path) is not None


def _union(patterns: Iterable[_Pattern]) -> re.Pattern[str]:
    """Return an expression for all paths that some patterns match, by which most paths are rejected with one match.

    It matches every path if a pattern has a back reference, since the names of groups would collide.
    """
    texts = [pattern.expression.pattern for pattern in patterns if pattern.expression is not None]
    return re.compile("(?s:.*)" if any("(?P=" in text for text in texts) else "|".join(texts) or "(?!)")


def is_pattern(line: str) -> bool:
    """Return whether a line of a file like `.gitignore` is a pattern that can match a file.

    Comments, empty lines and malformed patterns can't.
    """
    return _Pattern(line).expression is not None


def _strip_line(line: str) -> str:
    if line.startswith("#"):
        return ""
    stripped = line.rstrip(" ")
    is_escaped = len(stripped) < len(line) and (len(stripped) - len(stripped.rstrip("\\"))) % 2
    return f"{stripped} " if is_escaped else stripped


def _expression(pattern: str, is_for_names: bool) -> re.Pattern[str] | None:
    if not 0 < len(pattern) <= MAX_LENGTH or pattern.count("*") > MAX_STARS:
        return None
    try:
        parts = list(_parts(pattern, is_for_names))
    except ValueError:
        return None
    numbers = count(1)
    below = [
        "/".join(
            _join(_ANY, ["".join(piece) for piece in _split(name, _ANY)], numbers) for name in _split(names, _SLASH)
        )
        for names in _split(parts, _ANY_FOLDERS)
    ]
    return re.compile(_join(_ANY_FOLDERS, below, numbers))


def _join(choice: str, pieces: list[str], numbers: Iterator[int]) -> str:
    """Join pieces with the expression `choice` between them, so that no choice is tried again once its piece matched.

    The last choice needs no such guard, since the name or the path ends behind its piece.
    """
    joined, *rest = pieces
    for piece in rest[:-1]:
        group = f"g{next(numbers)}"
        joined += f"(?=(?P<{group}>{choice}{piece}))(?P={group})"
    return joined + "".join(choice + piece for piece in rest[-1:])


def _split(parts: list[str], at: str) -> list[list[str]]:
    pieces: list[list[str]] = [[]]
    for part in parts:
        if part == at:
            pieces.append([])
        else:
            pieces[-1].append(part)
    return pieces


def _parts(pattern: str, is_for_names: bool) -> Iterator[str]:
    place = 0
    while place < len(pattern):
        sign = pattern[place]
        is_first = place == 0 or pattern[place - 1] == "/"
        if is_first and not is_for_names and (stars := _FOLDERS.match(pattern, place)):
            place = stars.end()
            yield _ANY_FOLDERS if place < len(pattern) else "(?s:.+)"
            place = pattern.find("/", place) + 1 or place
        elif sign == "*":
            place += 1
            if pattern[place : place + 1] != "*":
                yield _ANY
        elif sign == "[":
            end, expression = _bracket(pattern, place + 1)
            place = end
            yield expression
        elif pattern[place:] == "\\":
            raise ValueError(f"{pattern} must not end with a backslash")
        else:
            place += 2 if sign == "\\" else 1
            yield {"?": "[^/]", "/": _SLASH}.get(sign) or re.escape(pattern[place - 1])


def _bracket(pattern: str, place: int) -> tuple[int, str]:
    """Return the end of a set of characters whose `[` is right before `place`, and its expression."""
    is_negated = pattern[place : place + 1] in ("!", "^")
    first = place = place + is_negated
    text, before = "", ""
    while place == first or pattern[place : place + 1] != "]":
        if before and (match := _RANGE.match(pattern, place)):
            last = match[1] or match[2]
            text += f"{re.escape(before)}-{re.escape(last)}" if before <= last else ""
            before = ""
        elif (match := _MEMBER.match(pattern, place)) and match["class_name"] in (None, *_CLASSES):
            before = match["escaped"] or match["plain"] or ""
            text += re.escape(before) or _CLASSES[match["class_name"]]
        else:
            raise ValueError(
                f"{pattern} has `[` without `]`, or in the brackets a class such as [:word:] that does not exist"
            )
        place = match.end()
    return place + 1, f"(?!/)[{'^' if is_negated else ''}{text}]"
