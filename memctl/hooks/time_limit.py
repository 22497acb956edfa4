"""Waiting no longer than a host's user would: what takes longer goes on behind the host's back, and is named."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from memctl.hooks import daemonize

SECONDS = 2.0  # for what a start gives; a pack of 10,000 records takes 0.2, and hosts wait for 10
SETTING = "MEMCTL_HOOK_SECONDS"
_WHOLE = b"\0"  # at the end of a text that is whole


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
        daemonize.detached(lambda: _send(writing, make()))
    os.close(writing)
    try:
        return _received(reading, time.monotonic() + seconds)
    finally:
        os.close(reading)
        with suppress(OSError):
            os.waitpid(copy, os.WNOHANG)


def _send(writing: int, text: str) -> None:
    import signal

    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # nobody waits any more
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
