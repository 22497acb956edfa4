"""Which records have to do with a record, or with files of the repository.

No document of the project's says how to weigh that. A link is somebody's own word, so it counts most; then what both
say of the same code and in the same words; tags and sections hold many records together and so tell least.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from memctl.record import ids
from memctl.record.filters import Filters
from memctl.record.pages import code_path
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.search import ranking

LINKS, CODE, TEXT, TAGS, SECTION = 0.35, 0.25, 0.25, 0.10, 0.05
_LEAST = 0.1  # of the score: a shared section, or a few shared words, make no relation
_NEAR = 0.5  # for a link by way of a third record, and for sections of which one is part of the other
_SAME_FOLDER = 0.3  # for code in the same folder
_LINK_FIELDS = ("supersedes", "superseded_by", "relates_to", "blocks", "blocked_by")


class RelatedQuery(msgspec.Struct, frozen=True):
    """What is asked about: a record, or files and the sections that cover them. `texts`: shares from 0 to 1 by path."""

    record: Record | None
    files: frozenset[str]
    sections: frozenset[str]
    texts: Mapping[str, float]


class Related(msgspec.Struct, frozen=True):
    """A related record, its score from 0 to 1, what each part contributed, and what they have in common."""

    record: Record
    score: float
    links: float
    code: float
    text: float
    tags: float
    section: float
    because: tuple[str, ...]


def of_record(snapshot: Snapshot, record: Record) -> RelatedQuery:
    """Return the question what has to do with a record."""
    sections = frozenset([record.section] if record.section else [])
    return RelatedQuery(
        record, frozenset(map(code_path, record.code_refs)), sections, snapshot.texts.similar(record.path)
    )


def of_files(snapshot: Snapshot, files: Collection[str], sections: Iterable[str]) -> RelatedQuery:
    """Return the question what has to do with files, given the sections that cover them."""
    texts = of_words(snapshot, " ".join(sorted(files)))
    return RelatedQuery(None, frozenset(files), frozenset(sections), texts)


def of_words(snapshot: Snapshot, words: str, most: int | None = None) -> dict[str, float]:
    """Return how closely records are related to some words, by path; with `most` at least the so many closest.

    A record that matches half as well as the best counts an eighth: a few shared words make no relation.
    """
    return {one.hit.path: one.share**3 for one in ranking.matches(snapshot, words, most=most)}


def related(
    snapshot: Snapshot, subject: RelatedQuery, filters: Filters, among: Iterable[Record] | None = None
) -> list[Related]:
    """Return the records (of all, or `among` some) that have to do with a subject and that a filter accepts, the
    closest first."""
    links = _Links(snapshot, subject)
    kept = filters.keep(record for record in (snapshot.records if among is None else among) if record != subject.record)
    found = (_judge(record, subject, links) for record in kept)
    return sorted((r for r in found if r.score >= _LEAST), key=lambda r: (-r.score, r.record.id))


def _judge(record: Record, subject: RelatedQuery, links: _Links) -> Related:
    link, how = links.to(record)
    code, files = _code(frozenset(map(code_path, record.code_refs)), subject.files)
    own = frozenset(subject.record.tags) if subject.record else frozenset()
    tags = own.intersection(record.tags)
    section, marker = _section(record.section, subject.sections)
    parts = (
        LINKS * link,
        CODE * code,
        TEXT * subject.texts.get(record.path, 0.0),
        TAGS * len(tags) / max(len(own.union(record.tags)), 1),
        SECTION * section,
    )
    because = (*how, *files, *(f"tag {tag}" for tag in sorted(tags)), *marker)
    return Related(record, sum(parts), *parts, because)


class _Links:
    """Which records a subject is linked with, and how."""

    def __init__(self, snapshot: Snapshot, subject: RelatedQuery) -> None:
        self._subject = subject
        self._mentions = snapshot.catalogue.mentions()
        self._own = {} if subject.record is None else dict(self._from(subject.record))

    def to(self, record: Record) -> tuple[float, tuple[str, ...]]:
        """Return how closely a record is linked, from 0 to 1, and by what."""
        one = self._subject.record
        if one is None:
            names = {f"§4.{path}" for path in self._subject.files}
            named = [m.text for m in self._mentions.get(record.path, ()) if m.text in names]
            return (1.0, (f"mentions {named[0]}",)) if named else (0.0, ())
        theirs = dict(self._from(record))
        if record.id in self._own:
            return 1.0, (self._own[record.id],)
        if one.id in theirs:
            return 1.0, (f"its {theirs[one.id]}",)
        if record.memory_id == one.parent_memory_id or one.memory_id == record.parent_memory_id:
            return 1.0, ("parent",)
        shared = sorted(self._own.keys() & theirs.keys())
        return (_NEAR, (f"both with {shared[0]}",)) if shared else (0.0, ())

    def _from(self, record: Record) -> Iterator[tuple[str, str]]:
        """Yield the ids that a record is linked with, each with the name of the link; what it mentions comes first."""
        for mention in self._mentions.get(record.path, ()):
            if ids.kind_of(mention.text) is not None:
                yield mention.text, "mentions"
        for field in _LINK_FIELDS:
            for identifier in getattr(record, field):
                yield identifier, field


def _code(theirs: frozenset[str], files: frozenset[str]) -> tuple[float, tuple[str, ...]]:
    """Return what share of the smaller of two sets both have, and which files; a common folder counts a little."""
    if not theirs or not files:
        return 0.0, ()
    shared = sorted(path for path in theirs if _covers(path, files)) or sorted(p for p in files if _covers(p, theirs))
    if shared:
        return min(len(shared) / min(len(theirs), len(files)), 1.0), tuple(shared)
    folders = {path.rpartition("/")[0] for path in theirs} & {path.rpartition("/")[0] for path in files} - {""}
    return (_SAME_FOLDER, tuple(f"{folder}/" for folder in sorted(folders))) if folders else (0.0, ())


def _covers(path: str, files: frozenset[str]) -> bool:
    """Return whether a path is one of some files, or a folder that one of them lies in."""
    below = path.rstrip("/") + "/"
    return path in files or any(file.startswith(below) for file in files)


def _section(marker: str | None, wanted: frozenset[str]) -> tuple[float, tuple[str, ...]]:
    if not marker:
        return 0.0, ()
    if marker in wanted:
        return 1.0, (marker,)
    near = [one for one in wanted if one.startswith(f"{marker}.") or marker.startswith(f"{one}.")]
    return (_NEAR, (marker,)) if near else (0.0, ())
