"""Make the answer of `memctl why`: the likeliest reason for a file or line, and records that may explain it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from memctl.pages import provenance
from memctl.pages.file_query import FileQuery
from memctl.pages.provenance import Cause, Explanation, RelatedRecord, SessionOfFile
from memctl.pages.reasons import reason_of_commit, reason_of_page, reason_of_record, turned_down
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory
from memctl.text.phrases import quantity

SHORT = 10  # digits of a commit's id
# If this many records name a file, no others are searched for, which would take as long as a search.
_ENOUGH = 3
# Of 24 files of memctl, searched by path and purpose, 5 had a record with this score, and all 5 were relevant; with
# 0.26 there were 2 more, one of them relevant. Searched by path alone, 2 of 8 were irrelevant.
_LIKELY = 0.3
_SIMILAR = 20  # records most similar to a file's path and purpose, which are then judged


def explain(memory: Memory, snapshot: Snapshot, query: FileQuery, at: str, limit: int) -> Explanation:
    """Return everything that explains a file, one of its lines, or a folder, with the likeliest reason.

    The arguments and errors are those of `provenance.why`. At most three records of the file's sections and pages, and
    three that only seem related, are returned.
    """
    found = provenance.why(memory, snapshot, query, at, limit)
    of_places, perhaps = _indirect(snapshot, found)

    def whole(items: Iterable[RelatedRecord]) -> tuple[RelatedRecord, ...]:
        project = memory.config.project
        return tuple(
            replace(item, record=item.record.of_project(project), reason=reason_of_record(snapshot, item.record))
            if item.record
            else item
            for item in items
        )

    session = snapshot.catalogue.last_session(query.path)
    found = replace(
        found,
        records=whole(found.records),
        of_places=whole(of_places),
        of_session=whole(found.of_session),
        perhaps=whole(perhaps),
        last_session=SessionOfFile(*session) if session else None,
    )
    return replace(found, answer=_sentence(snapshot, found) if found.is_explained else "")


def _indirect(snapshot: Snapshot, why: Explanation) -> tuple[Sequence[RelatedRecord], Sequence[RelatedRecord]]:
    """Return records that may explain a file without naming it, at most three of each kind.

    The first belong to the sections that cover the file or to pages that refer to the file. The second are others that
    seem related, mostly because they have similar words. There are none if three or more records name the file, since
    these explain it well enough.
    """
    if sum(item.record is not None for item in why.records) >= _ENOUGH:
        return (), ()
    from memctl.pages import outline
    from memctl.record.filters import Filters
    from memctl.search import related

    path = why.asked.path
    # The purpose of a Markdown file would need a parser, which takes long to load.
    purpose = "" if outline.suffix_of(path) in outline.MARKDOWN else outline.purpose(path, why.text)
    words = f"{path} {purpose}".replace('"', " ")
    shares = related.of_words(snapshot, words, _SIMILAR)
    alike = [(shares[item.record.path], item) for item in why.of_places if item.record and item.record.path in shares]
    of_places = [item for _, item in sorted(alike, key=lambda pair: -pair[0])[:_ENOUGH]]
    known = {item.id for item in (*of_places, *why.of_session, *why.records)}
    sections = frozenset(one.page.id for one in why.sections)
    likely = related.related(
        snapshot,
        related.RelatedQuery(None, frozenset([path]), sections, shares),
        Filters(),
        [record for record in snapshot.catalogue.at(shares) if record.id not in known],
    )
    return of_places, [RelatedRecord(row.record.id, row.record) for row in likely[:_ENOUGH] if row.score >= _LIKELY]


def _sentence(snapshot: Snapshot, why: Explanation) -> str:
    """Return the likeliest reason for a file or line, in one sentence on one line.

    It is taken from the first of these that exists: a record about the line, the commit that the line comes from, a
    section that covers the file and says something, a record with similar words, or a commit of the file: the first
    one, or else (older ones were not read, or it imported all files) the latest one that says why. If there is none,
    the sentence says so.
    """
    related = [item for item in why.records if item.record is not None]
    own = next((cause for cause in why.commits if cause.is_here), None)
    if related and (related[0].is_here or own is None):
        return _because(snapshot, related[0].record)
    if own is not None:
        return _of_commit(own)
    for page, _ in why.sections:
        if reason := reason_of_page(page):
            return f"{reason} ({page.id} {page.title})"
    if why.perhaps:
        return "perhaps " + _because(snapshot, why.perhaps[0].record)
    if why.commits and not why.has_more and not why.commits[-1].touch.is_root:
        return _of_commit(why.commits[-1])
    if telling := next((cause for cause in why.commits if reason_of_commit(cause.touch.message)), None):
        return _of_commit(telling)
    known = [f"last change: {_of_commit(why.commits[0])}"] if why.commits else []
    known += [f"in {page.id} {page.title}" for page, _ in why.sections[:1]]
    known += [f"referred to by {quantity(len(why.pages), 'page')}"] if why.pages else []
    return "; ".join(["no reason is recorded", *known])


def _because(snapshot: Snapshot, record: Record | None) -> str:
    assert record is not None
    if line := turned_down(snapshot, record):
        return line
    name = f"{record.id} {record.title}"
    reason = reason_of_record(snapshot, record)
    return f"{reason} ({name})" if reason else name


def _of_commit(cause: Cause) -> str:
    touch = cause.touch
    reason = reason_of_commit(touch.message)
    what = f"{cause.subject.rstrip('.')}. {reason}" if reason else cause.subject
    return f"{what} ({touch.commit[:SHORT]}, {touch.date[:10]}, {touch.author})"
