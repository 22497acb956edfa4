"""What a file that is gone may have become."""

from __future__ import annotations

import msgspec

from memctl.git import differences, history
from memctl.pages import repository_paths
from memctl.pages.freshness import CodeReference
from memctl.pages.provenance import beginning
from memctl.record.pages import Page
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory

BY_RENAME, BY_CONTENT, BY_NAME = "renamed", "same content", "same name"
_CANDIDATES = 5  # for a reference that is broken
_STEPS = 5  # renames, one after another, that a file is followed through
# The ids of an empty file, which says nothing about where another went: SHA-1 and SHA-256.
EMPTY = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)


class Candidate(msgspec.Struct, frozen=True):
    """A file that may be what one that is gone has become, and what speaks for it."""

    path: str
    by: str


def candidates(memory: Memory, snapshot: Snapshot, page: Page, reference: CodeReference, at: str) -> list[Candidate]:
    """What the file of a broken reference may have become, the likeliest first.

    That is what Git says it was renamed to; files with the content that it last had; files of the same name.
    """
    names = snapshot.files.names()
    name = reference.reference[3:] if reference.line else reference.reference.partition(":")[0]
    stamped = repository_paths.resolve(frozenset(page.stamps.keys() - names), name)
    path = stamped[0] if len(stamped) == 1 else name
    start = beginning(memory, at)
    last = history.last_known(memory.repository, path, start) if start else None
    became = _became(memory, names, path, at)
    content = last.blob if last else page.stamps.get(path, EMPTY[0])
    blobs = snapshot.files.blobs(names) if content not in EMPTY else {}
    alike = [other for other, blob in blobs.items() if blob.startswith(content)]
    namesakes = [other for other in names if _is_namesake(other, path)]
    found: dict[str, str] = {}
    for by, likely in ((BY_RENAME, [became] if became else []), (BY_CONTENT, alike), (BY_NAME, namesakes)):
        for other in sorted(likely, key=lambda other: _distance(path, other)):
            found.setdefault(other, by)
    return [Candidate(other, by) for other, by in found.items()][:_CANDIDATES]


def _became(memory: Memory, names: frozenset[str], path: str, at: str) -> str:
    """The file that a path was renamed to, be it in a few steps and the last one not committed; "" if to none."""
    start = beginning(memory, at)
    for _ in range(_STEPS):
        last = history.last_known(memory.repository, path, start) if start else None
        if last and last.removed_by:
            changes = differences.changed_by(memory.repository, last.removed_by)
        else:
            changes = [] if at else differences.changed_in_index(memory.repository)
        path = next((change.path for change in changes if change.before == path), "")
        if not path or path in names:
            return path
    return ""


def _is_namesake(path: str, gone: str) -> bool:
    """Whether a file has the name of one that is gone, which may be known only in its dotted form, without suffix."""
    name = path.rpartition("/")[2]
    return name == gone.rpartition("/")[2] or ("/" not in gone and name.partition(".")[0] == gone.rpartition(".")[2])


def _distance(path: str, other: str) -> tuple[int, str]:
    """What to order candidates by: those that share most folders first."""
    return -len(set(path.split("/")) & set(other.split("/"))), other
