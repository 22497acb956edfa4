"""A library that manages a model's context window; each part of it can be used alone (rules.md#window-manager).

Each folder here is one part, and `tests/test_architecture.py` lists which part may import which. `orchestrator` has the
manager, which calls the parts; an agent's loop calls the manager's five methods, such as `on_turn_start`. `config` has
the settings, `subsystems` makes the parts from the settings, and `audit` logs every decision of the manager.

Outside of this package, only commands and hooks import from it, and only the names that `__init__.pyi` lists.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any


def _public_names() -> dict[str, str]:
    """Return the public names with the package or module that each is imported from, as the stub lists them."""
    stub = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    imports = [line.partition(" ") for line in stub.split("\nfrom ")[1:]]
    return {name: module for module, _, names in imports for name in re.findall(r"(\w+) as \1", names)}


_LISTED = _public_names()
__all__ = sorted(_LISTED)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that its user does not load all other modules."""
    if name not in _LISTED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _LISTED[name]
    if module == __name__ or hasattr(import_module(module), "__path__"):
        return import_module(f"{module}.{name}")
    return getattr(import_module(module), name)
