"""The result of a sync, or the plan in a dry run, as a value and as lines for people.

An interrupted sync leaves the lines behind, for the command that finishes it to print.
"""

from __future__ import annotations

import msgspec

from memctl.git.remotes import Upstream
from memctl.sync import merge_commit, merge_tree
from memctl.sync.merge_commit import MergeCommit
from memctl.text.phrases import quantity, some

_SHOWN = 5  # records or files that one line names


class SyncResult(msgspec.Struct, frozen=True):
    """The result of a sync, or in a dry run the result that it would have.

    `before` is our commit, `theirs` the remote's, and `commit` the one that both branches point to now; `made` is the
    merge, None if one side had nothing new. `fetched` counts the commits that are new here, `pushed` those new at the
    remote, and `foreign` those of the pushed ones that change files outside of the memory. `coordination` is the commit
    of the coordination state; `taken` says that something of it is new here, `given` that something is new at the
    remote. `gave_way` describes what of ours was replaced, or has to be checked, `settled` the ownership that changed
    because a handoff was answered twice. `has_state` says that the fetch of the branch brought the state and pages of
    sessions along. `sessions_taken` and `sessions_given` are like `taken` and `given` for pages of sessions;
    `sessions_redacted` are paths below the worktree's top of which a credential was removed before the push.
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


def branch_lines(done: SyncResult, *, dry_run: bool = False, push: bool = True) -> list[str]:
    """Describe what happened to the branch, a line each; no lines if there was nothing to do."""
    name = done.upstream.name
    lines = [f"fetched {count_commits(done.fetched)} of {name}"] if done.fetched else []
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
            f"{merge_tree.name_of(path)} is kept: one side deleted it, the other used it" for path in made.revived
        ]
    elif done.commit != done.before:
        lines.append(f"{'would be ' if dry_run else ''}at {done.commit[:10]}, as {name} is")
    if done.pushed:
        outside = f", {done.foreign:,} of them with changes outside of the memory" if done.foreign else ""
        lines.append(f"{'would push' if dry_run else 'pushed'} {count_commits(done.pushed)} to {name}{outside}")
    elif not push and done.commit != done.theirs:
        lines.append(f"nothing {'would be' if dry_run else 'was'} pushed; `memctl sync` pushes to {name}")
    return lines


def coordination_lines(done: SyncResult, *, dry_run: bool = False) -> list[str]:
    """Describe what happened to the coordination state and to pages of sessions, a line each; no lines if nothing
    did."""
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


def lines_before_push(planned: SyncResult) -> tuple[str, ...]:
    """Describe what happens to the branch without its push, whose outcome is unknown if the process dies during it."""
    return tuple(branch_lines(msgspec.structs.replace(planned, pushed=0)))


def count_commits(number: int) -> str:
    """Return a number of commits in words: "1 commit", "3 commits"."""
    return quantity(number, "commit")
