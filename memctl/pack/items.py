"""Records and pages as items of a pack, with where their text comes from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

import msgspec

from memctl.pack.draft import Item, Left
from memctl.record.kinds import SEVERITIES, STATE
from memctl.record.pages import Page
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store.cache import digest
from memctl.text import headings

if TYPE_CHECKING:
    from memctl.pages.navigate import Place


PROPOSED = "proposed"  # a decision that nobody has accepted yet


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

    `ahead` is told of which records a pack is made, so that Git looks at the latest commits meanwhile. `executive`
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
    """A record with all that is known of it."""
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
    """How much a record weighs, from 1 to 10: a critical issue as much as can be."""
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
    """A page, or a part of one, as a model needs it."""
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
    """A place of the hierarchy: a page, a part of one, or a list of files."""
    body = headings.take_title(place.text)[1].strip("\n")
    return Item("page", place.marker, place.title, body, (("path", place.path),), place.marker)


def without(item: Item, heading: str) -> tuple[Item, str]:
    """An item without one of its headed sections, and the text of that; "" if it has none."""
    parts = headings.split(item.body)
    found = next((part for part in parts if part.heading == heading), None)
    if found is None:
        return item, ""
    rest = "".join(part.text for part in parts if part is not found)
    return msgspec.structs.replace(item, body=rest), found.body.strip("\n")


def left(record: Record) -> Left:
    return Left(record.id, record.title, kind=record.memory_type, section=record.place)
