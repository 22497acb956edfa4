"""Reading objects: one `git cat-file` answers all the questions of a command, which took a process each.

It is started by the first question and waits for the next. What a name such as `COMMIT:PATH` stands for never changes,
so its answers don't grow old. It ends when the memctl that asks does, however that comes about: its input ends then.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

import msgspec

from memctl.git import git

_ARGS = ("cat-file", "--batch")
_AT_ONCE = 4096  # bytes of questions: no pipe is smaller, so that neither side waits for the other for ever
_BLOCK = 1 << 16  # bytes that are read at once of what nobody wants
_KINDS = (b"blob", b"tree", b"commit", b"tag")


class Object(msgspec.Struct, frozen=True):
    """An object of Git's: its id, whether it is a "blob", "tree", "commit" or "tag", and its content.

    The content is None if it has more bytes than were wanted.
    """

    id: str
    kind: str
    data: bytes | None


class Objects:
    """The objects of a repository."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self._process: git.Process | None = None
        self._asker = 0
        self._end: Callable[[], object] = lambda: None

    def close(self) -> None:
        """End the process now, and not when nobody has these objects any more; a later question starts another."""
        self._process = None
        self._end()

    def read(self, names: Sequence[str], limit: int | None = None) -> list[Object | None]:
        """What ids, or names such as `COMMIT:PATH`, stand for; None for what there is not.

        The content of an object of more than `limit` bytes is not kept. Raises GitFailed.
        """
        found: list[Object | None] = []
        for some in _portions(names):
            try:
                found += self._answers(some, limit)
            except git.GitFailed:  # Ctrl-C at the terminal ends it too, where we may go on
                found += self._answers(some, limit)
        return found

    def _answers(self, names: Sequence[bytes], limit: int | None) -> list[Object | None]:
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(b"".join(name + b"\n" for name in names))
            process.stdin.flush()
            return [_answer(process.stdout, limit) for _ in names]
        except (EOFError, OSError):
            self._process = None
            said = git.end(process)
            raise git.GitFailed(_ARGS, process.returncode, said.decode(errors="replace")) from None
        except BaseException:  # what it has still to say would be taken for the answer to the next question
            self._process = None
            git.end(process)
            raise

    def _running(self) -> git.Process:
        if self._process is None or self._asker != os.getpid():  # a copy of us must not take the answers to our own
            self._process, self._asker = git.start_answering(_ARGS, self._top), os.getpid()
            self._end = weakref.finalize(self, git.end, self._process)
        return self._process


def _portions(names: Sequence[str]) -> Iterator[list[bytes]]:
    """Names in groups that can be asked at once."""
    some: list[bytes] = []
    size = 0
    for name in map(os.fsencode, names):
        if some and size + len(name) >= _AT_ONCE:
            yield some
            some, size = [], 0
        some.append(name)
        size += len(name) + 1
    if some:
        yield some


def _answer(out: IO[bytes], limit: int | None) -> Object | None:
    """The next answer: `ID KIND SIZE` and the content, or the name again with what is wrong about it."""
    head = out.readline()
    if not head.endswith(b"\n"):
        raise EOFError
    words = head.split()
    if len(words) != 3 or words[1] not in _KINDS or not words[2].isdigit():
        return None
    size = int(words[2])
    data = None if limit is not None and size > limit else _exactly(out, size)
    if data is None:
        for position in range(0, size, _BLOCK):
            _exactly(out, min(_BLOCK, size - position))
    _exactly(out, 1)
    return Object(words[0].decode(), words[1].decode(), data)


def _exactly(out: IO[bytes], size: int) -> bytes:
    data = out.read(size)
    if len(data) != size:
        raise EOFError
    return data
