"""Batches: changes that are commits on a ref of memctl's, and not on the branch yet (`commits: batch`).

Each change is a commit on refs/memctl/changes/<branch>. The parent of a batch's first change is HEAD's commit at that
time, the *base*, which each change names in its trailer Memctl-Base. The changed files are on the disk, but neither in
HEAD nor in the index. A *squash* makes one commit of the branch from all changes, and names the last change in its
trailer Memctl-Changes. Then the ref moves to a commit that has both the squash and the last change as parents, so that
Git never deletes the changes, and the batch is closed.

A file in .git/memctl names the branch whose batch the worktree has. If that file is missing, memctl looks for no batch.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from memctl.errors import MemctlError
from memctl.git import git
from memctl.record.config import BATCH, COMMITS_HINT, EACH
from memctl.store.memory import Memory
from memctl.store.memory_root import FOLDER

if TYPE_CHECKING:  # most commands only ask whether there is a batch
    from memctl.git import message
    from memctl.git.history import Commit

SETTING = "memctl.commits"
_HEADS = "refs/heads/"


class Batch(msgspec.Struct, frozen=True):
    """An open batch, whose changes are not on its branch yet.

    `branch` is the branch (refs/heads/…), `ref` the ref with the changes, `base` the commit before the first change,
    and `tip` the last change.
    """

    branch: str
    ref: str
    base: str
    tip: str


def mode(memory: Memory) -> str:
    """Return EACH if every change becomes a commit of the branch, or BATCH if changes are collected in a batch.

    The mode is the value of Git's setting memctl.commits; if that is not set, it is the value of `commits` in
    config.yaml. Raises MemctlError for a value that is neither EACH nor BATCH.
    """
    value = memory.repository.setting(SETTING)
    value = memory.config.commits if value is None else value
    if value not in (EACH, BATCH):
        raise MemctlError(f"{SETTING} is {value[:40]!r}; it must be {EACH} or {BATCH}", COMMITS_HINT)
    return value


def is_wanted(memory: Memory) -> bool:
    """Return whether the next change goes into a batch: the mode is BATCH, and HEAD is a branch with a commit."""
    return mode(memory) == BATCH and all(memory.repository.branch())


def ref(memory: Memory, branch: str) -> str:
    """Return the name of the ref with the batches' changes for a branch (refs/heads/…).

    Slashes of the branch's name are escaped in it: Git can't have refs `a` and `a/b` at once, and the ref of a deleted
    branch `a` may still exist. A memory that is not at the worktree's top has a ref of its own.
    """
    folder = memory.prefix.removesuffix(FOLDER).rstrip("/")
    inside = f"in-{_escape(folder)}/" if folder else ""
    return f"refs/memctl/{inside}changes/{_escape(branch.removeprefix(_HEADS))}"


def _escape(name: str) -> str:
    return name.replace("%", "%25").replace("/", "%2F")


def tracking_ref(memory: Memory, branch: str, remote: str) -> str:
    """Return the name of the ref with the changes of a branch that were fetched from a remote."""
    return ref(memory, branch).replace("refs/memctl/", f"refs/memctl/remotes/{remote}/", 1)


def branch_here(memory: Memory) -> str:
    """Return the branch (refs/heads/…) whose batch this worktree has, "" if none."""
    try:
        return _branch_file(memory).read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return ""


def set_branch_here(memory: Memory, branch: str) -> None:
    """Store that this worktree has the batch of the branch `branch` (refs/heads/…), or no batch if `branch` is ""."""
    if not branch:
        _branch_file(memory).unlink(missing_ok=True)
        refusal_file(memory).unlink(missing_ok=True)
    elif branch_here(memory) != branch:
        from memctl.store import files

        files.replace_private(_branch_file(memory), f"{branch}\n")


def _branch_file(memory: Memory) -> Path:
    return memory.private / "batch"


def refusal_file(memory: Memory) -> Path:
    """Return the path of the file with the reason why the last squash of a batch was refused.

    The file exists only after a refusal.
    """
    return memory.private / "batch-refused"


def open_batch(memory: Memory, branch: str) -> Batch | None:
    """Return the open batch of a branch (refs/heads/…); None if the branch has none."""
    name = ref(memory, branch)
    tip = memory.repository.tip(name)
    from memctl.git import message

    earlier = trailers(memory, tip) if tip else message.Trailers()
    return Batch(branch, name, earlier.base, tip) if earlier.base and not earlier.changes else None


def current(memory: Memory) -> Batch | None:
    """Return this worktree's open batch; None if there is none, or if HEAD is on another branch than the batch."""
    branch = branch_here(memory)
    return open_batch(memory, branch) if branch and branch == memory.repository.branch()[0] else None


def head(memory: Memory) -> str:
    """Return the id of this worktree's newest commit: the open batch's last change, else HEAD.

    The id is "" if the repository has no commit yet.
    """
    batch = current(memory)
    return batch.tip if batch else memory.repository.branch()[1]


def latest(memory: Memory) -> str:
    """Return the id of the newest commit on the ref with the changes of HEAD's branch, "" if there is no such ref.

    The history of this commit contains the changes of all batches of the branch, open or closed.
    """
    branch = memory.repository.branch()[0]
    return memory.repository.tip(ref(memory, branch)) if branch else ""


def trailers(memory: Memory, commit: str) -> message.Trailers:
    """Return the trailers of a commit's message, such as `Memctl-Op`; all are empty for a missing commit."""
    commit_object = memory.repository.objects.read([commit])[0]
    raw = (commit_object.data or b"") if commit_object else b""
    from memctl.git import message

    return message.parse(raw.partition(b"\n\n")[2].decode(errors="backslashreplace"))


def paths(memory: Memory, batch: Batch) -> list[str]:
    """Return the files that the changes of a batch touch, as paths below `.memory/`."""
    args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", batch.base, batch.tip, "--", memory.prefix]
    return [path[len(memory.prefix) + 1 :] for path in git.paths(git.read(args, memory.repository.top))]


def differing_from_tip(memory: Memory, batch: Batch, differing: Mapping[str, str]) -> dict[str, str]:
    """Return the files whose text on the disk is not that of a batch's last change, by path below `.memory/`.

    Each path is mapped to its two letters of `git status`, such as " M" for a modified file. `differing` has, in the
    same form, the files that differ from HEAD. Only these files and those that the batch changes are compared.
    """
    wanted = {**dict.fromkeys(paths(memory, batch), " M"), **differing}
    tracked = {memory.tracked(path): code for path, code in wanted.items()}
    files = [path for path in tracked if os.path.isfile(memory.repository.top / path)]
    from memctl.git import trees

    here = trees.worktree_blob_ids(memory.repository, files)
    blob_ids = trees.blob_ids(memory.repository, batch.tip, tracked)
    start = len(memory.prefix) + 1
    return {path[start:]: code for path, code in tracked.items() if here.get(path) != blob_ids.get(path)}


def changes(memory: Memory, base: str, tip: str, within: Sequence[str] = ()) -> list[Commit]:
    """Return the changes of batches in the history of commit `tip` that are not in the history of `base`, newest first.

    With `within` only the changes to one of these paths (relative to the worktree's top) are returned.
    """
    from memctl.git import history

    result = history.commits(memory.repository, within or [memory.prefix], f"{base}..{tip}", first_parent=True)
    return [commit for commit in result if commit.trailers.base]


def _changes_by_batch(
    memory: Memory, ranges: Collection[tuple[str, str]], within: Sequence[str]
) -> dict[tuple[str, str], list[Commit]]:
    """Return the changes of several batches, newest first, by the batch's base and last change.

    Batches that this clone lacks are left out. One Git process answers for all of them. A batch has all commits from
    its last change back to the first commit that is no change of a batch.
    """
    here = existing_commits(memory, {name for ends in ranges for name in ends})
    whole = [ends for ends in ranges if here.issuperset(ends)]
    if not whole:
        return {}
    bases, tips = zip(*whole, strict=True)
    from memctl.git import history

    known = history.line_commits(memory.repository, tips, bases, memory.prefix)
    by_batch: dict[tuple[str, str], list[Commit]] = {}
    for base, tip in whole:
        line = by_batch[base, tip] = []
        while (commit := known.get(tip)) and commit.trailers.base:
            tip = commit.parent
            if any(f"{path}/".startswith(f"{folder}/") for path in commit.paths for folder in within):
                line.append(commit)
    return by_batch


def commits(
    memory: Memory,
    paths: Sequence[str],
    revision: str = "HEAD",
    limit: int | None = None,
    *,
    discarded: bool = False,
    beside: str = "",
) -> list[Commit]:
    """Return the commits that touched any of `paths`, newest first, with each change of a batch as a commit.

    `paths` are relative to the worktree's top. The history of `revision` is searched, and that of the commit `beside`,
    such as the newest of refs/memctl/sessions ("" for none). At most `limit` commits are returned. A merge may take a
    file from one side, so that what the other side did to it is lost. Only with `discarded` are such merges returned,
    and the commits of the other side.

    If `revision` is HEAD or a range that ends with HEAD, the changes of the open batch come first. The squash of a
    batch is replaced by the batch's changes if this clone has them.
    """
    from memctl.git import history

    listed = history.commits(memory.repository, paths, revision, limit, discarded=discarded, beside=beside)
    is_now = revision == "HEAD" or revision.endswith("..HEAD")
    batch = current(memory) if is_now else None
    newest = changes(memory, batch.base, batch.tip, paths) if batch else []
    user_commits = _user_commits(memory) if listed else {}
    ranges = {commit.commit: (commit.trailers.base, commit.trailers.changes) for commit in listed} | user_commits
    squashed = _changes_by_batch(memory, {ends for ends in ranges.values() if all(ends)}, paths)
    expanded = list(newest)
    for commit in listed:
        own_changes = squashed.get(ranges[commit.commit], [])
        expanded += own_changes if own_changes and commit.trailers.changes else [commit, *own_changes]
    unique = list({commit.commit: commit for commit in expanded}.values())
    return unique[:limit] if limit is not None else unique


def _user_commits(memory: Memory) -> dict[str, tuple[str, str]]:
    """Return the user's commits that contain all files of a batch: by commit id the batch's base and last change."""
    tip, head = latest(memory), memory.repository.branch()[1]
    if not tip:
        return {}
    own = [tip, f"^{head}"] if head else [tip]  # without the branch's history, which the ref also reaches
    args = [*git.LOG, "-z", "--merges", "--grep=^Memctl-Commit: ", "--format=%B", *own]
    messages = git.read(args, memory.repository.top).decode(errors="replace").split("\0")
    from memctl.git import message

    joins = [message.parse(text) for text in messages if text]
    return {join.commit: (join.base, join.changes) for join in joins}


def existing_commits(memory: Memory, commits: Collection[str]) -> set[str]:
    """Return the ids among `commits` whose commits this clone has."""
    names = sorted(commits)
    items = memory.repository.objects.read(names) if names else []
    return {name for name, item in zip(names, items, strict=True) if item is not None}


def join(memory: Memory, commit: str, tip: str, text: str = "") -> str:
    """Create a commit that joins the history of a branch with that of a batch's changes; return the new commit's id.

    The new commit has two parents: `commit`, a commit of the branch, and `tip`, the last change of the batch. It has
    the files of `commit`, and `text` is its message.
    """
    tree = git.read(["rev-parse", f"{commit}^{{tree}}"], memory.repository.top).decode().strip()
    from memctl.git import refs
    from memctl.store.commit_message import TYPE

    text = text or f"{TYPE}: join the branch with a batch of its changes\n"
    return refs.commit_tree(memory.repository, tree, (commit, tip), text, memory.commit_moment)
