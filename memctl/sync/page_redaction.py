"""Which pages of sessions may be pushed: rules of before may have let credentials pass into those of no remote yet."""

from __future__ import annotations

import msgspec

from memctl.errors import MemctlError
from memctl.git import git, message, refs, tree_merge, trees
from memctl.git.tree_merge import Leaf
from memctl.record.change import Change, Write
from memctl.store import files
from memctl.store.memory import Memory
from memctl.store.place import FOLDER
from memctl.text import credentials
from memctl.write import commit, redact_file

_MESSAGE = "a commit's message"
_TOO_LARGE = f"larger than {files.MAX_BYTES:,} bytes, and so not searched for credentials"
_LOCKED = "not readable without what looks like a credential in it"


class Publishable(msgspec.Struct, frozen=True):
    """What may be pushed of a commit.

    `push` is the commit for the remote, `keep` the one for this clone, which comes after it and has all files.
    `redacted` names what had credentials, `held_back` the files that are in `keep` alone, each with why.
    """

    push: str
    keep: str
    redacted: tuple[str, ...] = ()
    held_back: dict[str, str] = {}


def publishable(memory: Memory, ours: str, theirs: str) -> Publishable:
    """Return what may be pushed of what `ours` has that `theirs`, which came before it ("" for none), has not.

    If a file or message of a commit in between has a credential, or a file can't be pushed, all of these commits become
    one: the older ones would bring it along.
    """
    repository = memory.repository
    since = [ours, *([f"^{theirs}"] if theirs else [])]
    texts, unfit, names = _judged(memory, since)
    said = git.read(["log", "--no-show-signature", "--format=%B", *since], repository.top).decode(errors="replace")
    names += (_MESSAGE,) if credentials.is_in(said) else ()
    if not names and not unfit:
        return Publishable(ours, ours)
    now = trees.entries(repository, ours)
    changed = [entry for entry in now if entry.blob in texts]
    blobs = tree_merge.store(repository, [texts[entry.blob].encode() for entry in changed])
    whole = tree_merge.edited(
        repository,
        tree_merge.tree_at(repository, ours),
        {entry.path: Leaf("100644", blob) for entry, blob in zip(changed, blobs, strict=True)},
    )
    held_back = {entry.path: unfit[entry.blob] for entry in now if entry.blob in unfit}
    there = {entry.path: entry.blob for entry in trees.entries(repository, theirs)} if theirs else {}
    public = tree_merge.edited(
        repository,
        whole,
        {path: Leaf("100644", there[path]) if path in there else None for path in held_back},
    )
    push = theirs
    if public != (tree_merge.tree_at(repository, theirs) if theirs else tree_merge.edited(repository, "", {})):
        push = _commit(memory, public, theirs)
    elif not names:
        return Publishable(theirs, ours, held_back=held_back)
    return Publishable(push, _commit(memory, whole, push) if whole != public else push, names, held_back)


def _commit(memory: Memory, tree: str, parent: str) -> str:
    change = commit.signed(memory, Change(op="sync", title="sessions, without credentials"))
    said = message.compose([change])
    return refs.commit_tree(memory.repository, tree, [parent] if parent else [], said, memory.commit_moment)


def _judged(memory: Memory, since: list[str]) -> tuple[dict[str, str], dict[str, str], tuple[str, ...]]:
    """Look at all files of some commits.

    Returns the texts without credentials of those that have some, by blob; why files can't be pushed, by blob; and the
    paths of the former below the worktree's top.
    """
    repository = memory.repository
    listed = git.read(["rev-list", "--objects", *since], repository.top).decode(errors="surrogateescape")
    pairs = (line.partition(" ") for line in listed.splitlines())
    names = {blob: name for blob, _, name in pairs if _below_memory(name)}
    contents = trees.blobs(repository, names, files.MAX_BYTES)
    found, unfit = {}, {}
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
            found[blob] = made
    return found, unfit, tuple(sorted({names[blob] for blob in found}))


def _below_memory(tracked: str) -> str:
    """The path of a file below its `.memory/`, "" for a folder and for what is in no memory."""
    name = f"/{tracked}".partition(f"/{FOLDER}/")[2]
    return name if name.endswith((".md", ".json")) else ""
