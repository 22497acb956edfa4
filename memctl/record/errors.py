"""Faults of the memory's files, each with file, line and field, and the exceptions that carry them."""

# Without `from __future__ import annotations`: msgspec would compile each postponed annotation when it first decodes.

from collections.abc import Sequence

import msgspec

CONFLICT, DUPLICATE = "conflict", "duplicate"
MAX_DEPTH = 20  # levels of lists and mappings in each other, in front matter
_MOST_FILES = 3  # files at fault that a summary names; `check` names all


class FrontMatterError(ValueError):
    """Raised for front matter that can't be read.

    `line` is the line in the file, counted from 1, and `key` the key with the error ("" if none). `about` is "" or
    tells a special error: CONFLICT (the file has the markers of an unfinished merge) or DUPLICATE (a key occurs twice).
    """

    def __init__(self, line: int, key: str, message: str, about: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.key = key
        self.message = message
        self.about = about


class Fault(msgspec.Struct, frozen=True):
    """An error in a file of the memory.

    `path` is relative to `.memory/`, `line` counts from 1, and `field` is "" if the error is not about a single field.
    `about` is CONFLICT or DUPLICATE, as in FrontMatterError, or "".
    """

    path: str  # relative to `.memory/`
    line: int  # 1-based
    field: str  # "" if the error is not about a single field
    message: str
    about: str = ""  # the kind of error: CONFLICT, DUPLICATE or ""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.field + ': ' if self.field else ''}{self.message}"


class InvalidRecord(ValueError):
    """Raised for a file that is not a valid record, page or checkpoint; `faults` are all its errors."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = faults


class NotRegularFile(InvalidRecord):
    """Raised if a path of the memory is a link, folder or device instead of a file, or leads through a link."""


class NotText(InvalidRecord):
    """Raised for a file that is not UTF-8. `text` is what can be read of it all the same, of a file in UTF-16, too."""

    def __init__(self, faults: list[Fault], data: bytes) -> None:
        super().__init__(faults)
        self.text = readable(data)


def readable(data: bytes) -> str:
    """Return what a person could read of a file's bytes that are not UTF-8, but UTF-16 or those of a program."""
    return data.replace(b"\0", b"").decode(errors="replace")


def field_and_message(error: Exception) -> tuple[str, str]:
    """Return the field ("" if none) and the message of a msgspec error: ("delete", "Expected `bool`, got `int`")."""
    message, _, field = str(error).partition(" - at `$.")
    return field.rstrip("`"), message


def describe(error: Exception) -> str:
    """Return the message of a msgspec error with the field first: "lifecycle.delete: Expected `bool`, got `int`"."""
    field, message = field_and_message(error)
    return f"{field}: {message}" if field else message


def summary(prefix: str, faults: Sequence[Fault]) -> str:
    """Return one line that names up to three files with faults, each with its first fault; "" if there are no faults.

    `prefix` is the memory's folder, which is put before each path.
    """
    from memctl.text.phrases import quantity  # mostly there are no faults

    by_path = {fault.path: fault for fault in reversed(faults)}
    words = [f"{prefix}/{by_path[path]}" for path in sorted(by_path)[:_MOST_FILES]]
    others = len(by_path) - _MOST_FILES
    more = [f"{quantity(others, 'more file')} can't be read (`memctl check` lists them)"] if others > 0 else []
    return "; ".join([*words, *more])
