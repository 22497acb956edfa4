"""Rank records, pages, sessions and checkpoints by how well they match a query (rules.md#search-ranking).

What decides is how well the words match (by BM25, a usual measure of search engines). A record's own weight
(importance, recency, retrievals) only orders entries that match about equally well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from memctl.record import ids
from memctl.record.config import SearchWeights
from memctl.record.filters import Filters
from memctl.record.kinds import CHECKPOINTS, KINDS, SESSIONS
from memctl.record.record import Record
from memctl.record.session_page import INTENT
from memctl.record.snapshot import Snapshot
from memctl.record.source import CHECKPOINT, PAGE, SESSION, Hit
from memctl.text import timestamps
from memctl.text.fit import first_sentence
from memctl.text.words import stems

RECORDS = tuple(KINDS)
_KIND_IN = {SESSIONS: SESSION, CHECKPOINTS: CHECKPOINT, **{kind.folder: kind.name for kind in KINDS.values()}}
PLACES = (PAGE, SESSION, CHECKPOINT)  # kinds of entries that are not records
FILE = "file"  # a file of the repository, which `sources.file_search` finds
ALL = (*RECORDS, *PLACES)
ANY = Filters(archived=None)
_OPENED_BY = {SESSION: "memctl session show", CHECKPOINT: "memctl checkpoint show"}
_RECENCY_DAYS = 30  # at this age recency has fallen to a half
_ACCESS_CAP = 10  # retrievals after which more of them add nothing
# The factor on the weights that the settings give to importance, recency and retrievals. With the weights of rules.md
# the weightiest record passes a match that is up to 6 % better, and none that is better than that. On the first half of
# bench/labelled all values from 0.005 to 0.06 give one order; of 491 sentences about 450 issues of two real trackers,
# MRR is .585 without weights, .584 with 0.04, .582 with 0.06 and .578 with 0.1.
_NEARLY = 0.04
_PLACE_IMPORTANCE = 5  # of a page, session or checkpoint, which has no importance, recency or retrievals of its own
# The share of the best match among an entry's thread and links; its own text has the rest. On the first half of
# bench/conversations.py 0.2 gives a recall of .548, 0.3 and 0.4 give .564, and BM25 of the texts of a whole thread
# gives .549; on the first half of bench/labelled nothing changes from 0 to 0.5.
_AROUND = 0.3
# What an entry gets of the scores of the entries next to it in its thread, and of those two away: sessions go on about
# what was just said. On half of bench/dialogues.py .704 of the evidence is found without, .762 with it; on
# bench/labelled nothing changes.
_BESIDE = (0.2, 0.1)
_LARGEST_THREAD = 200  # entries; what one agent made at once in larger numbers is no conversation
_MEANING = 0.2  # the share of similarity of meaning, if a model is configured; measured on bench/labelled
# The least similarity by which a record that shares no word with the query is found; half of all records are below 0.
_ALIKE = 0.25
_NAMED = 10  # the first results, among which the one that a query names is looked for
_SCALED = ("score", "own", "around", "meaning", "importance", "recency", "access", "match")
_FEW, _SHARE = 1_000, 0.1  # reading more records, and this share of all, one by one takes as long as reading all


class Result(msgspec.Struct, frozen=True, gc=False):
    """A search result: what was found, its score from 0 to 1, and the points that each part adds to the score.

    - `kind` is a record's type, "page", "session", "checkpoint" or "file". `id` is a record's id, a page's marker, a
      session's name or a file's path.
    - `own` are the points for matching words of the result itself, and `meaning` those for similar meaning.
    - `around` are the points for matching words of what belongs to the result: other parts of the page or session,
      records of the same agent and day, and entries linked with it.
    - `importance`, `recency` and `access` (retrievals) are the points for the record's own weight.
    - `match` says how well the words and the meaning match, as a share of the best result's match.
    - `path` is relative to `.memory/`, "" for a file. `number` is the row in the search index.
    """

    kind: str
    id: str
    title: str
    score: float
    own: float
    around: float
    meaning: float
    importance: float
    recency: float
    access: float
    match: float
    path: str
    number: int
    record: Record | None = None

    @property
    def opener(self) -> str:
        """The command that shows the result, such as "memctl show DEC-2025-11-04-001"; the path if it is a file."""
        if self.kind == FILE:
            return self.id
        return f"{_OPENED_BY.get(self.kind, 'memctl show')} {self.id}"


class Match(msgspec.Struct, frozen=True, gc=False):
    """An entry of the search index that matches a query, and how well it matches, in three parts.

    - `own` is the part for matching words of the entry itself.
    - `around` is the part for matching words of what belongs to the entry: other parts of the page or session, records
      of the same agent and day, most of all those beside it, and entries linked with it.
    - `meaning` is the part for similar meaning.

    The sum of the parts is 1 for the best match of all, and less for any other.
    """

    hit: Hit
    own: float
    around: float = 0.0
    meaning: float = 0.0

    @property
    def share(self) -> float:
        return self.own + self.around + self.meaning


def search(
    snapshot: Snapshot,
    query: str,
    now: str,
    filters: Filters = ANY,
    kinds: Collection[str] = ALL,
    most: int | None = None,
) -> list[Result]:
    """Return the entries of the given kinds that match a query, the best first; `most` limits their number.

    `now` is the current time, such as "2025-11-04T14:32:00Z", from which the age of records is counted. If `filters`
    has any condition, only records are returned. A session is returned once, with the best matching part of its
    page. If a superseded record matches, its successor is placed before it, even if the successor does not match.
    """
    kinds = _kinds(filters, kinds)
    found = matches(snapshot, query, kinds, most)
    found.sort(key=lambda match: -match.share)
    numbers = {match.hit.path: match.hit.number for match in found if match.hit.kind in KINDS}
    are_enough = most is not None and len(found) >= most
    weights = limits(shares(snapshot.config.search_weights))
    ranked: list[Result] = []
    by_id: dict[str, Record] = {}
    while found and (most is None or len(ranked) < most):
        # A score lies between the text's part of a match and the whole match, so entries that match too weakly to be
        # among the results need not be read.
        missing = len(found) if most is None else min(most - len(ranked), len(found))
        least = found[missing - 1].share * weights["text"]
        read = sum(match.share >= least for match in found)
        records = sum(row[-1] for row in snapshot.catalogue.statuses()) if most is None and read > _FEW else 0
        reads_all = 0 < _SHARE * records < read
        ranked += _results(snapshot, found[:read], filters, now, weights, reads_all=reads_all)
        by_id = {record.id: record for record in reversed(snapshot.records)} if reads_all else {}
        ranked.sort(key=lambda result: (-result.score, result.id, result.number))
        ranked, found = _best_of_each_session(ranked), found[read:]
    if most is not None and are_enough and len(ranked) < most:  # the filter accepts few of the best matches
        return search(snapshot, query, now, filters, kinds)[:most]
    ranked = _named_first(snapshot, query, ranked[:most], weights["text"])
    return _titled_by_task(snapshot, _successors_first(snapshot, by_id, ranked, filters, kinds, numbers)[:most])


def _titled_by_task(snapshot: Snapshot, ranked: list[Result]) -> list[Result]:
    """Title sessions by what they were asked to do; the heading that matches says nothing of which session it is."""
    sessions = {result.id for result in ranked if result.kind == SESSION}
    if not sessions:
        return ranked
    parts = {hit.number: hit.key for thread in snapshot.texts.threads(sessions, _LARGEST_THREAD) for hit in thread}
    headings = snapshot.texts.titles([*parts])
    intents = [number for number, heading in headings.items() if heading == INTENT]
    tasks = {parts[number]: first_sentence(text) for number, text in snapshot.texts.bodies(intents).items()}
    return [
        msgspec.structs.replace(result, title=tasks[result.id]) if tasks.get(result.id) else result for result in ranked
    ]


def count(
    snapshot: Snapshot, query: str, filters: Filters = ANY, kinds: Collection[str] = ALL, most: int | None = None
) -> tuple[int, bool]:
    """Return the number of results that `search` would have without a limit, and whether that number is complete.

    Entries that match by meaning alone do not count. `most` makes this faster: the count ends after so many matching
    entries, and the number may then be too low.
    """
    matching = snapshot.texts.paths(query, most)
    refused = snapshot.catalogue.not_matching(filters.conditions(), set(matching))
    paths = [path for path in matching if path not in refused]
    counts = Counter(_KIND_IN.get(path.partition("/")[0], PAGE) for path in paths)
    counts[SESSION] = len({path for path in paths if path.startswith(f"{SESSIONS}/")})
    return sum(counts[kind] for kind in _kinds(filters, kinds)), len(matching) != most


def _kinds(filters: Filters, kinds: Collection[str]) -> Collection[str]:
    """Return the kinds that a filter leaves: records only, if it has any condition."""
    asks = msgspec.structs.replace(filters, archived=False) != Filters()
    return [kind for kind in kinds if kind in KINDS] if asks else kinds


def matches(snapshot: Snapshot, query: str, kinds: Collection[str] = RECORDS, most: int | None = None) -> list[Match]:
    """Return the entries of the given kinds that match a query, unsorted.

    `most` makes this faster: at least the best `most` entries are returned, and others may be left out. None returns
    all. If more than `most` match, entries without any of the words come in that stand beside the best in their thread.
    """
    # For a phrase or a prefix no similar text is wanted.
    by_meaning = '"' not in query and not any(word.endswith("*") for word in query.split())
    hits = snapshot.texts.match(query, None if by_meaning and snapshot.texts.semantic_model else most, kinds)
    near = _beside(hits, snapshot.texts.threads({hit.thread for hit in hits if hit.thread}, _LARGEST_THREAD), kinds)
    if by_meaning and most is not None and len(hits) >= most:  # else all that match are shown, and nothing else
        hits += [hit for hit in near if not hit.text]
    around = _around(hits, snapshot.texts.links([hit.number for hit in hits]))
    result = [
        Match(hit, hit.text * (1 - _AROUND), beside * _AROUND + near.get(hit, 0.0) * (1 - _AROUND))
        for hit, beside in zip(hits, around, strict=True)
    ]
    result = _scaled_to_best(result)
    return _with_meaning(result, _meanings(snapshot, query)) if by_meaning else result


def _beside(hits: Sequence[Hit], threads: Iterable[Sequence[Hit]], kinds: Collection[str]) -> dict[Hit, float]:
    """Return what the entries beside each entry of some threads add to its score; those without it are left out.

    `threads` are all entries of the hits' threads, each thread in its order.
    """
    by_number = {hit.number: hit for hit in hits}
    added: dict[Hit, float] = {}
    for thread in threads:
        texts = [by_number[entry.number].text if entry.number in by_number else 0.0 for entry in thread]
        for place, entry in enumerate(thread):
            score = sum(
                weight * sum(texts[other] for other in (place - far, place + far) if 0 <= other < len(texts))
                for far, weight in enumerate(_BESIDE, 1)
            )
            if score and entry.kind in kinds:
                added[by_number.get(entry.number, entry)] = score
    return added


def _around(hits: Sequence[Hit], links: Iterable[tuple[int, str]]) -> list[float]:
    """Return for each hit the best BM25 score among the hit itself, its thread and the hits linked with it."""
    threads: dict[str, float] = {}
    called: dict[str, list[Hit]] = {}
    around = {hit.number: hit.text for hit in hits}
    for hit in hits:
        threads[hit.thread] = max(threads.get(hit.thread, 0.0), hit.text)
        called.setdefault(hit.key, []).append(hit)
    texts = dict(around)
    for number, key in links:
        for other in called.get(key, ()):
            around[number] = max(around[number], other.text)
            around[other.number] = max(around[other.number], texts[number])
    return [max(around[hit.number], threads[hit.thread] if hit.thread else 0.0) for hit in hits]


def _scaled_to_best(ranked: Sequence[Match]) -> list[Match]:
    """Scale matches so that the best has a share of 1."""
    best = max((match.share for match in ranked), default=0.0) or 1.0
    return [Match(match.hit, match.own / best, match.around / best, match.meaning / best) for match in ranked]


def _results(
    snapshot: Snapshot,
    ranked: Sequence[Match],
    filters: Filters,
    now: str,
    weights: Mapping[str, float],
    *,
    reads_all: bool,
) -> list[Result]:
    """Read and score the entries of some matches; leaves out records that the filter does not accept."""
    paths = {match.hit.path for match in ranked if match.hit.kind in KINDS}
    records = snapshot.records if reads_all else snapshot.catalogue.at(paths)
    passing = {record.path: record for record in filters.keep(record for record in records if record.path in paths)}
    titles = snapshot.texts.titles([match.hit.number for match in ranked if match.hit.kind in PLACES])
    return [
        _result(match, passing.get(match.hit.path), titles, now, weights)
        for match in ranked
        if match.hit.kind in PLACES or match.hit.path in passing
    ]


def _successors_first(
    snapshot: Snapshot,
    by_id: Mapping[str, Record],
    ranked: Sequence[Result],
    filters: Filters,
    kinds: Collection[str],
    numbers: Mapping[str, int],
) -> list[Result]:
    """Put the present successors of each superseded record directly before it, unless they come before it anyway.

    Such a successor gets the score of the record, with all its parts. It has to pass the filters and be of one of the
    kinds; `numbers` has the rows of the records that match, by path. `by_id` has the records that are read already.
    """
    placed: dict[str | tuple[str, int], Result] = {}
    for result in ranked:
        for record in filters.keep(successors) if (successors := _successors(snapshot, by_id, result.record)) else ():
            if record.path not in placed and record.memory_type in kinds:
                placed[record.path] = msgspec.structs.replace(
                    result,
                    kind=record.memory_type,
                    id=record.id,
                    title=record.title,
                    path=record.path,
                    number=numbers.get(record.path, 0),
                    record=record,
                )
        placed.setdefault(result.path if result.record is not None else (result.path, result.number), result)
    return list(placed.values())


def _successors(snapshot: Snapshot, by_id: Mapping[str, Record], record: Record | None) -> list[Record]:
    """Return the records that took the place of a superseded one and are not superseded themselves."""
    present: list[Record] = []
    seen, names = set[str](), list(_superseded_by(record))
    for name in names:  # which grows by the successors of successors
        successor = None if name in seen else by_id.get(name) or snapshot.find(name)
        seen.add(name)
        if successor is not None and not _superseded_by(successor):
            present.append(successor)
        names += _superseded_by(successor)
    return present


def _superseded_by(record: Record | None) -> Sequence[str]:
    return record.superseded_by if record is not None and record.status == "superseded" else ()


def _named_first(snapshot: Snapshot, query: str, ranked: list[Result], most: float) -> list[Result]:
    """Put the results whose title or id (or earlier id, or id in another tool) is the query before all others.

    A named result counts as a full match, whose text alone gives `most` points; all other scores are scaled below that.
    """
    name = query.strip().strip('"')
    title = stems(name)
    with_name = [r for r in ranked[:_NAMED] if (title and stems(r.title) == title) or _has_name(snapshot, r, name)]
    if not with_name:
        return ranked
    lifted = [_scale(result, 1 / result.match) for result in with_name]
    lifted.sort(key=lambda result: (-result.score, result.id))
    return [*lifted, *(_scale(result, most) for result in ranked if result not in with_name)]


def _scale(result: Result, factor: float) -> Result:
    """Multiply a result's score and all its parts."""
    values = {name: getattr(result, name) * factor for name in _SCALED}
    return msgspec.structs.replace(result, **values)


def _has_name(snapshot: Snapshot, result: Result, name: str) -> bool:
    aliases = result.record.aliases if result.record is not None else ()
    if name.casefold() in map(str.casefold, (result.id, *aliases)):
        return True
    if result.record is None or name.isalpha() or name.split() != [name]:
        return False
    from memctl.record.parser import has_foreign_name  # most results of most queries are compared by their ids alone

    return has_foreign_name(snapshot.read(result.path), name)


def _best_of_each_session(ranked: Sequence[Result]) -> list[Result]:
    best: dict[str | tuple[str, int], Result] = {}
    for result in ranked:  # an entry that was found by its meaning alone has number 0, so the path is part of the key
        best.setdefault(result.id if result.kind == SESSION else (result.path, result.number), result)
    return list(best.values())


def _meanings(snapshot: Snapshot, query: str) -> dict[str, float]:
    """Return how near each record's meaning is to a query, from 0 to 1 by path; {} if the user configured no model."""
    texts = snapshot.texts
    if texts.semantic_model:
        from memctl.search import embeddings  # few users configure a model

        try:
            return embeddings.similarities(snapshot, query)
        except embeddings.ModelError as error:
            texts.remark(f"{error}; the search used only words, not meaning ({error.hint})")
    return {}


def _with_meaning(ranked: list[Match], meanings: Mapping[str, float]) -> list[Match]:
    """Add similarity of meaning to matches of words by a weighted sum, scaled so that the best has a share of 1.

    On bench/labelled this finds more than reciprocal rank fusion, in which the first ten results score almost alike.
    """
    if not meanings:
        return ranked
    missing = {path for path, near in meanings.items() if near >= _ALIKE} - {match.hit.path for match in ranked}
    alike = [
        Match(Hit(path, 0.0, kind=_KIND_IN[path.partition("/")[0]], key=ids.id_in_path(path) or ""), 0.0)
        for path in sorted(missing)
    ]
    words = 1 - _MEANING
    fused = [
        Match(match.hit, match.own * words, match.around * words, meanings.get(match.hit.path, 0.0) * _MEANING)
        for match in (*ranked, *alike)
    ]
    return _scaled_to_best(fused)


def shares(weights: SearchWeights) -> SearchWeights:
    """Scale search weights so that their sum is 1."""
    values = msgspec.structs.asdict(weights)
    return SearchWeights(**{name: value / sum(values.values()) for name, value in values.items()})


def limits(weights: SearchWeights) -> dict[str, float]:
    """Return the most points that each part can add to a result's score, by the part's name; their sum is 1.

    The parts are "text", "importance", "recency" and "access" (retrievals). "text" is the most that matching words and
    similar meaning add together (`own`, `around` and `meaning` of a Result). `weights` must have the sum 1 (see
    `shares`).
    """
    beside = {name: _NEARLY * getattr(weights, name) for name in ("importance", "recency", "access")}
    most = {"text": weights.title + weights.content, **beside}
    return {name: value / sum(most.values()) for name, value in most.items()}


def _result(
    match: Match, record: Record | None, titles: Mapping[int, str], now: str, most: Mapping[str, float]
) -> Result:
    """Score one match. Every part is multiplied by how well it matches, so that importance can't lift a weak match."""
    hit, share = match.hit, match.share
    importance, recency, access = _PLACE_IMPORTANCE, 0.0, 0
    if record is not None:
        age = 0.0 if record.timestamp >= now else timestamps.days_between(record.timestamp, now)
        importance, recency, access = record.importance, 1 / (1 + age / _RECENCY_DAYS), record.access_count
    parts = (
        match.own * most["text"],
        match.around * most["text"],
        match.meaning * most["text"],
        share * importance / 10 * most["importance"],
        share * recency * most["recency"],
        share * min(access / _ACCESS_CAP, 1.0) * most["access"],
    )
    title = record.title if record is not None else titles.get(hit.number, "")
    name = record.id if record is not None else hit.key
    return Result(hit.kind, name, title, sum(parts), *parts, share, hit.path, hit.number, record)
