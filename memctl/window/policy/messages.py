"""JSON taken apart: messages of a conversation, or the values of any other JSON, also line by line (JSON Lines)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from memctl.transcript.events import arguments_of
from memctl.transcript.messages import CALL, OTHER, RESULT, TEXT, Element, elements
from memctl.window.policy import markdown_text
from memctl.window.policy.pieces import DATA, HEADING, Piece

_SPACE = re.compile(r"[\s,]*")
_MESSAGES = re.compile(r'"(?:messages|conversation|input)"\s*:\s*\[')
_DEPTH = 20  # of values that are written out; deeper ones stay JSON


def is_json(text: str) -> bool:
    """Whether a text is JSON, or lines of JSON."""
    try:
        return len(list(_values(text))) > 0
    except (ValueError, RecursionError):
        return False


def pieces(text: str) -> list[Piece]:
    """The pieces of JSON: one or more for each message; of other JSON, one for each value of the outermost."""
    found: list[Piece] = []
    counted, before = 0, 1
    is_one_line = "\n" not in text.strip()
    for number, (value, start, end) in enumerate(_entries(text), 1):
        line = before + text.count("\n", counted, start)
        last = line + text.count("\n", start, end)
        counted, before = end, last
        source = text[start:end]
        if isinstance(value, dict) and "role" in value and "content" in value:
            title = f"{value['role']}{f', message {number}' if is_one_line else ''}"  # its line would tell nothing
            found += _message(value, title, source, line, last, len(found))
        else:
            named = value if isinstance(value, dict) else {}
            title = next((str(named[k]) for k in ("title", "name", "id") if k in named), "")
            found.append(Piece(title, _flat(value), source, line, last, DATA, is_marked=True))
    return found


def _message(value: dict[str, Any], title: str, source: str, line: int, last: int, index: int) -> Iterator[Piece]:
    """A message: its frame by itself, then what it says, all on the lines of the message."""
    texts = [text for element in elements(value) if element.path[:1] != ("tool_calls",) for text in _texts(element)]
    rest = source
    for text in texts:
        rest = rest.replace(json.dumps(text, ensure_ascii=False)[1:-1], "", 1)
    yield Piece(title, "", rest, line, last, HEADING, is_marked=True)
    count = 1
    for text in texts:
        for piece in markdown_text.pieces(text, 1, title, index, index + count):
            count += 1
            at = min(line + piece.line - 1, last)
            yield Piece(piece.title, piece.text, piece.source, at, last, piece.kind, piece.parent, piece.is_marked)


def _texts(element: Element) -> list[str]:
    """What a part of a message says: its texts, or what a tool was given or returned."""
    if element.type == CALL:
        return [_flat(arguments_of(element.blocks[0]))]
    if element.type in (TEXT, RESULT):
        return [block.text for block in element.blocks if block.type != OTHER]
    return [element.text or _flat(element.given)]


def _flat(value: Any, depth: int = 0) -> str:
    """The values of JSON as lines `key: value`."""
    if depth < _DEPTH and isinstance(value, dict):
        return "\n".join(f"{key}: {_flat(item, depth + 1)}" for key, item in value.items())
    if depth < _DEPTH and isinstance(value, list):
        return "\n".join(_flat(item, depth + 1) for item in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _entries(text: str) -> Iterator[tuple[Any, int, int]]:
    """The messages or values of a text, each with where it begins and ends."""
    values = list(_values(text))
    value, start, end = values[0]
    if len(values) > 1 or not isinstance(value, list | dict):
        yield from values
    elif isinstance(value, list):
        yield from _values(text, start + 1, end - 1)
    elif match := _MESSAGES.search(text):
        frame = text[start : match.end()]
        if frame.strip("{ \n\t"):
            yield {key: item for key, item in value.items() if not isinstance(item, list)}, start, match.end()
        yield from _values(text, match.end(), end, "]")
    else:
        yield from _members(text, start, end)


def _values(text: str, place: int = 0, end: int | None = None, closing: str = "") -> Iterator[tuple[Any, int, int]]:
    """The values that stand one after the other in a part of a text, up to a closing sign; raises ValueError."""
    decoder = json.JSONDecoder()
    end = len(text) if end is None else end
    while (place := _after_space(text, place)) < end and text[place] != closing:
        start = place
        value, place = decoder.raw_decode(text, start)
        yield value, start, place


def _members(text: str, start: int, end: int) -> Iterator[tuple[Any, int, int]]:
    """The members of an object, each as an object of its own."""
    decoder = json.JSONDecoder()
    place = _after_space(text, start + 1)
    while place < end and text[place] != "}":
        key, stop = decoder.raw_decode(text, place)
        value, last = decoder.raw_decode(text, _after_space(text, text.index(":", stop) + 1))
        yield {key: value}, place, last
        place = _after_space(text, last)


def _after_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place
