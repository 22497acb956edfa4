"""Filters that Git's attributes ask for, such as those of git-crypt and Git LFS: which files have one, and their texts.

With a filter, Git stores something else than the worktree has, such as an encrypted text. Filters are programs that the
user has set up in Git's settings; Git runs them at a checkout, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO

from memctl.errors import MemctlError
from memctl.git import coprocess, git
from memctl.git.coprocess import AnsweringProcess

_ATTRIBUTES = ("filter", "ident", "working-tree-encoding")


class Filters(AnsweringProcess):
    """The filters of a repository's files; one Git process gives the texts of stored blobs."""

    def __init__(self, top: Path, common_dir: Path, settings: Callable[[], Mapping[str, str]]) -> None:
        super().__init__(("cat-file", "--batch", "--filters"), top)
        self._top, self._common_dir, self._settings = top, common_dir, settings
        self._may_filter: dict[str, bool] = {}  # whether a folder's own attributes may name a filter
        self._known: dict[str, bool] = {}  # whether a file has a filter
        self._mark = os.urandom(16).hex()  # names no object, and no text has it

    def filtered(self, paths: Iterable[str]) -> list[str]:
        """Return those of some files, by their paths relative to the worktree's top, whose content a filter changes."""
        wanted = [path for path in dict.fromkeys(paths) if self._folders_may_filter(path)]
        if unknown := [path for path in wanted if path not in self._known]:
            listed = b"\0".join(os.fsencode(path) for path in unknown)
            out = git.read(["check-attr", "-z", "--stdin", *_ATTRIBUTES], self._top, listed)
            values = out.split(b"\0")[2::3]
            for number, path in enumerate(unknown):
                own = values[number * len(_ATTRIBUTES) : (number + 1) * len(_ATTRIBUTES)]
                self._known[path] = any(value not in (b"unspecified", b"unset") for value in own)
        return [path for path in wanted if self._known[path]]

    def texts(self, blobs: Mapping[str, str]) -> dict[str, bytes]:
        """Return what a checkout would write for some blobs, by path; `blobs` are their ids by path.

        Raises MemctlError if a filter fails.
        """
        questions = [f"{blob} {path}\n{self._mark}" for path, blob in blobs.items()]
        try:
            return dict(zip(blobs, self.answers(questions, self._read), strict=True))
        except git.GitFailed as error:
            raise MemctlError(
                f"Git can't decode {next(iter(blobs))} by the filter in .gitattributes: {error.stderr.strip()}",
                "set up the filter, as for a checkout (for git-crypt: `git-crypt unlock`)",
            ) from None

    def store(self, path: str, content: bytes) -> str:
        """Store what Git stores for a file with some content, such as the encrypted text, and return the blob's id."""
        return git.write(["hash-object", "-w", "--stdin", f"--path={path}"], self._top, content).decode().strip()

    def _read(self, out: IO[bytes]) -> bytes:
        """Git prints the size before the filter, so the mark shows the end of a text."""
        coprocess.line(out)
        lines, end = [], f"{self._mark} missing\n".encode()
        while (line := coprocess.line(out)) != end:
            lines.append(line)
        return b"".join(lines)[:-1]

    def _folders_may_filter(self, path: str) -> bool:
        if "" not in self._may_filter:
            global_file = self._settings().get("core.attributesfile") or os.path.join(
                os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "git", "attributes"
            )
            candidates = (
                self._common_dir / "info" / "attributes",
                Path(os.path.expanduser(global_file)),
                self._top / ".gitattributes",
            )
            self._may_filter[""] = any(map(_may_name_filters, candidates))
        folders = path.split("/")[:-1]
        for folder in ("/".join(folders[: i + 1]) for i in range(len(folders))):
            if folder not in self._may_filter:
                self._may_filter[folder] = _may_name_filters(self._top / folder / ".gitattributes")
            if self._may_filter[folder]:
                return True
        return self._may_filter[""]


def _may_name_filters(attributes: Path) -> bool:
    try:
        text = attributes.read_bytes()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return any(word in text for word in (b"filter", b"ident", b"working-tree-encoding", b"[attr]"))
