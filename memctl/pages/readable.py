"""What of the hierarchy an agent may read.

Levels 1 and 2 are read by all (rules.md#ownership-and-access). Levels 3 and 4 (pages of details with the records placed
in them, and the files that a section covers) are kept to the owner and those it names, where an ownership names any.
This guides agents that ask memctl; whoever can open the files can read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from memctl.errors import MemctlError
from memctl.pages.links import FOLDER, SOURCES, document_of
from memctl.pages.repository_paths import matching
from memctl.record.pages import Page
from memctl.record.snapshot import Snapshot
from memctl.record.veil import Veil
from memctl.team import guard
from memctl.team.state import Ownership, State


def restricting(state: State, agent: str, now: str) -> list[Ownership]:
    """The ownerships that keep an agent from reading."""
    return [held for held in state.section_ownership_map.values() if held.is_live(now) and not held.lets_read(agent)]


def without_closed(
    snapshot: Snapshot, state: State, agent: str, now: str, others: Callable[[], Iterable[Snapshot]] = tuple
) -> Snapshot:
    """The memory as an agent may read it: the same, if nothing is kept from it.

    What a section covers is taken from `others`, too: from today's pages if the memory is an earlier one, and from
    committed pages in case that somebody has just deleted or broken one.
    """
    if not restricting(state, agent, now):
        return snapshot
    outlines = [found.outline for found in (snapshot, *others())]
    details: dict[str, Page] = {}
    pages: dict[str, str] = {}
    globs: list[tuple[tuple[str, ...], str]] = []
    for outline in outlines:
        for page in outline.details:
            held = guard.holding(state, (page.id, *((page.section,) if page.section else ())), now)
            if held and not held.lets_read(agent):
                pages[page.id], details[page.path] = _why(page.id, held), page
        for page in outline.sections:
            held = state.live(page.id, now)
            if held and not held.lets_read(agent) and page.paths:
                globs.append((tuple(page.paths), _why("{}", held)))
    files = _closed(globs, snapshot.files.names()) if globs else {}
    records = {record.path: pages[record.place] for record in snapshot.records if record.place in pages}
    documents = [f"{FOLDER}/{document_of(page)}" for page in details.values()]
    paths = frozenset([*details, *documents, *([f"{FOLDER}/{SOURCES}"] if files else [])])
    return snapshot.veiled(Veil(pages, records, files, paths, tuple(globs)))


def closed_files(snapshot: Snapshot, paths: Iterable[str]) -> dict[str, str]:
    """Which of some paths, of files that may be gone, are kept from the reader of a snapshot, each with why."""
    return _closed(snapshot.veil.globs, paths) if snapshot.veil.globs else {}


def refuse_closed(snapshot: Snapshot, path: str) -> None:
    """Raise MemctlError if a file, there or gone, is kept from the reader."""
    for why in closed_files(snapshot, [path]).values():
        raise MemctlError(why, "ask its owner")


def _closed(globs: Iterable[tuple[tuple[str, ...], str]], paths: Iterable[str]) -> dict[str, str]:
    known = list(paths)
    return {path: why.replace("{}", path, 1) for patterns, why in globs for path in matching(known, patterns)}


def _why(what: str, held: Ownership) -> str:
    return f"{what} is read by {held.readers} only; {held.told}"
