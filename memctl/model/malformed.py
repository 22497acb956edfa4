"""The complaint of both readers of front matter."""

from __future__ import annotations


class Malformed(ValueError):
    """Front matter that can't be read: `line` (1-based, in the file), `key` ("" if none) and what is wrong."""

    def __init__(self, line: int, key: str, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.key = key
        self.message = message
