"""Where the text of records comes from: their last commits, and whether the code they refer to has changed since."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memctl.journal import history, trees
from memctl.model import pages
from memctl.model.record import Record
from memctl.model.snapshot import Snapshot
from memctl.packs.items import Origin
from memctl.store.last_commits import last_commits
from memctl.store.memory import Memory

_SHOWN = 10  # digits of a commit's id: one in a million million
_CHANGED, _GONE = "changed since", "gone"


def of_records(memory: Memory, snapshot: Snapshot, records: Iterable[Record], at: str | None) -> dict[str, Origin]:
    """The origins of some records, by path, as of a revision (None for the worktree)."""
    wanted = list(records)
    repository = memory.repository
    paths = [memory.tracked(record.path) for record in wanted]
    commits = last_commits(memory, paths) if at is None else history.last_commits(repository, paths, at)
    by_path = {r.path: commits.get(memory.tracked(r.path), "") for r in wanted}
    drift = _drift(memory, snapshot, [r for r in wanted if r.code_refs], by_path)
    return {r.path: Origin(by_path[r.path][:_SHOWN], drift.get(r.path, {})) for r in wanted}


def last_worked(memory: Memory, records: Iterable[Record], at: str | None) -> dict[str, str]:
    """When records were changed last by a commit (canonical UTC by path); what is in none yet, now."""
    paths = {memory.tracked(record.path): record.path for record in records}
    if not paths:
        return {}
    repository = memory.repository
    commits = last_commits(memory, paths) if at is None else history.last_commits(repository, paths, at)
    dates = history.dates(repository, set(commits.values()))
    return {path: dates.get(commits.get(tracked, ""), memory.now) for tracked, path in paths.items()}


def _drift(
    memory: Memory, snapshot: Snapshot, records: Sequence[Record], commits: dict[str, str]
) -> dict[str, dict[str, str]]:
    """What became of the files that records refer to since the records were committed, where something did."""
    if not records:
        return {}
    places = {(record.path, ref): pages.code_path(ref) for record in records for ref in record.code_refs}
    now = snapshot.files.blobs(places.values())
    before = trees.blobs_at(
        memory.repository, [(commits[record], path) for (record, _), path in places.items() if commits[record]]
    )
    found: dict[str, dict[str, str]] = {}
    for (record, ref), path in places.items():
        then = before.get((commits[record], path))
        if path in now:
            state = _CHANGED if then is not None and then != now[path] else ""
        else:
            is_gone = then is not None and path not in snapshot.veil.files
            state = _GONE if is_gone else ""  # else it is a folder, or never was there
        if state:
            found.setdefault(record, {})[ref] = state
    return found
