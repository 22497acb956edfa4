"""The command `memctl search`: find records, pages and sessions by words, and records by their links."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
import msgspec

from memctl.cli import memory_access, output
from memctl.cli.command import choice_option, command, filtering, flag_option, limit_option, reading
from memctl.errors import MemctlError
from memctl.record import ids
from memctl.record.config import SearchWeights
from memctl.record.filters import ORDERS, Filters
from memctl.record.kinds import BY_PREFIX
from memctl.record.snapshot import Snapshot
from memctl.record.source import PAGE, Excerpt
from memctl.search import ranking, relevance
from memctl.search.ranking import ALL, FILE, PLACES, RECORDS, Result
from memctl.store.memory import Memory
from memctl.text.lazy_regex import lazy_regex
from memctl.text.words import STOP_WORDS, words_of

if TYPE_CHECKING:
    from memctl.search.related import Related

# An id, its beginning, its end behind the day, or @last.
_RECORD = lazy_regex(
    rf"(?i)(?:{'|'.join(BY_PREFIX)})(?:-[\d-]*(?:{ids.TAG}-\d*)?)?|{ids.TAG}-\d+|[0-9a-f]{{8}}-[0-9a-f-]*|{ids.LAST}"
)
_WORD = lazy_regex(r"\w+")
_SIGNED = lazy_regex(r"(?<!\S)(?:-+\w|\w(?:\+\+|#))(?!\S)")  # a word of one letter that means another without its signs
_INDENT = " " * 6
_COUNTED = 1_000  # matches to count for a person: 2,000 take 3 ms, and 40,000 as long as the rest of the search
# Choices of --sort beside relevance -> the name in ORDERS.
_SORTS = {"importance": "importance", "severity": "severity", "time": "date"}
_ANY_RECORD = "record"
_VERDICTS = {
    relevance.WEAK: "weak: the results have some of the words, and none stands out",
    relevance.NOTHING: "nothing is recorded on this: the results have a few of the words by chance",
}
_PARTS = ("own", "around", "meaning", "importance", "recency", "access")
_Found = TypeVar("_Found", bound="Result | Related")


class _Listing(NamedTuple):
    """The options that say which results are printed, and how."""

    order: str
    limit: int
    explain: bool
    as_json: bool


@command(
    "search",
    ("memctl search connection pool", "Find records, pages and sessions with these words, best match first."),
    (
        "memctl search '\"rate limit\"' --type decision --explain",
        "Find decisions with an exact phrase, and show how each score is made up.",
    ),
    (
        "memctl search 'auth*' --since 30d --json",
        "Find words that begin with auth in records of the last 30 days, as JSON.",
    ),
    ("memctl search pool --type issue --sort severity", "List matching issues, the most severe first."),
    ("memctl search retries --type page --type session", "Search only pages and sessions."),
    ("memctl search retry payments --type file", "Search the repository's files by their text."),
    ("memctl search --related DEC-2025-11-04-001 --explain", "List the records that are related to a record, and why."),
    ("memctl search --related src/auth.py", "List the records that are related to a file."),
)
@click.argument("query", nargs=-1)
@click.option(
    "--related",
    metavar="ID|PATH",
    help="Search not for words, but for records that are related to this record, file or folder.",
)
@partial(filtering, more_types=(_ANY_RECORD, *PLACES, FILE))
@choice_option(
    "--sort",
    "order",
    among=["relevance", *_SORTS],
    default="relevance",
    help="What to sort the results by, highest first; unless that is relevance, pages and sessions come last.",
)
@limit_option(10)
@flag_option("--explain", help="Show how much each part contributes to the score of a result.")
@reading
def search_command(
    ctx: click.Context,
    /,
    query: tuple[str, ...],
    related: str | None,
    order: str,
    limit: int,
    explain: bool,
    as_json: bool,
    at: str | None,
    types: tuple[str, ...],
    **given: Any,
) -> None:
    """Search records, pages and past sessions, best match first.

    Each heading of a page is a result of its own; a session is one result together with its checkpoints.

    A result has at least one of the words, and each "exact phrase"; `auth*` matches words that begin with auth. A word
    that no text has is replaced by the most similar words. The score says how well a result matches, compared with the
    best one. Among results that match about equally well, importance, recency and how often a record was retrieved
    decide the order (`search_weights` in config.yaml). With an option that filters by a field of records, only records
    are found. `--type file` searches the repository's files; the first such search reads all of them.
    """
    if bool(query) == (related is not None):
        raise click.UsageError("give either words to search for, or --related with a record or a file")
    memory, snapshot = memory_access.read(ctx, at)
    kinds = _kinds(types)
    filters = memory_access.filters(
        memory, snapshot, types=tuple(name for name in kinds if name in RECORDS) if types else (), **given
    )
    how = _Listing(order, limit, explain, as_json)
    if related is None:
        files = _files(memory, snapshot, " ".join(query), at, filters) if FILE in types else []
        _search(memory, snapshot, " ".join(query), filters, kinds, files, how)
    else:
        _relate(ctx, memory, snapshot, related, filters, how, at)
    ctx.exit(output.finish(memory, snapshot))


def _kinds(types: Sequence[str]) -> tuple[str, ...]:
    named = [kind for name in types if name != FILE for kind in (RECORDS if name == _ANY_RECORD else (name,))]
    return tuple(dict.fromkeys(named)) if types else ALL


def _files(memory: Memory, snapshot: Snapshot, query: str, at: str | None, filters: Filters) -> list[Result]:
    if msgspec.structs.replace(filters, archived=False, types=()) != Filters():
        return []
    from memctl.sources import file_search

    commit = memory.repository.resolve(at) if at is not None else ""
    hits = file_search.search(memory, snapshot, query, commit, memory_access.progress("reading the files"))
    return [_of_file(hit.path, hit.score, "; ".join(why for _, why in hit.reasons)) for hit in hits]


def _of_file(path: str, score: float, why: str) -> Result:
    rest = dict.fromkeys(_PARTS[1:], 0.0)
    return Result(
        kind=FILE, id=path, title=why, score=score, own=score, match=score, path="", number=0, record=None, **rest
    )


def _search(
    memory: Memory,
    snapshot: Snapshot,
    query: str,
    filters: Filters,
    kinds: Collection[str],
    files: Sequence[Result],
    how: _Listing,
) -> None:
    chosen = msgspec.structs.replace(filters, types=())  # `kinds` has the types
    is_cut = how.order == "relevance" and not snapshot.texts.semantic_model  # other orders and a model need all matches
    most = max(how.limit, relevance.JUDGED) if how.limit and is_cut else None
    recorded = ranking.search(snapshot, query, memory.now, chosen, kinds, most) if kinds else []
    number, is_all = len(recorded), True
    if number == most:
        number, is_all = ranking.count(snapshot, query, chosen, kinds, None if how.as_json else _COUNTED)
        number = max(number, most)  # successors that do not match are not counted
    total = len(files) + number
    mixed = sorted([*recorded, *files], key=lambda result: -result.score) if files else recorded
    shown = _in_order(mixed, how.order)[: how.limit or None]
    instead = snapshot.texts.substitutes(query) if kinds else {}
    numbers = [result.number for result in shown if result.number]
    excerpts = snapshot.texts.excerpts(query, numbers)
    verdict = relevance.verdict(snapshot, query, recorded, instead)
    if how.as_json:
        results = [_data(memory, result, excerpts.get(result.number)) for result in shown]
        data = {"query": query, "instead": instead, "verdict": verdict, "total": total, "results": results}
        output.json("search", data, snapshot.faults, memory)
        return
    _note_words(query)
    for word, others in instead.items() if shown else ():
        output.note(f"no text has the word {word}; searched instead for {' and '.join(others)}")
    if how.explain and shown:
        _explain(shown, snapshot.config.search_weights)
    else:
        rows = [(f"{result.score:.2f}", *_row(result)) for result in shown]
        bodies = snapshot.texts.bodies(
            [r.number for r in shown if r.number and r.number not in excerpts and not r.record]
        )
        below = [
            _turned_down(snapshot, result) or _below(excerpts.get(result.number), bodies.get(result.number, ""))
            for result in shown
        ]
        output.columns(rows, ({}, *output.RECORD_STYLES[:-1], _title_style(query)), below)
    more = _more(total - len(shown))
    output.rest(total, len(shown), "nothing matches", more if is_all else f"or {more}")
    if recorded and verdict in _VERDICTS:
        output.note(_VERDICTS[verdict])


def _more(number: int) -> str:
    return f"more {'result' if number == 1 else 'results'}: --limit 0 shows all"


def _note_words(query: str) -> None:
    """The index has letters and digits only, so words lose their signs."""
    words = words_of(query)
    if words and STOP_WORDS.issuperset(words):
        output.note("hint: nearly every text has these words; add a word that says what the record is about")
    if query.replace(" ", "").isalnum():
        return
    if not _WORD.search(query):
        output.note("hint: the query has no words; give letters or digits, since other characters are not searched")
        return
    for word in dict.fromkeys(match[0] for match in _SIGNED.finditer(query)):
        output.note(
            output.plain(f"note: only letters and digits are searched: {word!r} finds {_WORD.findall(word)[0]!r}")
        )


def _in_order(results: list[_Found], order: str) -> list[_Found]:
    """Results that are not records come last."""
    if order == "relevance":
        return results
    key, large_first = ORDERS[_SORTS[order]]
    records = [(result.record, result) for result in results if result.record is not None]
    records.sort(key=lambda pair: key(pair[0]), reverse=large_first)
    return [*(result for _, result in records), *(result for result in results if result.record is None)]


def _row(result: Result) -> tuple[str, ...]:
    if result.record is not None:
        *cells, title = output.record_row(result.record)
        successors = ", ".join(result.record.superseded_by)
        return *cells, title + (f"  (superseded by {successors})" if successors else "")
    opened = "" if result.kind in (PAGE, FILE) else f"  (`{result.opener}`)"
    return result.id, result.kind, "", result.title + opened


def _turned_down(snapshot: Snapshot, result: Result) -> str:
    from memctl.pages import reasons

    line = reasons.turned_down(snapshot, result.record) if result.record is not None else ""
    return _INDENT + output.plain(line) if line else ""


def _below(excerpt: Excerpt | None, body: str) -> str:
    if excerpt is not None:
        return _INDENT + _with_marks(excerpt)
    if not body.strip():
        return ""
    from memctl.text.fit import first_sentence  # most results have an excerpt

    return _INDENT + output.plain(first_sentence(body))


def _data(memory: Memory, result: Result, excerpt: Excerpt | None) -> dict[str, Any]:
    known = {"kind": result.kind, "id": result.id, "title": result.title, "open": result.opener}
    parts = {name: round(getattr(result, name), 6) for name in ("score", *_PARTS)}
    values = {**known, **parts, "path": memory.tracked(result.path) if result.path else result.id, "excerpt": excerpt}
    if result.kind == FILE:
        return {"type": FILE, **values}
    if result.record is None:
        return {"type": result.kind, **values, "marker": result.id}
    return {"type": _ANY_RECORD, **values, "record": output.record_data(memory, result.record)}


def _relate(
    ctx: click.Context, memory: Memory, snapshot: Snapshot, given: str, filters: Filters, how: _Listing, at: str | None
) -> None:
    from memctl.pages import file_query
    from memctl.search import related

    commit = memory.repository.resolve(at) if at is not None else ""
    record = snapshot.resolve(given) if _RECORD.fullmatch(given) else None
    try:
        name = record.id if record else file_query.locate(memory, snapshot, ctx.obj.folder, given, commit).path
    except MemctlError:
        if not snapshot.with_foreign_name(given):
            raise
        record = snapshot.resolve(given)
        name = record.id
    if record is not None:
        subject = related.of_record(snapshot, record)
    else:
        subject = related.of_files(snapshot, [name], snapshot.outline.covering(name))
    matching = related.related(snapshot, subject, filters)
    shown = _in_order(matching, how.order)[: how.limit or None]
    if how.as_json:
        results = [_related_data(memory, result) for result in shown]
        output.json("related", {"to": name, "total": len(matching), "results": results}, snapshot.faults, memory)
        return
    if how.explain and shown:
        _explain_related(shown)
    else:
        below = [_INDENT + output.plain(", ".join(result.because)) if result.because else "" for result in shown]
        rows = [(f"{result.score:.2f}", *output.record_row(result.record)) for result in shown]
        output.columns(rows, ({}, *output.RECORD_STYLES), below)
    output.rest(len(matching), len(shown), f"nothing is related to {name}", _more(len(matching) - len(shown)))


def _related_data(memory: Memory, result: Related) -> dict[str, Any]:
    parts = {name: value for name, value in msgspec.structs.asdict(result).items() if name != "record"}
    rounded = {name: round(value, 6) if isinstance(value, float) else value for name, value in parts.items()}
    return {**rounded, "record": output.record_data(memory, result.record)}


def _explain(results: Sequence[Result], weights: SearchWeights) -> None:
    most = ranking.limits(weights)
    text = most["text"]
    header = ("score", *_PARTS, "result")
    rows = [(result.score, *(getattr(result, name) for name in _PARTS)) for result in results]
    names = [f"{result.id} {result.title}" for result in results]
    _table(header, (text, text, text, most["importance"], most["recency"], most["access"]), rows, names)


def _explain_related(results: Sequence[Related]) -> None:
    from memctl.search.related import CODE, LINKS, SECTION, TAGS, TEXT

    header = ("score", "links", "code", "text", "tags", "section", "record")
    rows = [(result.score, result.links, result.code, result.text, result.tags, result.section) for result in results]
    names = [f"{result.record.id} {result.record.title}  [{', '.join(result.because)}]" for result in results]
    _table(header, (LINKS, CODE, TEXT, TAGS, SECTION), rows, names)


def _table(
    header: tuple[str, ...], most: Sequence[float], rows: Sequence[Sequence[float]], names: Sequence[str]
) -> None:
    limits = (*(f"{value:.3f}" for value in (1.0, *most)), "the maximum of each part")
    numbers = [(*(f"{value:.3f}" for value in row), name) for row, name in zip(rows, names, strict=True)]
    output.columns([header, limits, *numbers])


def _title_style(query: str) -> Callable[[str], str]:
    wanted = [word.casefold() for word in _WORD.findall(query)]

    def style(title: str) -> str:
        def emphasized(match: re.Match[str]) -> str:
            word = match[0].casefold()
            is_asked = any(word.startswith(part) or (len(word) > 3 and part.startswith(word)) for part in wanted)
            return click.style(match[0], bold=True) if is_asked else match[0]

        return _WORD.sub(emphasized, title)

    return style


def _with_marks(excerpt: Excerpt) -> str:
    """The signs » and « mean nothing to a shell or to Markdown, so a record can't misuse them."""
    bold = sys.stdout.isatty() and click.get_current_context().color is not False
    parts, end = [], 0
    for start, stop in excerpt.marks:
        word = output.plain(excerpt.text[start:stop])
        parts += [output.plain(excerpt.text[end:start]), click.style(word, bold=True) if bold else f"»{word}«"]
        end = stop
    return "".join([*parts, output.plain(excerpt.text[end:])])
