"""Count the tracked files of a name, without the time that `git.index` takes to import: hooks ask for it."""

from __future__ import annotations

import os

from memctl.git import git
from memctl.git.repository import Repository


def count(repository: Repository, name: str) -> int:
    """Return how many tracked files have the path `name`, or one that ends with a slash and `name`.

    `name` has no characters that Git's patterns use, such as `*`. The index file is searched, which takes 1 ms for
    50,000 files. Git is asked only where that file leaves out what two paths have in common (version 4).
    """
    try:
        data = (repository.git_dir / "index").read_bytes()
    except OSError:
        return 0
    end = os.fsencode(name) + b"\0"
    if data[4:8] in (b"\0\0\0\2", b"\0\0\0\3"):
        return data.count(b"/" + end) + data.count(b"\0" + bytes([len(end) - 1 & 0xFF]) + end)  # flags with the length
    args = ["ls-files", "-z", "--", f":(top,glob)**/{name}"]
    return git.read(args, repository.top, literal=False).count(b"\0")
