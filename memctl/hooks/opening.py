"""Opening a memory in a hook: without what it need not wait for, and without what the agent may not read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.record.snapshot import Snapshot
    from memctl.store.memory import Memory

_PREFERRED = "typing_extensions"


def import_msgspec() -> None:
    """Import msgspec without what it takes from typing_extensions where that is installed, as in most projects' own
    environments: Python has the same since 3.11, and it takes 10 ms."""
    if sys.version_info < (3, 11) or _PREFERRED in sys.modules:
        return
    sys.modules[_PREFERRED] = None
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules[_PREFERRED]


def readable(memory: Memory) -> Snapshot:
    """The memory as the agent may read it."""
    from memctl.store import load
    from memctl.team import read_access

    found, closed = load.disk(memory), read_access.closed(memory)
    if closed is None:
        return found
    from memctl.pages import access_filter  # mostly nothing is closed

    return access_filter.readable(memory, found, closed, tuple)
