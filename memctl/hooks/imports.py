"""Imports that a hook need not wait for."""

from __future__ import annotations

import sys

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
