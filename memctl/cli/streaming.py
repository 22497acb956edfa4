"""Files that are read line by line, so that their size does not matter."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from memctl.errors import USAGE, MemctlError


@contextmanager
def lines(source: str) -> Iterator[Iterator[str]]:
    """The lines of a file, or of standard input for `-`, one at a time; raises MemctlError if they can't be read."""
    try:
        with ExitStack() as stack:
            stream: Iterable[bytes] = sys.stdin.buffer if source == "-" else stack.enter_context(open(source, "rb"))
            yield (line.decode("utf-8-sig", "replace") for line in stream)
    except OSError as error:
        raise MemctlError(f"{source} can't be read: {error.strerror}", exit_code=USAGE) from None
