"""Changing JSON without writing it anew: what somebody has in a file stays as it is, to the last space.

A member or an element is put in behind the last one, in the manner of those that are there, or taken out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from memctl.errors import MemctlError

_SPACE = " \t\r\n"


class Span(NamedTuple):
    """A member of an object or an element of a list: where it begins, where its value does, and where it ends."""

    start: int
    value: int
    end: int
    key: str = ""


def parse(text: str, name: str) -> dict[str, Any]:
    """The object that a text is; raises MemctlError if it is anything else. Comments are no JSON."""
    try:
        found = json.loads(text if text.strip() else "{}", parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        where = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise MemctlError(
            f"{name}{where} is not plain JSON: {getattr(error, 'msg', error)}",
            "nothing was changed; take comments and trailing commas out, or put the hooks in by hand",
        ) from None
    if not isinstance(found, dict):
        raise MemctlError(f"{name} is no JSON object", "nothing was changed")
    return found


def value_at(text: str, path: Sequence[str | int]) -> int | None:
    """Where the value begins that a path of keys and numbers leads to; None if it leads nowhere."""
    at = _skip(text, 0)
    for step in path:
        if text[at : at + 1] != ("{" if isinstance(step, str) else "["):
            return None
        found = spans(text, at)
        if isinstance(step, str):
            named = [span for span in found if span.key == step]
            if not named:
                return None
            at = named[-1].value  # of several with one name the last one counts
        elif step < len(found):
            at = found[step].value
        else:
            return None
    return at


def spans(text: str, at: int) -> list[Span]:
    """The members of the object, or the elements of the list, that begins at `at`."""
    decoder = json.JSONDecoder()
    is_object, found, place = text[at] == "{", list[Span](), _skip(text, at + 1)
    while text[place] not in "}]":
        start, key = place, ""
        if is_object:
            key, place = decoder.raw_decode(text, place)
            place = _skip(text, _skip(text, place) + 1)  # the colon
        _, end = decoder.raw_decode(text, place)
        found.append(Span(start, place, end, key))
        place = _skip(text, end)
        if text[place] == ",":
            place = _skip(text, place + 1)
    return found


def put(text: str, at: int, value: Any, key: str = "") -> str:
    """The text with a value behind the last one in the object or list at `at`; in an object under `key`."""
    found, newline, unit = spans(text, at), "\r\n" if "\r\n" in text else "\n", _unit(text)
    head = f"{json.dumps(key, ensure_ascii=False)}: " if key else ""
    if found and newline not in text[at : found[0].start]:  # all on one line
        return f"{text[: found[-1].end]}, {head}{json.dumps(value, ensure_ascii=False)}{text[found[-1].end :]}"
    outer = _indentation(text, at)
    inner = _indentation(text, found[0].start) if found else outer + unit
    written = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + inner)
    if found:
        return f"{text[: found[-1].end]},{newline}{inner}{head}{written}{text[found[-1].end :]}"
    close = _skip(text, at + 1)
    return f"{text[: at + 1]}{newline}{inner}{head}{written}{newline}{outer}{text[close:]}"


def replace(text: str, span: Span, value: Any) -> str:
    """The text with another value in a span."""
    newline, inner = "\r\n" if "\r\n" in text else "\n", _indentation(text, span.start)
    is_flat = newline not in text[span.value : span.end] and len(text[span.value : span.end]) > 2
    written = json.dumps(value, ensure_ascii=False, indent=None if is_flat else _unit(text))
    return text[: span.value] + written.replace("\n", newline + inner) + text[span.end :]


def take(text: str, at: int, number: int) -> str:
    """The text without a member or element of what begins at `at`, and without the comma and space that it brought."""
    found = spans(text, at)
    if len(found) == 1:
        return text[: at + 1] + text[_skip(text, found[0].end) :]
    if number + 1 < len(found):
        return text[: found[number].start] + text[found[number + 1].start :]
    return text[: found[number - 1].end] + text[found[number].end :]


def _unit(text: str) -> str:
    """One step of indentation in a text: as its first member has it, or two spaces."""
    at = _skip(text, 0)
    found = spans(text, at) if text[at : at + 1] == "{" else []
    return (_indentation(text, found[0].start) if found else "") or "  "


def _indentation(text: str, at: int) -> str:
    """The white space at the beginning of the line of a place."""
    start = text.rfind("\n", 0, at) + 1
    line = text[start:]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")
