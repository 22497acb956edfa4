"""A process of Git's that answers one question after another, where each took a process of its own.

It is started by the first question and waits for the next. It ends when the memctl that asks does, however that comes
about: its input ends then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TypeVar

from memctl.git import git
from memctl.git.git import Process

_AT_ONCE = 4096  # bytes of questions: no pipe is smaller, so that neither side waits for the other for ever
T = TypeVar("T")


class AnsweringProcess:
    """A command of Git's that reads a question per line; `args` are those of `git`, run at the worktree's top.

    It serves one thread: two that ask at once would take each other's answers.
    """

    def __init__(self, args: Sequence[str], top: Path) -> None:
        self._args, self._top = args, top
        self.process: Process | None = None
        self._asker = 0

    def close(self) -> None:
        """End the process now, and not when nobody has this object any more; a later question starts another."""
        process, self.process = self.process, None
        if process is not None and self._asker == os.getpid():
            git.end(process)

    def __del__(self) -> None:
        self.close()

    def start(self) -> None:
        """Start the process ahead of the first question: it is ready when that comes."""
        self._running()

    def answers(self, questions: Sequence[str], read: Callable[[IO[bytes]], T]) -> list[T]:
        """Return the answers to some questions, each as `read` takes it from what the process prints;
        raises GitFailed."""
        found: list[T] = []
        for some in _portions(questions):
            try:
                found += self._ask(some, read)
            except git.GitFailed:  # Ctrl-C at the terminal ends it too, where we may go on
                found += self._ask(some, read)
        return found

    def _ask(self, questions: Sequence[bytes], read: Callable[[IO[bytes]], T]) -> list[T]:
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(b"".join(question + b"\n" for question in questions))
            process.stdin.flush()
            return [read(process.stdout) for _ in questions]
        except (EOFError, OSError):
            self.process = None
            said = git.end(process)
            raise git.GitFailed(self._args, process.returncode, said.decode(errors="replace")) from None
        except BaseException:  # what it has still to say would be taken for the answer to the next question
            self.process = None
            git.end(process)
            raise

    def _running(self) -> Process:
        if self.process is None or self._asker != os.getpid():  # a copy of us must not take the answers to our own
            self.process, self._asker = git.start_answering(self._args, self._top), os.getpid()
        return self.process


def line(out: IO[bytes]) -> bytes:
    """Return the next line that a process prints, with its end; raises EOFError if it prints no more."""
    found = out.readline()
    if not found.endswith(b"\n"):
        raise EOFError
    return found


def _portions(questions: Sequence[str]) -> Iterator[list[bytes]]:
    """Questions in groups that can be asked at once."""
    some: list[bytes] = []
    size = 0
    for question in map(os.fsencode, questions):
        if some and size + len(question) >= _AT_ONCE:
            yield some
            some, size = [], 0
        some.append(question)
        size += len(question) + 1
    if some:
        yield some
