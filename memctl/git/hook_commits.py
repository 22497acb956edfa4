"""What of an agent's session memctl commits, and where: Git's setting memctl.hookCommits."""

from __future__ import annotations

from contextlib import suppress

from memctl.errors import MemctlError
from memctl.git import git
from memctl.git.repository import Repository

SETTING = "memctl.hookCommits"
# Everything on the branch; pages of sessions and checkpoints on a ref beside it; nothing.
ALL, RECORDS, NONE = "all", "records", "none"
# What was a setting that is on or off; Git takes one without a value for one that is on.
_BEFORE = {"true": ALL, "yes": ALL, "on": ALL, "1": ALL, "": ALL, "false": NONE, "no": NONE, "off": NONE, "0": NONE}


class UnknownValue(MemctlError):
    """The setting has a value that means nothing."""


def mode(repository: Repository) -> str:
    """ALL, RECORDS or NONE, "" if nothing is set; raises UnknownValue."""
    value = repository.settings().get(SETTING.lower())
    if value is None:
        return ""
    if value in (ALL, RECORDS, NONE):
        return value
    known = _BEFORE.get(value.lower())
    if known is None:
        raise UnknownValue(
            f"{SETTING} is {value[:40]!r}", f"it is one of {ALL}, {RECORDS} and {NONE} (`git config {SETTING} {ALL}`)"
        )
    return known


def default(repository: Repository) -> str:
    """Return what is set for hooks that are new here: RECORDS on a branch that others have, too, else ALL.

    Where an earlier memctl was at work, which committed all, and trust comes from elsewhere than the clone, it is ALL.
    """
    from memctl.git import earlier_use  # mostly something is set

    if not repository.own_setting("memctl.trusted") and earlier_use.was_at_work(repository):
        return ALL
    branch = repository.branch()[0].removeprefix("refs/heads/")
    return RECORDS if repository.following.get(f"branch.{branch}.merge") else ALL


def keep_all(repository: Repository) -> None:
    """Let hooks that an earlier memctl has set up go on to commit all, if nothing is set. Raises GitFailed."""
    if SETTING.lower() not in repository.settings():
        git.write(["config", "--local", SETTING, ALL], repository.top)
        repository.settings()[SETTING.lower()] = ALL


def decide(repository: Repository) -> str:
    """Return what is set; and where nothing is, set the default."""
    found = mode(repository)
    if found:
        return found
    found = default(repository)
    with suppress(git.GitFailed):  # of a folder that can't be written: it is decided anew
        git.write(["config", "--local", SETTING, found], repository.top)
    repository.settings()[SETTING.lower()] = found
    return found
