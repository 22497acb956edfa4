"""A provider that runs a program, such as `claude -p`, which reads a prompt on standard input and prints the answer."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

from memctl.errors import USAGE, MemctlError
from memctl.git import git
from memctl.providers.provider import LONGEST_ANSWER, ProviderFailed, one_line_message

_PIECE = 65_536  # bytes
_LONGEST_ERROR = 65_536


class Program:
    """A provider that runs a program of the user's, without a shell and in an empty folder, away from the repository.

    The program may be an agent whose hooks call memctl. So that these do not ask a model in turn, the program gets the
    environment variable MEMCTL_LLM_PROVIDER=none.
    """

    def __init__(self, command: Sequence[str], seconds: float) -> None:
        """Find the program on the PATH or at an absolute path; raises MemctlError if it is missing."""
        if not command:
            hint = "`git config --global memctl.llm.command 'claude -p'` sets it"
            raise MemctlError("memctl.llm.command is not set", hint, USAGE)
        name = os.path.expanduser(command[0])
        path = name if os.path.isabs(name) else None if os.path.dirname(name) else shutil.which(name)
        if path is None or not os.path.isabs(path) or not os.access(path, os.X_OK):
            hint = "memctl.llm.command must begin with the name of a program on the PATH, or with an absolute path"
            raise MemctlError(f"the program {command[0]!r} was not found", hint, USAGE)
        self.name = f"the program {os.path.basename(name)}"
        self._command = [path, *command[1:]]
        self._seconds = seconds

    def answer(self, prompt: str) -> str:
        """Give the program a prompt and return what the program prints.

        Raises ProviderFailed if the program fails, prints nothing, or takes too long.
        """
        with tempfile.TemporaryDirectory(prefix="memctl-", ignore_cleanup_errors=True) as folder:
            out = self._run(prompt, folder)
        answer = out.decode(errors="replace").strip()
        if not answer:
            raise ProviderFailed(f"{self.name} gave no answer")
        return answer

    def _run(self, prompt: str, folder: str) -> bytes:
        try:
            process = subprocess.Popen(
                self._command,
                cwd=folder,
                env=git.environment({"MEMCTL_LLM_PROVIDER": "none", "MEMCTL_NO_HOOKS": "1"}),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise ProviderFailed(f"{self.name} can't be run: {error.strerror}") from None
        try:
            return self._exchange(process, prompt)
        finally:
            _end(process)

    def _exchange(self, process: subprocess.Popen[bytes], prompt: str) -> bytes:
        """All three pipes are read and written at the same time, since a full pipe would block the program."""
        assert process.stdin is not None
        out = _PipeReader(process.stdout, LONGEST_ANSWER)
        err = _PipeReader(process.stderr, _LONGEST_ERROR, discards_rest=True)
        writing = threading.Thread(
            target=_write_all, args=(process.stdin, prompt.encode(errors="replace")), daemon=True
        )
        writing.start()
        until = time.monotonic() + self._seconds
        out.join(max(until - time.monotonic(), 0))
        if out.is_too_long:  # it may go on for ever, and its complaints too
            raise ProviderFailed(f"the answer of {self.name} has {LONGEST_ANSWER:,} bytes or more, which is too long")
        err.join(max(until - time.monotonic(), 0))
        try:
            code = process.wait(max(until - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            code = None
        if code is None or out.is_alive():
            raise ProviderFailed(
                f"{self.name} gave no answer within {self._seconds:g} s",
                "`git config memctl.llm.timeoutSeconds SECONDS` allows more",
            )
        if code:
            error = one_line_message(err.received.decode(errors="replace").strip().rpartition("\n")[2])
            raise ProviderFailed(f"{self.name} ended with exit code {code}{f': {error}' if error else ''}")
        return out.received


def feed(command: Sequence[str], data: bytes, seconds: float = 10) -> bool:
    """Run a program with `data` on its standard input, for at most `seconds`, and return whether it succeeded.

    The program's output is discarded: `xclip`, which fills the clipboard, leaves a process behind, and reading its
    output would wait for this process.
    """
    try:
        done = subprocess.run(
            command, input=data, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=seconds, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


class _PipeReader(threading.Thread):
    """A thread that reads a pipe to its end, or up to `longest` bytes; with `discards_rest` it discards the rest."""

    def __init__(self, pipe: IO[bytes] | None, longest: int, *, discards_rest: bool = False) -> None:
        super().__init__(daemon=True)
        assert pipe is not None
        self.received = b""
        self.is_too_long = False
        self._pipe = pipe
        self._longest = longest
        self._discards_rest = discards_rest
        self.start()

    def run(self) -> None:
        with suppress(OSError, ValueError):  # the pipe is closed when the program ends
            while piece := self._pipe.read1(_PIECE):  # type: ignore[attr-defined]
                self.received += piece[: self._longest - len(self.received)]
                self.is_too_long |= len(self.received) == self._longest
                if self.is_too_long and not self._discards_rest:
                    return


def _write_all(pipe: IO[bytes], data: bytes) -> None:
    with suppress(OSError, ValueError):  # a program may answer without reading it all
        pipe.write(data)
    with suppress(OSError, ValueError):
        pipe.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)  # the group, since the program may have left other processes
        else:
            process.kill()
    process.wait()
