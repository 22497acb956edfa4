"""`search`: records, pages and sessions by their words, and records by what they have to do with."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import click
import msgspec

from memctl.cli import opening, output
from memctl.cli.command import command, filtering, reading
from memctl.cli.find import STYLES, row
from memctl.pack import relevance
from memctl.pack.relevance import PagePlace
from memctl.record.config import SearchWeights
from memctl.record.snapshot import Excerpt, Snapshot
from memctl.search import ranking
from memctl.search.filters import ORDERS, Filters
from memctl.search.ranking import Ranked
from memctl.search.related import CODE, LINKS, SECTION, TAGS, TEXT, Related
from memctl.store.memory import Memory
from memctl.text.markdown import first_sentence

_RECORD = re.compile(r"(?i)(?:dec|iss|sta|lrn)(?:-[\d-]*)?|[0-9a-f]{8}-[0-9a-f-]*")  # an id, or how one begins
_INDENT = " " * 6
# What results can be put in order of, beside relevance, each with its name in ORDERS.
_SORTS = {"importance": "importance", "severity": "severity", "time": "date"}
_Found = TypeVar("_Found", bound=Ranked | Related | PagePlace)


@command(
    "search",
    ("memctl search connection pool", "Records with these words, those with both first."),
    ("memctl search '\"rate limit\"' --type decision --explain", "An exact phrase, and how each score came about."),
    ("memctl search 'auth*' --since 30d --json", "Words that begin with auth, for a program."),
    ("memctl search pool --type issue --sort severity", "What matches, the worst first."),
    ("memctl search --related DEC-2025-11-04-001 --explain", "What has to do with a record, and why."),
    ("memctl search --related src/auth.py", "The records that have to do with a file."),
)
@click.argument("query", nargs=-1)
@click.option("--related", metavar="ID|PATH", help="Instead of words: what has to do with a record, or with a file.")
@filtering
@click.option(
    "--sort",
    "order",
    type=click.Choice(["relevance", *_SORTS]),
    default="relevance",
    show_default=True,
    help="What to order by, the most first; pages and sessions come last then.",
)
@click.option("--limit", type=click.IntRange(min=0), default=10, show_default=True, help="How many at most; 0 for all.")
@click.option("--explain", is_flag=True, help="Show what each part contributed to a score.")
@reading
@click.pass_context
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
    **given: Any,
) -> None:
    """Search the text of all records, pages and sessions, best match first.

    Any of the words may occur, an "exact phrase" must, and begin* stands for a beginning. For a word that occurs
    nowhere those are taken that are spelled most like it. A record's score is made of text (40 %), importance (25 %),
    recency (20 %) and how often it was retrieved (15 %), if `search_weights` in config.yaml does not say otherwise. Of
    pages, their headed parts and the pages of sessions it is the share of the words that they have, from .6 on; with an
    option that chooses records they are left out.
    """
    if bool(query) == (related is not None):
        raise click.UsageError("give words to search for, or --related with a record or a file")
    memory = opening.memory(ctx)
    snapshot = opening.readable(memory, at)
    filters = opening.filters(memory, **given)
    if related is None:
        _search(memory, snapshot, " ".join(query), filters, order, limit, explain, as_json)
    else:
        _relate(ctx, memory, snapshot, related, filters, order, limit, explain, as_json, at)
    ctx.exit(output.finish(memory, snapshot))


def _search(
    memory: Memory,
    snapshot: Snapshot,
    query: str,
    filters: Filters,
    order: str,
    limit: int,
    explain: bool,
    as_json: bool,
) -> None:
    found: list[Ranked | PagePlace] = [*ranking.search(snapshot, query, filters, memory.now)]
    if filters == Filters():  # pages and sessions have none of what a filter asks for
        found += relevance.found_places(snapshot, query)
        found.sort(key=lambda result: -result.score)
    shown = _sorted(found, order)[: limit or None]
    records = [result for result in shown if isinstance(result, Ranked)]
    instead = snapshot.texts.instead(query)
    excerpts = snapshot.texts.excerpts(query, [result.record.path for result in records])
    if as_json:
        results = [
            _place_data(r)
            if isinstance(r, PagePlace)
            else {
                "type": "record",
                **_parts(r),
                "excerpt": excerpts.get(r.record.path),
                "record": output.record_data(memory, r.record),
            }
            for r in shown
        ]
        data = {"query": query, "instead": instead, "total": len(found), "results": results}
        output.json("search", data, snapshot.faults, memory)
        return
    for word, others in instead.items() if records else ():
        output.note(f"{output.plain(word)} occurs nowhere; searched for {' and '.join(map(output.plain, others))}")
    if explain:
        _explain(records, snapshot.config.search_weights)
        found_places = [result for result in shown if isinstance(result, PagePlace)]
        output.columns([(f"{one.score:.3f}", one.marker, one.kind, one.title) for one in found_places])
    else:
        rows = [(f"{r.score:.2f}", *(_place_row(r) if isinstance(r, PagePlace) else row(r.record))) for r in shown]
        output.columns(rows, ({}, *STYLES), [_below(result, excerpts) for result in shown])
    _tell(len(found), len(shown), "nothing matches")


def _sorted(found: list[_Found], order: str) -> list[_Found]:
    """Put results, given by relevance, in another order, as `list` has it; pages and sessions come after records."""
    if order == "relevance":
        return found
    key, large_first = ORDERS[_SORTS[order]]
    records = [result for result in found if not isinstance(result, PagePlace)]
    records.sort(key=lambda result: key(result.record), reverse=large_first)
    return [*records, *(result for result in found if isinstance(result, PagePlace))]


def _below(result: Ranked | PagePlace, excerpts: Mapping[str, Excerpt]) -> str:
    """What stands below a result: the piece of a record's text that matches, of a place how it begins."""
    if isinstance(result, PagePlace):
        return _INDENT + output.plain(first_sentence(result.text)) if result.text.strip() else ""
    return _INDENT + output.marked(excerpts[result.record.path]) if result.record.path in excerpts else ""


def _place_row(place: PagePlace) -> tuple[str, ...]:
    return place.marker, place.kind, "", place.title


def _place_data(place: PagePlace) -> dict[str, Any]:
    return {
        "type": place.kind,
        "score": round(place.score, 6),
        "marker": place.marker,
        "title": place.title,
        "excerpt": first_sentence(place.text),
    }


def _relate(
    ctx: click.Context,
    memory: Memory,
    snapshot: Snapshot,
    given: str,
    filters: Filters,
    order: str,
    limit: int,
    explain: bool,
    as_json: bool,
    at: str | None,
) -> None:
    from memctl.pages import coverage, provenance
    from memctl.search import related

    if _RECORD.fullmatch(given):
        record = snapshot.resolve(given)
        name, subject = record.id, related.of_record(snapshot, record)
    else:
        commit = memory.repository.resolve(at) if at is not None else ""
        name = provenance.locate(memory, snapshot, ctx.obj.folder, given, commit).path
        sections = [page.id for page in coverage.covering(snapshot, [name])[name]]
        subject = related.of_files(snapshot, [name], sections)
    found = related.related(snapshot, subject, filters)
    shown = _sorted(found, order)[: limit or None]
    if as_json:
        results = [{**_parts(r), "record": output.record_data(memory, r.record)} for r in shown]
        output.json("related", {"to": name, "total": len(found), "results": results}, snapshot.faults, memory)
        return
    if explain:
        _explain_related(shown)
    else:
        below = [_INDENT + output.plain(", ".join(result.because)) if result.because else "" for result in shown]
        output.columns([(f"{result.score:.2f}", *row(result.record)) for result in shown], ({}, *STYLES), below)
    _tell(len(found), len(shown), f"nothing has to do with {output.plain(name)}")


def _tell(found: int, shown: int, nothing: str) -> None:
    if found > shown:
        output.note(f"{found - shown:,} more: --limit 0 shows all")
    if not found:
        output.note(nothing)


def _parts(result: Ranked | Related) -> dict[str, Any]:
    """A result for JSON, but for its record."""
    parts = msgspec.structs.asdict(result)
    del parts["record"]
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in parts.items()}


def _explain(results: Sequence[Ranked], given: SearchWeights) -> None:
    header = ("score", "title", "text", "importance", "recency", "access", "record")
    shares = msgspec.structs.astuple(ranking.shares(given))
    _table(header, shares, [(result, _named(result)) for result in results])


def _explain_related(results: Sequence[Related]) -> None:
    header = ("score", "links", "code", "text", "tags", "section", "record")
    rows = [(result, f"{_named(result)}  [{', '.join(result.because)}]") for result in results]
    _table(header, (LINKS, CODE, TEXT, TAGS, SECTION), rows)


def _table(header: tuple[str, ...], most: tuple[float, ...], rows: Sequence[tuple[Ranked | Related, str]]) -> None:
    limits = (*(f"{value:.3f}" for value in (1.0, *most)), "the most that each part can give")
    numbers = [(*(f"{v:.3f}" for v in _parts(result).values() if isinstance(v, float)), last) for result, last in rows]
    output.columns([header, limits, *numbers])


def _named(result: Ranked | Related) -> str:
    return f"{result.record.id} {result.record.title}"
