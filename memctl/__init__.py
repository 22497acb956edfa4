"""Git-backed, file-based memory for projects on which people work with coding agents.

`from memctl import Memory` is the interface for Python programs (`memctl.api`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memctl.api import Explanation, Handover, Memory, Written
    from memctl.errors import MemctlError

__version__ = "0.1.0"
__all__ = ["Explanation", "Handover", "MemctlError", "Memory", "Written"]


def __getattr__(name: str) -> Any:
    """Import the interface when a program asks for it: commands don't."""
    if name not in __all__:
        raise AttributeError(f"module 'memctl' has no attribute {name!r}")
    from memctl import api

    return getattr(api, name)
