"""How search results are ranked (rules.md#search-ranking)."""

from __future__ import annotations

import re

import msgspec

from memctl.record import ids, timestamps
from memctl.record.config import SearchWeights
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.search import embeddings
from memctl.search.filters import Filters

_RECENCY_DAYS = 30  # at this age recency has fallen to a half
_ACCESS_CAP = 10  # retrievals after which more of them add nothing
# A record that lacks a word of the query is no result if its text matches less than this share of the best match:
# importance and recency would lift it above records that answer the query. Measured on bench/labelled.
_WEAK = 0.25
_MEANING = 0.2  # what similarity of meaning counts of the text, where a model is configured; measured there too
_EXACT = re.compile(r'"|\*(?:\s|$)')  # who asks for a phrase or a beginning wants that and nothing like it


class Ranked(msgspec.Struct, frozen=True, gc=False):
    """A search result: the record, its score from 0 to 1, and what each part contributed to it."""

    record: Record
    score: float
    title: float
    content: float
    importance: float
    recency: float
    access: float


class Similarity(msgspec.Struct, frozen=True, gc=False):
    """How well a record's title and its whole text match a query, from 0 to 1."""

    title: float
    content: float


def search(snapshot: Snapshot, query: str, filters: Filters, now: str) -> list[Ranked]:
    """The records whose text matches a query and that a filter accepts, best first."""
    records = snapshot.records  # first: they are read while Git still looks for what has changed
    found = similarities(snapshot, query)
    parts = shares(snapshot.config.search_weights)
    ranked = [
        rank(record, found[record.path], now, parts)
        for record in filters.keep(record for record in records if record.path in found)
    ]
    return sorted(ranked, key=lambda result: (-result.score, result.record.id))


def nearest(snapshot: Snapshot, query: str, now: str, most: int) -> list[Ranked]:
    """The records whose texts match a query best, ranked as `search` does: at most so many, and no others are read."""
    found = similarities(snapshot, query, most)
    paths = sorted(found, key=lambda path: (-found[path].content, path))[:most]
    records = {path: snapshot.catalogue.find(ids.id_in_path(path) or "") for path in paths}
    parts = shares(snapshot.config.search_weights)
    ranked = [rank(record, found[path], now, parts) for path, record in records.items() if record is not None]
    return sorted(ranked, key=lambda result: (-result.score, result.record.id))


def similarities(snapshot: Snapshot, query: str, most: int | None = None) -> dict[str, Similarity]:
    """How similar the text of each result is to a query, by path; with `most` at least of the so many best.

    Both are BM25 as a share of the best match in the whole memory, the title's own and that of all the text, and both
    are multiplied by the square of the latter: half as good a match counts an eighth. Without that, importance and
    recency outweigh any difference between matches.
    """
    by_meaning = not _EXACT.search(query)
    hits = snapshot.match(query, None if by_meaning and snapshot.texts.semantic_model else most)
    best_title = max((hit.title for hit in hits), default=0.0) or 1.0
    best_text = max((hit.text for hit in hits), default=0.0) or 1.0
    titles = {hit.path: hit.title / best_title for hit in hits}
    texts = {hit.path: hit.text / best_text for hit in hits}
    if by_meaning:
        texts = _with_meaning(texts, _meanings(snapshot, query))
    complete = {hit.path for hit in hits if hit.has_all}
    return {
        path: Similarity(titles.get(path, 0.0) * share**2, share**3)
        for path, share in texts.items()
        if share >= _WEAK or path in complete
    }


def _meanings(snapshot: Snapshot, query: str) -> dict[str, float]:
    """How near the meaning of records is to a query, by the model of the user's own settings; {} without one."""
    asked = snapshot.texts
    if asked.semantic_model:
        try:
            return embeddings.similarities(snapshot, query)
        except embeddings.ModelError as error:
            asked.remark(f"{error}; searched by words alone ({error.hint})")
    elif snapshot.config.semantic_model:
        asked.remark(
            "config.yaml: semantic_model is not used, since a repository must not name a model; to use one,"
            " `git config --global memctl.semanticModel NAME`"
        )
    return {}


def _with_meaning(texts: dict[str, float], meanings: dict[str, float]) -> dict[str, float]:
    """Fuse the shares of two searches by a weighted sum, as a share of the largest.

    Measured on bench/labelled it finds more than reciprocal ranks do, whose first ten lie close together.
    """
    if not meanings:
        return texts
    fused = {
        path: (1 - _MEANING) * texts.get(path, 0.0) + _MEANING * meanings.get(path, 0.0)
        for path in texts.keys() | meanings.keys()
    }
    best = max(fused.values(), default=0.0) or 1.0
    return {path: share / best for path, share in fused.items()}


def shares(given: SearchWeights) -> SearchWeights:
    """The weights as shares of 1."""
    values = msgspec.structs.asdict(given)
    return SearchWeights(**{name: value / sum(values.values()) for name, value in values.items()})


def rank(record: Record, similarity: Similarity, now: str, most: SearchWeights) -> Ranked:
    """Score one record, given the most that each part can give."""
    age = 0.0 if record.timestamp >= now else timestamps.days_between(record.timestamp, now)
    parts = (
        similarity.title * most.title,
        similarity.content * most.content,
        record.importance / 10 * most.importance,
        most.recency / (1 + age / _RECENCY_DAYS),
        min(record.access_count / _ACCESS_CAP, 1.0) * most.access,
    )
    return Ranked(record, sum(parts), *parts)
