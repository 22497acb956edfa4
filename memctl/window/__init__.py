"""Management of a context window, as a library: each part is usable alone (rules.md#window-manager).

Each folder here is one part; `tests/test_architecture.py` has their order. The orchestrator puts them behind five
hooks, with its settings in `config`, the parts made from these in `subsystems`, and every decision in `audit`.

This is the only door: commands and hooks import what `__init__.pyi` names, and nothing else outside does.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any


def _listed() -> dict[str, str]:
    """Return the public names with the package or module that each is imported from, as the stub lists them."""
    stub = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    imports = [line.partition(" ") for line in stub.split("\nfrom ")[1:]]
    return {name: module for module, _, names in imports for name in re.findall(r"(\w+) as \1", names)}


_LISTED = _listed()
__all__ = sorted(_LISTED)


def __getattr__(name: str) -> Any:
    """Import a public name: whoever wants one of them does not pay for the rest."""
    if name not in _LISTED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _LISTED[name]
    if module == __name__ or hasattr(import_module(module), "__path__"):
        return import_module(f"{module}.{name}")
    return getattr(import_module(module), name)
