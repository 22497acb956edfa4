"""Find the sections that govern a place, so that the owners of these sections decide about changes there.

A place is a section, a file, a folder, or a record.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from memctl.errors import USAGE, MemctlError
from memctl.pages import navigate
from memctl.pages.freshness import sections_of_files
from memctl.pages.links import missing_section
from memctl.pages.repository_paths import files_below, possible_paths
from memctl.record.errors import InvalidRecord
from memctl.record.pages import PROJECT_ID
from memctl.record.snapshot import Snapshot
from memctl.store.file_sections import sections
from memctl.store.memory import Memory


def governing_sections(
    memory: Memory, snapshot: Snapshot, owned: Collection[str], folder: Path, place: str
) -> list[tuple[str, ...]]:
    """Return the markers of the sections that govern a place.

    `place` is a marker, or a path relative to `folder` or to the worktree's top; the path need not exist. The result
    has a tuple for each section whose owner has a say:

    - A marker gives one tuple. For a page of details it also has the marker of the page's section, as in ("§3.1",
      "§2.1"): the owner of the first marker that has an owner decides.
    - A file or folder gives one tuple for each section that covers it, or that covers a file below it.
    - A page or record of the memory gives one tuple for each section that it belongs to.

    `owned` are the markers that have an owner. Such a section counts as existing even if it has no page yet. Raises
    MemctlError if a section does not exist, if a path is outside of the repository, or if `place` is blank.
    """
    if not place.strip():
        hint = "give a section such as §2.1, or a path; `.` means all files"
        raise MemctlError("no section or path is given", hint, USAGE)
    if navigate.is_marker(place):
        return [_section(snapshot, owned, place)]
    paths = possible_paths(memory.repository.top, folder, place)
    if not paths:
        raise MemctlError(f"the path {place} is not in this repository", exit_code=USAGE)
    names = snapshot.files.names()
    # A path that exists is the one that is meant; if none exists, each may be.
    paths = [path for path in paths if path in names or files_below(names, path)][:1] or paths
    markers_by_file: list[tuple[str, ...]] = []
    for path in paths:
        if path.startswith(f"{memory.prefix}/"):
            markers_by_file += _of_own_file(snapshot, path[len(memory.prefix) + 1 :])
        files = [path, *files_below(names, path)]
        covering = {page.id for pages in sections_of_files(snapshot, files).values() for page in pages}
        markers_by_file += [(marker,) for marker in sorted(covering)]
    return markers_by_file


def _section(snapshot: Snapshot, owned: Collection[str], place: str) -> tuple[str, ...]:
    outline = snapshot.outline
    markers = outline.enclosing("§" + place.strip().removeprefix("§"))
    known = {PROJECT_ID, *(page.id for page in outline.pages), *owned}
    if markers and markers[0] not in known and outline.fault_of(markers[0]) is None:
        raise missing_section(outline, markers[0])
    return markers


def _of_own_file(snapshot: Snapshot, path: str) -> tuple[tuple[str, ...], ...]:
    try:
        text = snapshot.read(path)
    except (FileNotFoundError, InvalidRecord):
        text = ""
    return sections(path, text, snapshot.outline)
