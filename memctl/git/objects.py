"""Reading objects: one `git cat-file` answers all questions of a kind that a command has, which took a process each.

It is started by the first question and waits for the next. What a name such as `COMMIT:PATH` stands for never changes,
so its answers don't grow old. It ends when the memctl that asks does, however that comes about: its input ends then.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TypeVar

import msgspec

from memctl.git import git

_AT_ONCE = 4096  # bytes of questions: no pipe is smaller, so that neither side waits for the other for ever
_BLOCK = 1 << 16  # bytes that are read at once of what nobody wants
_KINDS = (b"blob", b"tree", b"commit", b"tag")
T = TypeVar("T")


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
        self._contents = _Answering(("cat-file", "--batch"), top)
        self._kinds = _Answering(("cat-file", "--batch-check"), top)

    def close(self) -> None:
        """End the processes now, and not when nobody has these objects any more; a later question starts another."""
        self._contents.close()
        self._kinds.close()

    def read(self, names: Sequence[str], limit: int | None = None) -> list[Object | None]:
        """What ids, or names such as `COMMIT:PATH`, stand for; None for what there is not.

        The content of an object of more than `limit` bytes is not kept. Raises GitFailed.
        """
        return self._contents.answers(names, lambda out: _answer(out, limit))

    def kinds(self, names: Sequence[str]) -> list[tuple[str, str] | None]:
        """The kind and id of what such names stand for; None for what there is not. Raises GitFailed.

        Unlike `read` this has a partial clone fetch no blob.
        """
        return self._kinds.answers(names, _kind)


class _Answering:
    """A process of Git's that answers one question after another."""

    def __init__(self, args: Sequence[str], top: Path) -> None:
        self._args, self._top = args, top
        self.process: git.Process | None = None
        self._asker = 0
        self._end: Callable[[], object] = lambda: None

    def close(self) -> None:
        self.process = None
        self._end()

    def answers(self, names: Sequence[str], read: Callable[[IO[bytes]], T]) -> list[T]:
        """The answers to some names, each as `read` takes it from what the process prints; raises GitFailed."""
        found: list[T] = []
        for some in _portions(names):
            try:
                found += self._ask(some, read)
            except git.GitFailed:  # Ctrl-C at the terminal ends it too, where we may go on
                found += self._ask(some, read)
        return found

    def _ask(self, names: Sequence[bytes], read: Callable[[IO[bytes]], T]) -> list[T]:
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(b"".join(name + b"\n" for name in names))
            process.stdin.flush()
            return [read(process.stdout) for _ in names]
        except (EOFError, OSError):
            self.process = None
            said = git.end(process)
            raise git.GitFailed(self._args, process.returncode, said.decode(errors="replace")) from None
        except BaseException:  # what it has still to say would be taken for the answer to the next question
            self.process = None
            git.end(process)
            raise

    def _running(self) -> git.Process:
        if self.process is None or self._asker != os.getpid():  # a copy of us must not take the answers to our own
            self.process, self._asker = git.start_answering(self._args, self._top), os.getpid()
            self._end = weakref.finalize(self, git.end, self.process)
        return self.process


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
    """The next answer: its head, and the content."""
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


def _kind(out: IO[bytes]) -> tuple[str, str] | None:
    head = _head(out)
    return None if head is None else (head[1], head[0])


def _head(out: IO[bytes]) -> tuple[str, str, int] | None:
    """The head of the next answer, `ID KIND SIZE`; None if it is the name again with what is wrong about it."""
    head = out.readline()
    if not head.endswith(b"\n"):
        raise EOFError
    words = head.split()
    if len(words) != 3 or words[1] not in _KINDS or not words[2].isdigit():
        return None
    return words[0].decode(), words[1].decode(), int(words[2])


def _exactly(out: IO[bytes], size: int) -> bytes:
    data = out.read(size)
    if len(data) != size:
        raise EOFError
    return data
