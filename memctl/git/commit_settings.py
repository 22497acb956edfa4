"""What a commit must know of Git's settings, asked of it ahead of time: it looks while Python goes on."""

from __future__ import annotations

import os
from collections.abc import Sequence

from memctl.git import git
from memctl.git.repository import Repository

_VARIABLES = ("var", "-l")
_ROLES = ("AUTHOR", "COMMITTER")
_MANY = 100  # paths; more are no arguments of a command but its input


class NoIdentity(Exception):
    """Git does not know who makes the commit."""


class Preparation:
    """Git commands under way: what the settings and identities are, and whether paths are ignored."""

    def __init__(self, repository: Repository, paths: Sequence[str], moment: int | None = None) -> None:
        """Begin. `paths` are to be committed; `moment` (Unix seconds) fixes the dates."""
        self.dates: dict[str, str] = {}
        if moment is not None:
            self.dates = {f"GIT_{role}_DATE": f"{moment} +0000" for role in _ROLES}
        self._repository = repository
        self._paths = tuple(paths)
        self._variables = git.start(_VARIABLES, repository.top, self.dates)
        # Without the index Git answers in half the time, and mostly there is no rule at all.
        self._ruled_args = ["check-ignore", "--no-index", "--", *paths[:_MANY]]
        # This one knows only one way to take paths, and complains of being told of another.
        self._ruled = git.start(self._ruled_args, repository.top, {"GIT_LITERAL_PATHSPECS": "0"}) if paths else None

    def identities(self) -> list[str]:
        """Author and committer with their dates, as `git commit` would have them; raises NoIdentity."""
        try:
            lines = os.fsdecode(git.finish(self._variables, _VARIABLES)).split("\n")
        except git.GitFailed:
            lines = []
        found = dict(line.split("=", 1) for line in lines if "=" in line)
        if found:
            self._repository.learn(found)
        identities = []
        for role in _ROLES:
            name = f"GIT_{role}_IDENT"
            # `git var -l` makes up what it does not know, and asked for one thing it refuses to.
            identities.append(found[name] if name in found and self._is_told(role) else self._strictly(name))
        return identities

    def ignored(self) -> str:
        """The first of the paths that Git was told to ignore, with the rule; "" if there is none."""
        if self._ruled is None or not (self._is_ruled() or self._paths[_MANY:]):
            return ""
        asked = b"\0".join(os.fsencode(path) for path in self._paths)
        try:
            out = git.read(["check-ignore", "-z", "-v", "--stdin"], self._repository.top, asked, literal=False)
        except git.GitFailed as error:
            if error.code == 1:  # the rules are about other paths, or Git has these already
                return ""
            raise
        fields = iter(out.decode(errors="replace").split("\0"))
        for source, line, pattern, path in zip(fields, fields, fields, fields, strict=False):
            if not pattern.startswith("!"):
                return f"{source}:{line}:{pattern}\t{path}"
        return ""

    def _is_ruled(self) -> bool:
        """Whether a rule is about one of the first paths, even if Git has that already."""
        assert self._ruled is not None
        try:
            git.finish(self._ruled, self._ruled_args)
        except git.GitFailed as error:
            if error.code == 1:
                return False
            raise
        return True

    def _is_told(self, role: str) -> bool:
        settings = self._repository.settings()
        return all(
            os.environ.get(f"GIT_{role}_{part.upper()}") or settings.get(f"user.{part}") for part in ("name", "email")
        )

    def _strictly(self, name: str) -> str:
        try:
            return os.fsdecode(git.read(["var", name], self._repository.top, extra=self.dates)).strip()
        except git.GitFailed:
            raise NoIdentity from None
