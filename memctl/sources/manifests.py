"""Read package.json, tsconfig.json and go.mod, which say to which files imports lead."""

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
    """Return what a manifest declares, as pairs of a kind and a value, such as ("module", "example.com/lamp").

    `name` is the manifest's file name, and `text` its content. go.mod declares a "module", package.json a "package" and
    "entry" files, and tsconfig.json an "alias" for each path. The value of an alias is a pattern, a line feed, and the
    target relative to the manifest's folder. A text that can't be parsed declares nothing.
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
    targets = [(PACKAGE, values.get("name")), (ENTRY, values.get("source")), (ENTRY, values.get("main"))]
    return [(what, value) for what, value in targets if isinstance(value, str) and value]


def _aliases(values: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the `paths` of a tsconfig.json as aliases; a `baseUrl` adds one for everything below it."""
    options = values.get("compilerOptions")
    if not isinstance(options, dict):
        return []
    base, paths = options.get("baseUrl"), options.get("paths")
    start = base if isinstance(base, str) else "."
    aliases = []
    for pattern, targets in paths.items() if isinstance(paths, dict) else ():
        for target in targets if isinstance(targets, list) else ():
            if isinstance(target, str) and pattern.count("*") <= 1:
                aliases.append((ALIAS, f"{pattern}\n{start}/{target}"))
    if isinstance(base, str):
        aliases.append((ALIAS, f"*\n{base}/*"))
    return aliases
