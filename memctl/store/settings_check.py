"""Checks of settings that have no effect because their values are invalid, for `status` and `check`."""

from __future__ import annotations

from collections.abc import Callable

from memctl.errors import MemctlError
from memctl.git import hook_commits
from memctl.record.config import DEFAULT_BRANCH
from memctl.store import changes_ref
from memctl.store.memory import Memory
from memctl.store.memory_root import CONFIG


def faults(memory: Memory) -> list[MemctlError]:
    """Return an error for each setting, in config.yaml or of Git, whose value is invalid or names a missing branch."""
    result = []
    checks: tuple[Callable[[Memory], object], ...] = (_check_hook_commits, changes_ref.is_later, _check_default_branch)
    for check in checks:
        try:
            check(memory)
        except MemctlError as error:
            result.append(error)
    return result


def _check_hook_commits(memory: Memory) -> None:
    try:
        hook_commits.mode(memory.repository)
    except hook_commits.UnknownValue as error:
        raise MemctlError(
            f"hooks of agents commit nothing, because of a setting: {error.message}", error.hint
        ) from None


def _check_default_branch(memory: Memory) -> None:
    """A clone may lack the default branch because only one branch was fetched."""
    name, repository = memory.config.default_branch, memory.repository
    if memory.config.docs != DEFAULT_BRANCH or not name:
        return
    branch = f"refs/heads/{name}"
    if repository.branch()[0] == branch or repository.tip(branch) or repository.tip(f"refs/remotes/origin/{name}"):
        return
    known = repository.default_branch("origin")
    if known or b'[remote "' not in repository.own_config().encode():
        raise MemctlError(
            f"{memory.tracked(CONFIG)}: default_branch is {name[:40]!r}, but there is no such branch, so documents are "
            "rendered on no branch",
            f"write `default_branch: {known or repository.branch()[0].removeprefix('refs/heads/')}`",
        )
