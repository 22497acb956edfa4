"""Read package.json, go.mod and Cargo.toml, which say by which name the files of a folder are imported."""

from __future__ import annotations

import re

_LARGEST = 200_000  # characters that are read
# A package.json is read by its lines, as its other names, such as an author's, are indented deeper.
_NAMES = {
    "go.mod": re.compile(r"^module[ \t]+\"?([^\s\"]+)", re.MULTILINE),
    "package.json": re.compile(r"^(?:\{\s*|\t| {0,2})\"name\"[ \t]*:[ \t]*\"([^\"\s]+)\"", re.MULTILINE),
    "Cargo.toml": re.compile(r"^name[ \t]*=[ \t]*\"([^\"\s]+)\"", re.MULTILINE),
}
NAMES = frozenset(_NAMES)


def declared_name(name: str, text: str) -> str:
    """Return the name that a manifest declares for its folder, such as "example.com/lamp"; "" if it declares none.

    `name` is the manifest's file name, and `text` its content. The name of a crate has a `_` for each `-`.
    """
    match = _NAMES[name].search(text) if name in _NAMES and len(text) <= _LARGEST else None
    found = match[1] if match else ""
    return found.replace("-", "_") if name == "Cargo.toml" else found
