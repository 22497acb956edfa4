"""The batches of a memctl before `commits: later`: an open one becomes one commit of the branch, once.

That memctl collected changes on refs/memctl/changes/<branch>, and a file named the branch whose batch a worktree had.
Its changes are on the disk, in neither HEAD nor the index. The refs move to refs/memctl/batches/, which keeps them.
"""

from __future__ import annotations

from memctl.git import git, history
from memctl.record.change import Change, Delete, RecordAction, Write
from memctl.store import changes_ref, commit_message, journal
from memctl.store.journal import PENDING
from memctl.store.memory import Memory
from memctl.store.memory_root import BATCH
from memctl.text.phrases import quantity
from memctl.write import undo

_BASE, _CLOSED = "\nMemctl-Base: ", "\nMemctl-Changes: "  # the trailers of a change, and of the commit after the last


def move_refs(memory: Memory) -> None:
    """Move the refs of batches from where they are in the way of refs/memctl/changes."""
    args = ["for-each-ref", "--format=%(refname) %(objectname)", f"{changes_ref.ref(memory)}/"]
    moves = [
        line.split() for line in git.read(args, memory.repository.top).decode("utf-8", "surrogateescape").split("\n")
    ]
    lines = [
        line
        for name, commit in filter(None, moves)
        for line in (f"update {_moved(name)} {commit}\n", f"delete {name} {commit}\n")
    ]
    git.write(["update-ref", "--stdin"], memory.repository.top, "".join(lines).encode("utf-8", "surrogateescape"))


def reopen(memory: Memory) -> None:
    """Make the worktree's open batch a change of the journal, which is committed as others are; a remark says so.

    The caller holds the lock for writes.
    """
    marker = memory.private / BATCH
    branch = marker.read_text(encoding="utf-8", errors="surrogateescape").strip().removeprefix("refs/heads/")
    move_refs(memory)
    name = f"{changes_ref.ref(memory)}/{branch.replace('%', '%25').replace('/', '%2F')}"
    tip = memory.repository.tip(_moved(name))
    (item,) = memory.repository.objects.read([tip]) if tip else (None,)
    text = ((item and item.data) or b"").decode(errors="replace")
    base = text.partition(_BASE)[2].partition("\n")[0]
    if base and _CLOSED not in text:
        change = _change(memory, base, tip)
        if change.paths:
            entry = journal.begin(memory.pending, change, held=False, base=base, allow_secret=True)
            journal.advance(entry, PENDING)
        memory.remarks.append(f"an older memctl left a batch open, which becomes one commit: {change.title}")
    marker.unlink()


def _moved(name: str) -> str:
    return name.replace("/changes/", "/batches/", 1)


def _change(memory: Memory, base: str, tip: str) -> Change:
    """Return the changes of a batch, from the commit `base` to its last change `tip`, as one."""
    repository = memory.repository
    made = history.commits(repository, [memory.prefix], f"{base}..{tip}", first_parent=True)[::-1]
    args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", base, tip, "--", memory.prefix]
    versions = undo.versions(memory, git.paths(git.read(args, repository.top)), base, tip)
    actions = (
        RecordAction(op, name, commit.subject.removeprefix(f"{commit_message.TYPE}: {op} {name} "))
        for commit in made
        for op in commit.trailers.ops
        for name in commit.trailers.ids
    )
    identifiers = tuple(dict.fromkeys(name for commit in made for name in commit.trailers.ids))
    return Change(
        op="squash",
        title=": ".join(filter(None, (quantity(len(made), "change"), ", ".join(identifiers)))),
        ids=identifiers,
        writes=tuple(Write(path, new, old) for path, old, new in versions if new is not None),
        deletes=tuple(Delete(path, old) for path, old, new in versions if new is None and old is not None),
        deeds=tuple(actions),
        actor=", ".join(dict.fromkeys(commit.trailers.actor for commit in made)),
        session=", ".join(dict.fromkeys(filter(None, (commit.trailers.session for commit in made)))),
        reason="; ".join(dict.fromkeys(filter(None, (commit.trailers.reason for commit in made)))),
    )
