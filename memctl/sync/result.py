"""What a sync came to, or would come to: as a value, and in lines for people.

A sync that is interrupted leaves the lines for the next command, which finishes it.
"""

from __future__ import annotations

import msgspec

from memctl.git.remotes import Upstream
from memctl.sync import merge_commit, merge_tree
from memctl.sync.merge_commit import MergeCommit
from memctl.text.phrases import quantity, some

_SHOWN = 5  # records or files that one line names


class SyncResult(msgspec.Struct, frozen=True):
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
    made: MergeCommit | None = None
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


def branch(done: SyncResult, *, dry_run: bool = False, push: bool = True) -> list[str]:
    """Return what became of the branch; nothing if there was nothing to do."""
    name = done.upstream.name
    lines = [f"fetched {commits(done.fetched)} of {name}"] if done.fetched else []
    if (made := done.made) is not None:
        both = list(dict.fromkeys(merge_tree.name_of(path) for path in made.both))
        more = " …" if len(both) > _SHOWN else ""
        shown = f"; both sides had changed {', '.join(both[:_SHOWN])}{more}" if both else ""
        lines.append(f"{'would merge' if dry_run else f'merged as {done.commit[:10]}'}{shown}")
        lines += [
            f"{one.name} {'would become' if dry_run else 'is now'} {one.now}: {name} has another {one.name}"
            for one in made.renamed
        ]
        lines += [f"{item.id} {merge_commit.describe(item)}" for item in made.lost]
        lines += [
            f"{merge_tree.name_of(path)} is kept: one side deleted it, the other went on" for path in made.revived
        ]
    elif done.commit != done.before:
        lines.append(f"{'would be ' if dry_run else ''}at {done.commit[:10]}, as {name} is")
    if done.pushed:
        outside = f", {done.foreign:,} of them with changes outside of the memory" if done.foreign else ""
        lines.append(f"{'would push' if dry_run else 'pushed'} {commits(done.pushed)} to {name}{outside}")
    elif not push and done.commit != done.theirs:
        lines.append(f"nothing {'would be' if dry_run else 'was'} pushed; `memctl sync` pushes to {name}")
    return lines


def coordination(done: SyncResult, *, dry_run: bool = False) -> list[str]:
    """Return what became of the state that agents share and of pages of sessions; nothing if there was
    nothing to do."""
    remote = done.upstream.remote
    lines = [f"coordination: {line}" for line in done.gave_way]
    lines += [f"{'ownership would follow' if dry_run else 'ownership'}: {line}" for line in done.settled]
    would = "would be " if dry_run else ""
    for what, is_taken, is_given in (
        ("coordination", done.taken, done.given),
        ("pages of sessions", done.sessions_taken, done.sessions_given),
    ):
        lines += [f"{what}: {would}fetched from {remote}"] if is_taken else []
        lines += [f"{what}: {would}pushed to {remote}"] if is_given else []
    if done.sessions_redacted:
        lines.append(
            f"pages of sessions: credentials {'would be' if dry_run else 'were'} taken out of "
            f"{some(done.sessions_redacted, _SHOWN)} before the push; have them revoked"
        )
    return lines


def unfinished(planned: SyncResult) -> tuple[str, ...]:
    """Return what became of the branch, but for the push, of which nobody knows if the process dies in the middle of
    it."""
    return tuple(branch(msgspec.structs.replace(planned, pushed=0)))


def commits(number: int) -> str:
    """Return a number of commits in words."""
    return quantity(number, "commit")
