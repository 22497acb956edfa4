"""Search the code of a commit for words."""

from __future__ import annotations

from collections.abc import Iterable

from memctl.git import git
from memctl.git.repository import Repository
from memctl.text.lazy_regex import lazy_regex

_PROSE = ("md", "mdx", "rst", "adoc", "svg", "csv")  # suffixes of files that only speak of code
_COMMENT = lazy_regex(r"\s*(?:#|//|/?\*|--|<!--|;)")


def lines_with(repository: Repository, commit: str, patterns: Iterable[str], *, without: str) -> list[str]:
    """Return the lines of a commit's files that match an extended regular expression, in whatever case.

    Comments that are lines of their own, prose, and the files below the folder `without` are left out.
    """
    left_out = [f":(exclude,top,literal){without}", *(f":(exclude,top,icase)*.{suffix}" for suffix in _PROSE)]
    expressions = [part for pattern in patterns for part in ("-e", pattern)]
    args = ["grep", "-I", "-i", "-h", "-E", *expressions, commit, "--", ".", *left_out]
    # It fails if no line matches. A partial clone fetches nothing: what it lacks, nobody has read.
    out = git.try_read(args, repository.top, {**git.OFFLINE, "GIT_LITERAL_PATHSPECS": "0"}) or b""
    return [line for line in out.decode(errors="replace").split("\n") if line and not _COMMENT.match(line)]
