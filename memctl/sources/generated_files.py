"""Files that a program wrote, such as lock files and generated code: of these an outline is loaded, never the whole."""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from memctl.git import git
from memctl.git.repository import Repository

LOCK, GENERATED = "it is a lock file", "a program wrote it"
_LOCK_NAMES = re.compile(
    r"(?:package-lock|npm-shrinkwrap|deno\.lock)\.json|pnpm-lock\.ya?ml|.+\.lock|(?:go|go\.work)\.sum|bun\.lockb?"
    r"|.+\.lock\.(?:json|ya?ml|hcl|toml)|Package\.resolved|packages\.lock\.json|gradle\.lockfile|conda-lock\.yml",
    re.IGNORECASE,
)
# What generators write at the top: https://go.dev/s/generatedcode, `@generated` of Facebook's and Rust's tools, words.
_MARK = re.compile(
    r"\bcode generated .{0,200}\bdo not edit|@generated\b|\bdo not (?:edit|modify).{0,80}\bgenerated\b"
    r"|\b(?:auto-?|automatically |machine[- ])generated\b.{0,200}\bdo not (?:edit|modify|change)"
    r"|\b(?:file|code|document) (?:is|was|has been) (?:auto-?|automatically |machine[- ])generated\b"
    r"|\bgenerated (?:by|from|with) .{0,200}\bdo not (?:edit|modify|change)",
    re.IGNORECASE | re.DOTALL,
)
_HEAD = 1_000  # characters in which a generator says so
_MINIFIED = 1_000  # characters of a line, on average, that nobody wrote by hand
_ATTRIBUTE = b"linguist-generated"


def in_text(text: str) -> bool:
    """Return whether a text says that a program wrote it, or is minified code."""
    lines = text.count("\n") + 1
    return len(text) > _MINIFIED * lines or _MARK.search(text[:_HEAD]) is not None


def is_lock(path: str) -> bool:
    """Return whether a file is called as those in which a package manager keeps what it has chosen."""
    return _LOCK_NAMES.fullmatch(path.rpartition("/")[2]) is not None


class Generated:
    """Knows which files of a repository a program wrote; `by_text` are those of which their text says so."""

    def __init__(self, repository: Repository, names: Collection[str], by_text: Collection[str]) -> None:
        self._repository = repository
        self._names = names
        self._by_text = by_text

    def reason(self, path: str) -> str:
        """Return why a file is taken to be written by a program, "" if it is not."""
        if is_lock(path):
            return LOCK
        return GENERATED if path in self._by_text or path in self._by_attribute else ""

    @cached_property
    def _by_attribute(self) -> frozenset[str]:
        """The files that .gitattributes calls `linguist-generated`, as GitHub understands it."""
        top = self._repository.top
        files = [top / name for name in self._names if name.rpartition("/")[2] == ".gitattributes"]
        if not any(_ATTRIBUTE in _read(file) for file in (*files, self._repository.common_dir / "info/attributes")):
            return frozenset()
        args = ["check-attr", "-z", "--stdin", _ATTRIBUTE.decode()]
        fields = (
            git.write(args, top, "\0".join(self._names).encode(errors="replace")).decode(errors="replace").split("\0")
        )
        values = zip(fields[::3], fields[2::3], strict=False)
        return frozenset(path for path, value in values if value in ("set", "true"))


def _read(file: Path) -> bytes:
    with suppress(OSError):
        return file.read_bytes()
    return b""
