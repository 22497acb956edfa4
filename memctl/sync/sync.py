"""Sync a branch with that of a remote: fetch, merge, render, push, and only then update the worktree.

What is pushed goes where `git push` would push it, which need not be where it was fetched from. Commits of code go to
a remote's default branch only if the user says so.

The merge commit is pushed before any local branch has it. If another clone pushes first, the merge commit is dropped,
and a new one is made on top of the other clone's. So such a race leaves no trace in the history. If the remote or a
hook refuses the push, this clone stays as it was.

A sync refuses to publish two kinds of faults that a merge by Git may have left: conflict markers, and ids that two
records share. It does not refuse a fault that the remote has already.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from shlex import join, quote

import msgspec

from memctl.check import run
from memctl.check.cached_renderer import CachedRenderer
from memctl.check.findings import CheckContext, Finding
from memctl.errors import MemctlError
from memctl.git import commits, git, refs, remotes
from memctl.git.commits import CommitPending
from memctl.git.push import PushRefused
from memctl.git.remotes import SyncTurn, Upstream
from memctl.record.snapshot import Snapshot
from memctl.store import load, lock, pending_state, sessions_ref
from memctl.store.memory import Memory
from memctl.store.memory_root import FOLDER
from memctl.sync import merge_commit, reconcile_ownership, result, session_pages
from memctl.sync.result import SyncResult
from memctl.team import coordination_ref, remote_state
from memctl.text.phrases import quantity, some
from memctl.write import checkout_log, commit, documents, recovery
from memctl.write import handoffs as write_handoffs
from memctl.write.checkout_log import Move

# Seconds in which other clones may be first again and again. Who has lost takes a turn (`git/remotes.py`).
_GIVE_UP_AFTER = 600.0
_TRIES = 20  # that are lost although the remote's branch stays where it is: that is no race
_LOST = 1  # tries that somebody loses before asking for a turn
_PAUSE = 0.1  # seconds, at most, after a try that was lost
_POLL = 0.5  # seconds, at most, to the second look at whose turn it is, and less and less to those that follow
_SHOWN = 5  # commits that a message names
_NO_PUSH = "`memctl sync --no-push` merges the remote's changes"


Report = Callable[[SyncResult], None]


class Options(msgspec.Struct, frozen=True):
    """Whether a sync pushes, whether commits of code may go to a default branch, and whether it only shows a plan."""

    push: bool = True
    with_code: bool = False
    dry_run: bool = False


class Route(msgspec.Struct, frozen=True):
    """Where a sync fetches from (`upstream`) and pushes to (`target`, None for nowhere), and its `options`."""

    upstream: Upstream
    target: Upstream | None
    options: Options


def sync(memory: Memory, remote: str, options: Options, report: Report = lambda _: None) -> SyncResult:
    """Sync the branch of HEAD, the coordination state and pages of sessions with those of a remote.

    `remote` is the remote's name, "" for the remote of the branch's upstream. `report` is called with the result as
    soon as the branch is synced, since the rest may be interrupted.

    Raises MemctlError if the branch can't be synced. Then this clone is as it was, with two exceptions: what was
    fetched stays, and pending changes are committed. A dry run moves no branch and changes no file, and raises the same
    errors as a sync.
    """
    with lock.hold(memory.repository.shared / "sync.lock"):
        if not options.dry_run and _head(memory):
            memory.remarks += write_handoffs.take_over_answers(memory)
        done = sync_branch(memory, remote, options, report)
        known = memory.repository.remotes() if remote_state.is_shared(memory) else ()
        for name in dict.fromkeys((done.upstream.remote, (done.target or done.upstream).remote)):
            done = _sync_refs(memory, done, name, dry_run=options.dry_run) if name in known else done
        if not options.dry_run and any(write_handoffs.without_record(memory, load.disk(memory))):
            with suppress(git.GitFailed):  # a branch that is not synced may have it
                git.write(["fetch", "--quiet", done.upstream.remote], memory.repository.top)
        return msgspec.structs.replace(done, finished=tuple(memory.remarks))


def sync_branch(memory: Memory, remote: str, options: Options, report: Report = lambda _: None) -> SyncResult:
    """Sync the branch of HEAD as `sync` does, and nothing else."""
    upstream = remotes.upstream(memory.repository, _head(memory)[0], remote)
    target = remotes.push_target(memory.repository, upstream, remote) if options.push else None
    turn = SyncTurn(memory.repository, upstream)
    try:
        return _try_until_pushed(memory, Route(upstream, target, options), report, turn)
    finally:
        turn.release()


def _sync_refs(memory: Memory, done: SyncResult, remote: str, *, dry_run: bool) -> SyncResult:
    """The refs are pushed only if the branch is."""
    push = done.target is not None and done.target.remote in (remote, refs.push_address(memory.repository, remote))
    done = reconcile_ownership.sync_ownership(memory, done, remote, push=push, dry_run=dry_run)
    try:
        return session_pages.sync_pages(memory, done, remote, push=push and not done.refusal, dry_run=dry_run)
    except PushRefused as error:
        return msgspec.structs.replace(done, refusal=error.reason)
    except MemctlError as error:  # the branch is done: what goes wrong here is a warning
        return done.with_warning(f"the pages of sessions could not be synced with {remote}: {error.message}")


def _try_until_pushed(memory: Memory, route: Route, report: Report, turn: SyncTurn) -> SyncResult:
    upstream, target, dry_run = route.upstream, route.target, route.options.dry_run
    goal = target or upstream
    takes_turns = target == upstream and not dry_run and remote_state.is_shared(memory)
    deadline = time.monotonic() + _GIVE_UP_AFTER
    number = 1
    seen: list[str] = []
    for rounds in count(1):
        theirs, has_state = _fetch(memory, upstream)
        if takes_turns and not _is_our_turn(memory, theirs, turn, number) and time.monotonic() < deadline:
            time.sleep(random.random() * _POLL / rounds**0.5)
            continue
        there = theirs
        if goal != upstream:
            there = refs.fetch(memory.repository, goal.remote, goal.ref, goal.tracking_ref)
        with lock.hold(memory.repository.shared / "lock"):
            memory.asked = None
            _recover(memory, theirs, dry_run=dry_run)
            _commit_waiting(memory, dry_run=dry_run)
            branch, ours = _head(memory)
            if branch != upstream.branch:
                raise MemctlError(
                    "another branch was checked out while `memctl sync` was running", "run `memctl sync` again"
                )
            planned = _plan(memory, route, (ours, theirs, there))
            if _carry_out(memory, planned, dry_run=dry_run):
                planned = msgspec.structs.replace(planned, tries=number, has_state=has_state)
                report(planned)
                if not dry_run:
                    checkout_log.drop(memory)  # it is reported now: else the next command reports it
                return planned
        seen.append(there)
        if seen.count(there) == _TRIES:
            raise MemctlError(
                f"{goal.name} has refused {_TRIES} pushes, although no other clone has pushed",
                f"nothing was changed here; a killed process may have left the file {goal.ref}.lock in the "
                "remote repository: delete it",
            )
        if time.monotonic() > deadline:
            break
        number += 1
        time.sleep(random.random() * _PAUSE)
    raise MemctlError(
        f"for {_GIVE_UP_AFTER:.0f} s other clones always pushed to {goal.name} first; nothing was changed here",
        "run `memctl sync` again when fewer clones push",
    )


def _is_our_turn(memory: Memory, theirs: str, turn: SyncTurn, number: int) -> bool:
    """A clone that lost a race takes a turn, and others wait for it; a clone with nothing to push never waits."""
    if turn.is_claimed_elsewhere:
        return refs.contains(memory.repository, theirs, memory.repository.branch()[1])
    if number > _LOST:
        return turn.claim(memory.actor)
    turn.end_stale_claim()
    return True


def _recover(memory: Memory, theirs: str, *, dry_run: bool) -> None:
    move = checkout_log.read(memory)
    if dry_run:
        if move:
            memory.remarks.append(
                f"{move.why} was interrupted: `memctl sync` finishes it first, and then does what is shown here"
            )
        return
    recovery.recover(memory)
    if move and move.pushed and refs.contains(memory.repository, theirs, move.new):
        memory.remarks.append(f"{move.why} was interrupted after it had pushed {result.count_commits(move.pushed)}")


def _commit_waiting(memory: Memory, *, dry_run: bool) -> None:
    """The caller holds the write lock, so that what another process is writing does not count as waiting."""
    if dry_run:
        waiting = [entry.change for entry in pending_state.open_entries(memory) if not (entry.held or entry.undone)]
        memory.remarks += [
            f"this change is not committed yet, and `memctl sync` commits it first: {outcome.op} {outcome.title}"
            for outcome in waiting
        ]
        return
    for made in commit.commit_remaining(memory):
        what = f"{made.change.op} {made.change.title}"
        if made.pending:
            raise MemctlError(f"an earlier change ({what}) can't be committed: {made.pending}", made.hint)
        memory.remarks.append(f"committed an earlier change as {made.commit[:10]}: {what}")
        memory.asked = None
    if held := [entry for entry in pending_state.open_entries(memory) if entry.held and not entry.undone]:
        memory.remarks.append(f"not synced, since not committed yet: {quantity(len(held), 'change')} (`memctl commit`)")


def _head(memory: Memory) -> tuple[str, str]:
    """Raises MemctlError if nothing can be merged into the branch now."""
    try:
        commits.forbid_if_unsafe(memory.repository)
    except CommitPending as error:
        raise MemctlError(
            f"`memctl sync` can't run now: {error.why}", "finish or abort that first; `git status` says how"
        ) from None
    branch, ours = memory.repository.branch()
    if not branch:
        raise MemctlError("HEAD is detached: there is no branch to sync", "run `git switch BRANCH` first")
    if not ours:
        raise MemctlError(
            f"the branch {branch.removeprefix('refs/heads/')} has no commit yet", "run `memctl commit` first"
        )
    return branch, ours


def _fetch(memory: Memory, upstream: Upstream) -> tuple[str, bool]:
    state = (coordination_ref.ref(memory), coordination_ref.tracking_ref(memory, upstream.remote))
    pages = (sessions_ref.REF, sessions_ref.remote_ref(upstream.remote))
    theirs, has_state = remotes.fetch(memory.repository, upstream, (state, pages))
    if not theirs:
        short = upstream.branch.removeprefix("refs/heads/")
        name = upstream.ref.removeprefix("refs/heads/")
        hint = f"`git push --set-upstream {upstream.remote} {short}` creates it"
        default = remotes.default(memory.repository, upstream.remote)
        if default and default != name:
            other = quote(f"{upstream.remote}/{default}")  # a remote may name its branches as it likes
            hint += f"; if it was renamed to {default} there, run `git fetch {upstream.remote}` and then"
            hint += f" `git branch -u {other}`"
        raise MemctlError(f"{upstream.remote} has no branch {name}: it was never pushed, or was deleted there", hint)
    return theirs, has_state


def _plan(memory: Memory, route: Route, sides: tuple[str, str, str]) -> SyncResult:
    """Return the result that a sync of the commits of this branch, the upstream and the target will have.

    A merge commit is in the object store already, on no ref. Raises MemctlError if they can't be merged or pushed.
    """
    repository, (ours, theirs, there), (upstream, target) = memory.repository, sides, (route.upstream, route.target)
    ahead, behind = remotes.ahead_behind(repository, ours, theirs)
    bases = [theirs] if not behind else [ours] if not ahead else repository.merge_bases("--all", ours, theirs)
    merge_commit.refuse_unfit(memory, upstream, theirs, bases)
    made, new = None, ours if ahead else theirs
    if ahead and behind:
        _verify(memory, upstream, theirs)
        made, snapshot = merge_commit.assemble(memory, upstream, ours, theirs, bases)
        new = made.commit
    pushed, foreign = 0, 0
    if target and new != there:
        known = [commit for commit in dict.fromkeys((theirs, there)) if commit]
        pushed, lacking = remotes.ahead_behind(repository, new, there or theirs)
        if lacking:
            words = ["memctl", "sync", target.remote]
            if target.remote not in repository.remotes():  # but an address
                words = ["git", "pull", target.remote, target.ref.removeprefix("refs/heads/")]
            words = ["memctl", "sync", target.remote]
            if target.remote not in repository.remotes():  # but an address
                words = ["git", "pull", target.remote, target.ref.removeprefix("refs/heads/")]
            raise MemctlError(
                f"{target.name}, to which `git push` pushes this branch, has {result.count_commits(lacking)} that it "
                f"lacks; nothing was changed",
                f"`{join(words)}` merges {target.name}",
            )
        refuse_unsound(memory, snapshot if made else merge_commit.near_worktree(memory, new), there or theirs)
        outside = remotes.commits_outside(repository, new, known, FOLDER)
        foreign = len(outside)
        if outside and not route.options.with_code and _is_default_branch(memory, target):
            raise _code(target, outside)
    warning = made.warning if made else ""
    return SyncResult(
        upstream, target, ours, theirs, there, new, made, behind, pushed, foreign, warning=warning,
        dry_run=route.options.dry_run,
    )  # fmt: skip


def _is_default_branch(memory: Memory, target: Upstream) -> bool:
    """If the remote names no default branch, what Git knew when it made the clone counts, and else a usual name."""
    repository, remote = memory.repository, target.remote
    named = {remotes.default(repository, remote) or repository.default_branch(remote), memory.config.default_branch}
    return target.ref.removeprefix("refs/heads/") in (named - {""} or {"main", "master"})


def _code(target: Upstream, outside: list[str]) -> MemctlError:
    change = "changes" if len(outside) == 1 else "change"
    return MemctlError(
        f"{target.name} is the default branch of {target.remote}, and {result.count_commits(len(outside))} to push "
        f"{change} files outside of the memory:\n  {some(outside, _SHOWN, chr(10) + '  ', chr(10) + '  and ')}",
        "nothing was changed; to propose the commits, `git switch -c NAME` begins a branch for them; "
        "`memctl sync --with-code` or `git push` pushes them to "
        f"{target.name} all the same, and `memctl sync --no-push` merges without a push",
    )


def _verify(memory: Memory, upstream: Upstream, theirs: str) -> None:
    if not memory.repository.flag("merge.verifysignatures"):
        return
    try:
        git.read(["verify-commit", theirs], memory.repository.top)
    except git.GitFailed as error:
        message = f"the commit {theirs[:10]} of {upstream.name} has no valid signature"
        why = f"which the setting merge.verifySignatures requires:\n{error.stderr.strip()}"
        raise MemctlError(f"{message}, {why}") from None


def _carry_out(memory: Memory, planned: SyncResult, *, dry_run: bool) -> bool:
    """The move of the branch is journalled before the push; returns False if another clone has pushed meanwhile."""
    upstream, target, new = planned.upstream, planned.target, planned.commit
    why, lines = f"the sync with {upstream.name}", result.lines_before_push(planned)
    owned = reconcile_ownership.renumbered_ownerships(memory, planned)
    move = Move(upstream.branch, planned.before, new, why, owned, lines, planned.pushed)
    goes = new != planned.before
    if goes:
        checkout_log.refuse_if_in_the_way(memory, move, f"the merge with {upstream.name} would overwrite files")
    if dry_run:
        return True
    if goes:
        checkout_log.begin(memory, move)  # before the push: what the remote has by then must come here too
    if target and new != planned.there:
        try:
            if not remotes.push(memory.repository, target, new):
                checkout_log.drop(memory)
                return False
        except PushRefused as error:
            checkout_log.drop(memory)
            raise MemctlError(
                f"{target.name} did not accept the push, and nothing was changed:\n{error.why}",
                _proposal(planned, target) if error.reason else f"{_NO_PUSH} anyway",
            ) from None
    if goes:
        checkout_log.carry_out(memory, move)
    return True


def _proposal(planned: SyncResult, target: Upstream) -> str:
    short = target.ref.removeprefix("refs/heads/")
    name, remote = quote(f"memory/{short}-{planned.before[:7]}"), quote(target.remote)
    return (
        f"if {short} is protected, propose the commits: `git switch -c {name}` and `git push -u {remote} {name}`, or "
        f"`git push {remote} HEAD:refs/heads/{name}` without leaving this branch; {_NO_PUSH} before"
    )


_HINTS = {"MEM103": "resolve the conflict and commit, then run `memctl sync` again"}
_RENUMBER = "`memctl renumber` gives one of the two another id or number; then run `memctl sync` again"


def refuse_unsound(memory: Memory, new: Snapshot, theirs: str) -> None:
    """Raise MemctlError if the memory `new` has a fault that must not be published and that `theirs` lacks.

    The faults are unresolved conflicts, and ids or page numbers that two files have. `theirs` is the remote's commit.
    Documents are not checked, since they are rendered.
    """
    if not (findings := _unsound(memory, new)):
        return
    known = {(finding.code, finding.path) for finding in _unsound(memory, merge_commit.near_worktree(memory, theirs))}
    for first in (finding for finding in findings if (finding.code, finding.path) not in known):
        where = f"{memory.tracked(first.path)}:{first.line}"
        hint = _HINTS.get(first.code, _RENUMBER)
        raise MemctlError(f"nothing was pushed: {where}: {first.message} ({first.code})", hint)


def _unsound(memory: Memory, snapshot: Snapshot) -> list[Finding]:
    subject = CheckContext(snapshot, memory.now, CachedRenderer(memory, snapshot), documents.counter(memory))
    # An unresolved conflict, an id twice, the number of a page twice.
    return list(run.check(subject, ("MEM103", "MEM104", "MEM302")).findings)
