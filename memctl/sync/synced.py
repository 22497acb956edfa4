"""What a sync came to, as a value."""

from __future__ import annotations

import msgspec

from memctl.git.remotes import Upstream
from memctl.sync.assembling import Made


class Synced(msgspec.Struct, frozen=True):
    """What a sync came to, or in a dry run would come to.

    `before` is our commit, `theirs` the remote's, `commit` the one that both are at now; `made` is the merge, None if
    one side had nothing new. `fetched` counts the commits that are new here, `pushed` those that are new there, and
    `foreign` those of them that touch something outside of the memory. `coordination` is the commit of the state that
    agents share, `taken` whether something of it is new here, `given` whether something is new there, `gave_way` what
    of ours did, or is to be looked at; `settled` what ownership became because handoffs were answered twice.
    `has_state` says that the state came here together with the branch, and pages of sessions too; `sessions_taken` and
    `sessions_given` say of these what `taken` and `given` say of the state, and `sessions_redacted` names the files
    (below the worktree's top) out of which a credential was taken before the push.
    """

    upstream: Upstream
    before: str
    theirs: str
    commit: str
    made: Made | None = None
    fetched: int = 0
    pushed: int = 0
    foreign: int = 0
    tries: int = 1
    has_state: bool = False
    coordination: str = ""
    taken: bool = False
    given: bool = False
    gave_way: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()
    sessions_taken: bool = False
    sessions_given: bool = False
    sessions_redacted: tuple[str, ...] = ()
    warning: str = ""
