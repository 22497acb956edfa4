"""Taking credentials out of pages of sessions that no remote has yet: rules of before may have let them pass."""

from __future__ import annotations

from memctl.git import git, message, refs, tree_merge, trees
from memctl.git.tree_merge import Leaf
from memctl.record.change import Change, Write
from memctl.store import files
from memctl.store.memory import Memory
from memctl.store.place import FOLDER
from memctl.text import credentials
from memctl.write import commit, redact_file

_MESSAGE = "a commit's message"


def redacted(memory: Memory, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
    """Return a commit with what `ours` has that `theirs` ("" for none) has not, without credentials, and what had some.

    If a file or message of a commit in between has one, all of these commits become one: the older ones would bring the
    credential along. Raises MemctlError for a page that could not be read without.
    """
    repository = memory.repository
    since = [ours, *([f"^{theirs}"] if theirs else [])]
    texts, names = _without_credentials(memory, since)
    said = git.read(["log", "--no-show-signature", "--format=%B", *since], repository.top).decode(errors="replace")
    names += (_MESSAGE,) if credentials.is_in(said) else ()
    if not names:
        return ours, ()
    now = [entry for entry in trees.entries(repository, ours) if entry.blob in texts]
    blobs = tree_merge.store(repository, [texts[entry.blob].encode() for entry in now])
    changes: dict[str, Leaf | None] = {entry.path: Leaf("100644", blob) for entry, blob in zip(now, blobs, strict=True)}
    tree = tree_merge.edited(repository, tree_merge.tree_at(repository, ours), changes)
    change = commit.signed(memory, Change(op="sync", title="sessions, without credentials"))
    parents = [theirs] if theirs else []
    made = refs.commit_tree(repository, tree, parents, message.compose([change]), memory.commit_moment)
    return made, names


def _without_credentials(memory: Memory, since: list[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the texts without credentials of all files that have some, by blob, and the paths of these files below the
    worktree's top; `since` says of which commits."""
    repository = memory.repository
    listed = git.read(["rev-list", "--objects", *since], repository.top).decode(errors="surrogateescape")
    pairs = (line.partition(" ") for line in listed.splitlines())
    names = {blob: name for blob, _, name in pairs if _below_memory(name)}
    contents = trees.blobs(repository, names, files.MAX_BYTES)
    found = {}
    for blob, name in names.items():
        text = (contents[blob] or b"").decode(errors="replace")
        written = Change(op="sync", title="", writes=(Write(_below_memory(name), text),))
        made = redact_file.without_credentials(written).writes[0].text
        if made != text:
            found[blob] = made
    return found, tuple(sorted({names[blob] for blob in found}))


def _below_memory(tracked: str) -> str:
    """The path of a file below its `.memory/`, "" for a folder and for what is in no memory."""
    name = f"/{tracked}".partition(f"/{FOLDER}/")[2]
    return name if name.endswith((".md", ".json")) else ""
