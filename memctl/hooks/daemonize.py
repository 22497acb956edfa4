"""Going on behind the host's back: a process of its own, which nobody waits for and no terminal ends."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

_SECONDS = 120  # that it may take: a Git hook of the user's that waits for somebody would keep the locks for ever


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
    import signal  # with an enum of 64 names, which a tool call has no time for

    with suppress(BaseException):
        os.setsid()
        _let_go_of_pipes()
        signal.signal(signal.SIGALRM, _end)
        signal.alarm(_SECONDS)
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
