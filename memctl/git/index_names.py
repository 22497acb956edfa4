"""Count the tracked files of a name, without the time that `git.index` takes to import: hooks ask for it."""

from __future__ import annotations

import os

from memctl.git import git
from memctl.git.repository import Repository

_PARTIAL = (b"link\0\0", b"sdir\0\0\0\0")  # extensions: a split index, which has a short length, and a sparse one


def count(repository: Repository, name: str) -> int:
    """Return how many tracked files have the path `name`, or one that ends with a slash and `name`.

    `name` has no characters that Git's patterns use, such as `*`. The index file is searched, which takes 1 ms for
    50,000 files. Git is asked only where that file has not all paths whole: in version 4 it leaves out what two of them
    have in common, and a split or sparse index leaves out some.
    """
    try:
        data = (repository.git_dir / "index").read_bytes()
    except OSError:
        return 0
    end = os.fsencode(name) + b"\0"
    if data[4:8] in (b"\0\0\0\2", b"\0\0\0\3") and not any(mark in data for mark in _PARTIAL):
        return data.count(b"/" + end) + data.count(b"\0" + bytes([len(end) - 1 & 0xFF]) + end)  # flags with the length
    args = ["ls-files", "-z", "--", f":(top,glob)**/{name}"]
    return git.read(args, repository.top, literal=False).count(b"\0")
