"""Git-backed, file-based memory for projects on which people work with coding agents.

`from memctl import Memory` is the interface for Python programs (`memctl.api`).
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers know this name; importing `typing` would take a third of Python's start

if TYPE_CHECKING:
    from memctl.api import Handover, Memory, Written
    from memctl.errors import MemctlError

__version__ = "0.1.0"
__all__ = ["Handover", "MemctlError", "Memory", "Written"]


def __getattr__(name: str) -> object:
    """Import `memctl.api` when a program asks for one of its names, since commands don't need it."""
    if name not in __all__:
        raise AttributeError(f"module 'memctl' has no attribute {name!r}")
    from memctl import api

    return getattr(api, name)
