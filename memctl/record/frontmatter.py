"""Read front matter strictly, and write it in a canonical form.

The canonical form is a small part of YAML: one `key: value` per line, and lists as lines `  - item`. A text is in
quotes, written as in JSON, unless every YAML reader understands it without quotes. memctl always writes this form, and
reads it nine times as fast as a YAML library does. Any other front matter is read by `strict_yaml`.

In memories of format 2, front matter is written as Prettier would: a text with `"` is in single quotes, unless it needs
an escape such as `\n`, and nested values are indented lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.record.errors import CONFLICT, MAX_DEPTH, Fault, FrontMatterError, InvalidRecord
from memctl.text.lazy_regex import lazy_regex

FENCE = "---"
MAX_HEAD = 64 * 1024  # characters; real ones have about 600
_INT = lazy_regex(r"-?(?:0|[1-9][0-9]{0,17})")
_PLAIN = lazy_regex(r"[^\W\d_][\w./@+()§-]*(?:(?: |:|, )[\w./@+()§-]+)*|§[\w.]+(?:[/-][\w.]+)*")
_MOMENT = lazy_regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_UUID = lazy_regex(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CONSTANTS = {"true": True, "false": False, "null": None}
# YAML 1.1 reads these as something other than text; so do some YAML 1.2 readers.
_RESERVED = frozenset(("yes", "no", "on", "off", "y", "n", "true", "false", "null", "nan", "inf"))
_NOT_CANONICAL, _LIST = object(), object()  # for a value that is not canonical, and for a list on the next lines
_ITEM, _NOTHING = "-", ""  # in place of a key: for the line of a list's item, and for an empty line or comment


def clean_newlines(text: str) -> str:
    """Return a text with LF line ends and without a byte order mark, as memctl stores every text."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text[1:] if text.startswith("\ufeff") else text


def clean(text: str) -> str:
    """Return a file's text with clean line ends, and with the lines `---` around its front matter as memctl has them.

    YAML allows blank lines above, blanks behind `---`, and a line `...` at the end; Pandoc and others write that.
    """
    text = clean_newlines(text)
    if not text.startswith(FENCE):
        rest = text.lstrip(" \t\n")
        return clean(rest) if rest.startswith(f"{FENCE}\n") else text
    head = text[: text.find("\n---\n", 3) + 1]
    if head.startswith("---\n") and not any(odd in head for odd in ("\n...", "\n--- ", "\n---\t")):
        return text  # nearly all files
    lines = text.split("\n")
    fences = [number for number, line in enumerate(lines) if line.rstrip(" \t") in (FENCE, "...")][:2]
    if len(fences) == 2 and fences[0] == 0:
        lines[0] = lines[fences[1]] = FENCE
    return "\n".join(lines)


def split(text: str) -> tuple[str, str]:
    """Split a file's text into its front matter, without the lines `---` around it, and the body below it.

    Raises FrontMatterError if one of these lines is missing, or if the file has markers of an unfinished merge.
    """
    if ("\n<<<<<<<" in text or text.startswith("<<<<<<<")) and (line := conflict_line(text)):
        raise FrontMatterError(line, "", "this line begins an unresolved merge conflict", CONFLICT)
    if not text.startswith(FENCE + "\n"):
        raise FrontMatterError(1, "", "the file must begin with front matter (a line `---`)")
    end = text.find("\n---\n", 3)
    if end >= 0:
        head, rest = text[4 : end + 1], text[end + 5 :]
    elif text.endswith("\n---"):
        head, rest = text[4:-3], ""
    else:
        raise FrontMatterError(1, "", "the front matter must end with a line `---`")
    if len(head) > MAX_HEAD:
        raise FrontMatterError(
            1, "", f"the front matter has {len(head):,} characters; memctl reads at most {MAX_HEAD:,}"
        )
    return head, rest


def conflict_line(text: str) -> int:
    """Return the line on which the markers of an unfinished merge begin, 0 if there are none."""
    start = middle = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if not start and (line == "<" * 7 or line.startswith("<" * 7 + " ")):
            start = number
        elif start and line == "=" * 7:
            middle = number
        elif middle and (line == ">" * 7 or line.startswith(">" * 7 + " ")):
            return start
    return 0


def read(text: str, *, number_keys: bool = False) -> tuple[dict[str, Any], str]:
    """Return the values of a file's front matter, and the file's body; raises FrontMatterError.

    `number_keys` allows numbers as keys of nested values, as in `0.75: progressive`.
    """
    head, rest = split(text)
    values = read_canonical(head)
    if values is None:
        from memctl.record import strict_yaml

        values = strict_yaml.read(head, number_keys=number_keys)
    return values, rest[1:] if rest.startswith("\n") else rest


def read_yaml(text: str, name: str, hint: str | None = None) -> dict[str, Any]:
    """Return the values of a whole YAML document, such as settings; keys without a value are left out.

    Numbers are allowed as keys of nested values. Raises MemctlError for a document that can't be read: the message
    begins with `name` and the line, and `hint` says what to do.
    """
    text = clean_newlines(text).removeprefix("---\n").rstrip("\n") + "\n"
    if len(text) > MAX_HEAD:
        raise MemctlError(
            f"{name}: the settings have {len(text):,} characters; memctl reads at most {MAX_HEAD:,}", hint
        )
    text = f"---\n{text}---\n"
    try:
        values, _ = read(text, number_keys=True)
    except FrontMatterError as error:
        raise MemctlError(f"{name}:{max(error.line - 1, 1)}: {error.message}", hint) from None
    return {key: value for key, value in values.items() if value is not None}


def compose(values: Mapping[str, Any], body: str, *, formatted: bool = False) -> str:
    """Return the text of a file that has `values` as front matter, in canonical form, and then `body`.

    Values that are None or an empty list are left out. `formatted` is for memories of format 2.
    """
    kept = {key: value for key, value in values.items() if value is not None and value != []}
    head = "".join(emit(key, value, formatted=formatted) for key, value in kept.items())
    return f"---\n{head}---\n" + (f"\n{body}" if body else "")


def parse_frontmatter(text: str, path: str) -> tuple[dict[str, Any], str]:
    """Return the values of a file's front matter, and the body after it.

    Raises InvalidRecord, which names the file at `path`, if the front matter can't be read or a NUL character is in the
    text.
    """
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        message = "the line contains a NUL character, so Git treats the file as binary: remove the character"
        raise InvalidRecord([Fault(path, line, "", message)])
    try:
        return read(text)
    except FrontMatterError as error:
        raise InvalidRecord([Fault(path, error.line, error.key, error.message, error.about)]) from None


def emit(key: str, value: Any, *, formatted: bool = False) -> str:
    """Return a key and its value as lines of front matter in memctl's canonical form; ValueError for an invalid key.

    `formatted` is for memories of format 2.
    """
    if not _is_key(key):
        raise ValueError(
            f"{key!r} can't be a key of front matter: a key has letters, digits, `_` and `-`, and begins with a letter"
        )
    if _is_deep(value, MAX_DEPTH - 1):  # the front matter is one
        raise ValueError(f"{key}: values must be nested at most {MAX_DEPTH} levels deep")
    try:
        if formatted:
            return f"{key}:{_formatted(value, '  ')}"
        if isinstance(value, (list, tuple)) and value and all(isinstance(item, (str, int, float)) for item in value):
            return f"{key}:\n" + "".join(f"  - {_scalar(item)}\n" for item in value)
        return f"{key}: {_scalar(value)}\n"
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None


def _is_deep(value: Any, levels: int) -> bool:
    if not isinstance(value, (Mapping, list, tuple)):
        return False
    items = value.values() if isinstance(value, Mapping) else value
    return levels == 0 or any(_is_deep(item, levels - 1) for item in items)


def _formatted(value: Any, indent: str) -> str:
    """Return what stands behind the colon of a key, or the dash of an item, as Prettier writes it, with a line end."""
    if isinstance(value, Mapping) and value:
        lines = "".join(f"{indent}{_in_quotes(name)}:{_formatted(item, indent + '  ')}" for name, item in value.items())
        return f"\n{lines}"
    if isinstance(value, (list, tuple)) and value:
        items = (_formatted(item, indent + "  ").lstrip() for item in value)
        return "\n" + "".join(f"{indent}- {item}" for item in items)
    return f" {_in_quotes(value)}\n"


def _in_quotes(value: Any) -> str:
    """Prettier prefers the quotes that need no escape."""
    text = _scalar(value)
    if not isinstance(value, str) or '\\"' not in text or "\\" in text.replace('\\"', ""):
        return text
    return "'" + value.replace("'", "''") + "'"


def _scalar(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_quote(name)}: {_flow(item)}" for name, item in value.items()) + "}"
    if not isinstance(value, str):
        return "[" + ", ".join(map(_flow, value)) + "]"
    from memctl.text.timestamps import is_moment  # only writers need it

    # Text in the form of a time need not be one: YAML readers fail for the 31st of February.
    if (_MOMENT.fullmatch(value) and is_moment(value)) or _UUID.fullmatch(value):
        return value
    if _PLAIN.fullmatch(value) and value.lower() not in _RESERVED and value.isprintable():
        return value
    return _quote(value)


def _flow(value: Any) -> str:
    """Inside `{…}` or `[…]` texts are always quoted."""
    return _quote(value) if isinstance(value, str) else _scalar(value)


def _quote(text: str) -> str:
    import json  # 1 ms, and most texts need no quotes

    quoted = json.dumps(text, ensure_ascii=False)
    # YAML does not allow the others raw; those past U+FFFF stay, for which JSON has no escape.
    return "".join(c if c.isprintable() or ord(c) > 0xFFFF else f"\\u{ord(c):04x}" for c in quoted)


def _number(value: float) -> str:
    text = repr(value)
    if "n" in text:
        raise ValueError(f"{text} is not a number")
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}{'' if '.' in mantissa else '.0'}e{exponent}" if e else text


def read_canonical(head: str) -> dict[str, Any] | None:
    """Return the values of front matter that is in canonical form, None if it is in another form.

    `head` is the front matter without the lines `---` around it.
    """
    values: dict[str, Any] = {}
    key = ""
    for name, value in map(_read_line, head.split("\n")[:-1]):
        if value is _NOT_CANONICAL or name in values:
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


@lru_cache(maxsize=4096)  # types, statuses, tags and names come again and again
def _read_line(line: str) -> tuple[str, Any]:
    if not line or line.startswith("#"):
        return _NOTHING, None
    if line.startswith("  - "):
        return _ITEM, _read_scalar(line[4:])
    name, colon, rest = line.partition(": ")
    if not colon and line[-1] != ":":
        return line, _NOT_CANONICAL
    name = name if colon else line[:-1]
    if not _is_key(name):
        return name, _NOT_CANONICAL
    return name, _read_scalar(rest) if colon else _LIST


@lru_cache(maxsize=256)
def _is_key(name: str) -> bool:
    is_name = name.isascii() and name.replace("-", "_").isidentifier()
    return is_name and name[0] != "-" and name.lower() not in _RESERVED


def _read_scalar(text: str) -> Any:
    if text[:1] == "'":
        inner = text[1:-1].replace("''", "")
        is_whole = len(text) > 1 and text[-1] == "'" and "'" not in inner and text.isprintable()
        return text[1:-1].replace("''", "'") if is_whole else _NOT_CANONICAL
    if text[:1] == '"':
        if not text.isprintable() or "\\ud" in text or "\\uD" in text or "\\/" in text:
            return _NOT_CANONICAL
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError:
            return _NOT_CANONICAL
    if _PLAIN.fullmatch(text):
        lower = text.lower()
        if lower in _RESERVED or not text.isprintable():
            return _CONSTANTS.get(text, _NOT_CANONICAL)
        return text
    if _INT.fullmatch(text):
        return int(text)
    if _MOMENT.fullmatch(text) or _UUID.fullmatch(text):
        return text
    return _NOT_CANONICAL
