"""Git's setting memctl.hookCommits: what memctl commits by itself during an agent's session, and to which ref."""

from __future__ import annotations

from contextlib import suppress

from memctl.errors import MemctlError
from memctl.git import git
from memctl.git.repository import Repository

SETTING = "memctl.hookCommits"
# Commit everything to the branch; commit session pages and checkpoints to a ref beside it; commit nothing.
ALL, RECORDS, NONE = "all", "records", "none"
# Values of the former boolean setting; for Git a setting without a value is true.
_BOOLEANS = {"true": ALL, "yes": ALL, "on": ALL, "1": ALL, "": ALL, "false": NONE, "no": NONE, "off": NONE, "0": NONE}

_ON_BRANCH = tuple(f":(glob)**/.memory/{folder}/**" for folder in ("sessions", "checkpoints"))


class UnknownValue(MemctlError):
    """Raised if the setting memctl.hookCommits has a value that memctl does not know."""


def mode(repository: Repository) -> str:
    """Return the value of memctl.hookCommits: ALL, RECORDS or NONE, "" if it is not set; raises UnknownValue.

    ALL commits everything to the branch. RECORDS commits records to the branch, but pages of sessions and checkpoints
    to a ref of memctl's own. NONE commits nothing.
    """
    value = repository.setting(SETTING.lower())
    if value is None:
        return ""
    chosen = value if value in (ALL, RECORDS, NONE) else _BOOLEANS.get(value.lower())
    if chosen is None:
        raise UnknownValue(
            f"{SETTING} is {value[:40]!r}; it must be {ALL}, {RECORDS} or {NONE}", f"run `git config {SETTING} {ALL}`"
        )
    return chosen


def default(repository: Repository) -> str:
    """Return the default of memctl.hookCommits: RECORDS, but ALL where the branch has pages of sessions or checkpoints.

    Earlier versions committed these to a branch without an upstream, where they stay together.
    """
    branch = repository.branch()[0].removeprefix("refs/heads/")
    if repository.branch_settings.get(f"branch.{branch}.merge"):
        return RECORDS
    found = git.try_read(["ls-files", "--", *_ON_BRANCH], repository.top, {"GIT_LITERAL_PATHSPECS": "0"})
    return ALL if found else RECORDS


def decide(repository: Repository) -> str:
    """Return the value of memctl.hookCommits; if the setting is missing, set it to its default first."""
    if chosen := mode(repository):
        return chosen
    chosen = default(repository)
    with suppress(git.GitFailed):  # the config can't be written: the value is decided again next time
        git.write(["config", "--local", SETTING, chosen], repository.top)
    repository.settings()[SETTING.lower()] = chosen
    return chosen
