"""`git push`, with three kinds of failure: another push came first, the push was refused, or the connection broke."""

from __future__ import annotations

import os
from collections.abc import Sequence

from memctl.git import git
from memctl.git.repository import Repository

# git-push(1), "OUTPUT": the second one if the remote did not answer
_VERDICT, _UNKNOWN, _REJECTED = "! [", "! [remote failure]", "! [remote rejected]"
# Git's verdict on a ref contains one of these if somebody else pushed at the same moment; the sides of a race may get
# different ones. Other lines are not searched: a hook of the remote may print the same words with another meaning.
_RACES = (
    "fetch first", "non-fast-forward", "cannot lock ref", "failed to update ref", "incorrect old value",
    "failed to lock", "stale info", "reference already exists", "but expected", "unable to resolve reference",
)  # fmt: skip


class PushRefused(Exception):
    """Raised if the remote or a hook refuses a push; `why` is their own message. The remote is unchanged.

    `reason` is the remote's verdict in a few words, such as "pre-receive hook declined"; "" if a hook of this clone
    refused.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
        self.reason = why.partition(_REJECTED)[2].partition("\n")[0].rpartition("(")[2].rstrip(") ")


def run_push(repository: Repository, args: Sequence[str]) -> bool:
    """Run `git push` with some arguments, and return False if another push changed the remote's ref first.

    The environment variable MEMCTL_COMMITTING shows hooks that memctl pushes. Raises PushRefused, or GitFailed for any
    other failure, such as a broken connection, after which the remote may or may not have taken the push.
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
            raise PushRefused(error.output) from None
        raise
