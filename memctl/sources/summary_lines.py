"""List the lines that may be in a file's summary, by the kind of file, each with its importance."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from memctl.pages import definitions, outline
from memctl.sources import imports
from memctl.text import fit
from memctl.text.phrases import quantity

Rank = tuple[int, ...]  # the lowest is the most important
_EDGE, _SHAPES = 20, 20  # first lines, last lines, and shapes of lines in the summary of a text
_LONGEST_VALUE = 60  # characters of a value in data that is shown
_SECRET = re.compile(r"passw|passphrase|pwd|secret|token|credential|(?:api|private|access)[-_]?key", re.IGNORECASE)
_MOST_KEYS = 500
_LONGEST_LINE = 2_000  # characters of a line that are looked at
_IMPORTS_AT_ONCE = 8
_DEFINITIONS, _HEADINGS = "Definitions, by line", "Headings, by line"


class SummaryLine(msgspec.Struct, frozen=True):
    """A line that may be in a file's summary: its rank, the heading of its group, and its text.

    The line with the lowest rank is the most important. `is_rest` says that the text continues the line of the
    SummaryLine before it.
    """

    rank: Rank
    group: str
    text: str
    is_rest: bool = False


def rows(path: str, text: str) -> list[SummaryLine]:
    """Return the lines that a summary of a file may have, in the order of the file; `text` has LF line ends."""
    suffix = outline.suffix_of(path)
    if definitions.is_outlined(suffix):
        return _code(suffix, path, text)
    if suffix in outline.MARKDOWN:
        return list(_markdown(text))
    if suffix in ("json", "ipynb", "webmanifest", "geojson"):
        try:
            return list(_json(msgspec.json.decode(text.encode(errors="replace"))))
        except (msgspec.DecodeError, RecursionError):
            return list(_lines(text))
    return list(_toml(text) if suffix == "toml" else _yaml(text) if suffix in ("yaml", "yml", "toml") else _lines(text))


def _code(suffix: str, path: str, text: str) -> list[SummaryLine]:
    names = list(dict.fromkeys(each.partition(imports.NAME)[0] for each in imports.in_code(suffix, text)))
    result = []
    for start in range(0, len(names), _IMPORTS_AT_ONCE):
        some = ", ".join(names[start : start + _IMPORTS_AT_ONCE])
        result.append(SummaryLine((1 if start == 0 else 3, 0, start), "Imports", some))
    lines, markers = text.split("\n"), outline.markers(path, text)
    spans = _spans(markers, len(lines))
    width = len(str(len(lines)))
    for marker, span in zip(markers, spans, strict=True):
        is_private = re.search(r"(?:^|[ .])[_#]\w+(?:\(\))?$", marker.title) is not None
        level = 2 * (marker.level + is_private)
        shown = f"{marker.line:>{width}}{'  ' * marker.level}{marker.title}"
        result.append(SummaryLine((2, level, -span, marker.line), _DEFINITIONS, shown))
        if about := outline.plain(outline.of_definition(suffix, lines, marker.line)):
            result.append(SummaryLine((2, level + 1, -span, marker.line), _DEFINITIONS, f": {about}", is_rest=True))
    return result or list(_lines(text))


def _spans(markers: list[outline.Marker], lines: int) -> list[int]:
    ends = [lines + 1] * len(markers)
    open_ones: list[int] = []
    for number, marker in enumerate(markers):
        while open_ones and markers[open_ones[-1]].level >= marker.level:
            ends[open_ones.pop()] = marker.line
        open_ones.append(number)
    return [end - marker.line for end, marker in zip(ends, markers, strict=True)]


def _markdown(text: str) -> Iterator[SummaryLine]:
    last: outline.Marker | None = None
    for block in outline.blocks(text):
        if block.level:
            shown = f"{block.line:>5}  {'#' * block.level} {block.title}"
            yield SummaryLine((1, 2 * block.level, block.line), _HEADINGS, shown)
        elif last is None:
            yield SummaryLine((0, 0), _HEADINGS, fit.first_sentence(block.title))
        elif last.level:
            rank = (1, 2 * last.level + 1, last.line)
            yield SummaryLine(rank, _HEADINGS, f": {fit.first_sentence(block.title)}", is_rest=True)
        last = block


def _json(value: Any) -> Iterator[SummaryLine]:
    if isinstance(value, list):
        yield SummaryLine((0, 0), "Content", _shape(value))
        value = value[0] if value else None
    if not isinstance(value, dict):
        return
    for number, (key, inner) in enumerate(islice(value.items(), _MOST_KEYS)):
        yield SummaryLine((1, number), "Keys", f"{outline.plain(key)}: {_shape(inner, key)}")
        for place, (name, deep) in enumerate(islice(inner.items(), _MOST_KEYS) if isinstance(inner, dict) else ()):
            yield SummaryLine((2, place, number), "Keys", f"  {outline.plain(name)}: {_shape(deep, name)}")


def _shape(value: Any, key: str = "") -> str:
    if isinstance(value, dict):
        return f"{{{quantity(len(value), 'key')}}}"
    if isinstance(value, list):
        first = f", the first {_shape(value[0])}" if value and isinstance(value[0], dict) else ""
        return f"[{quantity(len(value), 'item')}{first}]"
    shown = outline.plain(msgspec.json.encode(value).decode())
    return _value(key, shown) if len(shown) <= _LONGEST_VALUE else f"a text of {len(str(value)):,} characters"


def _value(key: str, value: str) -> str:
    return value if len(value) <= _LONGEST_VALUE and not _SECRET.search(key) else "…"


_YAML_KEY = re.compile(r"( *)(?:- )?([\w\"'./@*<-][^:#]{0,80}?):(?:[ \t]+(.*))?$")
_BLOCK = re.compile(r"[|>][+-]?\d?\s*(?:#.*)?$")


def _yaml(text: str) -> Iterator[SummaryLine]:
    step, skipped = 0, -1
    for number, line in enumerate(text.split("\n"), 1):
        indent = len(line) - len(line.lstrip(" "))
        if not line.strip() or (0 <= skipped < indent):
            continue
        skipped = -1
        match = _YAML_KEY.match(line[:_LONGEST_LINE])
        if match is None:
            continue
        value = match[3] or ""
        skipped = indent if _BLOCK.match(value) else -1
        step = indent if indent > 0 and (step == 0 or indent < step) else step
        if indent in (0, step):
            shown = f" {_value(match[2], value)}" if value else ""
            yield _key(number, 1 if indent else 0, f"{match[2]}:{shown}")


_TOML_TABLE = re.compile(r"\s*(\[\[?[^\]]+\]\]?)\s*(?:#.*)?$")
_TOML_KEY = re.compile(r"\s*([\w\"'.-]{1,80})\s*=\s*(.*)$")


def _toml(text: str) -> Iterator[SummaryLine]:
    quote, level = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        line = line[:_LONGEST_LINE]
        if quote:
            quote = "" if quote in line else quote
            continue
        if match := _TOML_TABLE.match(line):
            level = 1
            yield _key(number, 0, match[1])
        elif match := _TOML_KEY.match(line):
            quote = next((mark for mark in ('"""', "'''") if match[2].count(mark) == 1), "")
            yield _key(number, level, f"{match[1]} = {'…' if quote else _value(match[1], match[2])}")


def _key(number: int, level: int, text: str) -> SummaryLine:
    return SummaryLine((1 + level, number), "Keys, by line", f"{number:>5}{'  ' * (level + 1)}{outline.plain(text)}")


_FREQUENT = "Most frequent lines (# for numbers, ids and quotes)"
_VARIABLE = re.compile(r"[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{4,})*|0x[0-9a-fA-F]+|\d+|\"[^\"]*\"|'[^']*'")


def _lines(text: str) -> Iterator[SummaryLine]:
    """Numbers, ids and quotes count as equal in frequent lines."""
    lines = [line for line in text.split("\n") if line.strip()]
    for number, line in enumerate(lines[:_EDGE]):
        yield SummaryLine((number, 0), "It begins", outline.plain(line[:_LONGEST_LINE]))
    shapes = Counter(_VARIABLE.sub("#", line[:_LONGEST_LINE]) for line in lines)
    frequent = sorted(shapes.items(), key=lambda item: (-item[1], item[0]))[:_SHAPES]
    for number, (shape, count) in enumerate(frequent):
        if count > 1:
            yield SummaryLine((number, 2), _FREQUENT, f"{count:>7,} x {outline.plain(shape)}")
    last = lines[_EDGE:][-_EDGE:]
    for number, line in enumerate(last):
        yield SummaryLine((len(last) - 1 - number, 1), "It ends", outline.plain(line[:_LONGEST_LINE]))
