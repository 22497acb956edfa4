"""The branch of a remote that a branch of this clone goes with: which it is, fetching it, pushing to it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.git import git, refs
from memctl.git.push import PushRefused, run_push
from memctl.git.repository import Repository

_HEADS = "refs/heads/"


class Upstream(msgspec.Struct, frozen=True):
    """A branch of this clone and the one it goes with: `branch` and `ref` are whole names (refs/heads/…)."""

    branch: str
    remote: str
    ref: str

    @property
    def name(self) -> str:
        """What people call the remote's branch."""
        return f"{self.remote}/{self.ref.removeprefix(_HEADS)}"

    @property
    def tracking(self) -> str:
        """Where memctl keeps what it has fetched; the user's settings have no say in that."""
        return f"refs/memctl/remotes/{self.remote}/{self.ref.removeprefix('refs/')}"

    @property
    def turn(self) -> str:
        """The ref at the remote of who is to push to the branch next (`turns`)."""
        return f"refs/memctl/turns/{self.ref.removeprefix(_HEADS).replace('/', '%2F')}"

    @property
    def turn_tracking(self) -> str:
        """Where memctl keeps what it has fetched of that."""
        return self.turn.replace("refs/memctl/", f"refs/memctl/remotes/{self.remote}/", 1)


def upstream(repository: Repository, branch: str, given: str = "") -> Upstream:
    """What a branch goes with: what is set for it, or the branch of the same name of a remote that is `given`.

    Raises MemctlError if nothing is set, or if no remote has that name.
    """
    short = branch.removeprefix(_HEADS)
    remote, ref = (repository.following.get(f"branch.{short}.{key}", "") for key in ("remote", "merge"))
    known = repository.remotes()
    names = ", ".join(known)
    if given:
        if given not in known:
            hint = f"there are {names}" if names else "`git remote add NAME ADDRESS` adds one"
            raise MemctlError(f"there is no remote {given!r}", hint, USAGE)
        return Upstream(branch, given, ref if ref and remote == given else branch)
    if not known:
        raise MemctlError("this repository has no remote", "`git remote add NAME ADDRESS` adds one")
    if remote not in known or not ref:
        first = "origin" if "origin" in known else known[0]
        why = f"it follows {ref or remote} of this clone" if remote == "." else f"remotes: {names}"
        raise MemctlError(
            f"no branch of a remote is set for {short}, and none was given ({why})",
            f"`git push --set-upstream {first} {short}` once; or `memctl sync {first}`, if {first} has {short} already",
        )
    return Upstream(branch, remote, ref)


def fetch(repository: Repository, upstream: Upstream) -> str:
    """Bring the remote's branch here, and whose turn it is there; its commit, "" if the remote has no such branch.

    Raises MemctlError if the remote can't be reached.
    """
    return fetch_with(repository, upstream, ())[0]


def fetch_with(repository: Repository, upstream: Upstream, also: Sequence[tuple[str, str]]) -> tuple[str, bool]:
    """The same, and whether other refs were brought with them: pairs of a ref and what it becomes here."""
    turn = (upstream.turn, upstream.turn_tracking)
    return refs.fetch_with(repository, upstream.remote, upstream.ref, upstream.tracking, (turn, *also))


def default(repository: Repository, remote: str) -> str:
    """The branch that the HEAD of a remote points to, "" if none does or it can't be asked."""
    try:
        told = git.read(["ls-remote", "--symref", remote, "HEAD"], repository.top).decode(errors="replace")
    except git.GitFailed:
        return ""
    ref, _, name = told.partition("\n")[0].removeprefix("ref: ").partition("\t")
    return ref.removeprefix(_HEADS) if name == "HEAD" and ref.startswith(_HEADS) else ""


def push(repository: Repository, upstream: Upstream, commit: str) -> bool:
    """Let the remote's branch be at a commit, as `git push` does; False if somebody else was first.

    The user's pre-push hook has its say. Raises PushRefused, with what it, the remote or Git says.
    """
    try:
        return run_push(repository, [upstream.remote, f"{commit}:{upstream.ref}"])
    except git.GitFailed as error:  # a hook of the user's, or a connection that broke, perhaps when all was done
        with suppress(MemctlError):
            if refs.has(repository, fetch(repository, upstream), commit):
                return True
        raise PushRefused(error.said or error.message) from None


def apart(repository: Repository, one: str, other: str) -> tuple[int, int]:
    """How many commits each of two has that the other lacks."""
    if one == other:
        return 0, 0
    out = git.read(["rev-list", "--count", "--left-right", f"{one}...{other}"], repository.top)
    left, right = map(int, out.split())
    return left, right


def foreign(repository: Repository, new: str, old: str, folder: str) -> int:
    """How many commits that `new` has and `old` lacks touch something outside of a folder; merges do not count."""
    args = ["rev-list", "--count", "--no-merges", new, f"^{old}", "--", ".", f":(exclude,top){folder}"]
    return int(git.read(args, repository.top, literal=False))


def distance(repository: Repository) -> tuple[str, int, int] | None:
    """The branch that HEAD follows, by what was last fetched of it: its name, and how many commits HEAD is ahead and
    behind; None if it follows none."""
    try:
        args = [
            "for-each-ref",
            "--format=%(upstream:short)%00%(upstream:track,nobracket)",
            repository.branch()[0] or "-",
        ]
        name, _, track = git.read(args, repository.top).decode(errors="replace").strip("\n").partition("\0")
    except git.GitFailed:
        return None
    if not name or track == "gone":
        return None
    counts = {word: int(number) for part in track.split(", ") if part for word, _, number in [part.partition(" ")]}
    return name, counts.get("ahead", 0), counts.get("behind", 0)


def settings(repository: Repository, key: str) -> list[str]:
    """All values of a setting of Git's that may have several."""
    try:
        return os.fsdecode(git.read(["config", "-z", "--get-all", key], repository.top)).split("\0")[:-1]
    except git.GitFailed:
        return []


def setting(repository: Repository, key: str) -> str:
    """A setting of Git's, "" if there is none."""
    try:
        return os.fsdecode(git.read(["config", "--get", key], repository.top)).rstrip("\n")
    except git.GitFailed:
        return ""
