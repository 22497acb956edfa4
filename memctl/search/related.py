"""Find the records that are related to a record, or to files of the repository.

A link was set on purpose, so it counts most. Shared code references and shared words count less. A shared tag or
section counts least, since many records have it. The weights are our own choice.
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
from memctl.search.named_files import records_naming

LINKS, CODE, TEXT, TAGS, SECTION = 0.35, 0.25, 0.25, 0.10, 0.05
_LEAST = 0.1  # the least score: a shared section or a few shared words alone make no relation
_NEAR = 0.5  # for a link through a third record, and for a section that is part of the other
_SAME_FOLDER = 0.3  # for code in the same folder
_NAMED = 0.5  # for a file that a text names: enough by itself (_LEAST), and less than a code reference
_LINK_FIELDS = ("supersedes", "superseded_by", "relates_to", "blocks", "blocked_by")


class RelatedQuery(msgspec.Struct, frozen=True):
    """The subject of a search for related records: a record, or files and the sections that cover them.

    - `files` are the paths of the files, or those of the record's code references.
    - `sections` are markers: those that cover the files, or that of the record.
    - `texts` maps the path of each other record to how similar its text is to the subject, from 0 to 1.
    - `naming` maps the path of each record that names some of the files in its text to these files.
    """

    record: Record | None
    files: frozenset[str]
    sections: frozenset[str]
    texts: Mapping[str, float]
    naming: Mapping[str, Collection[str]] = {}


class Related(msgspec.Struct, frozen=True):
    """A related record, its score from 0 to 1, and the points that each part of the score adds to it.

    `links` are the points for links between the record and the subject of the search. `code`, `text`, `tags` and
    `section` are the points for code references, words, tags and a section that both have. `because` names what they
    have in common, such as "src/auth.py" or "tag security".
    """

    record: Record
    score: float
    links: float
    code: float
    text: float
    tags: float
    section: float
    because: tuple[str, ...]


def of_record(snapshot: Snapshot, record: Record) -> RelatedQuery:
    """Return the query that finds the records related to a record."""
    sections = frozenset([record.section] if record.section else [])
    files = frozenset(map(code_path, record.code_refs))
    return RelatedQuery(record, files, sections, snapshot.texts.similar(record.path), records_naming(snapshot, files))


def of_files(snapshot: Snapshot, files: Collection[str], sections: Iterable[str]) -> RelatedQuery:
    """Return the query that finds the records related to files; `sections` are the markers that cover the files."""
    texts = of_words(snapshot, " ".join(sorted(files)))
    return RelatedQuery(None, frozenset(files), frozenset(sections), texts, records_naming(snapshot, files))


def of_words(snapshot: Snapshot, words: str, most: int | None = None) -> dict[str, float]:
    """Return how similar records are to some words, by path and from 0 to 1; records that do not match are left out.

    The best match has 1, and a match half as good has only 1/8 (the third power), since a few shared words don't make
    records related. `most` makes this faster: at least the best `most` records are returned, and others may be left
    out.
    """
    return {match.hit.path: match.share**3 for match in ranking.matches(snapshot, words, most=most)}


def related(
    snapshot: Snapshot, subject: RelatedQuery, filters: Filters, among: Iterable[Record] | None = None
) -> list[Related]:
    """Return the records that are related to a subject and meet the conditions of `filters`, the closest first.

    `among` are the records to search; None searches all records of the snapshot.
    """
    links = _Links(snapshot, subject)
    passing = filters.keep(
        record for record in (snapshot.records if among is None else among) if record != subject.record
    )
    related_records = (_relate(record, subject, links) for record in passing)
    return sorted((r for r in related_records if r.score >= _LEAST), key=lambda r: (-r.score, r.record.id))


def _relate(record: Record, subject: RelatedQuery, links: _Links) -> Related:
    link, how = links.closeness(record)
    code, files = _code(frozenset(map(code_path, record.code_refs)), subject.files)
    named = subject.naming.get(record.path, ())
    if named and code < _NAMED:
        code, files = _NAMED, tuple(sorted(named))
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
    """The links of a subject to other records."""

    def __init__(self, snapshot: Snapshot, subject: RelatedQuery) -> None:
        self._subject = subject
        self._mentions = snapshot.catalogue.mentions()
        self._own = {} if subject.record is None else dict(self._from(subject.record))

    def closeness(self, record: Record) -> tuple[float, tuple[str, ...]]:
        """Return how closely a record is linked with the subject, from 0 to 1, and the links, such as ("blocks",)."""
        subject_record = self._subject.record
        if subject_record is None:
            names = {f"§4.{path}" for path in self._subject.files}
            texts = [m.text for m in self._mentions.get(record.path, ()) if m.text in names]
            return (1.0, (f"mentions {texts[0]}",)) if texts else (0.0, ())
        theirs = dict(self._from(record))
        if record.id in self._own:
            return 1.0, (self._own[record.id],)
        if subject_record.id in theirs:
            return 1.0, (f"its {theirs[subject_record.id]}",)
        if record.memory_id == subject_record.parent_memory_id or subject_record.memory_id == record.parent_memory_id:
            return 1.0, ("parent",)
        shared = sorted(self._own.keys() & theirs.keys())
        return (_NEAR, (f"both with {shared[0]}",)) if shared else (0.0, ())

    def _from(self, record: Record) -> Iterator[tuple[str, str]]:
        """Yield the ids that a record links to, each with the link's name; mentions in its text come first."""
        for mention in self._mentions.get(record.path, ()):
            if ids.kind_of(mention.text) is not None:
                yield mention.text, "mentions"
        for field in _LINK_FIELDS:
            for identifier in getattr(record, field):
                yield identifier, field


def _code(theirs: frozenset[str], files: frozenset[str]) -> tuple[float, tuple[str, ...]]:
    """Return the overlap of two sets of files as a share of the smaller one, and the common files.

    A common folder alone counts as 0.3.
    """
    if not theirs or not files:
        return 0.0, ()
    shared = sorted(path for path in theirs if _covers(path, files)) or sorted(p for p in files if _covers(p, theirs))
    if shared:
        return min(len(shared) / min(len(theirs), len(files)), 1.0), tuple(shared)
    folders = {path.rpartition("/")[0] for path in theirs} & {path.rpartition("/")[0] for path in files} - {""}
    return (_SAME_FOLDER, tuple(f"{folder}/" for folder in sorted(folders))) if folders else (0.0, ())


def _covers(path: str, files: frozenset[str]) -> bool:
    """Return whether a path is one of the files, or a folder that contains one of them."""
    below = path.rstrip("/") + "/"
    return path in files or any(file.startswith(below) for file in files)


def _section(marker: str | None, wanted: frozenset[str]) -> tuple[float, tuple[str, ...]]:
    if not marker:
        return 0.0, ()
    if marker in wanted:
        return 1.0, (marker,)
    near = [section for section in wanted if section.startswith(f"{marker}.") or marker.startswith(f"{section}.")]
    return (_NEAR, (marker,)) if near else (0.0, ())
