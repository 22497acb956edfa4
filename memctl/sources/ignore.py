"""Read `.memctlignore` files: patterns as in `.gitignore`, of tracked files that no model needs."""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from memctl.errors import MemctlError
from memctl.store.files import MAX_BYTES
from memctl.store.repository_files import FilesInGit, FilesOnDisk
from memctl.text.globs import Globs

NAME = ".memctlignore"


def texts(files: FilesOnDisk | FilesInGit, top: Path, folders: Iterable[str]) -> dict[str, str]:
    """Return the texts of all `.memctlignore` files in some folders by path.

    `top` is the worktree's folder. In the worktree a `.memctlignore` counts even if Git ignores it. Raises MemctlError
    if such a file is too large or not a regular file, because the files that it excludes would enter a model's context.
    """
    paths = [f"{folder}/{NAME}" if folder else NAME for folder in folders]
    if isinstance(files, FilesInGit):
        return {path: content.decode(errors="replace") for path, content in files.read(paths).items()}
    result = {}
    for path in paths:
        try:
            status = os.lstat(f"{top}/{path}")
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
                hint = f"replace {path} with a small regular file, or remove it"
                raise MemctlError(f"{path} is not a regular file or is too large", hint)
            result[path] = (top / path).read_bytes().decode(errors="replace")
        except FileNotFoundError:
            continue
    return result


def ignored_files(names: Collection[str], texts: Mapping[str, str]) -> dict[str, str]:
    """Return the files among `names` that `.memctlignore` files exclude, each with the `.memctlignore` that does so.

    `texts` are the texts of the `.memctlignore` files by path. The patterns in a folder override those in the folders
    above it, as with `.gitignore`.
    """
    patterns: list[str] = []
    origins: list[str] = []
    for path, text in sorted(texts.items(), key=lambda item: (item[0].count("/"), item[0])):
        rules = list(_anchored(posixpath.dirname(path), text))
        patterns += rules
        origins += [path] * len(rules)
    if not patterns:
        return {}
    matches = Globs(patterns).match
    return {name: origins[place] for name in names if (place := matches(name)) is not None}


def _anchored(folder: str, text: str) -> Iterator[str]:
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
