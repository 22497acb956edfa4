"""Collect what the rules need besides the Snapshot: texts in HEAD, staged files, changes whose commit is overdue."""

from __future__ import annotations

import os

from memctl.check.cached_renderer import CachedRenderer
from memctl.check.findings import CheckContext, StagedWork
from memctl.errors import MemctlError
from memctl.git import differences, git, history, index, trees
from memctl.pages import renamed_files
from memctl.record.snapshot import Snapshot
from memctl.store import last_commits, near_pairs, pending_state
from memctl.store.memory import Memory
from memctl.team import ref_state
from memctl.team.state import State
from memctl.write import documents


def is_touched(memory: Memory) -> bool:
    """Return whether any file of the memory is staged; True if the repository has no commit yet.

    If none is staged, a commit needs no check: an error in the memory that is not part of the commit must not prevent
    it.
    """
    return not _exists(memory, "HEAD") or bool(
        differences.changed_below(memory.repository, memory.prefix, "HEAD", staged=True)
    )


def from_memory(memory: Memory, snapshot: Snapshot, staged: bool = False, at: str | None = None) -> CheckContext:
    """Return the input of the rules for a snapshot.

    The snapshot is that of the disk, of the index if `staged`, or of the revision `at`.
    """
    after = memory.repository.resolve(at) if at else None
    before = f"{after}^" if after else "HEAD"
    changed: set[str] = set()
    _ = snapshot.catalogue  # loading it sets `memory.differing`, which `_changed_files` reads
    # In a hook of memctl's own commit nothing counts as changed: memctl has checked the change before writing it.
    if not git.committing_process() and _exists(memory, before) and not (after and _is_ours(memory, after)):
        paths = _changed_files(memory, memory.tracked("decisions"), before, after, staged)
        changed = {path[len(memory.prefix) + 1 :] for path in paths}

    def earlier(path: str) -> str | None:
        return trees.text(memory.repository, before, memory.tracked(path))

    return CheckContext(
        snapshot,
        memory.now,
        CachedRenderer(memory, snapshot),
        documents.counter(memory),
        sorted(changed),
        earlier,
        _staged_work(memory) if staged else None,
        None if at else _coordination_state(memory),
        () if staged or at else _overdue_changes(memory),
        documents.belong_here(memory, snapshot.config),
        lambda: renamed_files.renamed_code(memory, snapshot, at),
        staged,
        near_pairs=lambda: () if at or staged else near_pairs.open_pairs(memory, snapshot),
        allowed_secrets=lambda: memory.allowed_secrets,
        signatures=lambda: {} if at else _signatures(memory, snapshot),
    )


def _signatures(memory: Memory, snapshot: Snapshot) -> dict[str, tuple[str, str]]:
    paths = {memory.tracked(record.path): record.path for record in snapshot.records}
    return {paths[path]: found for path, found in last_commits.signatures(memory, paths).items()}


def _overdue_changes(memory: Memory) -> list[tuple[str, str]]:
    changes = []
    for entry in pending_state.overdue(memory, pending_state.open_entries(memory)):
        why = " ".join(pending_state.reason(memory, entry).split()) or "memctl has not tried to commit it yet"
        changes.append((entry.change.paths[0], f"{pending_state.describe(entry)} is not committed yet: {why}"))
    return changes


def merged_commits(memory: Memory) -> list[str]:
    """Return the commits that are being merged into HEAD, as "MERGE_HEAD" or by id; [] if no merge is under way.

    While Git runs the hooks of a merge commit, the file MERGE_HEAD may not exist yet. So the ids are taken from
    environment variables of Git's: for each merged commit there is one with the name GITHEAD_ID, where ID is its id.
    """
    merged = [name.removeprefix("GITHEAD_") for name in os.environ if name.startswith("GITHEAD_")]
    return [commit for commit in ("MERGE_HEAD", *merged) if _exists(memory, commit)]


def _changed_files(memory: Memory, folder: str, before: str, after: str | None, staged: bool) -> set[str]:
    """In a merge they differ from every side."""
    others = [f"{after}^2"] if after and _exists(memory, f"{after}^2") else [] if after else merged_commits(memory)
    parents = (before, *others)
    if not staged and after is None and len(parents) == 1:  # the `git status` for the snapshot has the answer
        return {path for path in memory.differing[1] if path.startswith(f"{folder}/")}
    sides = [
        set(differences.changed_below(memory.repository, folder, parent, after, staged=staged)) for parent in parents
    ]
    return set.intersection(*sides)


def _staged_work(memory: Memory) -> StagedWork | None:
    """Return the commit about to be made; None if no section has an owner, or if memctl itself makes the commit."""
    state = ref_state.read(memory).state
    if git.committing_process() or not state.section_ownership_map:
        return None
    if not _exists(memory, "HEAD"):
        return StagedWork(tuple(entry.path for entry in index.entries(memory.repository)), state, memory.actor)
    return StagedWork(tuple(sorted(_changed_files(memory, ".", "HEAD", None, True))), state, memory.actor)


def _coordination_state(memory: Memory) -> State | None:
    try:
        return ref_state.read(memory).state
    except MemctlError as error:
        memory.remarks.append(f"warning: {error.message}")
        return None


def _is_ours(memory: Memory, commit: str) -> bool:
    """Changes of accepted decisions in a commit of memctl's were allowed explicitly."""
    commits = history.commits(memory.repository, [memory.prefix], commit, 1)
    return bool(commits and commits[0].commit == commit and commits[0].trailers.ops)


def _exists(memory: Memory, revision: str) -> bool:
    if revision == "HEAD":
        return memory.repository.has_head()
    if revision == "MERGE_HEAD" and not memory.repository.is_merging():
        return False
    try:
        return bool(memory.repository.resolve(revision))
    except MemctlError:
        return False
