r"""Halves of characters in JSON: `\ud83d` without the `\ude00` that makes a character of it, and the other way round.

No text in UTF-8 can hold one (RFC 8259, section 8.2, leaves open what a reader makes of it), so it is refused. What is
said of it names the record and the field: a decoder knows only the byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from memctl.text.markdown import one_line

_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})(\\u[dD][c-fC-F][0-9a-fA-F]{2})?|u([dD][c-fC-F][0-9a-fA-F]{2})|.)"
)
_NAMES = ("id", "memory_id", "title")
_MARK = "\ue000"  # stands for a half while the text is looked at; a field that has it itself is named, too
_LONGEST = 80  # characters of a name that is shown


def told(text: str) -> str:
    """What there is to say of the halves in the JSON of one record, "" if there are none or it is no JSON."""
    found: list[str] = []

    def mark(match: re.Match[str]) -> str:
        half = match[3] or (match[1] if not match[2] else "")
        if not half:
            return match[0]
        found.append(half)
        return _MARK

    marked = _ESCAPE.sub(mark, text)
    if not found:
        return ""
    try:
        values = msgspec.json.decode(marked)
    except (msgspec.DecodeError, RecursionError):
        return ""
    where = ", ".join(dict.fromkeys(_fields(values))) or "the text"
    halves = ", ".join(f"\\u{half}" for half in dict.fromkeys(found))
    return f"{_named(values)}{where}: half a character is no text: {halves}"


def _named(values: Any) -> str:
    """The record by its id or title, as far as that can be read."""
    given = (values.get(name) for name in _NAMES) if isinstance(values, dict) else ()
    name = next((one for one in given if isinstance(one, str) and one.strip()), "")
    return f'"{_shown(name)}": ' if name else ""


def _fields(value: Any, name: str = "") -> Iterator[str]:
    """The fields that have halves in them, in their names or their values, with the name of what they are in."""
    if isinstance(value, str) and _MARK in value:
        yield _shown(name) or "the text"
    elif isinstance(value, list):
        for item in value:
            yield from _fields(item, name)
    elif isinstance(value, dict):
        for key, inner in value.items():
            path = f"{name}.{key}" if name else key
            if _MARK in key:
                yield f"the name of the field {_shown(path)}"
            yield from _fields(inner, path)


def _shown(text: str) -> str:
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in one_line(text))  # marks, too
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
