"""Files that differ between two commits, or between a commit, the index and the worktree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from memctl.git import git
from memctl.git.repository import Repository
from memctl.git.status import parse

ADDED, CHANGED, DELETED, RENAMED = "added", "changed", "deleted", "renamed"
_STATUSES = {"A": ADDED, "D": DELETED, "R": RENAMED}


class FileChange(msgspec.Struct, frozen=True):
    """A file that differs between two commits, or between a commit and the index or the worktree.

    `status` says what was done to the file: ADDED, CHANGED, DELETED or RENAMED. `before` is the former path of a
    renamed file. `blob` is set only for a file that is deleted from the worktree: its blob id in HEAD.
    """

    path: str
    status: str
    before: str = ""
    blob: str = ""


def changed_between(repository: Repository, first: str, second: str, *, from_base: bool = False) -> list[FileChange]:
    """Return the files that differ between two commits; a renamed file is one change.

    With `from_base` the second commit is compared with the merge base of both, not with the first.
    """
    base = ["--merge-base"] if from_base else []
    return _changes(repository, ["diff-tree", "-r", "-z", "-M", "--name-status", *base, first, second])


def changed_in_index(repository: Repository) -> list[FileChange]:
    """Return the files that differ between HEAD and the index; a renamed file is one change."""
    top = repository.top
    tree = "HEAD" if repository.has_head() else git.read(["hash-object", "-t", "tree", "--stdin"], top, b"").decode()
    return _changes(repository, ["diff-index", "--cached", "-z", "-M", "--name-status", tree.strip()])


def _changes(repository: Repository, args: Sequence[str]) -> list[FileChange]:
    words = iter(git.read(args, repository.top, extra=repository.index_in_use()).split(b"\0"))
    changes = []
    for word in words:
        status = _STATUSES.get(word[:1].decode(), CHANGED)
        if word:
            before = git.decode_path(next(words)) if status == RENAMED else ""
            changes.append(FileChange(git.decode_path(next(words)), status, before))
    return changes


class WorktreeProcess:
    """A running git command that lists the files of the worktree that are not committed."""

    def __init__(self, repository: Repository) -> None:
        self._args = ["status", "--porcelain=v2", "-z", "--untracked-files=normal", "--no-renames"]
        self._process = git.start(self._args, repository.top)

    def paths(self, seconds: float) -> list[str] | None:
        """Return the paths of the uncommitted files and folders; None if Git fails or needs more than some seconds."""
        try:
            out = git.finish_within(self._process, self._args, seconds)
        except git.GitFailed:
            return None
        return [path for _, path in parse(out.split(b"\0"))]


def changed_in_worktree(repository: Repository) -> list[FileChange]:
    """Return the files that differ between HEAD and the worktree, with untracked files, but without ignored files."""
    args = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"]
    changes_by_path: dict[str, FileChange] = {}
    for fields, path in parse(git.read(args, repository.top).split(b"\0")):
        if fields[0] == b"1":
            is_new, is_gone = not int(fields[3]), not int(fields[5])
            if not (is_new and is_gone):  # staged, and deleted again
                status = ADDED if is_new else DELETED if is_gone else CHANGED
                changes_by_path[path] = FileChange(path, status, blob=fields[6].decode() if is_gone else "")
        elif not path.endswith("/"):  # a path with a slash is a nested repository
            # A path that was found before is a file that was removed from the index, but not from the disk.
            is_known = fields[0] == b"u" or path in changes_by_path
            changes_by_path[path] = FileChange(path, CHANGED if is_known else ADDED)
    return list(changes_by_path.values())


def changed_below(
    repository: Repository, folder: str, before: str, after: str | None = None, *, staged: bool = False
) -> list[str]:
    """Return the files below a folder that differ between the revision `before` and a newer version.

    The newer version is the revision `after` if that is given, the index if `staged` is True, and otherwise the
    worktree.
    """
    args = ["-c", "diff.autoRefreshIndex=false", "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff"]
    args += [*(["--cached"] if staged else []), before, *([after] if after else []), "--", folder]
    out = git.read(args, repository.top, extra=repository.index_in_use() if staged else None)
    return git.paths(out)


def diff(repository: Repository, revisions: Sequence[str], paths: Sequence[str], without: Iterable[str] = ()) -> str:
    """Return a unified diff of the files at or below `paths`, except those at or below the paths in `without`.

    `revisions` are two revisions to compare, or one that is compared with the worktree.
    """
    # Without this setting `git diff` would rewrite the user's index. With it, Git prints a header for files whose
    # times alone have changed, too; these headers are removed below.
    args = ["-c", "diff.autoRefreshIndex=false", "diff", "--no-ext-diff", "--no-color", "--no-renames"]
    specs = [*(f":(literal){path}" for path in paths), *(f":(exclude,literal){path}" for path in without)]
    out = git.read([*args, *revisions, "--", *specs], repository.top, literal=False).decode(errors="replace")
    return re.sub(r"^diff --git .*\n(?=diff --git |\Z)", "", out, flags=re.MULTILINE)
