"""How much of the memory bears on a task: what search finds for it, and the pages and sessions as items of a pack."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from memctl.pack import items
from memctl.pack.draft import Item
from memctl.record.pages import Page
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.search.filters import Filters

if TYPE_CHECKING:
    from memctl.search.ranking import Result

# Shares of how well the best matches. From CLOSE on something bears on a task: of the pages, sessions and checkpoints
# that match so well on the first half of bench/labelled half are relevant, and of the relevant ones .96 do. From
# POSSIBLE on it may: of all that match less well there one in a hundred is relevant, of what is between one in twelve.
CLOSE, POSSIBLE = 0.7, 0.55
_MOST = 3  # of them


class Bearing(msgspec.Struct, frozen=True):
    """What bears on a task: records, best first, with how well they match, and places.

    `fits` are shares of the best match by path, which may be a record that is closed.
    """

    records: tuple[Record, ...] = ()
    fits: Mapping[str, float] = {}
    places: tuple[Result, ...] = ()

    @property
    def is_met(self) -> bool:
        return bool(self.records or self.places)


def bearing(snapshot: Snapshot, task: str, current: Sequence[Record], now: str, *, with_places: bool = True) -> Bearing:
    """What of some records, and of all places, bears on a task; nothing without a task."""
    open_paths = {record.path for record in current}
    ranked = found(snapshot, task, now)
    records = [result.record for result in ranked if result.record is not None and result.path in open_paths]
    fits = {result.path: result.match for result in ranked}
    return Bearing(tuple(records), fits, tuple(places(ranked)) if with_places else ())


def found(snapshot: Snapshot, task: str, now: str) -> list[Result]:
    """What matches a task, best first, without archived records; nothing without a task."""
    if not task:
        return []
    from memctl.search import ranking  # most packs are about no task

    return ranking.search(snapshot, task, now, Filters())


def places(ranked: Sequence[Result]) -> list[Result]:
    """Of some results, best first, the few pages, sessions and checkpoints that match about as well as the best."""
    close = [result for result in ranked if result.record is None and result.match >= CLOSE]
    return close[:_MOST]


def item(snapshot: Snapshot, place: Result) -> Item:
    """A page, a headed part of one, or what matches of a session or a checkpoint, as an item of a pack."""
    text = snapshot.texts.bodies([place.number]).get(place.number, "").strip("\n")  # it may be gone since it was found
    page = snapshot.outline.find(page_of(place.id)) if place.kind == "page" else None
    if page is None:
        title = f"{place.kind.capitalize()} {place.id}: {place.title}"
        return Item(place.kind, place.id, title, items.screened(snapshot, text), (), f"{place.kind} {place.id}")
    return msgspec.structs.replace(items.of_page(page, text, place.id), id=place.id, title=place.title)


def sections(snapshot: Snapshot, ranked: Iterable[Result]) -> list[Page]:
    """The sections that bear on a task, most relevant first: by their own words, and by what is placed in them."""
    weights: dict[str, float] = {}
    for result in ranked:
        marker = result.id if result.kind == "page" else result.record.section if result.record else None
        if marker:
            section = _section_of(snapshot, marker)
            weights[section] = max(weights.get(section, 0.0), result.score)
    known: Mapping[str, Page] = {page.id: page for page in snapshot.outline.sections}
    ordered = sorted((weight, marker) for marker, weight in weights.items() if weight > 0 and marker in known)
    return [known[marker] for _, marker in reversed(ordered)]


def page_of(marker: str) -> str:
    """The marker of the page that a place is on: §3.1 of §3.1.2."""
    return ".".join(marker.split(".")[:2])


def _section_of(snapshot: Snapshot, marker: str) -> str:
    """The marker of the section that a place belongs to."""
    page = snapshot.outline.find(page_of(marker))
    return (page.section or page.id) if page else page_of(marker)
