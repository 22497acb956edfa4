"""What package.json, tsconfig.json and go.mod say of how imports are to be understood."""

from __future__ import annotations

import re
from typing import Any

import msgspec

NAMES = frozenset(("package.json", "tsconfig.json", "jsconfig.json", "go.mod"))
MODULE, PACKAGE, ENTRY, ALIAS = "module", "package", "entry", "alias"
_LARGEST, _MOST = 200_000, 200  # characters that are read, aliases that are kept
_GO_MODULE = re.compile(r"^module[ \t]+\"?([^\s\"]+)", re.MULTILINE)
_COMMENT = re.compile(r"(\"(?:[^\"\\\n]|\\.)*\"?)|//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)")
_LAST_COMMA = re.compile(r"(\"(?:[^\"\\\n]|\\.)*\"?)|,(?=\s*[}\]])")


def declarations(name: str, text: str) -> tuple[tuple[str, str], ...]:
    """Return pairs of what a manifest declares: MODULE of go.mod, PACKAGE, ENTRY of package.json, ALIAS of tsconfig.

    The value of an ALIAS is a pattern, a line end, and where it leads below the configuration's folder.
    """
    if name not in NAMES or len(text) > _LARGEST:
        return ()
    if name == "go.mod":
        match = _GO_MODULE.search(text)
        return ((MODULE, match[1]),) if match else ()
    try:
        if name != "package.json":
            text = _LAST_COMMA.sub(r"\1", _COMMENT.sub(r"\1", text))
        values = msgspec.json.decode(text.encode(errors="replace"))
    except (msgspec.DecodeError, RecursionError):
        return ()
    if not isinstance(values, dict):
        return ()
    return tuple(_package(values) if name == "package.json" else _aliases(values))[:_MOST]


def _package(values: dict[str, Any]) -> list[tuple[str, str]]:
    found = [(PACKAGE, values.get("name")), (ENTRY, values.get("source")), (ENTRY, values.get("main"))]
    return [(what, value) for what, value in found if isinstance(value, str) and value]


def _aliases(values: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the `paths` of a configuration; with a `baseUrl` everything below it can be imported too."""
    options = values.get("compilerOptions")
    if not isinstance(options, dict):
        return []
    base, paths = options.get("baseUrl"), options.get("paths")
    start = base if isinstance(base, str) else "."
    found = []
    for pattern, targets in paths.items() if isinstance(paths, dict) else ():
        for target in targets if isinstance(targets, list) else ():
            if isinstance(target, str) and pattern.count("*") <= 1:
                found.append((ALIAS, f"{pattern}\n{start}/{target}"))
    if isinstance(base, str):
        found.append((ALIAS, f"*\n{base}/*"))
    return found
