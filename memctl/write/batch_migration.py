"""The batches of a memctl before `commits: later`: an open one becomes one commit of the branch, once.

That memctl collected changes on refs/memctl/changes/<branch>, and a file named the branch whose batch a worktree had.
Its changes are on the disk, in neither HEAD nor the index. The refs move to refs/memctl/batches/, which keeps them.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    """Move the refs of batches from where they are in the way of refs/memctl/changes.

    A remark names those that were left open elsewhere: perhaps their worktrees are gone.
    """
    args = ["for-each-ref", "--format=%(refname) %(objectname)", f"{changes_ref.ref(memory)}/"]
    listing = git.read(args, memory.repository.top).decode("utf-8", "surrogateescape")
    moves = [line.split() for line in listing.split("\n") if line]
    lines, own = [], _ref_here(memory)
    for name, commit in moves:
        lines += [f"update {_moved(name)} {commit}\n", f"delete {name} {commit}\n"]
        if name != own and (base := _base(memory, commit)):
            memory.remarks.append(
                f"warning: an older memctl left a batch of changes open in another worktree: {_moved(name)} keeps "
                f"them; if the worktree is gone, `git diff {base[:10]} {commit[:10]}` prints them, and `memctl restore "
                f"ID --at {commit[:10]}` brings a record back"
            )
    git.write(["update-ref", "--stdin"], memory.repository.top, "".join(lines).encode("utf-8", "surrogateescape"))


def open_changes(memory: Memory, paths: Sequence[str]) -> list[history.Commit]:
    """Return the changes of the worktree's open batch that touched some paths, newest first."""
    name = _ref_here(memory)
    tip = memory.repository.tip(name) or memory.repository.tip(_moved(name))
    base = _base(memory, tip) if tip else ""
    return history.commits(memory.repository, paths, f"{base}..{tip}", first_parent=True) if base else []


def reopen(memory: Memory) -> None:
    """Make the worktree's open batch a change of the journal, which is committed as others are; a remark says so.

    The caller holds the lock for writes.
    """
    marker, name = memory.private / BATCH, _ref_here(memory)
    move_refs(memory)
    tip = memory.repository.tip(_moved(name))
    if base := _base(memory, tip) if tip else "":
        change = _change(memory, base, tip)
        if change.paths:
            entry = journal.begin(memory.pending, change, held=False, base=base, allow_secret=True)
            journal.advance(entry, PENDING)
        memory.remarks.append(f"an older memctl left a batch open, which becomes one commit: {change.title}")
    marker.unlink()


def _ref_here(memory: Memory) -> str:
    """Return the ref of the batch that the worktree has open, "" if it has none."""
    try:
        branch = (memory.private / BATCH).read_text(encoding="utf-8", errors="surrogateescape").strip()
    except FileNotFoundError:
        return ""
    name = branch.removeprefix("refs/heads/").replace("%", "%25").replace("/", "%2F")
    return f"{changes_ref.ref(memory)}/{name}"


def _base(memory: Memory, tip: str) -> str:
    """Return the commit on which a batch with the last change `tip` was begun, "" if the batch was committed."""
    (item,) = memory.repository.objects.read([tip])
    text = ((item and item.data) or b"").decode(errors="replace")
    return "" if _CLOSED in text else text.partition(_BASE)[2].partition("\n")[0]


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
