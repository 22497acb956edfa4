"""Saying once in a clone how to get the pages of sessions that a remote keeps beside its branches."""

from __future__ import annotations

from pathlib import Path

from memctl.git import hook_commits, private
from memctl.store import sessions_ref
from memctl.store.memory import Memory

_SAID = "elsewhere"


def line(memory: Memory, root: Path) -> str:
    """What to say, "" if nothing: there are such pages here, nobody keeps any there, or it was said before."""
    repository = memory.repository
    if sessions_ref.now(memory) or (root / _SAID).exists():
        return ""
    are_kept_there = repository.own_setting(hook_commits.SETTING).lower() == hook_commits.RECORDS
    if not are_kept_there and not (repository.common_dir / "refs" / "memctl" / "remotes").is_dir():
        return ""
    from memctl.write import install  # mostly there is nothing to say

    remote = install.fetched_remote(repository)
    if not remote:
        return ""
    is_known = bool(repository.tip(sessions_ref.tracking(remote)))
    if not is_known and not are_kept_there:
        return ""
    private.make_file(root / _SAID)
    return f"Pages of earlier sessions may be at {remote} and are not here yet: `memctl sync` brings them. (memctl)\n"
