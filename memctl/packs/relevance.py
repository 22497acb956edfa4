"""How much of the hierarchy bears on a task: records are ranked by search, pages by the words they share with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from memctl.model import pages
from memctl.model.pages import Page
from memctl.model.snapshot import Snapshot
from memctl.model.words import STOP_WORDS, words_of
from memctl.search.filters import Filters

if TYPE_CHECKING:
    from memctl.search.ranking import Ranked

_STEM = 6  # letters after which words count as the same: "connection" and "connected", not "connect" and "contact"


class Place(msgspec.Struct, frozen=True):
    """A page, or with a marker below it a headed part of one, and how relevant it is (0 to 1)."""

    marker: str
    title: str
    text: str
    page: Page
    score: float


def records(snapshot: Snapshot, task: str, now: str) -> list[Ranked]:
    """The records that match a task, best first; none without a task."""
    if not task:
        return []
    from memctl.search import ranking  # most packs are about no task

    return ranking.search(snapshot, task, Filters(), now)


def places(snapshot: Snapshot, task: str) -> list[Place]:
    """The sections and the headed parts of details, each with the share of the task's words that it has, best first."""
    wanted = stems(task)
    found = [Place(page.id, page.title, page.body, page, 0.0) for page in snapshot.outline.sections]
    for page in snapshot.outline.details:
        parts = pages.parts_of(page)
        found += [Place(part.id, part.title, part.text, page, 0.0) for part in parts]
        if not parts:
            found.append(Place(page.id, page.title, page.body, page, 0.0))
    scored = [msgspec.structs.replace(place, score=_share(wanted, place)) for place in found]
    return sorted(scored, key=lambda place: (-place.score, pages.sort_key(place.marker)))


def sections(snapshot: Snapshot, task: str, matching: Iterable[Ranked]) -> list[Page]:
    """The sections that bear on a task, most relevant first: by their own words, and by the records placed in them."""
    weights: dict[str, float] = {}
    for result in matching:
        if result.record.section:
            section = _section_of(snapshot, result.record.section)
            weights[section] = max(weights.get(section, 0.0), result.score)
    for place in places(snapshot, task):
        section = place.page.section or place.page.id
        weights[section] = max(weights.get(section, 0.0), place.score)
    known: Mapping[str, Page] = {page.id: page for page in snapshot.outline.sections}
    ranked = sorted((weight, marker) for marker, weight in weights.items() if weight > 0 and marker in known)
    return [known[marker] for _, marker in reversed(ranked)]


def stems(text: str) -> frozenset[str]:
    """The beginnings of a text's words, without words that say nothing."""
    return frozenset(word[:_STEM] for word in words_of(text) if word not in STOP_WORDS)


def _share(wanted: frozenset[str], place: Place) -> float:
    said = stems(f"{place.title} {place.page.title} {place.text}")
    return len(wanted & said) / len(wanted) if wanted else 0.0


def _section_of(snapshot: Snapshot, marker: str) -> str:
    """The marker of the section that a place belongs to."""
    number = ".".join(marker.split(".")[:2])
    page = snapshot.outline.find(number)
    return (page.section or page.id) if page else number
