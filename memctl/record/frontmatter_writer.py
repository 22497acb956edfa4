"""The canonical form of front matter: written by memctl, and read nine times as fast as by YAML's C loader.

It is a small part of YAML: one `key: value` a line, lists as `  - item` lines, texts plain where no YAML reader could
take them for anything else and as JSON strings otherwise. Whatever is not of this form goes to `strict_yaml`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from memctl.record import timestamps

KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_INT = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_PLAIN = re.compile(r"[^\W\d_][\w./@+()§-]*(?:(?: |:|, )[\w./@+()§-]+)*|§[\w.]+(?:[/-][\w.]+)*")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CONSTANTS = {"true": True, "false": False, "null": None}
# YAML 1.1 reads these as something other than text; so do some YAML 1.2 readers.
_RESERVED = frozenset(("yes", "no", "on", "off", "y", "n", "true", "false", "null", "nan", "inf"))


def emit(key: str, value: Any) -> str:
    """The canonical lines of one key."""
    if KEY.fullmatch(key) is None or key.lower() in _RESERVED:
        raise ValueError(f"{key!r} can't be a key: use letters, digits, `_` and `-`, a letter first")
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, (str, int, float)) for item in value):
        return f"{key}:\n" + "".join(f"  - {_scalar(item)}\n" for item in value)
    try:
        return f"{key}: {_scalar(value)}\n"
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None


def _scalar(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_quoted(name)}: {_flow(item)}" for name, item in value.items()) + "}"
    if not isinstance(value, str):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if (_MOMENT.fullmatch(value) and _exists(value)) or _UUID.fullmatch(value):
        return value
    if _PLAIN.fullmatch(value) and value.lower() not in _RESERVED and value.isprintable():
        return value
    return _escape(json.dumps(value, ensure_ascii=False))


def _flow(value: Any) -> str:
    """A value inside `{…}` or `[…]`, where texts are always quoted."""
    return _quoted(value) if isinstance(value, str) else _scalar(value)


def _quoted(text: str) -> str:
    return _escape(json.dumps(text, ensure_ascii=False))


def _exists(moment: str) -> bool:
    """Whether YAML readers that turn times into dates will find that date."""
    try:
        timestamps.parse(moment)
    except ValueError:
        return False
    return True


def _number(value: float) -> str:
    """A number as every YAML reader takes it for one."""
    text = repr(value)
    if "n" in text:
        raise ValueError(f"{text} is no number")
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}{'' if '.' in mantissa else '.0'}e{exponent}" if e else text


def _escape(quoted: str) -> str:
    """Escape what YAML would not take raw; characters past U+FFFF may stay, JSON has no single escape for them."""
    if quoted.isprintable():
        return quoted
    return "".join(c if c.isprintable() or ord(c) > 0xFFFF else f"\\u{ord(c):04x}" for c in quoted)


def read(head: str) -> dict[str, Any] | None:
    """The values of a front matter without its fences, or None if it is not in canonical form."""
    values: dict[str, Any] = {}
    key = ""
    for name, value in map(_read_line, head.split("\n")[:-1]):
        if value is _OTHER or name in values:
            return None
        if name == _ITEM:
            if not key:
                return None
            if values[key] is None:
                values[key] = [value]
            else:
                values[key].append(value)
        elif value is _LIST:
            key = name
            values[name] = None
        elif name != _NOTHING:
            key = ""
            values[name] = value
    return values


_OTHER, _LIST = object(), object()  # a value that is not canonical, and one that may follow as items
_ITEM, _NOTHING = "-", ""  # what stands for a key in the lines of items and comments


@lru_cache(maxsize=4096)  # types, statuses, tags and names come again and again
def _read_line(line: str) -> tuple[str, Any]:
    """The key and value of a line."""
    if not line or line.startswith("#"):
        return _NOTHING, None
    if line.startswith("  - "):
        return _ITEM, _read_scalar(line[4:])
    name, colon, rest = line.partition(": ")
    if not colon and line[-1] != ":":
        return line, _OTHER
    name = name if colon else line[:-1]
    if not _is_key(name):
        return name, _OTHER
    return name, _read_scalar(rest) if colon else _LIST


@lru_cache(maxsize=256)
def _is_key(name: str) -> bool:
    return KEY.fullmatch(name) is not None and name.lower() not in _RESERVED


def _read_scalar(text: str) -> Any:
    if text[:1] == '"':
        if not text.isprintable() or "\\ud" in text or "\\uD" in text or "\\/" in text:
            return _OTHER
        try:
            return json.loads(text)
        except ValueError:
            return _OTHER
    if _PLAIN.fullmatch(text):
        lower = text.lower()
        if lower in _RESERVED or not text.isprintable():
            return _CONSTANTS.get(text, _OTHER)
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INT.fullmatch(text):
        return int(text)
    if _MOMENT.fullmatch(text) or _UUID.fullmatch(text):
        return text
    return _OTHER
