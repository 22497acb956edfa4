"""The complaint of both readers of front matter."""

from __future__ import annotations

CONFLICT, DUPLICATE = "conflict", "duplicate"


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
