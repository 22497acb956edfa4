"""Imports that bring more than is used."""

from __future__ import annotations

import sys


def msgspec_alone() -> None:
    """Import msgspec without typing_extensions.

    Where that is installed, msgspec takes three names from it that `typing` has too (Python 3.10 lacks two, which are
    for typed dictionaries), and with it come `inspect`, `ast` and `tokenize`: 6 ms of the 16 that msgspec takes.
    """
    name = "typing_extensions"
    if "msgspec" in sys.modules or name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment]  # for an import this means that there is no such module
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules[name]
