"""The refspec by which a plain `git fetch` brings what memctl keeps on refs of its own, beside the branches."""

from __future__ import annotations

from memctl.git import remotes
from memctl.git.repository import Repository
from memctl.write.install import InstallStep

PART = "fetch of refs/memctl"


def plan(repository: Repository) -> list[InstallStep]:
    """What adds it for the remote of the branch; nothing in a clone without a remote."""
    remote = remote_of(repository)
    if not remote:
        return []
    if is_set(repository, remote):
        return [InstallStep(PART, "unchanged")]
    return [InstallStep(PART, "installed", f"from {remote}", added=(_setting(remote),))]


def plan_removal(repository: Repository) -> list[InstallStep]:
    """What takes it away, for all remotes that have it."""
    gone = tuple(_setting(remote) for remote in repository.remotes() if is_set(repository, remote))
    return [InstallStep(PART, "removed", taken=gone)] if gone else []


def remote_of(repository: Repository) -> str:
    """The remote that the branch goes with, else origin or the only one; "" if there is none such."""
    branch = repository.branch()[0].removeprefix("refs/heads/")
    known = repository.remotes()
    followed = repository.following.get(f"branch.{branch}.remote", "")
    if followed in known:
        return followed
    return "origin" if "origin" in known else known[0] if len(known) == 1 else ""


def is_set(repository: Repository, remote: str) -> bool:
    """Whether the clone fetches all refs of memctl's from a remote."""
    key, value = _setting(remote)
    return value in remotes.settings(repository, key)


def _setting(remote: str) -> tuple[str, str]:
    return f"remote.{remote}.fetch", f"+refs/memctl/*:refs/memctl/remotes/{remote}/*"
