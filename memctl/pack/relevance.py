"""How much of the memory bears on a task: records are ranked by search; pages, their headed parts and the pages of
sessions by the words they share with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from memctl.pack import items
from memctl.pack.draft import Item
from memctl.record import pages, session_page
from memctl.record.errors import InvalidRecord
from memctl.record.pages import Page
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.search.filters import Filters
from memctl.text.markdown import one_line
from memctl.text.words import folded, stems

if TYPE_CHECKING:
    from memctl.search.ranking import Ranked

_ENOUGH = 0.6  # of a task's words, for a page or a session to bear on it: of two both, of three two
_MOST = 3  # of them
_PHRASE = re.compile(r'"([^"]+)"')
_SIGMA = "\N{GREEK CAPITAL LETTER SIGMA}"
_SECTION = re.compile(r"(?m)^### ")
PAGE, SESSION = "page", "session"


class PagePlace(msgspec.Struct, frozen=True):
    """A page, a headed part of one (with a marker below the page's), or of the page of a session the part that fits
    best; and how relevant it is (0 to 1). `page` is None of a session, whose name is the marker.
    """

    kind: str
    marker: str
    title: str
    text: str
    page: Page | None
    score: float


class Bearing(msgspec.Struct, frozen=True):
    """What bears on a task: records, best first, with how well their texts fit (1 the best, by path), and places."""

    records: tuple[Record, ...] = ()
    fits: Mapping[str, float] = {}
    places: tuple[PagePlace, ...] = ()

    @property
    def is_met(self) -> bool:
        return bool(self.records or self.places)


def bearing(snapshot: Snapshot, task: str, current: Sequence[Record], now: str, *, with_places: bool = True) -> Bearing:
    """What of some records, and of all places, bears on a task; nothing without a task."""
    if not task:
        return Bearing()
    open_paths = {record.path for record in current}
    ranked = [result for result in records(snapshot, task, now) if result.record.path in open_paths]
    texts = {result.record.path: result.title + result.content for result in ranked}
    best = max(texts.values(), default=0.0) or 1.0
    fits = {path: share / best for path, share in texts.items()}
    found = tuple(found_places(snapshot, task)[:_MOST]) if with_places else ()
    return Bearing(tuple(result.record for result in ranked), fits, found)


def records(snapshot: Snapshot, task: str, now: str) -> list[Ranked]:
    """The records that match a task, best first; none without a task."""
    if not task:
        return []
    from memctl.search import ranking  # most packs are about no task

    return ranking.search(snapshot, task, Filters(), now)


def found_places(snapshot: Snapshot, query: str) -> list[PagePlace]:
    """The pages, parts of pages and sessions that have most of a query's words, and its "phrases"."""
    phrases = [one_line(phrase).casefold() for phrase in _PHRASE.findall(query)]
    found = [*places(snapshot, query, _ENOUGH), *sessions(snapshot, query)]
    found = [place for place in found if place.score >= _ENOUGH]
    found = [
        one for one in found if all(phrase in one_line(f"{one.title} {one.text}").casefold() for phrase in phrases)
    ]
    return sorted(found, key=lambda place: (-place.score, place.kind, pages.sort_key(place.marker)))


def places(snapshot: Snapshot, task: str, least: float = 0.0) -> list[PagePlace]:
    """The sections and the headed parts of details, each with the share of the task's words that it has, best first; a
    share that is less than `least` may be told as 0."""
    wanted = stems(task)
    found = [PagePlace(PAGE, page.id, page.title, page.body, page, 0.0) for page in snapshot.outline.sections]
    for page in snapshot.outline.details:
        parts = pages.parts_of(page)
        found += [PagePlace(PAGE, part.id, part.title, part.text, page, 0.0) for part in parts]
        if not parts:
            found.append(PagePlace(PAGE, page.id, page.title, page.body, page, 0.0))
    scored = [msgspec.structs.replace(place, score=_share(wanted, place, least)) for place in found]
    return sorted(scored, key=lambda place: (-place.score, pages.sort_key(place.marker)))


def sessions(snapshot: Snapshot, task: str) -> list[PagePlace]:
    """Of the page of each session the part that has most of the task's words, with their share; none without any."""
    wanted, found = stems(task), []
    for path in filter(session_page.is_page, snapshot.names(session_page.FOLDER)):
        try:
            text = snapshot.read(path)
        except (InvalidRecord, OSError):
            continue
        lowered = text.casefold()
        if not any(word in lowered for word in wanted):
            continue
        identifier = path.removeprefix(f"{session_page.FOLDER}/").removesuffix(".md")
        parts = (PagePlace(SESSION, identifier, *_headed(part), None, 0.0) for part in _SECTION.split(text)[1:])
        scored = (msgspec.structs.replace(part, score=_share(wanted, part, _ENOUGH)) for part in parts)
        best = max(scored, key=lambda part: part.score, default=None)
        found += [best] if best is not None and best.score else []
    return found


def item(snapshot: Snapshot, place: PagePlace) -> Item:
    """A place as an item of a pack."""
    if place.page is None:
        title, text = f"Session {place.marker}: {place.title}", items.screened(snapshot, place.text.strip("\n"))
        return Item(SESSION, place.marker, title, text, (), f"{SESSION} {place.marker} {place.title}")
    made = items.of_page(place.page, place.text.strip("\n"), place.marker)
    return msgspec.structs.replace(made, id=place.marker, title=place.title)


def _headed(part: str) -> tuple[str, str]:
    """The heading of a section of a session's page, and its text."""
    heading, _, text = part.partition("\n")
    return one_line(heading), text.strip("\n")


def sections(snapshot: Snapshot, task: str, matching: Iterable[Ranked]) -> list[Page]:
    """The sections that bear on a task, most relevant first: by their own words, and by the records placed in them."""
    weights: dict[str, float] = {}
    for result in matching:
        if result.record.section:
            section = _section_of(snapshot, result.record.section)
            weights[section] = max(weights.get(section, 0.0), result.score)
    for place in places(snapshot, task):
        section = (place.page.section or place.page.id) if place.page else ""
        weights[section] = max(weights.get(section, 0.0), place.score)
    known: Mapping[str, Page] = {page.id: page for page in snapshot.outline.sections}
    ranked = sorted((weight, marker) for marker, weight in weights.items() if weight > 0 and marker in known)
    return [known[marker] for _, marker in reversed(ranked)]


def _share(wanted: frozenset[str], place: PagePlace, least: float) -> float:
    text = f"{place.title} {place.page.title if place.page else place.marker} {place.text}"
    if not wanted or _most_share(wanted, text) < least:
        return 0.0
    return len(wanted & stems(text)) / len(wanted)


def _most_share(wanted: frozenset[str], text: str) -> float:
    """What share of some stems a text can have at most: those that stand anywhere in it."""
    if _SIGMA in text:  # its lower case depends on what follows, which may be of another word
        return 1.0
    lowered = folded(text).lower()
    return sum(stem in lowered for stem in wanted) / len(wanted)


def _section_of(snapshot: Snapshot, marker: str) -> str:
    """The marker of the section that a place belongs to."""
    number = ".".join(marker.split(".")[:2])
    page = snapshot.outline.find(number)
    return (page.section or page.id) if page else number
