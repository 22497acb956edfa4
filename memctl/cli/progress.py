"""Show on a terminal that a long operation is running."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def working(doing: str, after: float = 1.0) -> Iterator[None]:
    """Show on a terminal that an operation is running, and for how long, while a `with` block runs.

    The line, such as "rendering ... 3 s", appears after `after` seconds and is erased at the end of the block. `doing`
    is the name of the operation.
    """
    if not sys.stderr.isatty():
        yield
        return
    from threading import Event, Thread  # takes 1 ms, and is needed for a terminal only

    is_done = Event()

    def show() -> None:
        started, line = time.monotonic(), ""
        while not is_done.wait(after):
            line = f"\r{doing} ... {time.monotonic() - started:.0f} s"
            print(line, end="", file=sys.stderr, flush=True)
        print("\r\033[K" if line else "", end="", file=sys.stderr, flush=True)

    thread = Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()
