"""The seed's ranking of search results (S0, "Search Ranking Algorithm")."""

from __future__ import annotations

import msgspec

from memctl.model import moments
from memctl.model.record import Record
from memctl.model.snapshot import Snapshot
from memctl.search.filters import Filters

# Text similarity counts 40 %, of which the title makes 15 and the rest of the record 25.
TITLE, CONTENT, IMPORTANCE, RECENCY, ACCESS = 0.15, 0.25, 0.25, 0.20, 0.15
_RECENCY_DAYS = 30  # at this age recency has fallen to a half
_ACCESS_CAP = 10  # retrievals after which more of them add nothing


class Ranked(msgspec.Struct, frozen=True):
    """A search result: the record, its score from 0 to 1, and what each part contributed to it."""

    record: Record
    score: float
    title: float
    content: float
    importance: float
    recency: float
    access: float


def search(snapshot: Snapshot, query: str, filters: Filters, now: str) -> list[Ranked]:
    """The records whose text matches a query and that a filter accepts, best first.

    The seed leaves text similarity open; here it is BM25 as a share of the best match in the whole memory.
    """
    hits = snapshot.match(query)
    best_title = max((hit.title for hit in hits), default=0.0) or 1.0
    best_content = max((hit.content for hit in hits), default=0.0) or 1.0
    by_path = {hit.path: hit for hit in hits}
    ranked = [
        rank(record, by_path[record.path].title / best_title, by_path[record.path].content / best_content, now)
        for record in filters.keep(record for record in snapshot.records if record.path in by_path)
    ]
    return sorted(ranked, key=lambda result: (-result.score, result.record.id))


def rank(record: Record, title_similarity: float, content_similarity: float, now: str) -> Ranked:
    """Score one record; both similarities are from 0 to 1."""
    age = max(moments.days_between(record.timestamp, now), 0.0)
    parts = (
        title_similarity * TITLE,
        content_similarity * CONTENT,
        record.importance / 10 * IMPORTANCE,
        RECENCY / (1 + age / _RECENCY_DAYS),
        min(record.access_count / _ACCESS_CAP, 1.0) * ACCESS,
    )
    return Ranked(record, sum(parts), *parts)
