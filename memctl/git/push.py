"""Pushing, and telling apart who was only late from who is refused, and both from a connection that broke."""

from __future__ import annotations

import os
from collections.abc import Sequence

from memctl.git import git
from memctl.git.repository import Repository

_VERDICT, _UNKNOWN = "! [", "! [remote failure]"  # git-push(1), "OUTPUT": the latter means that it did not answer
# What Git's verdict on a ref says if somebody else pushed at the same moment; each side of a race may see another of
# these. Only the verdict is looked at: a hook of the remote's may say the same words and mean something else.
_RACES = (
    "fetch first", "non-fast-forward", "cannot lock ref", "failed to update ref", "incorrect old value",
    "failed to lock", "stale info", "reference already exists", "but expected", "unable to resolve reference",
)  # fmt: skip


class PushRefused(Exception):
    """The remote, or a hook, does not take what is pushed: `why`, in its own words. Nothing has happened there."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def run_push(repository: Repository, args: Sequence[str]) -> bool:
    """Run `git push` with some arguments; False if somebody else was first.

    A hook of the user's knows that it is memctl which pushes. Raises PushRefused if the remote says no, GitFailed for
    anything else, such as a connection that broke: then the remote may have taken it or not.
    """
    try:
        git.write(["push", *args], repository.top, extra={**git.ENGLISH, git.COMMITTING: str(os.getpid())})
        return True
    except git.GitFailed as error:
        answer = error.stderr.strip()
        lines = [line.strip() for line in answer.splitlines()]
        verdicts = [line for line in lines if line.startswith(_VERDICT) and not line.startswith(_UNKNOWN)]
        if any(words in line for words in _RACES for line in verdicts):
            return False
        if verdicts:
            raise PushRefused(error.said) from None
        raise
