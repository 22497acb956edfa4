"""Run work that a host need not wait for in a process of its own, and limit the time of the work that it waits for.

A host (such as Claude Code) waits for a hook until the hook's process ends and its output is closed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from memctl.text.light_typing import NoReturn

_SECONDS = 120  # after which such a process is killed: a Git hook that waits for input would keep the locks for ever
SECONDS = 2.0  # for the text at a session's start; a pack of 10,000 records takes 0.2 s, and hosts wait 10 s
SETTING = "MEMCTL_HOOK_SECONDS"
_WHOLE = b"\0"  # the end mark of a complete text


def run(do: Callable[[], object]) -> None:
    """Run a function in a forked process, without waiting for it to end.

    If this process can't fork, as on Windows, it runs the function itself and waits. A fork takes 1 ms, and the forked
    process has all modules imported, unlike a new Python process.
    """
    try:
        copy = os.fork() if hasattr(os, "fork") else None
    except OSError:
        copy = None
    if copy is None:
        do()
    if copy == 0:
        run_detached(do)


def run_detached(do: Callable[[], object]) -> NoReturn:
    """Detach this forked process from the host's pipes and terminal, run a function in it, and end the process."""
    from _signal import SIGALRM, alarm, signal  # type: ignore[import-not-found]  # `signal` makes enums of them

    with suppress(BaseException):
        os.setsid()
        _close_pipes()
        signal(SIGALRM, _end)
        alarm(_SECONDS)
        do()
    os._exit(0)


def _close_pipes() -> None:
    """Close the streams and all inheritable descriptors, because the host waits until its pipes are closed.

    Descriptors that memctl itself opened are not inheritable (PEP 446).
    """
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    if nothing > 2:
        os.close(nothing)
    with suppress(OSError):  # the system has no /dev/fd
        for number in map(int, os.listdir("/dev/fd")):
            with suppress(OSError):  # the listing's own descriptor is closed already
                if number > 2 and os.get_inheritable(number):
                    os.close(number)


def _end(*_: object) -> None:
    import signal

    os.killpg(0, signal.SIGKILL)  # the whole group, since the process may wait for Git


def seconds(environ: Mapping[str, str]) -> float:
    """Return how many seconds a hook may take at a session's start and end: the value of MEMCTL_HOOK_SECONDS, or 2."""
    with suppress(ValueError):
        return max(0.0, float(environ.get(SETTING) or SECONDS))
    return SECONDS


def within(seconds: float, make: Callable[[], str]) -> str | None:
    """Run `make` in a forked process and return its text; None if it takes longer than `seconds` or fails.

    The forked process is not interrupted when the time is over: it completes the files that it writes, and the caches
    that it updates serve the next call. Where no fork is possible (on Windows, or at the limit of processes), `make`
    runs in this process without a time limit.
    """
    if not hasattr(os, "fork"):
        return make()
    reading, writing = os.pipe()
    try:
        copy = os.fork()
    except OSError:  # the limit of processes is reached
        os.close(reading)
        os.close(writing)
        return make()
    if copy == 0:
        os.close(reading)
        run_detached(lambda: _send(writing, make()))
    os.close(writing)
    try:
        return _receive(reading, time.monotonic() + seconds)
    finally:
        os.close(reading)
        with suppress(OSError):
            os.waitpid(copy, os.WNOHANG)


def _send(writing: int, text: str) -> None:
    data = text.encode(errors="surrogatepass") + _WHOLE
    while data:
        data = data[os.write(writing, data) :]


def _receive(reading: int, end: float) -> str | None:
    """Read a complete text from a pipe until the monotonic time `end`; None if it is late or incomplete."""
    import select

    data = b""
    while (left := end - time.monotonic()) > 0 and select.select([reading], [], [], left)[0]:
        piece = os.read(reading, 65_536)
        if not piece:
            return data.removesuffix(_WHOLE).decode(errors="surrogatepass") if data.endswith(_WHOLE) else None
        data += piece
    return None
