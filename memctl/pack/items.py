"""Records and pages as items of a pack, with where their text comes from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from memctl.pack.draft import PROPOSED, Item, OmittedItem
from memctl.record.filters import Filters
from memctl.record.kinds import SEVERITIES, STATE
from memctl.record.pages import Page
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store.cache import digest
from memctl.text import headings

if TYPE_CHECKING:
    from memctl.pages.navigate import Place
    from memctl.search.ranking import Result


class RecordOrigin(msgspec.Struct, frozen=True):
    """Where a record's text comes from: the commit that brought it, as a pack names it, and of each of its code
    references whether the file is as it was in that commit: "", "changed since" or "gone".
    """

    commit: str
    drift: Mapping[str, str] = {}


Origins = Mapping[str, RecordOrigin]  # by the record's path
Worked = Callable[[list[Record]], Mapping[str, str]]  # when records were changed last (canonical UTC) by their paths


class Sources(msgspec.Struct, frozen=True):
    """What packs are made of besides the Snapshot: where records come from, and what pages say themselves.

    `ahead` takes the records of which a pack is made, so that Git looks at the latest commits meanwhile. `executive`
    renders level 1. `worked` says when records were changed last, `touched` which files of the repository the latest
    commits changed, `blockers` what keeps everybody from going on.
    """

    ahead: Callable[[list[Record]], None]
    origins: Callable[[list[Record]], Origins]
    page: Callable[[Page], str]
    executive: Callable[[], str]
    worked: Worked
    touched: Callable[[], Collection[str]]
    blockers: Callable[[], list[str]]


def of_record(snapshot: Snapshot, record: Record, origins: Origins) -> Item:
    """Return a record with all that is known of it."""
    facts = {"status": record.status}
    if record.completion_percentage is not None:
        facts["completion"] = str(record.completion_percentage)
    if record.severity:
        facts["severity"] = record.severity
    facts |= {"importance": str(record.importance), "date": record.timestamp, "by": record.agent_id}
    if record.section:
        facts["section"] = record.section
    if record.tags:
        facts["tags"] = ", ".join(record.tags)
    origin = origins.get(record.path)
    drift = origin.drift if origin else {}
    if record.code_refs:
        facts["code"] = ", ".join(f"{ref} ({drift[ref]})" if drift.get(ref) else ref for ref in record.code_refs)
    if origin is not None:
        facts["commit"] = origin.commit
    body = snapshot.body(record)
    if record.path in snapshot.suspicious:
        body = screened(snapshot, body)
    changed = bool(drift) and record.memory_type != STATE.name  # work under way is there to change code
    return Item(
        record.memory_type,
        record.id,
        record.title,
        body,
        tuple(facts.items()),
        record.path,
        0 if changed or record.status == PROPOSED else weight(record),
        changed,
        record.place,
    )


def weight(record: Record) -> int:
    """Return how much a record weighs, from 1 to 10: a critical issue as much as can be."""
    return 10 if record.severity == SEVERITIES[0] else record.importance


def screened(snapshot: Snapshot, body: str) -> str:
    """Return a text of the memory, or only that it has a credential if it was written past memctl with one in it.

    The cache knows texts without one by their digests: a search compiles dozens of patterns.
    """
    key = digest(body, "credentials")
    if snapshot.catalogue.is_clean(key):
        return body
    from memctl.text.credentials import find

    spans = find(body)
    if not spans:
        snapshot.catalogue.keep_clean([key])
        return body
    return f"Left out: it looks like it contains a credential ({spans[0].rule}). `memctl check` names the line.\n"


def of_page(page: Page, text: str, key: str = "") -> Item:
    """Return a page, or a part of one, as a model needs it."""
    facts = {}
    if page.completion_percentage is not None:
        facts["completion"] = str(page.completion_percentage)
    if page.timestamp:
        facts["date"] = page.timestamp
    if page.agent_id:
        facts["by"] = page.agent_id
    return Item(
        "page", page.id, page.title, headings.take_title(text)[1].strip("\n"), tuple(facts.items()), key or page.path
    )


def of_place(place: Place) -> Item:
    """Return a place of the hierarchy: a page, a part of one, or a list of files."""
    body = headings.take_title(place.text)[1].strip("\n")
    return Item("page", place.marker, place.title, body, (("path", place.path),), place.marker)


def without(item: Item, heading: str) -> tuple[Item, str]:
    """Return an item without one of its headed sections, and the text of that; "" if it has none."""
    parts = headings.split(item.body)
    found = next((part for part in parts if part.heading == heading), None)
    if found is None:
        return item, ""
    rest = "".join(part.text for part in parts if part is not found)
    return msgspec.structs.replace(item, body=rest), found.body.strip("\n")


def omit(record: Record) -> OmittedItem:
    return OmittedItem(record.id, record.title, kind=record.memory_type, section=record.place)


# Shares of how well the best matches. From CLOSE on something bears on a task: of the pages, sessions and checkpoints
# that match so well on the first half of bench/labelled half are relevant, and of the relevant ones .96 do. From
# POSSIBLE on it may: of all that match less well there one in a hundred is relevant, of what is between one in twelve.
CLOSE, POSSIBLE = 0.7, 0.55
_MOST = 3  # of them
_RANKED = 500  # results that a task puts in order: more than a pack has room for, and all are read


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
    """Return what of some records, and of all places, bears on a task; nothing without a task."""
    open_paths = {record.path for record in current}
    ranked = search(snapshot, task, now)
    records = [result.record for result in ranked if result.record is not None and result.path in open_paths]
    fits = {result.path: result.match for result in ranked}
    return Bearing(tuple(records), fits, tuple(places(ranked)) if with_places else ())


def search(snapshot: Snapshot, task: str, now: str) -> list[Result]:
    """Return what matches a task, best first, without archived records; nothing without a task."""
    if not task:
        return []
    from memctl.search import ranking  # most packs are about no task

    return ranking.search(snapshot, task, now, Filters(), most=_RANKED)


def places(ranked: Sequence[Result]) -> list[Result]:
    """Of some results, best first, the few pages, sessions and checkpoints that match about as well as the best."""
    close = [result for result in ranked if result.record is None and result.match >= CLOSE]
    return close[:_MOST]


def of_result(snapshot: Snapshot, place: Result) -> Item:
    """Return a page, a headed part of one, or what matches of a session or a checkpoint, as an item of a pack."""
    text = snapshot.texts.bodies([place.number]).get(place.number, "").strip("\n")  # it may be gone since it was found
    page = snapshot.outline.find(page_of(place.id)) if place.kind == "page" else None
    if page is None:
        title = f"{place.kind.capitalize()} {place.id}: {place.title}"
        return Item(place.kind, place.id, title, screened(snapshot, text), (), f"{place.kind} {place.id}")
    return msgspec.structs.replace(of_page(page, text, place.id), id=place.id, title=place.title)


def sections(snapshot: Snapshot, ranked: Iterable[Result]) -> list[Page]:
    """Return the sections that bear on a task, most relevant first: by their own words, and by what is
    placed in them."""
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
    """Return the marker of the page that a place is on: §3.1 of §3.1.2."""
    return ".".join(marker.split(".")[:2])


def _section_of(snapshot: Snapshot, marker: str) -> str:
    """Return the marker of the section that a place belongs to."""
    page = snapshot.outline.find(page_of(marker))
    return (page.section or page.id) if page else page_of(marker)
