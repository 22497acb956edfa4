"""Search for texts in the history of all refs, within a time limit, without showing them to other processes.

`git log -S TEXT` would show the text in the list of processes, so the blobs that commits added are read instead.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from memctl.git import git, index
from memctl.git.repository import Repository

_MOST_COMMITS = 20_000
_BATCH_SIZE = 200  # blobs that are read between two looks at the clock
_LARGEST = 2 * 1024 * 1024  # bytes of a blob


class Matches(msgspec.Struct, frozen=True):
    """The places in history where one of some texts was found.

    `commits` have one of the texts in their changes or messages, newest first. `refs` are the refs whose history
    contains any of these commits. `is_complete` is False if the time did not suffice to search all of history.
    """

    commits: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    is_complete: bool = True


def find(repository: Repository, texts: Iterable[str], folder: str, seconds: float = 10.0) -> Matches:
    """Return the commits that have one of some texts in their message, or in a file below a folder that they changed.

    All refs and stashes are searched for commits that changed a file below the folder. On memctl's own refs every
    commit and every file is searched. The search stops after `seconds`; the result's `is_complete` is then False.
    """
    wanted = [text.encode() for text in texts]
    deadline = time.monotonic() + seconds
    commits: dict[str, None] = {}
    seen: dict[str, bool] = {}
    is_complete = True
    own = _refs(repository, ["refs/memctl/"])
    for arguments in (["--all", "--", folder], *([[*own, "--"]] if own else [])):
        count = 0
        for some in _batches(_changes(repository, arguments)):
            count += len(some)
            blobs = [blob for _, _, names in some for blob in names if blob not in seen]
            for blob, item in zip(blobs, repository.objects.read(blobs, _LARGEST), strict=True):
                seen[blob] = any(text in (item.data or b"" if item else b"") for text in wanted)
            for commit, message, names in some:
                if any(text in message for text in wanted) or any(seen[name] for name in names):
                    commits[commit] = None
            if time.monotonic() > deadline:
                is_complete = False
                break
        is_complete &= count < _MOST_COMMITS
    containing = [word for commit in list(commits)[-_BATCH_SIZE:] for word in ("--contains", commit)]
    return Matches(tuple(commits), tuple(_refs(repository, containing) if containing else ()), is_complete)


def staged_files(repository: Repository, texts: Iterable[str], folder: str) -> list[str]:
    """Return the files below a folder whose staged version contains one of some texts; disk and HEAD are not read."""
    wanted = [text.encode() for text in texts]
    entries = [entry for entry in index.entries(repository, folder) if entry.is_regular]
    items = repository.objects.read([entry.blob for entry in entries], _LARGEST)
    return [
        entry.path
        for entry, item in zip(entries, items, strict=True)
        if item and item.data and any(text in item.data for text in wanted)
    ]


def _changes(repository: Repository, arguments: Sequence[str]) -> Iterator[tuple[str, bytes, list[str]]]:
    mark = os.urandom(16).hex()  # a separator that occurs in no message
    args = [*git.LOG, "-z", f"--format={mark}%H %B{mark} ", "--raw", "--no-abbrev", "--no-renames"]
    args += ["--diff-merges=first-parent", "--full-history", f"--max-count={_MOST_COMMITS}", *arguments]
    pieces = git.stream(args, repository.top, mark.encode())
    next(pieces, b"")
    for head, changes in zip(pieces, pieces, strict=False):
        commit, _, message = head.partition(b" ")
        columns = (part.split() for part in changes.split(b"\0") if part.lstrip(b" \n").startswith(b":"))
        blobs = [row[3].decode() for row in columns if len(row) == 5 and row[1].startswith(b"100")]
        yield commit.decode(), message, blobs


def _batches(
    changes: Iterable[tuple[str, bytes, list[str]]],
) -> Iterator[list[tuple[str, bytes, list[str]]]]:
    some: list[tuple[str, bytes, list[str]]] = []
    for change in changes:
        some.append(change)
        if sum(len(names) for _, _, names in some) >= _BATCH_SIZE:
            yield some
            some = []
    if some:
        yield some


def _refs(repository: Repository, arguments: Sequence[str]) -> list[str]:
    out = git.read(["for-each-ref", "--format=%(refname)", *arguments], repository.top)
    return os.fsdecode(out).split("\n")[:-1]
