"""Going on behind the host's back, at once or when something takes longer than a host's user would wait: in a process
of its own, which nobody waits for and no terminal ends."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from memctl.light_typing import NoReturn

_SECONDS = 120  # that it may take: a Git hook of the user's that waits for somebody would keep the locks for ever
SECONDS = 2.0  # for what a start gives; a pack of 10,000 records takes 0.2, and hosts wait for 10
SETTING = "MEMCTL_HOOK_SECONDS"
_WHOLE = b"\0"  # at the end of a text that is whole


def run(do: Callable[[], object]) -> None:
    """Do something while this process ends; right here where none can be split off (on Windows, or none is left).

    The copy costs 1 ms and has everything imported already; a new Python would begin anew.
    """
    try:
        copy = os.fork() if hasattr(os, "fork") else None
    except OSError:
        copy = None
    if copy is None:
        do()
    if copy == 0:
        detached(do)


def detached(do: Callable[[], object]) -> NoReturn:
    """Do something in a copy of a process, away from the host's pipes and terminal, and end the copy."""
    from _signal import SIGALRM, alarm, signal  # type: ignore[import-not-found]  # `signal` makes enums of them

    with suppress(BaseException):
        os.setsid()
        _let_go_of_pipes()
        signal(SIGALRM, _end)
        alarm(_SECONDS)
        do()
    os._exit(0)


def _let_go_of_pipes() -> None:
    """The host waits until nobody holds its pipes any more: our streams, and what it may have given us beside them.

    Such are inherited by whatever we start, and descriptors of our own are not (PEP 446).
    """
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    if nothing > 2:
        os.close(nothing)
    with suppress(OSError):  # where there is no such folder
        for number in map(int, os.listdir("/dev/fd")):
            with suppress(OSError):  # the listing's own is closed by now
                if number > 2 and os.get_inheritable(number):
                    os.close(number)


def _end(*_: object) -> None:
    import signal

    os.killpg(0, signal.SIGKILL)  # with the Git that it waits for


def seconds(environ: Mapping[str, str]) -> float:
    """Return how long a start may take: SECONDS, or another number where the user says so for a slow machine."""
    with suppress(ValueError):
        return max(0.0, float(environ.get(SETTING) or SECONDS))
    return SECONDS


def within(seconds: float, make: Callable[[], str]) -> str | None:
    """Return what `make` returns, None if that takes longer or fails.

    It is made by a copy of this process, which nobody interrupts: what it writes is written whole, a long operation of
    C holds nobody up, and what it brings up to date serves the next time. Without `fork` (on Windows) it is made right
    here, however long that takes.
    """
    if not hasattr(os, "fork"):
        return make()
    reading, writing = os.pipe()
    try:
        copy = os.fork()
    except OSError:  # there can be no more processes
        os.close(reading)
        os.close(writing)
        return make()
    if copy == 0:
        os.close(reading)
        detached(lambda: _send(writing, make()))
    os.close(writing)
    try:
        return _received(reading, time.monotonic() + seconds)
    finally:
        os.close(reading)
        with suppress(OSError):
            os.waitpid(copy, os.WNOHANG)


def _send(writing: int, text: str) -> None:
    data = text.encode(errors="surrogatepass") + _WHOLE
    while data:
        data = data[os.write(writing, data) :]


def _received(reading: int, end: float) -> str | None:
    """Return the text that comes until `end`, by the monotonic clock; None if it is late, or its maker failed."""
    import select

    data = b""
    while (left := end - time.monotonic()) > 0 and select.select([reading], [], [], left)[0]:
        piece = os.read(reading, 65_536)
        if not piece:
            return data.removesuffix(_WHOLE).decode(errors="surrogatepass") if data.endswith(_WHOLE) else None
        data += piece
    return None
