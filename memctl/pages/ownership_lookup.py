"""Who owns a place that somebody names: a section, a file or folder that sections cover, a file of the memory."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from memctl.errors import USAGE, MemctlError
from memctl.pages import navigate
from memctl.pages.coverage import covering
from memctl.pages.path_args import inside, readings
from memctl.pages.section_check import missing
from memctl.record.errors import InvalidRecord
from memctl.record.pages import PROJECT_ID
from memctl.record.snapshot import Snapshot
from memctl.store import file_sections
from memctl.store.memory import Memory
from memctl.team import guard
from memctl.team.state import Ownership, State


def owners(memory: Memory, snapshot: Snapshot, state: State, folder: Path, place: str) -> list[Ownership]:
    """The ownerships that decide about a place, a marker or a path as seen from `folder` or from the worktree's top.

    A path need not be there yet. Raises MemctlError for a section that does not exist, and for what lies outside of
    the repository.
    """
    if not place.strip():
        raise MemctlError("a place is empty", "give a section such as §2.1, or a path; `.` is all of it", USAGE)
    if navigate.is_marker(place):
        return _of_markers(memory, state, _section(snapshot, state, place))
    paths = readings(memory.repository.top, folder, place)
    if not paths:
        raise MemctlError(f"{place} is not in this repository", exit_code=USAGE)
    names = snapshot.files.names()
    # Of what is there only that is meant; of what is not, either may be.
    paths = [path for path in paths if path in names or inside(names, path)][:1] or paths
    found: list[Ownership] = []
    for path in paths:
        if path.startswith(f"{memory.prefix}/"):
            found += _of_own_file(memory, snapshot, state, path[len(memory.prefix) + 1 :])
        files = [path, *inside(names, path)]
        pages = {page.id for pages in covering(snapshot, files).values() for page in pages}
        found += [held for marker in sorted(pages) if (held := state.live(marker, memory.now))]
    return list(dict.fromkeys(found))


def _section(snapshot: Snapshot, state: State, place: str) -> tuple[str, ...]:
    outline = snapshot.outline
    markers = file_sections.around("§" + place.strip().removeprefix("§"), partial(_parent, snapshot))
    known = {PROJECT_ID} | {page.id for page in outline.pages} | state.section_ownership_map.keys()
    if markers and markers[0] not in known and outline.fault_of(markers[0]) is None:
        raise missing(outline, markers[0])
    return markers


def _of_markers(memory: Memory, state: State, markers: tuple[str, ...]) -> list[Ownership]:
    found = guard.holding(state, markers, memory.now)
    return [found] if found else []


def _of_own_file(memory: Memory, snapshot: Snapshot, state: State, path: str) -> list[Ownership]:
    """The ownership that decides about a page or a record, by the section that it says it belongs to."""
    try:
        text = snapshot.read(path)
    except (FileNotFoundError, InvalidRecord):
        text = ""
    return _of_markers(memory, state, file_sections.sections(path, text, partial(_parent, snapshot)))


def _parent(snapshot: Snapshot, marker: str) -> str:
    """The section that a page of details belongs to, "" if that can't be told."""
    page = snapshot.outline.find(marker)
    return (page.section or "") if page else ""
