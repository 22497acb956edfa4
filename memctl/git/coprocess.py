"""A Git process that answers many questions, so that memctl need not start a process for each question.

The first question starts the Git process. When memctl ends, even if it is killed, the input of the Git process is
closed, and the Git process ends, too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TypeVar

from memctl.git import git
from memctl.git.git import Process

_BATCH_BYTES = 4096  # of questions written at once: every pipe holds as many, so that the write never blocks
T = TypeVar("T")


class AnsweringProcess:
    """A Git command that reads one question per line; `args` are its arguments, and it runs at the worktree's top.

    Only one thread may use it: two that ask at once would get each other's answers.
    """

    def __init__(self, args: Sequence[str], top: Path) -> None:
        self._args, self._top = args, top
        self.process: Process | None = None
        self._asker = 0

    def close(self) -> None:
        """End the Git process at once. A later question starts a new process."""
        process, self.process = self.process, None
        if process is not None and self._asker == os.getpid():
            git.end(process)

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # When Python ends, modules are gone that ending a process needs, even `sys`; and Git ends by itself.
        if not is_finalizing():
            self.close()

    def answers(self, questions: Sequence[str], read: Callable[[IO[bytes]], T]) -> list[T]:
        """Return the answers to some questions, in the order of the questions. Raises GitFailed.

        `questions` are lines without line ends. `read` is called once per question with the process's output; it reads
        one answer and returns it.
        """
        answers: list[T] = []
        for some in _batches(questions):
            try:
                answers += self._ask(some, read)
            except git.GitFailed:  # Ctrl-C at the terminal ends it too, and this process may go on
                answers += self._ask(some, read)
        return answers

    def _ask(self, questions: Sequence[bytes], read: Callable[[IO[bytes]], T]) -> list[T]:
        process = self.start()
        assert process.stdin is not None
        try:
            process.stdin.write(b"".join(question + b"\n" for question in questions))
            process.stdin.flush()
            return [read(process.stdout) for _ in questions]
        except (EOFError, OSError):
            self.process = None
            errors = git.end(process)
            raise git.GitFailed(self._args, process.returncode, errors.decode(errors="replace")) from None
        except BaseException:  # the rest of the output would be read as the next answer
            self.process = None
            git.end(process)
            raise

    def start(self) -> Process:
        """Return the process, started if it is not running; called before the first question, it is ready then."""
        if self.process is None or self._asker != os.getpid():  # a forked copy must not read this process's answers
            self.process, self._asker = git.start_answering(self._args, self._top), os.getpid()
        return self.process


def line(out: IO[bytes]) -> bytes:
    """Return the next line of a process's output with its line end; raises EOFError at the end."""
    text = out.readline()
    if not text.endswith(b"\n"):
        raise EOFError
    return text


def _batches(questions: Sequence[str]) -> Iterator[list[bytes]]:
    some: list[bytes] = []
    size = 0
    for question in map(os.fsencode, questions):
        if some and size + len(question) >= _BATCH_BYTES:
            yield some
            some, size = [], 0
        some.append(question)
        size += len(question) + 1
    if some:
        yield some
