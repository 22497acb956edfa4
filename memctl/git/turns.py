"""Taking turns at a branch of a remote that many push to at once.

Who pushes often and has nothing to merge is always faster than who has, and could keep everybody else out: with eight
clones that do nothing but write and sync, one waited 65 s, 73 tries, where half of the syncs took .26 s. Backing off
can't help against that, since who wins does not know that anybody waits. So who has lost says so, by a ref at the
remote which only one can have (a push with a lease), and the others hold back while it is there. It goes with the sync.

A turn is a courtesy and no lock: a remote that does not take the ref has none, who was killed is waited for only so
long, and the branch itself is guarded by its own push.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from memctl.errors import MemctlError
from memctl.git import git, refs
from memctl.git.push import PushRefused
from memctl.git.remotes import Upstream
from memctl.git.repository import Repository

# Seconds for which others wait for a turn: a sync takes one or two, a process that was killed for ever.
_PATIENCE = 10.0
_TRIES = 5  # to take a turn that are lost without anybody's being seen: then something else is in the way
# The empty tree, by SHA-1 and by SHA-256: a ref at that is a turn that is over.
_OVER = (
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
)


class Turn:
    """Our turn at a branch, if it is ours, and what was seen of those of others."""

    def __init__(self, repository: Repository, upstream: Upstream) -> None:
        self._repository = repository
        self._remote = upstream.remote
        self._ref = upstream.turn
        self._tracking = upstream.turn_tracking
        self._mine = ""
        self._seen = ""
        self._since = 0.0
        self._lost = 0
        self._is_refused = False

    @property
    def is_anothers(self) -> bool:
        """Whether another clone's turn is under way, as far as the last fetch knows, and not for too long already."""
        found = self._anothers
        if not found:
            return False
        self._lost = 0
        if found != self._seen:
            self._seen, self._since = found, time.monotonic()
        return time.monotonic() - self._since < _PATIENCE

    def take(self, who: str) -> bool:
        """Whether it is our turn from now on: nobody else's is under way. A remote may have it that nobody has any."""
        found = refs.tip(self._repository, self._tracking)
        if self._is_refused or (self._mine and found == self._mine):
            return True
        text = f"memctl: {who} waits to push\n\n{os.urandom(8).hex()}\n"  # no two are the same
        commit = refs.write_commit(self._repository, {}, (), text)
        try:
            if not self._push(commit, found):
                self._lost += 1
                self._is_refused = self._lost >= _TRIES
                return self._is_refused
        except PushRefused:
            self._is_refused = True
            return True
        except git.GitFailed:  # the connection broke, and the remote may have it
            pass
        self._mine = commit
        return True

    def clear_away(self) -> None:
        """End a turn that was waited for in vain; who was killed does not, and every later sync would wait for it."""
        if found := self._anothers:
            self._end(found)

    def give_back(self) -> None:
        """Let others have theirs."""
        if self._mine:
            self._end(self._mine)
            self._mine = ""

    @property
    def _anothers(self) -> str:
        """The turn of another clone, however old, as far as the last fetch knows; "" for none."""
        found = refs.tip(self._repository, self._tracking)
        return found if found not in (self._mine, *_OVER) else ""

    def _end(self, turn: str) -> None:
        with suppress(MemctlError, PushRefused):  # after a while nobody waits for it any more
            try:
                self._push("", turn)
            except PushRefused:  # some remotes let no ref go
                self._push(git.write(["mktree"], self._repository.top, b"").decode().strip(), turn)

    def _push(self, commit: str, expected: str) -> bool:
        return refs.push(self._repository, self._remote, self._ref, commit, expected)
