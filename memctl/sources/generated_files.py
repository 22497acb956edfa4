"""Recognize files that a program wrote, such as lock files and generated code, of which only outlines are loaded."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
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
# The marks of generators: https://go.dev/s/generatedcode, `@generated` of Facebook's and Rust's tools, and sentences.
_MARK = re.compile(
    r"\bcode generated .{0,200}\bdo not edit|@generated\b|\bdo not (?:edit|modify).{0,80}\bgenerated\b"
    r"|\b(?:auto-?|automatically |machine[- ])generated\b.{0,200}\bdo not (?:edit|modify|change)"
    r"|\b(?:file|code|document) (?:is|was|has been) (?:auto-?|automatically |machine[- ])generated\b"
    r"|\bgenerated (?:by|from|with) .{0,200}\bdo not (?:edit|modify|change)",
    re.IGNORECASE | re.DOTALL,
)
_HEAD = 1_000  # first characters, in which a generator's mark is looked for
_MINIFIED = 1_000  # average characters per line above which nobody wrote the text by hand
_ATTRIBUTE = b"linguist-generated"


def in_text(text: str) -> bool:
    """Return whether a text has a generator's mark near its beginning, or is minified code."""
    lines = text.count("\n") + 1
    return len(text) > _MINIFIED * lines or _MARK.search(text[:_HEAD]) is not None


def is_lock(path: str) -> bool:
    """Return whether a path has the name of a package manager's lock file, such as "uv.lock"."""
    return _LOCK_NAMES.fullmatch(path.rpartition("/")[2]) is not None


class GeneratedFiles:
    """The generated files of a repository: lock files, those marked in .gitattributes, and those with such a text.

    `names` are the paths of all files of the repository; `by_text` returns of a path whether the file's text shows that
    a program wrote it (`in_text`).
    """

    def __init__(self, repository: Repository, names: Collection[str], by_text: Callable[[str], bool]) -> None:
        self._repository = repository
        self._names = names
        self._by_text = by_text

    def reason(self, path: str) -> str:
        """Return why a file counts as generated, "" if it does not."""
        if is_lock(path):
            return LOCK
        return GENERATED if self._by_text(path) or path in self._by_attribute else ""

    @cached_property
    def _by_attribute(self) -> frozenset[str]:
        """The files with GitHub's attribute `linguist-generated` in .gitattributes."""
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
