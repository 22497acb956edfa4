"""A renumbering within a merge: what it wrote goes into the index, so that `git commit` concludes the merge with it.

The index is the user's. What a merge brought stands in it already, and the renumbering only says the same in other
words: its files are staged if each of them had on disk what was staged of it (or was in conflict). If one had not,
somebody works on it, and nothing is staged. The merge's commit is then that of the renumbering too, so it waits for
none of its own; `git merge --abort` takes both back.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from memctl.errors import MemctlError
from memctl.git import commits, index, trees
from memctl.record.change import RENUMBER, Change
from memctl.record.errors import InvalidRecord
from memctl.record.frontmatter import clean_newlines
from memctl.store import entry_state, files, journal, lock
from memctl.store.journal import PENDING
from memctl.store.memory import Memory
from memctl.write import documents


class StagedMerge(msgspec.Struct, frozen=True):
    """What became of a renumbering within a merge: the paths below `.memory/` that were `staged` (none if `why` says
    something), and the paths from the top that are in conflict still. `warning` is about the documents."""

    staged: tuple[str, ...] = ()
    why: str = ""
    conflicts: tuple[str, ...] = ()
    warning: str = ""


def stage(memory: Memory) -> StagedMerge | None:
    """Stage what renumberings have written that wait for the merge under way; None if there is nothing of that."""
    with lock.hold(memory.repository.shared / "lock"):
        waiting = [one for one in entry_state.outstanding(memory) if one.stage == PENDING and not one.undone]
        entries = [one for one in waiting if one.change.op == RENUMBER]
        if not entries or not memory.repository.is_merging():
            return None
        paths = tuple(dict.fromkeys(path for entry in entries for path in entry.change.paths))
        held = _held(memory, paths)
        if odd := [path for entry in entries for path in _edited(memory, entry.change, held)]:
            return StagedMerge(why=f"{memory.tracked(odd[0])} has changes that are not staged")
        try:
            commits.update_index(memory.repository, [memory.tracked(path) for path in paths])
        except commits.CommitPending as error:
            return StagedMerge(why=error.why)
        for entry in entries:
            journal.drop(entry)
        warning = _render(memory)
        memory.asked = None
    return StagedMerge(paths, conflicts=index.in_conflict(memory.repository), warning=warning)


def _held(memory: Memory, paths: tuple[str, ...]) -> Mapping[str, str | None]:
    """The staged texts of some files by path, None for one in conflict; what is not in the index is left out."""
    wanted = {memory.tracked(path): path for path in paths}
    entries = [entry for entry in index.entries(memory.repository, memory.prefix) if entry.path in wanted]
    contents = trees.blobs(memory.repository, [entry.blob for entry in entries], files.MAX_BYTES)
    return {
        wanted[entry.path]: clean_newlines((contents[entry.blob] or b"").decode(errors="replace"))
        if entry.is_regular
        else None
        for entry in entries
    }


def _edited(memory: Memory, change: Change, held: Mapping[str, str | None]) -> list[str]:
    """The files of a change that had something else on disk than in the index before it, or have by now."""
    old = {write.path: write.old for write in change.writes} | {one.path: one.old for one in change.deletes}
    new = {write.path: write.text for write in change.writes}
    found = []
    for path, before in old.items():
        staged_now = path in held and held[path] in (None, before, new.get(path))
        if not (staged_now or (path not in held and before is None)) or _on_disk(memory, path) != new.get(path):
            found.append(path)
    return found


def _on_disk(memory: Memory, path: str) -> str | None:
    try:
        return files.read(memory.folder, path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except InvalidRecord:
        return ""  # somebody has put something else there


def _render(memory: Memory) -> str:
    """Have the staged documents show what is staged, as our hook has; what went wrong, or ""."""
    try:
        documents.render_index(memory)
        return ""
    except MemctlError as error:
        return f"the documents are not rendered: {error.message}"
