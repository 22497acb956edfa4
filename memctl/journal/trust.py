"""Whether a clone is trusted: only in such a one hooks of agents write and speak, and templates of the project run.

A clone says so itself by the setting memctl.trusted, which cannot come from a remote; worktrees share it, submodules
have their own. The user says it of remotes by memctl.trust, or of everything at once by MEMCTL_TRUST=1.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from memctl.journal import git, hook_commits
from memctl.journal.repository import Repository

TRUSTED, REFUSED, UNKNOWN = "trusted", "refused", "unknown"
SETTING = "memctl.trusted"
COMMAND = f"git config {SETTING} true"
_PATTERNS, _VARIABLE = "memctl.trust", "MEMCTL_TRUST"
_OFF = ("", "false", "no", "off", "0")
_USERS = ("system", "global", "command")  # scopes of Git's settings that no clone has a say in
_ASKED = r"^(memctl\.(trust|trusted|hookcommits)|remote\..*\.url)$"
# How the reflog calls a commit that was made right there; one that was pulled, picked or amended may be another's.
_COMMITTED = ("commit: docs(memory)", "commit (initial): docs(memory)")
_IMPORTED = "fast-import"  # which names no subject
_MOST_BYTES = 8 * 1024 * 1024  # of one reflog, from its end
_MOST_IMPORTED = 200  # commits that are looked at


def look(repository: Repository, environ: Mapping[str, str]) -> str:
    """Return TRUSTED, REFUSED where the clone's setting says no, or UNKNOWN.

    In a clone that was at work before there was this setting, it is set now, and what hooks commit stays as it was.
    """
    if environ.get(_VARIABLE, "").strip().lower() not in _OFF or is_marked(repository):
        return TRUSTED
    said, patterns, addresses = _settings(repository)
    if SETTING in said:
        return REFUSED if said[SETTING].lower() in _OFF else TRUSTED
    if _was_at_work(repository):
        with suppress(git.GitFailed):  # of a folder that can't be written: it is found out again
            if hook_commits.SETTING.lower() not in said:
                git.write(["config", "--local", hook_commits.SETTING, hook_commits.ALL], repository.top)
            _mark(repository)
        return TRUSTED
    is_users = bool(addresses) and all(any(fnmatchcase(one, pattern) for pattern in patterns) for one in addresses)
    return TRUSTED if is_users else UNKNOWN


def grant(repository: Repository) -> None:
    """Trust a clone from now on. Raises GitFailed."""
    look(repository, {})  # what an earlier memctl has done here goes on as it was
    if not is_marked(repository):
        _mark(repository)


def _mark(repository: Repository) -> None:
    git.write(["config", "--local", "--replace-all", SETTING, "true"], repository.top)


def is_marked(repository: Repository) -> bool:
    """Whether the clone's own settings plainly say that it is trusted: read without Git, for every hook asks."""
    return own_setting(repository, "trusted").lower() in ("true", "yes", "on", "1")


def is_refused(repository: Repository) -> bool:
    """Whether the clone's own settings plainly say that it is not trusted."""
    return own_setting(repository, "trusted").lower() in _OFF[1:]


def own_setting(repository: Repository, name: str) -> str:
    """The last value of memctl.NAME in the clone's own file of settings, as it is written there; "" if it has none."""
    section, found = "", ""
    for line in _config(repository).splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line.lower()
        elif section == "[memctl]":
            key, _, value = line.partition("=")
            found = value.strip() if key.strip().lower() == name.lower() else found
    return found


def _config(repository: Repository) -> str:
    try:
        return (repository.common_dir / "config").read_text("utf-8", "replace")
    except OSError:
        return ""


def _settings(repository: Repository) -> tuple[dict[str, str], list[str], list[str]]:
    """What Git's settings say: values of memctl's by name, the user's patterns, and the addresses of all remotes."""
    try:
        out = os.fsdecode(git.read(["config", "-z", "--show-scope", "--get-regexp", _ASKED], repository.top))
    except git.GitFailed:
        return {}, [], []  # nothing of it is set
    fields = iter(out.split("\0"))
    said: dict[str, str] = {}
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
            said[key] = value
    return said, patterns, addresses


def _was_at_work(repository: Repository) -> bool:
    """Whether an earlier memctl was set up in this clone, or has made a commit here."""
    shared = repository.shared / "installed"
    if '[merge "memctl-record"]' in _config(repository) or (shared.is_dir() and any(shared.iterdir())):
        return True
    imported: list[str] = []
    for line in _reflogs(repository):
        head, _, said = line.partition("\t")
        if said.startswith(_COMMITTED):
            return True
        if said == _IMPORTED:
            imported.append(head.split()[1])
    return _are_ours(repository, list(dict.fromkeys(imported))[-_MOST_IMPORTED:])


def _are_ours(repository: Repository, commits: list[str]) -> bool:
    """Whether memctl made one of some commits."""
    if not commits:
        return False
    from memctl.journal import message

    found = (one.data for one in repository.objects.read(commits) if one is not None and one.kind == "commit")
    texts = ((data or b"").partition(b"\n\n")[2].decode(errors="replace") for data in found)
    return any(message.parse(text).ops for text in texts)


def _reflogs(repository: Repository) -> Iterator[str]:
    """The lines of the reflogs of HEAD, in all worktrees, and of the branches."""
    logs = repository.common_dir / "logs"
    heads = [logs / "HEAD", *sorted((repository.common_dir / "worktrees").glob("*/logs/HEAD"))]
    for file in (*heads, *sorted((logs / "refs" / "heads").rglob("*"))):
        with suppress(OSError, IndexError):
            yield from _end(file).decode(errors="replace").splitlines()


def _end(file: Path) -> bytes:
    with open(file, "rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - _MOST_BYTES))
        return stream.read()
