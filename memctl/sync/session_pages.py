"""Sync the pages of sessions and checkpoints that are on a ref of their own (`store.sessions_ref`).

Before a push they are searched for credentials: an earlier version of memctl, which knew fewer credentials, may have
let one pass.
"""

from __future__ import annotations

import os

import msgspec

from memctl.errors import MemctlError
from memctl.git import git, hooks, refs, tree_merge, trees
from memctl.git.tree_merge import Leaf
from memctl.record.change import Change, Write
from memctl.store import commit_message, files, lock, sessions_ref
from memctl.store.memory import Memory
from memctl.store.memory_root import FOLDER
from memctl.store.sessions_ref import REF
from memctl.sync import merge_tree
from memctl.sync.result import SyncResult
from memctl.text import credentials
from memctl.text.phrases import some
from memctl.write import commit, redact_file

_TOO_LARGE = f"it has more than {files.MAX_BYTES:,} bytes, so memctl can't search it for credentials"
_LOCKED = "a text that can't be removed from it, such as a path, looks like a credential"


class Publishable(msgspec.Struct, frozen=True):
    """The commits of session pages that may be pushed and kept, after a search for credentials.

    `push` is the commit for the remote. `keep` is the commit for this clone, which has all files: it is `push`, or a
    commit on top of it. `redacted` are the paths of files from which credentials were removed. `held_back` maps the
    path of each file that is not pushed to the reason.
    """

    push: str
    keep: str
    redacted: tuple[str, ...] = ()
    held_back: dict[str, str] = {}


def publishable(memory: Memory, ours: str, theirs: str) -> Publishable:
    """Return what may be pushed of the commits in the history of `ours` that are not in the history of `theirs`.

    `ours` is this clone's commit of session pages. `theirs` is the remote's commit, an ancestor of `ours`, or "" for
    none. The commits may be pushed as they are if memctl could search all their files and found no credential in a file
    or message. Otherwise one new commit takes the place of all of them. It has the present files without credentials. A
    file is held back if it is too large to be searched, or if a credential is in a text that the file must have, such
    as a path: the new commit has the remote's version of such a file, if there is one.
    """
    repository = memory.repository
    since = [ours, *([f"^{theirs}"] if theirs else [])]
    texts, unfit, names = _find_credentials(memory, since)
    messages = git.read([*git.LOG, "--format=%B", *since], repository.top).decode(errors="replace")
    names += ("a commit's message",) if credentials.is_in(messages) else ()
    if not names and not unfit:
        return Publishable(ours, ours)
    now = trees.entries(repository, ours)
    changed = tree_merge.store_files(repository, {e.path: texts[e.blob] for e in now if e.blob in texts})
    whole = tree_merge.edit_tree(repository, tree_merge.tree_at(repository, ours), changed)
    held_back = {entry.path: unfit[entry.blob] for entry in now if entry.blob in unfit}
    on_ref = {entry.path: entry.blob for entry in trees.entries(repository, theirs)} if theirs else {}
    former = {path: Leaf("100644", on_ref[path]) if path in on_ref else None for path in held_back}
    public = tree_merge.edit_tree(repository, whole, former)
    push = theirs
    if public != (tree_merge.tree_at(repository, theirs) if theirs else tree_merge.edit_tree(repository, "", {})):
        push = _redacted_commit(memory, public, theirs)
    elif not names:
        return Publishable(theirs, ours, held_back=held_back)
    return Publishable(push, _redacted_commit(memory, whole, push) if whole != public else push, names, held_back)


def _redacted_commit(memory: Memory, tree: str, parent: str) -> str:
    change = commit.with_author(memory, Change(op="sync", title="sessions, without credentials"))
    text = commit_message.compose([change])
    return refs.commit_tree(memory.repository, tree, [parent] if parent else [], text, memory.commit_moment)


def _find_credentials(memory: Memory, since: list[str]) -> tuple[dict[str, str], dict[str, str], tuple[str, ...]]:
    """Search all files of some commits for credentials.

    Returns, by blob id, the redacted texts; by blob id, the reasons why other files can't be pushed; and the paths of
    the redacted files below the worktree's top.
    """
    repository = memory.repository
    listed = git.read(["rev-list", "--objects", *since], repository.top).decode(errors="surrogateescape")
    pairs = (line.partition(" ") for line in listed.splitlines())
    names = {blob: name for blob, _, name in pairs if _below_memory(name)}
    contents = trees.blobs(repository, names, files.MAX_BYTES, names)
    secrets, unfit = {}, {}
    for blob, name in names.items():
        content = contents[blob]
        if content is None:
            unfit[blob] = _TOO_LARGE
            continue
        text = content.decode(errors="replace")
        written = Change(op="sync", title="", writes=(Write(_below_memory(name), text),))
        try:
            made = redact_file.without_credentials(written).writes[0].text
        except MemctlError:
            unfit[blob] = _LOCKED
            continue
        if made != text:
            secrets[blob] = made
    return secrets, unfit, tuple(sorted({names[blob] for blob in secrets}))


def _below_memory(tracked: str) -> str:
    name = f"/{tracked}".partition(f"/{FOLDER}/")[2]
    return name if name.endswith((".md", ".json")) else ""


SHARE = "memctl.sharePages"  # the Git setting by which pages are pushed that no hook of the user has seen
_SHOWN = 5  # pages that are named
_TRIES = 20  # to push, each time after another clone was first


def sync_pages(memory: Memory, done: SyncResult, remote: str, *, push: bool, dry_run: bool) -> SyncResult:
    """Merge the remote's ref of session pages into this clone's, and push the result if `push`.

    Returns `done`, the result of the sync so far, with what changed. A dry run moves no ref and pushes nothing. Raises
    MemctlError, or PushRefused if the remote refuses the push.
    """
    repository, tracking = memory.repository, sessions_ref.remote_ref(remote)
    before = sessions_ref.head(memory)
    redacted: tuple[str, ...] = ()
    for number in range(_TRIES):
        is_fetched = done.has_state and number == 0 and remote == done.upstream.remote
        theirs = repository.tip(tracking) if is_fetched else refs.fetch(repository, remote, REF, tracking)
        new = _merge_ref(memory, remote, theirs, dry_run=dry_run)
        taken = new != before and bool(theirs)
        may = Publishable(theirs, new)
        if push and new != theirs and (hook := unseen_by(memory)):
            push, done = False, msgspec.structs.replace(done, sessions_unseen=hook)
        if push and new != theirs:
            may = _publishable(memory, new, theirs, dry_run=dry_run)
            redacted = tuple(dict.fromkeys((*redacted, *may.redacted)))  # if a push is lost, the next try finds none
        has_pushed = may.push != theirs
        if not has_pushed or dry_run or refs.push(repository, remote, REF, may.push, theirs):
            done = done.with_warning(_held_back(may))
            what = {
                "sessions_taken": taken or done.sessions_taken,
                "sessions_given": has_pushed,
                "sessions_redacted": redacted,
            }
            return msgspec.structs.replace(done, **what)
    raise MemctlError(f"{_TRIES} pushes of {REF} failed, because other clones pushed first", "run `memctl sync` again")


def unseen_by(memory: Memory) -> str:
    """Return the user's own pre-commit hook, which commits on memctl's refs do not run; "" if they may be pushed.

    They may if there is no such hook, or if the user has said so in Git's settings.
    """
    repository = memory.repository
    hook = repository.hooks_folder() / "pre-commit"
    if not os.access(hook, os.X_OK) or hooks.is_ours_alone(repository, hook):
        return ""
    return "" if repository.flag(SHARE.lower()) else str(hook)


def _publishable(memory: Memory, ours: str, theirs: str, *, dry_run: bool) -> Publishable:
    result = publishable(memory, ours, theirs)
    if result.keep != ours and not dry_run:
        with lock.hold(memory.repository.shared / "lock"):
            if not refs.swap(memory.repository, REF, result.keep, ours):
                raise MemctlError(f"{REF} was changed by another process", "run `memctl sync` again")
    return result


def _held_back(result: Publishable) -> str:
    names = [f"{path} ({why})" for path, why in sorted(result.held_back.items())]
    return f"these files of session pages are not pushed: {some(names, _SHOWN)}" if names else ""


def _merge_ref(memory: Memory, remote: str, theirs: str, *, dry_run: bool) -> str:
    repository = memory.repository
    with lock.hold(repository.shared / "lock"):
        ours = sessions_ref.head(memory)
        if not theirs or refs.contains(repository, ours, theirs):
            return ours
        goes_on = not ours or refs.contains(repository, theirs, ours)
        new = theirs if goes_on else _merge_commits(memory, remote, ours, theirs)
        if not dry_run and not refs.swap(repository, REF, new, ours):
            raise MemctlError(f"{REF} is being changed by other processes all the time", "run `memctl sync` again")
        return new


def _merge_commits(memory: Memory, remote: str, ours: str, theirs: str) -> str:
    repository = memory.repository
    base = next(iter(repository.merge_bases("--all", ours, theirs)), "")
    changes: dict[str, Leaf | None] = {}
    for prefix in _memories(memory, ours, theirs):
        sides = [tree_merge.leaves(repository, commit, prefix) if commit else {} for commit in (base, ours, theirs)]
        combined = merge_tree.merge(memory, *sides, apart=False)
        leaves = {path: leaf for path in combined.conflicts if (leaf := sides[1].get(path) or sides[2].get(path))}
        wanted = {**combined.files, **leaves}
        changes |= {f"{prefix}/{path}": leaf for path, leaf in merge_tree.changes(sides[1], wanted).items()}
    tree = tree_merge.edit_tree(repository, tree_merge.tree_at(repository, ours), changes)
    change = commit.with_author(memory, Change(op="sync", title=f"sessions with {remote}"))
    return refs.commit_tree(repository, tree, (ours, theirs), commit_message.compose([change]), memory.commit_moment)


def _memories(memory: Memory, *commits: str) -> list[str]:
    """A clone may have several memories with files on the ref."""
    memories = set()
    for revision in commits:
        out = git.read(["ls-tree", "-r", "-z", "--name-only", "--full-tree", revision], memory.repository.top)
        for path in out.decode(errors="surrogateescape").split("\0"):
            head, mark, _ = f"/{path}".partition(f"/{FOLDER}/")
            memories |= {f"{head}/{FOLDER}".lstrip("/")} if mark else set()
    return sorted(memories)
