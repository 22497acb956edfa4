"""Find the sections that govern a place: a section, a file or folder, or a file of the memory."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path

from memctl.errors import USAGE, MemctlError
from memctl.pages import navigate
from memctl.pages.freshness import sections_of_files
from memctl.pages.links import missing_section
from memctl.pages.repository_paths import files_below, possible_paths
from memctl.record.errors import InvalidRecord
from memctl.record.pages import PROJECT_ID
from memctl.record.snapshot import Snapshot
from memctl.store.file_sections import enclosing, sections
from memctl.store.memory import Memory


def deciding(
    memory: Memory, snapshot: Snapshot, owned: Collection[str], folder: Path, place: str
) -> list[tuple[str, ...]]:
    """Return the sections that decide about a place: a marker, or a path as seen from `folder` or the worktree's top.

    Each tuple decides about a part of it: the innermost section first, of which the first that has an owner counts, as
    in ("§3.1", "§2.1"). `owned` are markers that count though they have no page. A path need not be there yet. Raises
    MemctlError for a section that does not exist, and for what lies outside of the repository.
    """
    if not place.strip():
        raise MemctlError("a place is empty", "give a section such as §2.1, or a path; `.` is all of it", USAGE)
    if navigate.is_marker(place):
        return [_section(snapshot, owned, place)]
    paths = possible_paths(memory.repository.top, folder, place)
    if not paths:
        raise MemctlError(f"{place} is not in this repository", exit_code=USAGE)
    names = snapshot.files.names()
    # Of what is there only that is meant; of what is not, either may be.
    paths = [path for path in paths if path in names or files_below(names, path)][:1] or paths
    found: list[tuple[str, ...]] = []
    for path in paths:
        if path.startswith(f"{memory.prefix}/"):
            found.append(_of_own_file(snapshot, path[len(memory.prefix) + 1 :]))
        files = [path, *files_below(names, path)]
        found += [
            (marker,)
            for marker in sorted({page.id for pages in sections_of_files(snapshot, files).values() for page in pages})
        ]
    return found


def _section(snapshot: Snapshot, owned: Collection[str], place: str) -> tuple[str, ...]:
    outline = snapshot.outline
    markers = enclosing("§" + place.strip().removeprefix("§"), partial(_parent, snapshot))
    known = {PROJECT_ID, *(page.id for page in outline.pages), *owned}
    if markers and markers[0] not in known and outline.fault_of(markers[0]) is None:
        raise missing_section(outline, markers[0])
    return markers


def _of_own_file(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    """Return the sections of a page or record of the memory, by the place that it names."""
    try:
        text = snapshot.read(path)
    except (FileNotFoundError, InvalidRecord):
        text = ""
    return sections(path, text, partial(_parent, snapshot))


def _parent(snapshot: Snapshot, marker: str) -> str:
    """Return the section that a page of details belongs to, "" if it is unknown."""
    page = snapshot.outline.find(marker)
    return (page.section or "") if page else ""
