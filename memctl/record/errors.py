"""Faults in a file of the memory: file, line and field of each."""

# Without `from __future__ import annotations`: of what is put off, msgspec compiles each when it first decodes.

from collections.abc import Sequence

import msgspec

CONFLICT, DUPLICATE = "conflict", "duplicate"
_NAMED = 3  # files at fault that a summary names; `check` names all


class Malformed(ValueError):
    """Front matter that can't be read: `line` (1-based, in the file), `key` ("" if none) and what is wrong.

    `about` is CONFLICT or DUPLICATE where a merge left its markers or a key stands twice, "" otherwise.
    """

    def __init__(self, line: int, key: str, message: str, about: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.key = key
        self.message = message
        self.about = about


class Fault(msgspec.Struct, frozen=True):
    """An error in a file of the memory: its place, and a message."""

    path: str  # relative to `.memory/`
    line: int  # 1-based
    field: str  # "" if no single field is at fault
    message: str
    about: str = ""  # what kind of fault, CONFLICT, DUPLICATE or ""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.field + ': ' if self.field else ''}{self.message}"


class InvalidRecord(ValueError):
    """Raised for a file that is not a valid record, with all its faults."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = faults


class NoPlainFile(InvalidRecord):
    """Raised if a link, folder or device is in the place of a file of the memory, or a path leads through a link."""


def located(error: Exception) -> tuple[str, str]:
    """Split a message of msgspec into the field ("" if it names none) and what is wrong with it."""
    message, _, field = str(error).partition(" - at `$.")
    return field.rstrip("`"), message


def describe(error: Exception) -> str:
    """Return what msgspec says is wrong with values, the field first: `lifecycle.delete: Expected `bool`, got
    `int``."""
    field, message = located(error)
    return f"{field}: {message}" if field else message


def summary(prefix: str, faults: Sequence[Fault]) -> str:
    """Return a line that names the unreadable files below `prefix`, each with its first fault; "" without faults."""
    by_path = {fault.path: fault for fault in reversed(faults)}
    words = [f"{prefix}/{by_path[path]}" for path in sorted(by_path)[:_NAMED]]
    more = [f"{len(by_path) - _NAMED:,} files more can't be read (`memctl check`)"] if len(by_path) > _NAMED else []
    return "; ".join([*words, *more])
