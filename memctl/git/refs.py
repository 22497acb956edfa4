"""Refs that no worktree has checked out: reading their files, committing to them, moving them by compare-and-swap."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.git import git
from memctl.git.repository import Repository

_PATIENCE = 10.0  # seconds to wait for another git process that holds the lock of the ref
_STALE_AGE = 60.0  # seconds after which the process that made a ref's lock must be dead: a lock lasts a few ms
_LOCK_MESSAGES = ("File exists", "Another git process")
# Git's messages about a ref that is not at the expected commit.
_MOVED_MESSAGES = ("but expected", "reference already exists", "unable to resolve reference")


class RefFile(msgspec.Struct, frozen=True):
    """A file on a ref: its blob id and its content."""

    blob: str
    data: bytes


def read(repository: Repository, commit: str, names: Sequence[str]) -> dict[str, RefFile]:
    """Return the files that a commit has at the paths `names`, by path; paths where it has no file are left out."""
    blobs = repository.objects.read([f"{commit}:{name}" for name in names])
    return {
        name: RefFile(item.id, item.data)
        for name, item in zip(names, blobs, strict=True)
        if item is not None and item.kind == "blob" and item.data is not None
    }


def write_commit(
    repository: Repository, blobs: Mapping[str, str], parents: Iterable[str], message: str, moment: int | None = None
) -> str:
    """Store a commit with the files `blobs` (blob id by file name), and return its id. No branch moves to it.

    The files are not in folders. `parents` are the ids of the parent commits. `moment` (Unix seconds) sets the author's
    and the committer's date; the default is the present time.
    """
    listing = "".join(f"100644 blob {blob}\t{name}\n" for name, blob in blobs.items()).encode()
    tree = git.write(["mktree"], repository.top, listing).decode().strip()
    return commit_tree(repository, tree, parents, message, moment)


def commit_tree(
    repository: Repository,
    tree: str,
    parents: Iterable[str],
    message: str,
    moment: int | None = None,
    *,
    signed: bool = False,
) -> str:
    """Store a commit of the tree with the id `tree`, and return the commit's id. No branch moves to it.

    `parents` are the ids of the parent commits. `moment` (Unix seconds) sets the author's and the committer's date; the
    default is the present time. `signed` signs the commit with the user's key. Raises MemctlError if Git has no name or
    address for the author.
    """
    dates = {} if moment is None else {f"GIT_{role}_DATE": f"{moment} +0000" for role in ("AUTHOR", "COMMITTER")}
    options = [word for parent in parents for word in ("-p", parent)]
    options += ["-S"] if signed else []
    try:
        made = git.write(["commit-tree", tree, *options, "-F", "-"], repository.top, message.encode(), dates)
    except git.GitFailed as error:
        if "ident" in error.stderr.lower() or "tell me who you are" in error.stderr:
            raise MemctlError(
                "Git does not know who you are",
                "run `git config --global user.name NAME` and `git config --global user.email ADDRESS`",
            ) from None
        raise
    return made.decode().strip()


def swap(repository: Repository, ref: str, new: str, old: str) -> bool:
    """Move a ref from commit `old` ("": create it) to `new`; return False if it is at another commit by now."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            expected = old or "0" * len(new)
            git.write(
                ["update-ref", "--create-reflog", "-m", "memctl", ref, new, expected], repository.top, extra=git.ENGLISH
            )
            return True
        except git.GitFailed as error:
            if any(words in error.stderr for words in _MOVED_MESSAGES) or repository.tip(ref) != old:
                return False
            if not any(words in error.stderr for words in _LOCK_MESSAGES):
                raise
            _wait_for_lock(repository, ref, deadline)


def _wait_for_lock(repository: Repository, ref: str, deadline: float) -> None:
    """Only memctl has refs of these names, so no other program locks them; raises MemctlError after the deadline."""
    if _removed_stale_lock(repository, ref):
        return
    if time.monotonic() > deadline:
        raise MemctlError(
            f"another git process has locked {ref} for {_PATIENCE:.0f} s ({_lock_file(repository, ref)})",
            f"wait until it ends; if it was killed, run the command again in {_STALE_AGE:.0f} s: memctl removes the "
            "lock then",
        )
    time.sleep(0.02)


def _removed_stale_lock(repository: Repository, ref: str) -> bool:
    """The process that made an old lock must be dead."""
    lock = _lock_file(repository, ref)
    with suppress(OSError):
        if time.time() - lock.stat().st_mtime > _STALE_AGE:
            lock.unlink()
            return True
    return False


def _lock_file(repository: Repository, ref: str) -> Path:
    return repository.common_dir / f"{ref}.lock"


def base(repository: Repository, one: str, other: str) -> str:
    """Return the merge base of two commits, given by their ids; "" if they have no common history."""
    return one if one == other else next(iter(repository.merge_bases(one, other)), "")


def contains(repository: Repository, history: str, commit: str) -> bool:
    """Return whether `commit` is in the history of the commit `history`, or is it; False if `history` is ""."""
    return bool(history) and base(repository, history, commit) == commit


def parent(repository: Repository, commit: str) -> str:
    """Return the first parent of a commit, "" if it has none."""
    commits = git.read(["rev-list", "--parents", "--max-count=1", commit], repository.top).decode().split()
    return commits[1] if len(commits) > 1 else ""


def message(repository: Repository, commit: str) -> str:
    """Return the message of a commit."""
    raw = git.read(["cat-file", "commit", commit], repository.top)
    return raw.partition(b"\n\n")[2].decode(errors="replace")


def fetch(repository: Repository, remote: str, ref: str, tracking: str) -> str:
    """Fetch a ref of a remote, given by name or address, into the local ref `tracking`.

    Returns its commit, "" if the remote does not have it. A ref of memctl's own comes from where `push` brings it.
    Raises MemctlError if no remote has that name, or if the remote can't be reached.
    """
    where = push_address(repository, remote) if ref.startswith("refs/memctl/") else ""
    return fetch_with(repository, where or remote, ref, tracking, ())[0]


def push_address(repository: Repository, remote: str) -> str:
    """Return the address to which a remote is pushed, "" if that is the repository from which it is fetched.

    Two addresses that differ in their protocol and user alone are of one repository.
    """
    settings = repository.settings()
    url, pushed = (settings.get(f"remote.{remote}.{key}", "") for key in ("url", "pushurl"))
    return pushed if pushed and _place(pushed) != _place(url) else ""


def _place(address: str) -> str:
    """Return host and path of an address: github.com/a/b for git@github.com:a/b.git and git+ssh://github.com/a/b."""
    rest = re.sub(r"^(?:[\w+.-]+://)?(?:[^/@]*@)?", "", address)
    return re.sub(r"(?::\d*)?[:/]+", "/", rest.rstrip("/").removesuffix(".git"))


def folder_of(remote: str) -> str:
    """Return the folder below refs/ for what comes from a remote: its name, or for an address a hash of it."""
    is_name = ":" not in remote and not remote.startswith(("/", ".", "~"))
    return remote if is_name else hashlib.sha256(remote.encode(errors="surrogateescape")).hexdigest()[:16]


def fetch_with(
    repository: Repository, remote: str, ref: str, tracking: str, also: Sequence[tuple[str, str]]
) -> tuple[str, bool]:
    """Fetch a remote's ref into the local ref `tracking`, and the further refs `also` over the same connection.

    `also` are pairs of a remote ref and the local ref for it; a local ref is deleted if the remote has no such ref.

    Returns the commit of the first ref, "" if the remote does not have it, and whether the further refs were fetched.
    They are not fetched if the first ref is missing, or if another process has locked one of them. Raises MemctlError
    if no remote has that name, or if the remote can't be reached.
    """
    if folder_of(remote) == remote:
        refuse_unknown(repository, remote)
        also = () if push_address(repository, remote) else also  # these are memctl's own
    deadline = time.monotonic() + _PATIENCE
    args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"]
    while True:
        try:
            # A missing ref would be an error; a pattern that matches nothing is none.
            specs = [*(["--prune"] if also else []), remote, *(f"+{theirs}*:{ours}*" for theirs, ours in also)]
            git.write([*args, *specs, f"+{ref}:{tracking}"], repository.top, extra=git.ENGLISH)
            return repository.tip(tracking), bool(also)
        except git.GitFailed as error:
            if "find remote ref" in error.stderr:
                return "", False
            if not any(words in error.stderr for words in (*_LOCK_MESSAGES, "cannot lock ref")):
                raise MemctlError(
                    f"`git fetch` from {remote} failed:\n{error.stderr.strip()}",
                    f"nothing was changed; run `git fetch {remote}` yourself to see what is wrong",
                ) from None
            if also:
                unlocked = [ours for _, ours in also if _removed_stale_lock(repository, ours)]
                also = also if unlocked else ()
                continue
            _wait_for_lock(repository, tracking, deadline)


def push(repository: Repository, remote: str, ref: str, commit: str, expected: str) -> bool:
    """Move a ref at a remote from commit `expected` to `commit`; return False if the ref was at another commit.

    An `expected` of "" creates the ref, a `commit` of "" deletes it. The user's pre-push hooks are for code and do not
    run. Raises PushRefused if the remote refuses, and GitFailed if it is unknown whether the remote took the push.
    """
    from memctl.git.push import run_push  # few commands push

    lease = f"--force-with-lease={ref}:{expected}"
    options = ["--quiet", "--no-verify", "--no-recurse-submodules", lease]
    return run_push(repository, [*options, remote, f"{commit}:{ref}"])


def refuse_unknown(repository: Repository, remote: str) -> None:
    """Raise MemctlError if the repository has no remote with the name `remote`."""
    remotes = repository.remotes()
    if remote not in remotes:
        names = ", ".join(remotes)
        hint = f"the remotes are {names}" if names else "`git remote add NAME ADDRESS` adds one"
        raise MemctlError(f"there is no remote {remote!r}", hint, USAGE)
