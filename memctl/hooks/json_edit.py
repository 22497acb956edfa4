"""Edit JSON text in place: everything that is not edited stays unchanged, including spaces and comments.

A member or element is added after the last one in the file's own style, or removed. Comments (`//` and `/* */`) and
trailing commas, which editors and some hosts accept, are kept. To parse a text with them, a copy is made in which each
character of a comment, and each such comma, is replaced by a space, so that offsets are equal in text and copy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from memctl.errors import MemctlError

COMMENTS, COMMAS = "comments", "trailing commas"
_SPACE = " \t\r\n"
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA = re.compile(rf"{_STRING}|,(?=[ \t\r\n]*[\]}}])")
_REST_OF_LINE = re.compile(r"[ \t]*(,?)[ \t]*(?://[^\r\n]*|(?:/\*[^\r\n]*?\*/)?)")
_NOT_SPACE = re.compile(r"[^\r\n]")


class JsonSpan(NamedTuple):
    """The place of one member of an object, or one element of a list, in JSON text.

    `start`, `end` and `value` are offsets in characters: where the member or element begins, where it ends, and where
    its value begins. `key` is the member's key, "" for an element.
    """

    start: int
    value: int
    end: int
    key: str = ""


def parse(text: str, name: str) -> dict[str, Any]:
    """Parse a JSON object with comments and trailing commas; {} for an empty text.

    `name` is the file's name for messages. Raises MemctlError if the text is not a JSON object.
    """
    try:
        value = json.loads(_plain(text) if text.strip() else "{}", parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        where = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise fault(f"{name}{where} is not valid JSON: {getattr(error, 'msg', error)}") from None
    if not isinstance(value, dict):
        raise fault(f"{name} is not a JSON object")
    return value


def fault(message: str) -> MemctlError:
    """Return the error for a file whose text can't be edited."""
    return MemctlError(message, "nothing was changed; correct the file")


def extras(text: str) -> list[str]:
    """Return which extensions of JSON a text uses: "comments", "trailing commas", both or none."""
    bare = _bare(text)
    return [name for name, has_any in ((COMMENTS, bare != text), (COMMAS, _plain(text) != bare)) if has_any]


def value_at(text: str, path: Sequence[str | int]) -> int | None:
    """Return the offset (in characters) of the value at a path of keys and indexes, None if there is no such value."""
    plain = _plain(text)
    at = _skip(plain, 0)
    for step in path:
        if plain[at : at + 1] != ("{" if isinstance(step, str) else "["):
            return None
        members = _spans(plain, at)
        meant = [span for span in members if span.key == step] if isinstance(step, str) else members[step : step + 1]
        if not meant:
            return None
        at = meant[-1].value  # the last of several members with one key counts, as in JSON parsers
    return at


def spans(text: str, at: int) -> list[JsonSpan]:
    """Return the places of an object's members, or of a list's elements, in JSON text.

    `at` is the offset at which the object or list begins.
    """
    return _spans(_plain(text), at)


def insert(text: str, at: int, value: Any, key: str = "") -> str:
    """Return the text with a value added to the list or object that begins at the offset `at`.

    The value becomes the last element of the list, or the last member of the object with the given `key`.
    """
    plain = _plain(text)
    members, newline, unit = _spans(plain, at), "\r\n" if "\r\n" in text else "\n", _unit(plain)
    head = f"{json.dumps(key, ensure_ascii=False)}: " if key else ""
    if members and newline not in text[at : members[0].start]:  # the object or list is on one line
        return f"{text[: members[-1].end]}, {head}{json.dumps(value, ensure_ascii=False)}{text[members[-1].end :]}"
    outer = _indentation(plain, at)
    inner = _indentation(plain, members[0].start) if members else outer + unit
    written = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + inner)
    if members:
        end = members[-1].end
        rest = _REST_OF_LINE.match(text, end)  # a comment stays on the line of its value
        assert rest is not None
        beside = text[end : rest.end()].rstrip()
        if rest[1]:
            return f"{text[:end]}{beside}{newline}{inner}{head}{written},{text[end + len(beside) :]}"
        return f"{text[:end]},{beside}{newline}{inner}{head}{written}{text[end + len(beside) :]}"
    close = _skip(plain, at + 1)
    comments = text[at + 1 : close].rstrip()
    return f"{text[: at + 1]}{comments}{newline}{inner}{head}{written}{newline}{outer}{text[close:]}"


def replace(text: str, span: JsonSpan, value: Any) -> str:
    """Return the text with another value for the member or element whose place is `span`."""
    plain = _plain(text)
    newline, inner = "\r\n" if "\r\n" in text else "\n", _indentation(plain, span.start)
    is_flat = newline not in text[span.value : span.end] and len(text[span.value : span.end]) > 2
    written = json.dumps(value, ensure_ascii=False, indent=None if is_flat else _unit(plain))
    return text[: span.value] + written.replace("\n", newline + inner) + text[span.end :]


def remove(text: str, at: int, number: int) -> str:
    """Return the text without one member of the object, or element of the list, that begins at the offset `at`.

    `number` is the index of the member or element. Its comma is removed, too; comments around it stay.
    """
    bare, plain = _bare(text), _plain(text)
    members = _spans(plain, at)
    start, end = members[number].start, members[number].end
    is_first, is_last = number == 0, number + 1 == len(members)
    beginning = at + 1 if is_first else members[number - 1].end
    right = _skip(plain, end) if is_last else members[number + 1].start
    if text[beginning:start].strip(_SPACE + ",") or text[end:right].strip(_SPACE + ","):  # comments, which stay
        comma = bare.find(",", end, right)
        after = text[end:right] if comma < 0 else text[end:comma] + text[comma + 1 : right]
        if comma < 0 and not is_first:
            comma = bare.find(",", beginning, start)
            return _join(text[:comma] + text[comma + 1 : start], after + text[right:])
        return _join(text[:start], after + text[right:])
    if not is_last:
        return text[:start] + text[right:]
    return text[:beginning] + text[right if is_first else end :]


def _join(before: str, after: str) -> str:
    """Join the texts around a removed value, without the empty line that it would leave."""
    before = before.rstrip(" \t")
    if after.lstrip(" \t")[:1] in ("\r", "\n"):
        before = before.removesuffix("\n").removesuffix("\r")
    return before + after


def _bare(text: str) -> str:
    """Return the text with comments replaced by spaces."""
    return _COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else _NOT_SPACE.sub(" ", match[0]), text)


def _plain(text: str) -> str:
    """Return the text with comments and trailing commas replaced by spaces, which makes it plain JSON."""
    return _LAST_COMMA.sub(lambda match: match[0] if match[0][0] == '"' else " ", _bare(text))


def _spans(text: str, at: int) -> list[JsonSpan]:
    decoder = json.JSONDecoder()
    is_object, found, place = text[at] == "{", list[JsonSpan](), _skip(text, at + 1)
    while text[place] not in "}]":
        start, key = place, ""
        if is_object:
            key, place = decoder.raw_decode(text, place)
            place = _skip(text, _skip(text, place) + 1)  # the colon
        _, end = decoder.raw_decode(text, place)
        found.append(JsonSpan(start, place, end, key))
        place = _skip(text, end)
        if text[place] == ",":
            place = _skip(text, place + 1)
    return found


def _unit(text: str) -> str:
    """Return one step of indentation: that of the text's first member, or two spaces."""
    at = _skip(text, 0)
    unit_spans = _spans(text, at) if text[at : at + 1] == "{" else []
    return (_indentation(text, unit_spans[0].start) if unit_spans else "") or "  "


def _indentation(text: str, at: int) -> str:
    """Return the indentation of the line with the offset `at`."""
    start = text.rfind("\n", 0, at) + 1
    line = text[start:]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")
