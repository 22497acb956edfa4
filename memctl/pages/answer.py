"""What `why` answers: the likeliest reason in one sentence, and records that may explain a file although none names
it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memctl.pages.provenance import Cause, Why, reason_of_commit, reason_of_page, reason_of_record
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot

SHORT = 10  # digits of a commit's id
# A file that so many records name needs no guess at others, which takes as long as a search.
_ENOUGH = 3
# Of 24 files of memctl's own, asked with their paths and purposes, 5 had a record of this score, each of them apt; with
# .26 there were 2 more, one of them apt. Of paths alone 2 of 8 were not.
_LIKELY = 0.3
_SIMILAR = 20  # records whose texts are most like a file's path and purpose, among which to look


class Indirect(NamedTuple):
    """Records that do not name a file: those of its pages and sections, and those about the same subject."""

    of_places: Sequence[Record] = ()
    perhaps: Sequence[Record] = ()


def indirect(snapshot: Snapshot, found: Why) -> Indirect:
    """Return records that may explain a file that few records name: of its pages and sections, those most similar to
    it."""
    if sum(item.record is not None for item in found.records) >= _ENOUGH:
        return Indirect()
    from memctl.pages import outline
    from memctl.record.filters import Filters
    from memctl.search import related

    path = found.asked.path
    # Of Markdown and the like it would take a parser, which is loaded for nothing else here.
    purpose = "" if outline.suffix_of(path) in outline.MARKDOWN else outline.purpose(path, found.text)
    words = f"{path} {purpose}".replace('"', " ")
    shares = related.of_words(snapshot, words, _SIMILAR)
    alike = (record for record in found.of_places if record.path in shares)
    of_places = sorted(alike, key=lambda record: -shares[record.path])[:_ENOUGH]
    known = {record.id for record in (*of_places, *found.of_session)} | {item.id for item in found.records}
    sections = frozenset(page.id for page, _ in found.sections)
    likely = related.related(
        snapshot,
        related.RelatedQuery(None, frozenset([path]), sections, shares),
        Filters(),
        [record for record in snapshot.catalogue.at(shares) if record.id not in known],
    )
    return Indirect(of_places, [one.record for one in likely[:_ENOUGH] if one.score >= _LIKELY])


def sentence(snapshot: Snapshot, found: Why, indirect: Indirect) -> str:
    """Return the likeliest reason in one line: a record about the line, the line's commit, or what is known of the
    file."""
    known = [item for item in found.records if item.record is not None]
    own = next((cause for cause in found.commits if cause.is_here), None)
    if known and (known[0].is_here or own is None):
        return _because(snapshot, known[0].record)
    if own is not None:
        return _of_commit(own)
    if found.sections:
        page = found.sections[0][0]
        return f"{reason_of_page(page)} ({page.id} {page.title})"
    if indirect.perhaps:
        return "perhaps " + _because(snapshot, indirect.perhaps[0])
    return _of_commit(found.commits[-1]) if found.commits else f"{len(found.pages)} pages refer to it"


def _because(snapshot: Snapshot, record: Record | None) -> str:
    assert record is not None
    name = f"{record.id} {record.title}{_instead(record)}"
    reason = reason_of_record(snapshot, record)
    return f"{reason} ({name})" if reason else name


def _of_commit(cause: Cause) -> str:
    touch = cause.touch
    reason = reason_of_commit(touch.message)
    what = f"{cause.subject.rstrip('.')}. {reason}" if reason else cause.subject
    return f"{what} ({touch.commit[:SHORT]}, {touch.date[:10]}, {touch.author})"


def _instead(record: Record) -> str:
    return f", superseded by {', '.join(record.superseded_by)}" if record.superseded_by else ""
