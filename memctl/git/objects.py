"""Reading objects: one `git cat-file` answers all questions that a command has.

What a name such as `COMMIT:PATH` means never changes, so its answers don't grow old.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO

import msgspec

from memctl.git import coprocess
from memctl.git.coprocess import AnsweringProcess

_BLOCK = 1 << 16  # bytes that are read at once of what nobody wants
_KINDS = (b"blob", b"tree", b"commit", b"tag")


class Object(msgspec.Struct, frozen=True):
    """An object of Git's: its id, whether it is a "blob", "tree", "commit" or "tag", and its content.

    The content is None if it has more bytes than were wanted.
    """

    id: str
    kind: str
    data: bytes | None


class Objects(AnsweringProcess):
    """The objects of a repository."""

    def __init__(self, top: Path) -> None:
        super().__init__(("cat-file", "--batch"), top)

    def read(self, names: Sequence[str], limit: int | None = None) -> list[Object | None]:
        """Return the objects of ids, or of names such as `COMMIT:PATH`; None for what there is not.

        The content of an object of more than `limit` bytes is not kept. Raises GitFailed.
        """
        return self.answers(names, lambda out: _answer(out, limit))


def _answer(out: IO[bytes], limit: int | None) -> Object | None:
    """Return the next answer: its head, and the content."""
    head = _head(out)
    if head is None:
        return None
    name, kind, size = head
    data = None if limit is not None and size > limit else _exactly(out, size)
    if data is None:
        for position in range(0, size, _BLOCK):
            _exactly(out, min(_BLOCK, size - position))
    _exactly(out, 1)
    return Object(name, kind, data)


def _head(out: IO[bytes]) -> tuple[str, str, int] | None:
    """Return the head of the next answer, `ID KIND SIZE`; None if it is the name again with what is wrong about it."""
    words = coprocess.line(out).split()
    if len(words) != 3 or words[1] not in _KINDS or not words[2].isdigit():
        return None
    return words[0].decode(), words[1].decode(), int(words[2])


def _exactly(out: IO[bytes], size: int) -> bytes:
    data = out.read(size)
    if len(data) != size:
        raise EOFError
    return data
