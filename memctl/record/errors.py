"""What is wrong in a file of the memory: told with file, line and field, and all of it at once."""

from __future__ import annotations

from typing import Any

import msgspec

from memctl.record import frontmatter
from memctl.record.malformed import Malformed


class Fault(msgspec.Struct, frozen=True):
    """Something wrong in a file of the memory: where it is, what was found, what is allowed."""

    path: str  # relative to `.memory/`
    line: int  # 1-based
    field: str  # "" if no single field is at fault
    message: str
    about: str = ""  # what kind of fault, if `malformed` names it

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.field + ': ' if self.field else ''}{self.message}"


class InvalidRecord(ValueError):
    """A file that is not a record, with everything that is wrong with it."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = faults


class NoPlainFile(InvalidRecord):
    """A path of the memory at which there is a link, a folder or a device, or that leads through a link."""


def take_apart(text: str, path: str) -> tuple[dict[str, Any], str]:
    """The values and the body of a file with LF line ends; raises InvalidRecord if it can't be read at all."""
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InvalidRecord([Fault(path, line, "", "a NUL character stands here; Git would take the file for binary")])
    try:
        return frontmatter.read(text)
    except Malformed as error:
        raise InvalidRecord([Fault(path, error.line, error.key, error.message, error.about)]) from None


def invalid(text: str, path: str, wrong: list[tuple[str, str]]) -> InvalidRecord:
    """What is wrong with the fields of a file, each with its line."""
    lines = {block.key: block.line for block in frontmatter.blocks(text)}
    return InvalidRecord([Fault(path, lines.get(field, 1), field, message) for field, message in wrong])
