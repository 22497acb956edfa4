"""The result of a sync, or the plan of one in a dry run, as a value and as lines for people.

The lines are saved during a sync. If it is interrupted, the next command finishes it and prints them.
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

    About the branch:

    - `upstream` names the remote's branch that was merged, and `target` the one to which the sync pushes, None if it
      does not push.
    - `before` is this clone's commit before the sync, `theirs` that of the upstream, `there` that of the target ("" if
      the target is new), and `commit` the commit that this branch and the target point to now.
    - `made` is the merge, None if one side had nothing new.
    - `fetched` counts the commits that are new here, `pushed` those that are new at the target, and `foreign` those of
      the pushed ones that change files outside of the memory and that the upstream lacks, too.
    - `tries` counts the attempts: one, and one more for each time that another clone pushed first.
    - `has_state` says that the coordination state, and pages of sessions were fetched together with the branch.

    About the coordination state:

    - `coordination` is its commit. `taken` says that this clone got something new, `given` that the target's remote
      did.
    - `gave_way` describes entries of this clone that were replaced, and sections of the agent whose number now belongs
      to another section, so that the agent has to check which of the two it meant to own.
    - `settled` describes ownerships that changed because a handoff was answered twice.

    About pages of sessions:

    - `sessions_taken` says that this clone got new pages, `sessions_given` that the target's remote did.
    - `sessions_redacted` are the paths, below the worktree's top, of files from which a credential was removed before
      the push.
    - `sessions_unseen` is the user's pre-commit hook because of which pages are not pushed, "" for none.

    `refusal` is the reason that a remote gave for taking none of memctl's own refs, "" if it took them.

    `dry_run` says that nothing was changed, and `finished` names what was left unfinished before and is done now.

    `warning` names documents that could not be rendered, and what failed after the branch was synced; "" for nothing.
    """

    upstream: Upstream
    target: Upstream | None
    before: str
    theirs: str
    there: str
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
    sessions_unseen: str = ""
    refusal: str = ""
    warning: str = ""
    dry_run: bool = False
    finished: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether this branch is at another commit than before."""
        return self.commit != self.before

    @property
    def made_commit(self) -> str:
        """The commit that this branch points to now, "" for a merge that a dry run does not make."""
        return "" if self.dry_run and self.made else self.commit

    def with_warning(self, warning: str) -> SyncResult:
        """Return this result with a warning, unless it is "", after the warnings that it has."""
        return msgspec.structs.replace(self, warning="; ".join(filter(None, (self.warning, warning))))


def branch_lines(done: SyncResult, *, push: bool = True) -> list[str]:
    """Return lines about what a sync did to the branch, one for each fact; none if there was nothing to do.

    In a dry run the lines say what a sync would do. Without `push` they say that nothing was pushed.
    """
    name = done.upstream.name
    lines = [f"fetched {count_commits(done.fetched)} from {name}"] if done.fetched else []
    if (made := done.made) is not None:
        both = list(dict.fromkeys(merge_tree.name_of(path) for path in made.both))
        more = " …" if len(both) > _SHOWN else ""
        shown = f"; both sides had changed {', '.join(both[:_SHOWN])}{more}" if both else ""
        lines.append(f"{'would merge' if done.dry_run else f'merged as {done.commit[:10]}'}{shown}")
        lines += [
            f"{holder.name} {'would become' if done.dry_run else 'is now'} {holder.now}: "
            f"{merge_commit.describe_other(holder, name)}"
            for holder in made.renamed
        ]
        lines += [f"{item.id} {merge_commit.describe(item)}" for item in made.lost]
        lines += [f"{merge_tree.name_of(path)} is kept: {merge_commit.KEPT}" for path in made.revived]
    elif done.commit != done.before:
        lines.append(f"the branch {'would be' if done.dry_run else 'is'} at commit {done.commit[:10]}, like {name}")
    if done.target and done.commit != done.there:
        outside = f", {done.foreign:,} of them with changes outside of the memory" if done.foreign else ""
        only = f"; {name} is only fetched, as with `git push`" if done.target != done.upstream else ""
        verb = "would push" if done.dry_run else "pushed"
        lines.append(f"{verb} {count_commits(done.pushed)} to {done.target.name}{outside}{only}")
    elif not push and done.commit != done.theirs:
        lines.append(f"nothing {'would be' if done.dry_run else 'was'} pushed; `memctl sync` without --no-push pushes")
    return lines


def coordination_lines(done: SyncResult) -> list[str]:
    """Return lines about what a sync changed in the coordination state and in pages of sessions, one for each change.

    In a dry run the lines say what a sync would change.
    """
    lines = [f"coordination state: {line}" for line in done.gave_way]
    lines += [f"{'ownership would change' if done.dry_run else 'ownership'}: {line}" for line in done.settled]
    would = "would be " if done.dry_run else ""
    source, target = done.upstream.remote, (done.target or done.upstream).remote
    both = " and ".join(dict.fromkeys((source, target)))
    for what, is_taken, is_given in (
        ("coordination state", done.taken, done.given),
        ("pages of sessions", done.sessions_taken, done.sessions_given),
    ):
        lines += [f"{what}: {would}fetched from {both}"] if is_taken else []
        lines += [f"{what}: {would}pushed to {target}"] if is_given else []
    if done.refusal:
        lines.append(
            f"{target} takes no refs/memctl/* ({done.refusal}), so who owns what and pages of sessions stay in this "
            "clone; `git config memctl.shareRefs false` keeps memctl from trying again"
        )
    if done.sessions_unseen:
        lines.append(
            f"pages of sessions and checkpoints stay in this clone, because {done.sessions_unseen} does not see them; "
            "`git config memctl.sharePages true` lets them go to the remote"
        )
    if done.sessions_redacted:
        lines.append(
            f"pages of sessions: credentials {'would be' if done.dry_run else 'were'} removed from "
            f"{some(done.sessions_redacted, _SHOWN)} before the push; revoke these credentials"
        )
    return lines


def lines_before_push(planned: SyncResult) -> tuple[str, ...]:
    """Return lines about what a planned sync does to the branch, one for each fact, but none about the push.

    The lines are saved before the push: if the process dies during the push, nobody knows whether the remote took it.
    """
    return tuple(branch_lines(msgspec.structs.replace(planned, target=None)))


def count_commits(number: int) -> str:
    """Return a number of commits in words: "1 commit", "3 commits"."""
    return quantity(number, "commit")
