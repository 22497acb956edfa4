"""Whether a text has a name whole: `pool.py` is not in `carpool.py`, nor 42 in 1423.

A path is whole where no character that paths are made of comes before or after it; a full stop may end a sentence. A
figure may have a space before its unit or none, and a time may follow a date.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_SUFFIXES = (
    "[cm]?[jt]sx?|pyi?|md|mdx|rst|txt|jsonl?|ya?ml|toml|ini|cfg|sql|sh|go|rs|rb|java|kt|cpp|hpp|php|swift|vue|svelte"
    "|s?css|html?|xml|svg|csv|proto|tf|ipynb"
)
_ALONE = r"(?<![\w/.:@~+-])(?:\.{0,2}/)?"
# With a folder before it any suffix will do; without one, only those that `self.lock` and the like do not have.
PATH = re.compile(
    rf"{_ALONE}(?:[\w.@~+-]+/)+[\w@~+-]*\.\w[\w.]*\b(?!/)|{_ALONE}[\w@~+-][\w.@~+-]*\.(?:{_SUFFIXES})\b(?!/)"
    rf"|{_ALONE}(?:[\w.@~+-]+/){{2,}}(?!\w)|{_ALONE}\.env\b"
)
_FIGURE = re.compile(r"(\d[\d.,/-]*)(?: ?(%|[A-Za-z]+))?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_BEFORE_PATH, _AFTER_PATH = re.compile(r"[\w./\\@~+-]"), re.compile(r"[\w/@~+-]|\.\w")
_LETTER = re.compile(r"\w")
_ESCAPED = re.compile(r"\\[nrt]$")  # the end of a line in the JSON of a call: its letter belongs to no name


def place(name: str, text: str) -> int:
    """Return where a text has a name of any kind (a path, a figure, an identifier), -1 if nowhere.

    What has spaces in it and is no figure is a sentence, and looked for as it is.
    """
    if _FIGURE.fullmatch(name):
        return place_of_figure(name, text)
    if any(map(str.isspace, name)):
        return text.find(name)
    return place_of_path(name, text) if PATH.fullmatch(name) else _place(name, text, _LETTER, _LETTER)


def keeps(text: str, names: Iterable[str], original: str) -> bool:
    """Return whether a text has those of the names that the original has."""
    return all(place(name, text) >= 0 for name in names if place(name, original) >= 0)


def place_of_path(path: str, text: str) -> int:
    """Return where a text has a path, -1 if nowhere."""
    return _place(path, text, _BEFORE_PATH, _AFTER_PATH)


def place_of_figure(figure: str, text: str) -> int:
    """Return where a text has a figure, -1 if nowhere."""
    match = _FIGURE.fullmatch(figure)
    digits, unit = match.groups() if match else (figure, None)
    if digits not in text:
        return -1
    after = r"\d|[.,/]\d" if _DATE.fullmatch(figure) else r"\w|[.,/]\d"
    pattern = re.escape(digits) + (f" ?{re.escape(unit)}" if unit else "")
    found = re.search(rf"(?<![\w.,/]){pattern}(?!{after})", text)
    return found.start() if found else -1


def _place(name: str, text: str, before: re.Pattern[str], after: re.Pattern[str]) -> int:
    """Return where a text has a name with nothing before or behind it that would make it another name."""
    start = text.find(name) if name else -1
    while start >= 0:
        is_first = start == 0 or not before.match(text, start - 1) or _ESCAPED.search(text[max(start - 2, 0) : start])
        if is_first and not after.match(text, start + len(name)):
            return start
        start = text.find(name, start + 1)
    return -1


def paths(text: str) -> list[str]:
    """Return the paths of files that a text names, exactly as it writes them, each once."""
    return list(dict.fromkeys(match[0].rstrip(".") for match in PATH.finditer(text)))
