"""`.memctlignore`: files that Git has and that no model needs, by patterns as in `.gitignore`, in any folder."""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from memctl.errors import MemctlError
from memctl.store.files import MAX_BYTES
from memctl.text.globs import Globs

NAME = ".memctlignore"


def texts(top: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the ignore files by path, in all folders below `top` that hold any of some files; Git may ignore them
    itself.

    Raises MemctlError for one that can't be read: what it leaves out would enter.
    """
    folders = {""}
    for name in names:
        while (name := posixpath.dirname(name)) not in folders:
            folders.add(name)
    found = {}
    for folder in folders:
        path = posixpath.join(folder, NAME)
        try:
            status = os.lstat(top / path)
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
                raise MemctlError(
                    f"{path} is not a regular file, or too large", "replace it by a small regular file, or remove it"
                )
            found[path] = (top / path).read_bytes().decode(errors="replace")
        except FileNotFoundError:
            continue
    return found


def ignored_files(names: Collection[str], texts: Mapping[str, str]) -> dict[str, str]:
    """Return the files that some ignore files leave out, each with the path of the one that does.

    `texts` are the ignore files by path. The nearest has the last word, as with `.gitignore`.
    """
    patterns: list[str] = []
    origins: list[str] = []
    for path, text in sorted(texts.items(), key=lambda item: (item[0].count("/"), item[0])):
        found = list(_anchored(posixpath.dirname(path), text))
        patterns += found
        origins += [path] * len(found)
    if not patterns:
        return {}
    matches = Globs(patterns).match
    return {name: origins[place] for name in names if (place := matches(name)) is not None}


def _anchored(folder: str, text: str) -> Iterator[str]:
    """Yield the patterns of an ignore file in a folder, as the same file at the top would have them."""
    for line in text.replace("\r\n", "\n").split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        mark, pattern = ("!", line[1:]) if line.startswith("!") else ("", line)
        if not folder:
            yield line
        elif "/" in pattern.rstrip().rstrip("/"):
            yield f"{mark}/{_literal(folder)}/{pattern.lstrip('/')}"
        else:
            yield f"{mark}/{_literal(folder)}/**/{pattern}"


def _literal(folder: str) -> str:
    return re.sub(r"([\\*?\[\]! #])", r"\\\1", folder)
