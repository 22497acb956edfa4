"""Fast-forwarding worktree, index and branch to a later commit, and cleaning up after a fast-forward that was killed.

`git merge --ff-only` writes the files, then the index, then the branch. If it is killed, some files are already new and
one may be missing or cut short; Git would take all these differences for the user's changes.
"""

from __future__ import annotations

import os

import msgspec

from memctl.git import git, index
from memctl.git.repository import Repository

_LOCK_WAIT = 4.0  # seconds to wait for another git process that holds a lock


class CheckoutChange(msgspec.Struct, frozen=True):
    """A file that differs between two commits.

    `path` is relative to the worktree's top. `before` and `after` are the blob ids in the older and the newer commit,
    "" where the file does not exist. `mode` is Git's mode in the newer commit, such as "100644".
    """

    path: str
    before: str
    after: str
    mode: str


def changed_files(repository: Repository, old: str, new: str) -> list[CheckoutChange]:
    """Return the files that differ between two commits."""
    args = ["diff-tree", "-r", "-z", "--no-renames", "--full-index", old, new]
    words = iter(git.read(args, repository.top).split(b"\0"))
    result = []
    for meta in words:
        if meta:
            _, mode, before, after, _ = meta.decode().lstrip(":").split()
            before, after = (blob if int(blob, 16) else "" for blob in (before, after))
            result.append(CheckoutChange(os.fsdecode(next(words)), before, after, mode))
    return result


def blocking_files(repository: Repository, old: str, new: str) -> list[str]:
    """Return the files that prevent a checkout of commit `new`: those with changes that it would overwrite.

    `old` is HEAD's commit. The changes may be edited, staged or untracked files, and ignored files count, too. `git
    read-tree -n` decides which files prevent the checkout; raises GitFailed if it refuses for another reason.
    """
    index.refresh(repository)
    files = changed_files(repository, old, new)
    untracked = [file.path for file in files if not file.before and os.path.lexists(repository.top / file.path)]
    if untracked:
        known = {os.fsdecode(path) for path in git.read(["ls-files", "-z"], repository.top).split(b"\0")}
        untracked = [path for path in untracked if path not in known]
    try:
        git.write(["read-tree", "-n", "-m", "-u", old, new], repository.top, None, git.ENGLISH, _LOCK_WAIT)
        return untracked
    except git.GitFailed as error:
        differing = _differing(repository, old) & _differing(repository, new)
        changed = [f.path for f in files if f.path in differing and os.path.lexists(repository.top / f.path)]
        blocking = sorted({*untracked, *changed})
        if not blocking:
            raise error
        return blocking


def _differing(repository: Repository, commit: str) -> set[str]:
    out = git.read(["diff-index", "-z", "--name-only", "--no-renames", commit], repository.top)
    return {os.fsdecode(path) for path in out.split(b"\0") if path}


def fast_forward(repository: Repository, new: str) -> None:
    """Move the worktree, the index and the branch to a commit that is later than HEAD; raises GitFailed.

    The user's settings of merges do not apply, since no merge commit is made.
    """
    options = ["--ff-only", "--quiet", "--no-stat", "--no-autostash", "--no-verify-signatures", "--no-overwrite-ignore"]
    extra = {**git.ENGLISH, git.COMMITTING: str(os.getpid()), "GIT_REFLOG_ACTION": "memctl sync"}
    git.write(["merge", *options, new], repository.top, None, extra, _LOCK_WAIT)


def finish_interrupted(repository: Repository, old: str, new: str) -> None:
    """Clean up after a checkout from commit `old` to commit `new` that was killed before its end.

    Files that already have their whole new content are staged. A file that has only the beginning of its new content is
    deleted. A file with any other content was edited by the user, and is left alone.
    """
    lines, torn = [], []
    files = changed_files(repository, old, new)
    known = {entry.path: entry.blob for entry in index.entries(repository)}
    for file in files:
        name = os.fsencode(file.path).decode("utf-8", "backslashreplace")
        if known.get(name, "") != file.before or file.mode == "160000":
            continue
        state = _state(repository, file, old, new)
        if state == "new":
            mode, blob = (file.mode, file.after) if file.after else ("0", "0" * len(new))
            lines.append(f"{mode} {blob}\t".encode() + os.fsencode(file.path) + b"\0")
        elif state == "torn":
            torn.append(file.path)
    for path in torn:
        os.unlink(repository.top / path)
    if lines:
        git.write(["update-index", "-z", "--index-info"], repository.top, b"".join(lines))


def _state(repository: Repository, file: CheckoutChange, old: str, new: str) -> str:
    """Return the state of a file: "new", "torn" or "old", which includes one that somebody edited."""
    place = repository.top / file.path
    if not os.path.lexists(place):
        return "old" if file.after else "new"
    if not file.after or place.is_dir():
        return "old"
    if place.is_symlink() or file.mode == "120000":
        if not place.is_symlink() or file.mode != "120000":
            return "old"
        target = git.read(["cat-file", "blob", file.after], repository.top)
        return "new" if os.fsencode(os.readlink(place)) == target else "old"
    data = place.read_bytes()
    wanted = git.read(["cat-file", "--filters", f"{new}:{file.path}"], repository.top)
    if data == wanted:
        return "new" if os.access(place, os.X_OK) == (file.mode == "100755") else "old"
    if file.before and data == git.read(["cat-file", "--filters", f"{old}:{file.path}"], repository.top):
        return "old"
    return "torn" if wanted.startswith(data) else "old"
