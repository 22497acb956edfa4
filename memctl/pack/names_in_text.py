"""Find whole names in a text: `pool.py` is not in `carpool.py`, and 42 is not in 1423.

A name is a path, a figure such as "30 %", or an identifier. A summary must not lose such names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_SUFFIXES = (
    "[cm]?[jt]sx?|pyi?|md|mdx|rst|txt|jsonl?|ya?ml|toml|ini|cfg|sql|sh|go|rs|rb|java|kt|cpp|hpp|php|swift|vue|svelte"
    "|s?css|html?|xml|svg|csv|proto|tf|ipynb"
)
_ALONE = r"(?<![\w/.:@~+-])(?:\.{0,2}/)?"
# A path with a folder may have any suffix; without a folder only common ones, so that `self.lock` is not a path.
PATH = re.compile(
    rf"{_ALONE}(?:[\w.@~+-]+/)+[\w@~+-]*\.\w[\w.]*\b(?!/)|{_ALONE}[\w@~+-][\w.@~+-]*\.(?:{_SUFFIXES})\b(?!/)"
    rf"|{_ALONE}(?:[\w.@~+-]+/){{2,}}(?!\w)|{_ALONE}\.env\b"
)
_FIGURE = re.compile(r"(\d[\d.,/-]*)(?: ?(%|[A-Za-z]+))?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_BEFORE_PATH, _AFTER_PATH = re.compile(r"[\w./\\@~+-]"), re.compile(r"[\w/@~+-]|\.\w")
_LETTER = re.compile(r"\w")
_ESCAPED = re.compile(r"\\[nrt]$")  # an escaped line end in JSON, whose letter does not belong to the name


def place(name: str, text: str) -> int:
    """Return the offset in characters of a name in a text, -1 if the text does not have it.

    A path, a figure or an identifier counts only where it is not a part of a longer one. A name with spaces counts
    anywhere, unless it is a figure such as "30 %".
    """
    if _FIGURE.fullmatch(name):
        return place_of_figure(name, text)
    if any(map(str.isspace, name)):
        return text.find(name)
    return place_of_path(name, text) if PATH.fullmatch(name) else _place(name, text, _LETTER, _LETTER)


def keeps(text: str, names: Iterable[str], original: str) -> bool:
    """Return whether a text has each of the `names` that occurs in the `original` text."""
    return all(place(name, text) >= 0 for name in names if place(name, original) >= 0)


def place_of_path(path: str, text: str) -> int:
    """Return the offset in characters of a path in a text, -1 if the text does not have the whole path."""
    return _place(path, text, _BEFORE_PATH, _AFTER_PATH)


def place_of_figure(figure: str, text: str) -> int:
    """Return the offset in characters of a figure such as "30 %" in a text, -1 if the text does not have it."""
    match = _FIGURE.fullmatch(figure)
    digits, unit = match.groups() if match else (figure, None)
    start = text.find(digits)
    if start < 0:
        return -1
    after = r"\d|[.,/]\d" if _DATE.fullmatch(figure) else r"\w|[.,/]\d"
    pattern = re.escape(digits) + (f" ?{re.escape(unit)}" if unit else "")
    whole = re.compile(rf"(?<![\w.,/]){pattern}(?!{after})")
    while start >= 0 and not whole.match(text, start):  # `search` would try it at each character
        start = text.find(digits, start + 1)
    return start


def _place(name: str, text: str, before: re.Pattern[str], after: re.Pattern[str]) -> int:
    """Return the offset of a name without a match of `before` in front of it or of `after` behind it, -1 for none."""
    start = text.find(name) if name else -1
    while start >= 0:
        is_first = start == 0 or not before.match(text, start - 1) or _ESCAPED.search(text[max(start - 2, 0) : start])
        if is_first and not after.match(text, start + len(name)):
            return start
        start = text.find(name, start + 1)
    return -1


def paths(text: str) -> list[str]:
    """Return the paths that a text names, exactly as they are written, each once."""
    return list(dict.fromkeys(match[0].rstrip(".") for match in PATH.finditer(text)))
