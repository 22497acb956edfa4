"""`git fast-import` as the maker of one commit: it refuses to move a branch that somebody else has moved meanwhile."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import msgspec

from memctl.git import git
from memctl.git.repository import Repository

_COMMAND = ("fast-import", "--quiet", "--date-format=raw")


class Made(msgspec.Struct, frozen=True):
    """A commit, and the one that it came after (None if nobody looked, "" for the first one)."""

    commit: str
    parent: str | None = None


class Importer:
    """A `git fast-import`, started and waiting for what to do. If we die, it ends without having done anything."""

    def __init__(self, repository: Repository) -> None:
        self._process = git.start_writing(_COMMAND, repository.top)

    def give_up(self) -> None:
        self._process.communicate()

    def commit(
        self,
        branch: str,
        parent: str,
        files: Mapping[str, bytes | None],
        message: str,
        identities: Sequence[str],
    ) -> Made:
        """Add a commit to a branch; git refuses if the branch is no longer at `parent` ("" for none)."""
        author, committer = identities
        text = message.encode()
        head = [f"commit {branch}", "mark :1", f"author {author}", f"committer {committer}", f"data {len(text)}"]
        parts = [b"feature done\nfeature get-mark\n", os.fsencode("\n".join(head)), b"\n", text, b"\n"]
        if parent:
            parts.append(f"from {parent}\n".encode())
        for path, content in files.items():
            if content is None:
                parts.append(b"D " + _quoted(path) + b"\n")
            else:
                parts += [b"M 100644 inline ", _quoted(path), f"\ndata {len(content)}\n".encode(), content, b"\n"]
        parts.append(b"get-mark :1\ndone\n")
        return Made(git.finish(self._process, _COMMAND, b"".join(parts)).decode().strip(), parent)


def _quoted(path: str) -> bytes:
    return b'"' + os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
