"""Where the text of records comes from: their last commits, and whether the code they refer to has changed since."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memctl.git import git, trees
from memctl.pack.items import RecordOrigin
from memctl.record import pages, timestamps
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store.last_commits import LastCommit, last_commits
from memctl.store.memory import Memory

_SHOWN = 10  # digits of a commit's id: one in a million million
_CHANGED, _GONE = "changed since", "gone"
_UNKNOWN = "unknown: Git can't read the history here"
_EARLIER, _EDITED = " or earlier (this clone is shallow)", " (edited since)"


def of_records(
    memory: Memory, snapshot: Snapshot, records: Iterable[Record], at: str | None
) -> dict[str, RecordOrigin]:
    """The origins of some records, by path, as of a revision (None for the worktree)."""
    wanted = {memory.tracked(record.path): record for record in records}
    if any(record.code_refs for record in wanted.values()):
        memory.repository.objects.start()  # while the cache is asked
    try:
        commits = last_commits(memory, list(wanted), at)
        referring = [record for path, record in wanted.items() if record.code_refs and path in commits]
        drift = _drift(memory, snapshot, referring, {wanted[path].path: one.commit for path, one in commits.items()})
    except git.GitFailed:  # the history of a partial clone is with its remote
        return {record.path: RecordOrigin(_UNKNOWN) for record in wanted.values()}
    return {r.path: RecordOrigin(_name(commits.get(path)), drift.get(r.path, {})) for path, r in wanted.items()}


def _name(last: LastCommit | None) -> str:
    """What a pack says of a commit."""
    if last is None:
        return "none yet"
    remarks = [_EARLIER] if last.is_boundary else []
    remarks += [_EDITED] if last.is_edited else []
    return last.commit[:_SHOWN] + "".join(remarks)


def last_worked(memory: Memory, records: Iterable[Record], at: str | None) -> dict[str, str]:
    """When the texts of records were committed (canonical UTC by path); of what is in no commit yet, now."""
    paths = {memory.tracked(record.path): record.path for record in records}
    if not paths:
        return {}
    try:
        found = last_commits(memory, paths, at)
    except git.GitFailed:  # the history of a partial clone is with its remote
        return {}
    dates = {path: timestamps.from_epoch(one.seconds) for path, one in found.items() if not one.is_edited}
    now = memory.now
    return {path: dates.get(tracked, now) for tracked, path in paths.items()}


def _drift(
    memory: Memory, snapshot: Snapshot, records: Sequence[Record], commits: dict[str, str]
) -> dict[str, dict[str, str]]:
    """What became of the files that records refer to since the records were committed, where something did."""
    if not records:
        return {}
    places = {(record.path, ref): pages.code_path(ref) for record in records for ref in record.code_refs}
    before = trees.blobs_at(memory.repository, [(commits[record], path) for (record, _), path in places.items()])
    now = snapshot.files.contents(places.values(), frozenset(before.values()))
    found: dict[str, dict[str, str]] = {}
    for (record, ref), path in places.items():
        then = before.get((commits[record], path))
        if path in now:
            state = _CHANGED if then is not None and then != now[path] else ""
        else:
            is_gone = then is not None and path not in snapshot.withheld.files
            state = _GONE if is_gone else ""  # else it is a folder, or never was there
        if state:
            found.setdefault(record, {})[ref] = state
    return found
