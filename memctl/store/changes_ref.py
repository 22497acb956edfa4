"""The ref refs/memctl/changes: with `commits: later`, a commit for each change, since the branch has none yet.

With this setting memctl writes files, and the user commits them with the code that they explain. The ref, one for all
worktrees of the clone, is the audit trail of the changes and keeps their texts, whatever Git does to the worktree. It
stays in the clone. The parent of each commit is the change before; the tree has the files of all these changes, over
the memory in HEAD at the first of them. So the difference from the parent is what the change did. The trailer
Memctl-Branch names the branch on which the change was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from memctl.errors import MemctlError
from memctl.git import trees
from memctl.record.config import BATCH, COMMITS_HINT, EACH, LATER
from memctl.store import files
from memctl.store.memory import Memory
from memctl.store.memory_root import DOCUMENTS, FOLDER

if TYPE_CHECKING:  # most commands only ask whether there is such a ref
    from memctl.git.commits import Variables
    from memctl.git.history import Commit
    from memctl.record.change import Change

SETTING = "memctl.commits"
DETACHED = "HEAD"  # in place of a branch's name
_LATEST = 500  # changes among which those of a session are looked for: it has made fewer since it began


def is_later(memory: Memory) -> bool:
    """Return whether changes are left for the user to commit, by Git's setting memctl.commits, else by config.yaml.

    Raises MemctlError for an unknown value.
    """
    value = memory.repository.setting(SETTING)
    value = memory.config.commits if value is None else value
    if value not in (EACH, LATER, BATCH):
        raise MemctlError(f"{SETTING} is {value[:40]!r}; it must be {EACH} or {LATER}", COMMITS_HINT)
    return value != EACH


def ref(memory: Memory) -> str:
    """Return the name of the ref; a memory that is not at the worktree's top has one of its own."""
    folder = memory.prefix.removesuffix(FOLDER).rstrip("/").replace("%", "%25").replace("/", "%2F")
    return f"refs/memctl/in-{folder}/changes" if folder else "refs/memctl/changes"


def tip(memory: Memory) -> str:
    """Return the id of the newest change, "" if there is none."""
    return memory.repository.tip(ref(memory))


def add(memory: Memory, change: Change, variables: Variables) -> str:
    """Commit the files of a change, as they are on the disk, to the ref, and return the commit's id.

    The caller holds the lock for writes. Raises MemctlError, GitFailed or CommitPending.
    """
    from memctl.git import edited_hooks
    from memctl.git.commits import Importer
    from memctl.store import commit_message

    repository, branch = memory.repository, memory.repository.branch()[0]
    if memory.by_agent:
        edited_hooks.refuse_move(repository, ref(memory))
    contents = files.contents(memory.folder, change.paths)
    text = commit_message.compose([change], branch.removeprefix("refs/heads/") or DETACHED)
    tracked = {memory.tracked(path): content for path, content in contents.items()}
    for path in repository.filters.filtered(path for path, content in tracked.items() if content is not None):
        blob = repository.filters.store(path, tracked[path] or b"")  # such as the encrypted text
        tracked[path] = trees.blobs(repository, [blob], files.MAX_BYTES)[blob]
    with closing(Importer(repository)) as importer:
        importer.write_commit(ref(memory), tip(memory) or _start(memory), tracked, text, variables.identities())
        return importer.finish()


def _start(memory: Memory) -> str:
    from memctl.git import refs, tree_merge
    from memctl.store.commit_message import TYPE

    repository, head = memory.repository, memory.repository.branch()[1]
    below = tree_merge.tree_at(repository, head, memory.prefix) if head else ""
    if not below:
        return ""
    tree = tree_merge.edit_tree(repository, "", {memory.prefix: tree_merge.Leaf(tree_merge.FOLDER, below)})
    return refs.commit_tree(repository, tree, (), f"{TYPE}: before the first change\n", memory.commit_moment)


def keeps(memory: Memory, path: str) -> bool:
    """Return whether the newest change of a file below `.memory/` has the text that the file has on the disk."""
    name = memory.tracked(path)
    blob = trees.blob_ids(memory.repository, tip(memory), [name]).get(name, "") if tip(memory) else ""
    return bool(blob) and trees.worktree_blob_ids(memory.repository, [name]).get(name) == blob


def changes(memory: Memory, paths: Sequence[str], limit: int | None = None) -> list[Commit]:
    """Return the changes of some paths (relative to the worktree's top), newest first, at most `limit`."""
    from memctl.git import history

    newest = tip(memory)
    listed = history.commits(memory.repository, paths, newest, limit, first_parent=True) if newest else []
    return [commit for commit in listed if commit.trailers.branch]


def of_session(memory: Memory, session: str) -> list[Commit]:
    """Return the changes that a session made, newest first; of the ref's changes the latest are searched."""
    return [commit for commit in changes(memory, [memory.prefix], _LATEST) if commit.trailers.session == session]


def uncommitted(memory: Memory, paths: Sequence[str], limit: int | None = None) -> list[Commit]:
    """Return those of the latest changes that no branch has, newest first: of this worktree, of others or of lost ones.

    A branch has a change if HEAD has the text that the file had at last, or if any branch has a commit of the file that
    has this text or is younger than the change: before a commit, hooks and people edit what memctl wrote.
    """
    listed = changes(memory, paths, limit)
    if not listed:
        return []
    from memctl.git import introductions
    from memctl.text import timestamps

    dates = {path: timestamps.to_epoch(commit.date) for commit in reversed(listed) for path in commit.paths}
    dates = {path: date for path, date in dates.items() if not path.startswith(f"{memory.prefix}/{DOCUMENTS}/")}
    repository, (_, head) = memory.repository, memory.repository.branch()
    latest = trees.blob_ids(repository, tip(memory), dates)
    in_head = trees.blob_ids(repository, head, dates) if head else {}
    waiting = {path for path in dates if latest.get(path) != in_head.get(path)}
    since = [f"--since={min(dates.values(), default=0)}", *([head] if head else []), "--branches"]
    committed: dict[str, int] = {}
    for made in introductions.introductions(repository, sorted(waiting), *since) if waiting else ():
        committed[made.path] = max(made.seconds, committed.get(made.path, 0))
        if made.blob == latest.get(made.path):
            waiting.discard(made.path)
    return [
        commit
        for commit in listed
        if any(
            timestamps.to_epoch(commit.date) >= committed.get(path, 0) for path in waiting.intersection(commit.paths)
        )
    ]
