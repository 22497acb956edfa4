"""Whether a clone is trusted: only then do agents' hooks write and show records, and the project's own templates run.

A clone is trusted by its own setting memctl.trusted, which cannot come from a remote; worktrees share it, submodules
have their own. The user can trust remotes by the setting memctl.trust, or everything by the environment variable
MEMCTL_TRUST=1.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

from memctl.git import git
from memctl.git.repository import Repository
from memctl.text.lazy_regex import lazy_regex

TRUSTED, REFUSED, UNKNOWN = "trusted", "refused", "unknown"
SETTING = "memctl.trusted"
COMMAND = f"git config {SETTING} true"
NOTICE = f"this clone is trusted from now on: hooks of agents may write here (`git config {SETTING} false` forbids it)"
_PATTERNS, _VARIABLE = "memctl.trust", "MEMCTL_TRUST"
_OFF = ("", "false", "no", "off", "0")
_IGNORED = lazy_regex(r"[\t\r\n]|(?<=/\.\.);[^/]*")  # what clients and servers leave out: `..;x` is `..`
_PLACE = r"((?:\w+://[^/]*/|[^/:]+:|)/*)(.*)"  # the server of a URL or of ssh's short form, and the path on it
_SETTINGS_PATTERN = r"^(memctl\.(trust|trusted|hookcommits)|remote\..*\.url)$"


def state(repository: Repository, environ: Mapping[str, str]) -> str:
    """Return whether the clone is trusted: TRUSTED, REFUSED (its setting memctl.trusted forbids it) or UNKNOWN.

    `environ` are the environment variables; MEMCTL_TRUST=1 among them means TRUSTED.
    """
    if environ.get(_VARIABLE, "").strip().lower() not in _OFF or is_marked(repository):
        return TRUSTED
    settings, patterns, addresses = _settings(repository)
    if SETTING in settings:
        return REFUSED if settings[SETTING].lower() in _OFF else TRUSTED
    resolved = [form for address in addresses for form in _resolved(address)] if patterns else []
    if resolved and all(any(fnmatchcase(form, pattern) for pattern in patterns) for form in resolved):
        return TRUSTED
    return UNKNOWN


def _resolved(address: str) -> list[str]:
    """Clients of HTTP and ssh resolve `..` in an address, some after decoding it."""
    from urllib.parse import unquote  # few clones are trusted by their address

    plain, before = address, ""
    while plain != before:  # %252e is %2e for a server behind another one
        plain, before = _IGNORED.sub("", unquote(plain).replace("\\", "/")), plain
    if ".." not in plain.split("/"):
        return [address]
    places = [re.fullmatch(_PLACE, form, re.DOTALL) for form in (address, plain)]
    return [place[1] + posixpath.normpath(f"/{place[2]}")[1:] for place in places if place is not None]


def grant(repository: Repository) -> None:
    """Mark the clone as trusted: set memctl.trusted in its own config. Raises GitFailed."""
    if not is_marked(repository):
        git.write(["config", "--local", "--replace-all", SETTING, "true"], repository.top)


def is_marked(repository: Repository) -> bool:
    """Return whether the clone's own config file marks it as trusted.

    The file is read without starting Git, since every hook asks.
    """
    return repository.own_setting(SETTING).lower() in ("true", "yes", "on", "1")


def is_refused(repository: Repository) -> bool:
    """Return whether the clone's own config file marks it as not trusted."""
    return repository.own_setting(SETTING).lower() in _OFF[1:]


def _settings(repository: Repository) -> tuple[dict[str, str], list[str], list[str]]:
    args = ["config", "-z", "--show-scope", "--get-regexp", _SETTINGS_PATTERN]
    fields = iter(os.fsdecode(git.try_read(args, repository.top) or b"").split("\0"))  # Git fails if none is set
    settings: dict[str, str] = {}
    patterns: list[str] = []
    addresses: list[str] = []
    for scope, item in zip(fields, fields, strict=False):
        key, has_value, value = item.partition("\n")
        value = value if has_value else "true"
        if key == _PATTERNS:
            # A clone can't change Git's settings of these scopes.
            patterns += [value] if scope in ("system", "global", "command") else []
        elif key.startswith("remote."):
            addresses.append(value)
        else:
            settings[key] = value
    return settings, patterns, addresses
