"""A program that runs beside us and is spoken with through pipes, begun by `posix_spawn`.

It is what `subprocess` would do, whose import takes 3 ms: nearly every command and event asks Git something, and has a
tenth of a second for all that it does. Where there is no `posix_spawn` (on Windows), `git.git` takes `subprocess`.
"""

from __future__ import annotations

import os
import select
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any

_BLOCK = 1 << 16  # bytes that are read at once
_KILL = 9  # SIGKILL: the module `signal` makes an enum of 64 names
# SIGPIPE and SIGXFSZ, which Python ignores: what Git runs, such as a hook with `yes | head`, has them as in a shell.
_DEFAULT = (13, 25)


class Process:
    """A running program, with what is used here of `subprocess.Popen`; raises FileNotFoundError if there is none such.

    Its input is empty, and `stdin` None, unless it is to have some. `returncode` is None until `communicate` has seen
    its end, and less than 0 if a signal ended it.
    """

    def __init__(self, command: list[str], environ: Mapping[str, str], *, has_stdin: bool) -> None:
        self.returncode: int | Any = None
        out, err = _pipe(), _pipe()
        given = _pipe() if has_stdin else (os.open(os.devnull, os.O_RDONLY), -1)
        theirs = given[0], out[1], err[1]
        try:
            places = [(os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate(theirs)]
            self.pid = os.posix_spawnp(command[0], command, environ, file_actions=places, setsigdef=_DEFAULT)
        finally:
            for end in theirs:
                os.close(end)
            self.stdin: IO[bytes] | None = os.fdopen(given[1], "wb") if has_stdin else None
            self.stdout: IO[bytes] = os.fdopen(out[0], "rb")
            self.stderr: IO[bytes] = os.fdopen(err[0], "rb")

    def kill(self) -> None:
        """End it, unless its end was seen."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, _KILL)

    def communicate(self, data: bytes | None = None) -> tuple[bytes, bytes]:
        """Give it the last of its input, wait for its end, and return the rest of what it prints: stdout and stderr."""
        if self.returncode is not None:
            return b"", b""
        printed: dict[int, list[bytes]] = {stream.fileno(): [] for stream in (self.stdout, self.stderr)}
        self._exchange(memoryview(data or b""), printed)
        self.stdout.close()
        self.stderr.close()
        self.returncode = 0
        with suppress(ChildProcessError):  # of a copy of us: what we began is not the copy's to wait for
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        out, err = (b"".join(blocks) for blocks in printed.values())
        return out, err

    def _exchange(self, rest: memoryview, printed: Mapping[int, list[bytes]]) -> None:
        """Write the rest of its input, and read until it has closed both of its streams."""
        poll, reading = select.poll(), set(printed)
        for number in reading:
            poll.register(number, select.POLLIN)
        if self.stdin is not None and rest:
            with suppress(BrokenPipeError):
                self.stdin.flush()
            poll.register(self.stdin.fileno(), select.POLLOUT)
        else:
            self._close_stdin()
        while reading or rest:
            for number, _ in poll.poll():
                if number not in printed:
                    rest = _written(number, rest)
                    if not rest:
                        poll.unregister(number)
                        self._close_stdin()
                elif block := os.read(number, _BLOCK):
                    printed[number].append(block)
                else:
                    poll.unregister(number)
                    reading.discard(number)

    def _close_stdin(self) -> None:
        if self.stdin is not None:
            with suppress(BrokenPipeError):
                self.stdin.close()


def _written(number: int, rest: memoryview) -> memoryview:
    """Write what a pipe takes at once, and return what is left: nothing if nobody reads it any more."""
    try:
        return rest[os.write(number, rest[: select.PIPE_BUF]) :]
    except BrokenPipeError:
        return rest[:0]


def _pipe() -> tuple[int, int]:
    """Return the ends of a new pipe, to read and to write, in none of the places of the standard streams."""
    ends = os.pipe()
    if min(ends) > 2:
        return ends
    try:
        return _pipe()  # while these hold the places of streams that are closed
    finally:
        for end in ends:
            os.close(end)
