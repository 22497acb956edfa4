"""The programs of docs/examples that are about windows, loaded as they stand there."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def program(name: str) -> Any:
    """The module of a program."""
    spec = importlib.util.spec_from_file_location(f"window_{name}", EXAMPLES / f"window_{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
