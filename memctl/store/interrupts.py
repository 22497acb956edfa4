"""Ctrl-C while the memory is written: it is held back until the write is done, and then says what was done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from memctl.errors import MemctlError


@contextmanager
def hold_interrupts(remarks: list[str]) -> Iterator[list[str]]:
    """Hold Ctrl-C back: the next write would finish what is half done, under an id that nobody has seen.

    Gives a list for what was done. If an interrupt came, it is added to `remarks` in the end, and KeyboardInterrupt
    raised; or else why nothing could be done, for a terminal interrupts Git and its hooks too. A second interrupt is
    not held back: a hook of the user's may hang. Where somebody else handles interrupts, or ignores them, nothing
    changes.
    """
    done: list[str] = []
    is_ours = threading.current_thread() is threading.main_thread()
    if not is_ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield done
        return
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, note)
    try:
        yield done
    except MemctlError as error:
        if not came:
            raise
        done[:] = [error.message.rstrip(":\n"), *([f"hint: {error.hint}"] if error.hint else [])]
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if came:
        remarks += done
        raise KeyboardInterrupt
