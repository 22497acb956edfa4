"""Commits of what is on the disk: pending changes, in their order and with their messages, and edits made by hand."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from memctl.errors import CredentialFound
from memctl.git import commits, git, index
from memctl.git.commits import Preparation, Variables
from memctl.pages.links import FOLDER, INDEX
from memctl.record import frontmatter, ids
from memctl.record.change import Change, Write
from memctl.record.frontmatter import clean_newlines
from memctl.store import (
    cache_update,
    changes_ref,
    commit_message,
    files,
    git_source,
    journal,
    lock,
    pending_state,
)
from memctl.store.journal import HELD, PendingEntry
from memctl.store.memory import Memory
from memctl.store.memory_root import CONFIG
from memctl.write import credentials, documents, manual_edits, recovery

_DETACHED = (
    "warning: HEAD is detached: the commit is on no branch, and hard to find once you switch to a branch; "
    "`git switch -c NAME` makes a branch for the commit"
)
_SHOWN = 5  # files that a remark names
_TRIES = 4  # of a commit: once, and 3 times on a branch that somebody else has moved meanwhile


class Outcome(msgspec.Struct, frozen=True):
    """The result of writing the Change `change`: the id of its commit, or the reason why it has none yet.

    - `commit` is the commit's id. If it is "", `pending` is the reason, and `hint` says what to do. `all_pending` says
      that no other change can be committed now either. With `is_later` the commit is on refs/memctl/changes, and the
      user makes that of the branch (`commits: later`).
    - `by_hand` are files in the commit that `change` does not write: edits made without memctl.
    - `documents` are the rendered documents in the commit.
    - `warning` names something that failed without harm to the change.
    - `advice` has a line for each written record or page in which `memctl check` would find a new fault, such as a
      missing rationale.
    """

    change: Change
    commit: str = ""
    pending: str = ""
    hint: str = ""
    by_hand: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    warning: str = ""
    all_pending: bool = False
    is_later: bool = False
    advice: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of all files of the commit but rendered documents, relative to `.memory/`."""
        return self.change.paths + self.by_hand

    @property
    def description(self) -> str:
        """A line for a person who pressed Ctrl-C too late: it says which change was written, and in which commit."""
        change = f"{self.change.op} {self.change.title}"
        if self.commit and not self.is_later:
            return f"the change is already written, in commit {self.commit[:10]}: {change}"
        return f"the change is already written, and not committed yet (`memctl commit` commits it): {change}"


def commit_all(
    memory: Memory,
    *,
    dry_run: bool = False,
    allow_accepted: bool = False,
    allow_secret: bool = False,
    strict: bool = False,
) -> list[Outcome]:
    """Commit all pending changes, then everything else in the memory that differs from HEAD: edits by hand.

    With `commits: later` all pending changes become one commit.

    Returns an outcome for each commit, and for each edit that is not committed an outcome with the reason. An edit is
    not committed

    - if it changes the text of an accepted decision, unless `allow_accepted`
    - if it has what looks like a credential, unless `allow_secret`
    - if `strict` is True, and `memctl check` would find a new fault in the edited record or page
    - if it is of a file that belongs to a change that was undone outside of memctl
    - if it deletes a file, and a file that can't be committed has the same id: somebody has only renamed the file

    With `dry_run` nothing is committed.
    """
    with lock.hold(memory.repository.shared / "lock"):
        entries = pending_state.open_entries(memory) if dry_run else recovery.recover(memory, remark=False)
        if not dry_run:
            files.remove_leftovers(memory.folder)
            memory.grant_trust() if entries else None
        allowed = {"allow_accepted": allow_accepted, "allow_secret": allow_secret, "strict": strict}
        outcomes: list[Outcome] = []
        for group in _groups(entries, in_one=changes_ref.is_later(memory)):
            joint = _joint(group)
            if dry_run:
                outcomes.append(Outcome(joint, pending="not committed yet"))
            elif outcomes and outcomes[-1].all_pending:
                outcomes.append(_postpone(group, outcomes[-1]))
            elif (outcome := _commit_group(memory, group, allow_secret=allow_secret)) is not None:
                outcomes.append(outcome)
        is_stuck = any(outcome.pending for outcome in outcomes) and not dry_run
        undone = [entry for entry in entries if entry.undone]
        outcomes += [Outcome(entry.change, pending=pending_state.WHY, hint=pending_state.AGAIN) for entry in undone]
        if is_stuck:
            return outcomes
        handled = {path for outcome in outcomes for path in (*outcome.paths, *outcome.documents)}
        rest, odd = _edits_by_hand(memory, handled, allowed)
        made = _commit_by_hand(memory, rest, dry_run) if rest else None
        # Rendered documents may be equal to HEAD's.
        outcomes += [made] if made and (made.commit or made.pending) else []
        left = (
            Outcome(Change(op="commit", title=memory.tracked(path)), pending=why, hint=hint, by_hand=(path,))
            for path, (why, hint) in odd.items()
        )
        return [*outcomes, *left]


def _edits_by_hand(
    memory: Memory, handled: Collection[str], allowed: Mapping[str, bool]
) -> tuple[list[str], dict[str, tuple[str, str]]]:
    """Return the paths of files edited by hand that can be committed, and those of others, each with why and a hint.

    The paths `handled` are left out. `allowed` has the options of `commit_all` that allow an edit.
    """
    differing = pending_state.uncommitted(memory)
    edited = [path for path, code in differing.items() if path not in handled and manual_edits.is_ours(path, code)]
    odd: dict[str, tuple[str, str]] = {}
    for path in edited:
        why = manual_edits.conflict(memory, path, differing[path]) or manual_edits.objection(memory, path, **allowed)
        odd |= {path: why} if why else {}
    gone = [path for path in edited if path not in odd and not (memory.folder / path).exists()]
    if gone:
        others = [path for path in differing if path in odd or path not in edited]
        odd |= manual_edits.misnamed(memory, gone, others)
    return [path for path in edited if path not in odd], odd


def commit_waiting(
    memory: Memory, waiting: Sequence[PendingEntry], newest: PendingEntry, variables: Variables | None = None
) -> Outcome:
    """Commit the pending changes `waiting`, of which `newest` is the last, and return the outcome of `newest`.

    A change for which no commit was asked for (`--no-commit`) is committed only if it shares a file with another
    change. `variables` are Git's settings, if the caller has started to read them.
    """
    outcome = Outcome(newest.change)
    refused: Outcome | None = None
    for group in _groups(waiting):
        has_newest = any(entry.file == newest.file for entry in group)
        if all(entry.stage == HELD for entry in group) or (refused and not has_newest):
            continue
        is_new = not newest.change.deletes and all(write.old is None for write in newest.change.writes)
        is_fresh = is_new and [entry.file for entry in group] == [newest.file]
        made = _commit_group(memory, group, is_fresh=is_fresh, refused=refused, variables=variables)
        refused = made if made and made.all_pending else None
        if has_newest:
            outcome = msgspec.structs.replace(made, change=newest.change) if made else outcome
    return outcome


def commit_remaining(memory: Memory) -> Iterator[Outcome]:
    """Commit pending changes, one commit at each iteration, and yield the outcomes.

    The caller may stop at any outcome. It holds the lock for writes, and has finished interrupted writes. A change for
    which no commit was asked for (`--no-commit`) is left out, unless it shares a file with another change.
    """
    for group in _groups(journal.entries(memory.pending)):
        if any(entry.stage != HELD for entry in group) and (made := _commit_group(memory, group)):
            yield made


def without_commit(outcome: Outcome, error: commits.CommitPending | git.GitFailed) -> Outcome:
    """Return an outcome with the reason why its commit failed, and a hint."""
    if isinstance(error, git.GitFailed):
        return msgspec.structs.replace(outcome, pending=error.message, hint="fix the cause, then run `memctl commit`")
    return msgspec.structs.replace(outcome, pending=error.why, hint=error.hint)


def with_author(memory: Memory, change: Change, reason: str = "") -> Change:
    """Return a change with the memory's actor and session, unless it has its own, and with a `reason` if given."""
    return msgspec.structs.replace(
        change,
        actor=change.actor or memory.actor,
        session=change.session or memory.session,
        reason=reason or change.reason,
    )


def _groups(entries: Sequence[PendingEntry], *, in_one: bool = False) -> list[list[PendingEntry]]:
    """Return the entries in groups that share files; each is one commit, since the disk has only their last state.

    Undone entries are left out. With `in_one` those that memctl does not commit by itself are one group, too.
    """
    if len(entries) == 1 and not entries[0].undone:
        return [list(entries)]
    groups: list[list[PendingEntry]] = []
    for entry in (entry for entry in entries if not entry.undone):
        paths, joins = set(entry.change.paths), in_one and entry.held
        touching = [
            group
            for group in groups
            if any(paths & set(other.change.paths) or (joins and other.held) for other in group)
        ]
        groups = [group for group in groups if group not in touching]
        groups.append([*(other for group in touching for other in group), entry])
    return groups


def _joint(group: list[PendingEntry]) -> Change:
    """Return one change that stands for a group in messages."""
    first = group[0].change
    if len(group) == 1:
        return first
    writes = {write.path: write for entry in group for write in entry.change.writes}
    identifiers = tuple(dict.fromkeys(identifier for entry in group for identifier in entry.change.ids))
    deletes = tuple({delete.path: delete for entry in group for delete in entry.change.deletes}.values())
    return msgspec.structs.replace(first, ids=identifiers, writes=tuple(writes.values()), deletes=deletes)


def _commit_group(
    memory: Memory,
    group: list[PendingEntry],
    *,
    is_fresh: bool = False,
    refused: Outcome | None = None,
    allow_secret: bool = False,
    variables: Variables | None = None,
) -> Outcome | None:
    """Make one commit of a group; None if HEAD has it already. A fresh change is known to differ from HEAD.

    If a commit has just been `refused` for a reason that holds for all, only the documents are rendered.
    """
    change = _joint(group)
    changes = [entry.change for entry in group]
    if refused:
        way, warning = _way_on(memory, change), documents.refresh(memory, changes)[1]
        hint = refused.hint if way in refused.hint else f"{refused.hint}; {way}"
        return _postpone(group, msgspec.structs.replace(refused, hint=hint, warning=warning))
    own = change.paths
    prepared = _prepare(memory, own, variables)  # Git looks while the documents are rendered

    def commit_with(rendered: tuple[str, ...]) -> Outcome | None:
        try:
            paths = dict.fromkeys((*own, *rendered))
            if not is_fresh:
                may_have_secret = allow_secret or any(entry.allow_secret for entry in group)
                _refuse_later_edits(memory, own, allow_secret=may_have_secret)
            name = commit_paths(memory, paths, changes, least=own, is_fresh=is_fresh, prepared=prepared)
        except commits.CommitPending as error:
            for_all = isinstance(error, commits.AllPending)
            hint = "; ".join(filter(None, (error.hint, _way_on(memory, change))))
            return _postpone(group, Outcome(change, pending=error.why, hint=hint, all_pending=for_all))
        except git.GitFailed as error:  # the files are written; a second try must not write them again
            return without_commit(Outcome(change), error)
        for entry in group:
            journal.drop(entry)
        return Outcome(change, commit=name, documents=rendered) if name else None

    return _with_documents(memory, changes, own, commit_with)


def _with_documents(
    memory: Memory,
    changes: list[Change],
    committed: Collection[str],
    commit_with: Callable[[tuple[str, ...]], Outcome | None],
) -> Outcome | None:
    """Render the documents of some changes, and return the outcome of `commit_with`, called with their paths.

    `committed` are the paths of the other files that it commits. The documents in the commit show no edit that stays
    uncommitted: somebody may still discard it, or its commit was refused for what looks like a credential in it. Then
    they are rendered once more, since those on the disk show what is on the disk.
    """
    instead = documents.committed_texts(memory, committed)
    rendered, warning = documents.refresh(memory, changes, instead)
    try:
        outcome = commit_with(rendered)
    finally:
        if instead:
            memory.asked = None  # Git's answer is from before the commit
            _, warning = documents.refresh(memory, changes)
    return outcome and msgspec.structs.replace(outcome, warning=warning)


def _way_on(memory: Memory, change: Change) -> str:
    """Return how a rebase or bisection goes on although a change of tracked files waits for its commit."""
    is_in_the_way = bool(change.deletes) or any(write.old is not None for write in change.writes)
    if not (is_in_the_way and memory.repository.is_moving()):
        return ""
    return (
        f"if Git refuses to continue because of this change, run `git stash push {memory.prefix}` before, and `git "
        "stash pop` after"
    )


def _postpone(group: list[PendingEntry], refused: Outcome) -> Outcome:
    """Note in the entries of a group why they have no commit: the reason of the outcome `refused`."""
    for entry in group:
        journal.advance(entry, entry.stage, refused.pending)
    return msgspec.structs.replace(refused, change=_joint(group))


def _prepare(memory: Memory, paths: Iterable[str], variables: Variables | None = None) -> Preparation:
    """Start the Git commands for a commit of some paths and, if there are any, rendered documents."""
    present = [path for path in paths if (memory.folder / path).exists()]
    rendered = [f"{FOLDER}/{INDEX}"] if documents.follow_writes(memory, memory.config) else []
    tracked = [memory.tracked(path) for path in (*present, *rendered)]
    return Preparation(memory.repository, tracked, variables or Variables(memory.repository, memory.commit_moment))


def commit_paths(
    memory: Memory,
    paths: dict[str, None],
    changes: Sequence[Change],
    *,
    least: Collection[str] = (),
    is_fresh: bool = False,
    prepared: Preparation | None = None,
) -> str:
    """Commit some paths as they are on disk to the branch, and return the commit's id.

    - `paths` has the paths, below `.memory/`, as keys in order.
    - `changes` are the changes that wrote the paths; the commit's message is made of them.
    - `least` are those of `paths` that are worth a commit; () stands for all. If none of them has an uncommitted
      change, no commit is made, and "" is returned. The other paths are rendered documents, which get no commit of
      their own.
    - `is_fresh` says that all paths are known to differ from HEAD, so that Git is not asked.
    - `prepared` holds Git commands that already run in the background, because the commit needs their answers.

    If another process moves the branch, the commit is tried again. Raises CommitPending if it can't be made now.
    """
    text = commit_message.compose(changes)
    replaced: list[str] = []
    for left in reversed(range(_TRIES)):
        codes = {} if is_fresh else pending_state.uncommitted(memory, ignored=True)
        if left == _TRIES - 1:
            replaced = list(_replaced(memory, changes, codes))
        asked: Mapping[str, str | None] = paths if is_fresh else codes
        differing = _differing(memory, paths, least, asked)
        if not differing:
            return ""
        contents = files.contents(memory.folder, sorted(differing))
        tracked = {memory.tracked(path): content for path, content in contents.items()}
        ready = prepared or _prepare(memory, differing)
        try:
            made = commits.commit(memory.repository, tracked, text, ready, by_agent=memory.by_agent)
            break
        except commits.BranchMoved:
            if not left:
                raise
            is_fresh, prepared = False, None
    memory.remarks += replaced
    if made.added:
        from memctl.text.phrases import some  # few hooks add files

        memory.remarks.append(f"note: a Git hook added other files to the commit: {some(made.added, _SHOWN)}")
    if made.parent is not None:
        cache_update.advance(memory, contents, made.parent, made.commit)
    if not made.branch and _DETACHED not in memory.remarks:
        memory.remarks.append(_DETACHED)
    return made.commit


def _replaced(memory: Memory, changes: Sequence[Change], codes: Mapping[str, str]) -> Iterator[str]:
    """Yield a remark for each staged version of a file that differs from the text that a change replaces.

    `codes` are the two letters of `git status` by path, such as "MM".
    """
    old = {write.path: clean_newlines(write.old) for change in changes for write in change.writes if write.old}
    staged = {memory.tracked(path): path for path in old if codes.get(path, " ")[0] in "MA"}
    for entry in index.entries(memory.repository, *staged) if staged else ():
        path = staged[entry.path]
        now = git_source.index_texts(memory, [path]).get(path)
        if now is not None and clean_newlines(now) not in (old[path], journal.text_at(memory.folder, path)):
            yield (
                f"note: the staged version of {entry.path}, which differed from the file, is replaced;"
                f" `git cat-file blob {entry.blob[:10]}` prints it"
            )


_ALL = [Change(op="", title="", writes=(Write(CONFIG, "", ""),))]  # what makes all documents be compared


def _differing(
    memory: Memory, paths: Collection[str], least: Collection[str], asked: Mapping[str, str | None]
) -> set[str]:
    """Return those of `paths` that are also in `asked`, the paths with uncommitted changes; none if no commit is due.

    That is so if none of `least` is among them. Raises CommitPending if a path is in a conflict, or if one of `least`
    only looks unchanged because Git was told to take it for unchanged. `asked` has the letters of `git status`.
    """
    differing = {path for path in paths if path in asked}
    for path in sorted(differing):
        if conflict := manual_edits.conflict(memory, path, asked[path]):
            raise commits.CommitPending(*conflict)
    for path, option in pending_state.hidden(memory, set(least) - differing).items():
        name = memory.tracked(path)
        raise commits.CommitPending(
            f"Git was told to ignore changes of {name} (`git update-index {option.replace('--no-', '--')}`)",
            f"run `git update-index {option} -- {shlex.quote(name)}`, then `memctl commit`",
        )
    return set() if differing.isdisjoint(least or paths) else differing


def _refuse_later_edits(memory: Memory, paths: Iterable[str], *, allow_secret: bool) -> None:
    """Raise CommitPending if a file has markers of a merge conflict, or what looks like a credential and HEAD lacks.

    Git or a person may have put them there since memctl wrote the file. With `allow_secret` credentials may pass.
    """
    for path in paths:
        text = journal.text_at(memory.folder, path) or ""
        if line := frontmatter.conflict_line(text):
            raise commits.CommitPending(
                f"{memory.tracked(path)}:{line}: this line begins an unresolved merge conflict",
                "choose between the two sides, delete the lines `<<<<<<<`, `=======` and `>>>>>>>`, then run `memctl "
                "commit`",
            )
        change = Change(op="", title="", writes=(Write(path, text, ""),))
        try:
            if not allow_secret:
                credentials.refuse(
                    change,
                    before=lambda write: manual_edits.text_in_head(memory, write.path),
                    allowed=lambda: memory.allowed_secrets,
                )
        except CredentialFound as error:
            raise commits.CommitPending(f"{memory.tracked(path)}: {error.message}", manual_edits.SECRET_HINT) from None


def _commit_by_hand(memory: Memory, paths: list[str], dry_run: bool) -> Outcome:
    """Commit files that were changed by hand, with all documents, in one commit; return the outcome."""
    identifiers = tuple(sorted({identifier for path in paths if (identifier := ids.id_in_path(path))}))
    title = ", ".join(identifiers) or ", ".join(paths)
    are_there = {(memory.folder / path).exists() for path in paths}
    words = [word for is_there, word in ((True, "changed"), (False, "deleted")) if is_there in are_there]
    title = f"{title} {' or '.join(words)} by hand"
    change = with_author(memory, Change(op="commit", title=title, ids=identifiers))
    advice = tuple(line for path in paths if (line := manual_edits.advice(memory, path)))
    if dry_run:
        return Outcome(change, pending="not committed yet", by_hand=tuple(paths), advice=advice)
    memory.grant_trust()

    def commit_with(rendered: tuple[str, ...]) -> Outcome:
        name = commit_paths(memory, dict.fromkeys((*paths, *rendered)), [change])
        return Outcome(change, commit=name, by_hand=tuple(paths), documents=rendered, advice=advice)

    try:
        return _with_documents(memory, _ALL, paths, commit_with) or Outcome(change)
    except (commits.CommitPending, git.GitFailed) as error:
        return without_commit(Outcome(change, by_hand=tuple(paths)), error)
