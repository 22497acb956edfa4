"""`git fast-import` as the maker of one commit: it refuses to move a branch that somebody else has moved meanwhile."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import msgspec

from memctl.journal import git
from memctl.journal.repository import Repository

_COMMAND = ("fast-import", "--quiet", "--date-format=raw")


class Made(msgspec.Struct, frozen=True):
    """A commit, and which tree a folder had before it and has in it ("" for none, or if nobody looked)."""

    commit: str
    before: str = ""
    after: str = ""


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
        folder: str,
        files: Mapping[str, bytes | None],
        message: str,
        identities: Sequence[str],
    ) -> Made:
        """Add a commit to a branch; git refuses if the branch is no longer at `parent` ("" for none)."""
        author, committer = identities
        text = message.encode()
        head = [f"commit {branch}", "mark :1", f"author {author}", f"committer {committer}", f"data {len(text)}"]
        parts = [b"feature done\nfeature get-mark\nfeature ls\n", os.fsencode("\n".join(head)), b"\n", text, b"\n"]
        if parent:
            parts.append(f"from {parent}\n".encode())
        look = b"ls " + _quoted(folder) + b"\n"
        parts.append(look)
        for path, content in files.items():
            if content is None:
                parts.append(b"D " + _quoted(path) + b"\n")
            else:
                parts += [b"M 100644 inline ", _quoted(path), f"\ndata {len(content)}\n".encode(), content, b"\n"]
        parts += [look, b"get-mark :1\ndone\n"]
        before, after, commit = (
            git.finish(self._process, _COMMAND, b"".join(parts)).decode("ascii", "replace").split("\n")[:3]
        )
        return Made(commit, _tree(before), _tree(after))


def _quoted(path: str) -> bytes:
    return b'"' + os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def _tree(line: str) -> str:
    """The tree in an answer to `ls`; "" if that found none."""
    mode, kind, *rest = line.split(maxsplit=3)
    return rest[0] if kind == "tree" and mode == "040000" else ""
