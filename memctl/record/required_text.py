"""Types and checks of texts that must be given: one line, of limited length, and no placeholder such as "TBD"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from memctl.errors import REFUSED, USAGE, MemctlError
from memctl.text.lazy_regex import lazy_regex

LONGEST_LINE = 500  # characters; longer texts belong in a file or a record
LONGEST_MISSION = 2_000
MOST_LINES = 200
Line = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_LINE)]
ShortText = Annotated[str, msgspec.Meta(max_length=LONGEST_LINE)]
Mission = Annotated[str, msgspec.Meta(max_length=LONGEST_MISSION)]
Lines = Annotated[tuple[Line, ...], msgspec.Meta(max_length=MOST_LINES)]
_PLACEHOLDER = lazy_regex(
    r"[\W_]*|(?:tbd|tba|tbc|todo|n/?a|unknown|xxx|to be (?:determined|defined|done))\W*", re.IGNORECASE
)


_LENGTH = lazy_regex(r"Expected `(str|array)` of length (<=|>=) (\d+)(?: - at `\$\[(\d+)\](?:\.\w+)?`)?")


class InvalidFields(MemctlError):
    """Raised for invalid input: the message is `title`, and below it one line for each wrong field.

    `fields` are pairs of a field and what is wrong with it.
    """

    kind = "invalid-field"

    def __init__(
        self, title: str, fields: Sequence[tuple[str, str]], hint: str | None = None, exit_code: int = REFUSED
    ) -> None:
        super().__init__("\n".join([title, *(f"{field}: {message}" for field, message in fields)]), hint, exit_code)
        self.title = title
        self.fields = tuple(fields)


def type_errors(values: Mapping[str, Any], form: type[msgspec.Struct]) -> Iterator[tuple[str, str]]:
    """Yield the values that do not fit the fields of the struct `form`, as pairs of a field and a message."""
    for field in msgspec.structs.fields(form):
        if field.name in values:
            try:
                msgspec.convert(values[field.name], field.type)
            except msgspec.ValidationError as error:
                yield field.name, _plain_message(str(error))


def _plain_message(message: str) -> str:
    """Put msgspec's messages about lengths in plain words; other messages, about types, stay as they are."""
    match = _LENGTH.fullmatch(message)
    if match is None:
        return message
    kind, sign, number, place = match.groups()
    which = f"item {int(place) + 1} " if place else ""
    if sign == ">=":
        return f"{which}must not be empty"
    limit = f"{int(number):,}"
    return f"{which}must have at most {limit} {'characters' if kind == 'str' else 'items'}"


def refuse_placeholder(text: str, name: str) -> None:
    """Raise MemctlError if a text is a placeholder such as "TBD"; an empty text passes.

    The message begins with `name`, which says what the text is.
    """
    if text.strip() and not is_meaningful(text):
        raise MemctlError(
            f"{name}: {placeholder_fault(text)}", f"replace {text.strip()!r} with a real text, or leave it out", USAGE
        )


def placeholder_fault(text: str) -> str:
    """Return the message about a text for which `is_meaningful` is False."""
    return f"{text.strip()!r} is a placeholder, not a real text" if text.strip() else "is empty"


def is_meaningful(text: str) -> bool:
    """Return whether a text says something: False for "" and for placeholders such as "TBD", "n/a" and "…".

    The text "none" says something: that there is nothing.
    """
    return _PLACEHOLDER.fullmatch(text.strip()) is None
