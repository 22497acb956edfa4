"""Reading Git's objects: one `git cat-file` answers all queries of a command.

The meaning of a name such as `COMMIT:PATH` never changes, so answers can be kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO

import msgspec

from memctl.git import coprocess
from memctl.git.coprocess import AnsweringProcess

_BLOCK = 1 << 16  # bytes of an unwanted object that are read at once


class Object(msgspec.Struct, frozen=True):
    """An object of Git: its id, its kind ("blob", "tree", "commit" or "tag"), and its content.

    `data` is None if the content has more bytes than the reader's limit.
    """

    id: str
    kind: str
    data: bytes | None


class Objects(AnsweringProcess):
    """The objects of a repository, read by one Git process."""

    def __init__(self, top: Path) -> None:
        super().__init__(("cat-file", "--batch"), top)

    def read(self, names: Sequence[str], limit: int | None = None) -> list[Object | None]:
        """Return the objects with some ids or names such as `COMMIT:PATH`, in order; None for a missing one.

        The content of an object of more than `limit` bytes is left out. Raises GitFailed.
        """
        return self.answers(names, lambda out: _read_object(out, limit))


def _read_object(out: IO[bytes], limit: int | None) -> Object | None:
    words = coprocess.line(out).split()  # id, kind and size
    if len(words) != 3 or words[1] not in (b"blob", b"tree", b"commit", b"tag") or not words[2].isdigit():
        return None
    size = int(words[2])
    data = None if limit is not None and size > limit else _read_exactly(out, size)
    if data is None:
        for position in range(0, size, _BLOCK):
            _read_exactly(out, min(_BLOCK, size - position))
    _read_exactly(out, 1)
    return Object(words[0].decode(), words[1].decode(), data)


def _read_exactly(out: IO[bytes], size: int) -> bytes:
    data = out.read(size)
    if len(data) != size:
        raise EOFError
    return data
