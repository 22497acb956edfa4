"""Fail if a float may hold money (DEC-2025-09-15-001)."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

_MONEY = re.compile(r"(?:^|_)(?:price|amount|total|gross|net|vat|tax|postage|shipping)(?:_|$)")


def problems(path: Path) -> Iterator[str]:
    """The places of a file where a name that means money is given a float."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.arg) and node.annotation is not None:
            name, value = node.arg, node.annotation
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name, value = node.target.id, node.annotation
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, node.value
        else:
            continue
        if _MONEY.search(name) and _is_float(value):
            yield f"{path}:{node.lineno}: {name} is a float"


def _is_float(node: ast.expr) -> bool:
    named = {found.id for found in ast.walk(node) if isinstance(found, ast.Name)}
    numbers = [found.value for found in ast.walk(node) if isinstance(found, ast.Constant)]
    return "float" in named or any(isinstance(number, float) for number in numbers)


if __name__ == "__main__":
    found = [problem for path in sorted(Path("src").rglob("*.py")) for problem in problems(path)]
    sys.exit("\n".join(found) or None)
