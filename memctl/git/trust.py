"""Whether a clone is trusted: only in such a one hooks of agents write and speak, and templates of the project run.

A clone says so itself by the setting memctl.trusted, which cannot come from a remote; worktrees share it, submodules
have their own. The user says it of remotes by memctl.trust, or of everything at once by MEMCTL_TRUST=1.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from fnmatch import fnmatchcase

from memctl.git import git
from memctl.git.repository import Repository

TRUSTED, REFUSED, UNKNOWN = "trusted", "refused", "unknown"
SETTING = "memctl.trusted"
COMMAND = f"git config {SETTING} true"
_PATTERNS, _VARIABLE = "memctl.trust", "MEMCTL_TRUST"
_OFF = ("", "false", "no", "off", "0")
_USERS = ("system", "global", "command")  # scopes of Git's settings that no clone has a say in
_ASKED = r"^(memctl\.(trust|trusted|hookcommits)|remote\..*\.url)$"


def look(repository: Repository, environ: Mapping[str, str]) -> str:
    """Return TRUSTED, REFUSED where the clone's setting says no, or UNKNOWN.

    What costs least is asked first, and the reflogs last. In a clone that was at work before there was this setting, it
    is set now, and what hooks commit stays as it was.
    """
    if environ.get(_VARIABLE, "").strip().lower() not in _OFF or is_marked(repository):
        return TRUSTED
    found, patterns, addresses = _settings(repository)
    if SETTING in found:
        return REFUSED if found[SETTING].lower() in _OFF else TRUSTED
    if addresses and all(any(fnmatchcase(one, pattern) for pattern in patterns) for one in addresses):
        return TRUSTED
    from memctl.git import earlier_use, hook_commits  # mostly the setting says it

    if earlier_use.was_at_work(repository):
        with suppress(git.GitFailed):  # of a folder that can't be written: it is found out again
            hook_commits.keep_all(repository)
            _mark(repository)
        return TRUSTED
    return UNKNOWN


def grant(repository: Repository) -> None:
    """Trust a clone from now on; what an earlier memctl has done here goes on as it was. Raises GitFailed."""
    if is_marked(repository):
        return
    from memctl.git import earlier_use, hook_commits

    if earlier_use.was_at_work(repository):
        hook_commits.keep_all(repository)
    _mark(repository)


def _mark(repository: Repository) -> None:
    git.write(["config", "--local", "--replace-all", SETTING, "true"], repository.top)


def is_marked(repository: Repository) -> bool:
    """Return whether the clone's own settings plainly say that it is trusted: read without Git, for every hook asks."""
    return repository.own_setting(SETTING).lower() in ("true", "yes", "on", "1")


def is_refused(repository: Repository) -> bool:
    """Return whether the clone's own settings plainly say that it is not trusted."""
    return repository.own_setting(SETTING).lower() in _OFF[1:]


def _settings(repository: Repository) -> tuple[dict[str, str], list[str], list[str]]:
    """Return what Git's settings say: values of memctl's by name, the user's patterns, and the addresses of all
    remotes."""
    try:
        out = os.fsdecode(git.read(["config", "-z", "--show-scope", "--get-regexp", _ASKED], repository.top))
    except git.GitFailed:
        return {}, [], []  # nothing of it is set
    fields = iter(out.split("\0"))
    found: dict[str, str] = {}
    patterns: list[str] = []
    addresses: list[str] = []
    for scope, item in zip(fields, fields, strict=False):
        key, has_value, value = item.partition("\n")
        value = value if has_value else "true"
        if key == _PATTERNS:
            patterns += [value] if scope in _USERS else []
        elif key.startswith("remote."):
            addresses.append(value)
        else:
            found[key] = value
    return found, patterns, addresses
