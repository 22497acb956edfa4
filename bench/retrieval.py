"""How well search finds what answers a query: on labelled texts, on real records, and in real conversations.

Measured are the order by an entry's own words alone and the order that `memctl search` prints, against plain FTS5 BM25
over the same entries: porter stems, any of the query's words without stop words. What can be tuned was tuned on the
first half of each set, and the second, the half to report, confirms it. Last come the differences of `search` from BM25
in recall and MRR with their intervals of 95 %, by bootstrap over queries, or over conversations.

The labelled set: bench/labelled. The real records: bench/imported.py. The conversations: bench/conversations.py says
how they become queries.
"""

from __future__ import annotations

import json
import os
import random
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench import conversations, imported
from bench.conversations import Conversation, Recollection
from bench.world import MEMCTL, NOW, World
from memctl.record import frontmatter
from memctl.record.filters import Filters
from memctl.record.snapshot import Snapshot, body_of
from memctl.record.source import SESSION
from memctl.search import ranking
from memctl.store import load
from memctl.store.memory import open_memory
from memctl.text.words import STOP_WORDS

_FOLDER = Path(__file__).parent / "labelled"
_MOST, _DEPTH = 300, 10  # results that are looked at, and that count
_SAMPLES = 2_000  # of the bootstrap
_BASELINE = "plain FTS5 BM25"
Ranking = Callable[[str], list[str]]  # the keys of entries, best first


class Query(msgspec.Struct, frozen=True):
    """A query, the grade of each document that is relevant to it, and its kind."""

    query: str
    relevant: dict[str, int]
    kind: str


class Quality(msgspec.Struct, frozen=True):
    """What the first ten results of a query hold; `group` is drawn as one by the bootstrap."""

    group: int
    recall: float
    mrr: float


Report = list[tuple[str, dict[str, Quality]]]  # of each query: its kind, and how well each ranking does


def tables(here: World, data: str) -> bool:
    """Print all tables; `data` is the folder with real records and transcripts, "" if there is none."""
    reports = [_labelled(here), _imported(here, data)]
    if all(reports):
        _of_both("both halves to report", reports)
    tuning, reporting = conversations.read(data)
    if not tuning:
        print(f"\nConversations: left out, there is no {conversations.ARCHIVE} (make bench DATA=FOLDER)")
    for name, half in (("first", tuning), ("second", reporting)) if tuning else ():
        _conversations(here, name, half)
    return True


def _labelled(here: World) -> Report:
    records = _lines("documents.jsonl")
    pages = _lines("pages.jsonl")
    queries = _queries("queries.jsonl")
    print(f"\nSearch: {len(queries):,} labelled queries on {len(records):,} records, and pages, sessions, checkpoints")
    repository = _memory(here, "labelled", records)
    _write(repository, dict(_files(pages)))
    entries = [*((d["id"], _text_of(d)) for d in records), *(pair for d in pages for pair in _entries_of(d))]
    kinds = {d["id"]: "records" for d in records} | {_label(d): f"{d['type']}s" for d in pages}
    kinds |= {key: "pages" for key, _ in entries if key.startswith("§")}
    rankings = {_BASELINE: _plain(entries), **_memctl(repository, _labels)}
    halves = _halves(queries)
    report: Report = []
    for half, name in enumerate(("half to choose", "half to report")):
        chosen = [query for number, query in enumerate(queries) if halves[number] == half]
        groups = {
            f"answers are {kind}": [kinds[next(iter(q.relevant))] == kind for q in chosen]
            for kind in ("records", "pages", "sessions", "checkpoints")
        }
        report = _compare(name, chosen, rankings, groups)
    return report


def _imported(here: World, data: str) -> Report:
    if not imported.are_at_hand(data):
        print("\nReal records: left out, they are not at hand (make bench DATA=FOLDER)")
        return []
    repository = _memory(here, "imported", [])
    imported.fill(here, repository, data)
    snapshot = load.disk(open_memory(repository, os.environ))
    texts = [(record, snapshot.read(record.path)) for record in snapshot.records]
    names = {record.id: imported.name_of(text) for record, text in texts}
    entries = [
        (names[record.id], "\n".join([record.title, body_of(text, record.path), *record.tags, *record.code_refs]))
        for record, text in texts
    ]
    rankings = {_BASELINE: _plain(entries), **_memctl(repository, lambda one: names[one.id], imported.ASKED)}
    queries = _queries("imported.jsonl")
    print(f"\nSearch: {len(queries):,} labelled queries on {len(entries):,} real records")
    report: Report = []
    for half, name in enumerate(("half to choose", "half to report")):
        chosen = [query for query in queries if imported.half_of(query.relevant) == half]
        report = _compare(name, chosen, rankings, {})
    return report


def _compare(
    name: str, chosen: Sequence[Query], rankings: Mapping[str, Ranking], more: Mapping[str, Sequence[bool]]
) -> Report:
    """Print how well each ranking does on some queries, by kind and in some `more` groups; return it, too."""
    print(f"\n{name + ', recall and MRR':36}", *(f"{title:>20}" for title in rankings), "  search less BM25")
    found = {
        title: [_quality(n, q, ranked(q.query)) for n, q in enumerate(chosen)] for title, ranked in rankings.items()
    }
    kinds = [query.kind for query in chosen]
    _print({"all": [True] * len(chosen), **_groups(kinds), **more}, found)
    return [(kind, {title: found[title][number] for title in found}) for number, kind in enumerate(kinds)]


def _of_both(name: str, reports: Iterable[Report]) -> None:
    """Print how well each ranking does on the queries of several reports together, by kind."""
    rows = [row for report in reports for row in report]
    titles = list(rows[0][1])
    found = {
        title: [msgspec.structs.replace(by_title[title], group=number) for number, (_, by_title) in enumerate(rows)]
        for title in titles
    }
    print(f"\n{name + ', recall and MRR':36}", *(f"{title:>20}" for title in titles), "  search less BM25")
    _print({"all": [True] * len(rows), **_groups([kind for kind, _ in rows])}, found)


def _groups(kinds: Sequence[str]) -> dict[str, list[bool]]:
    """Return for each kind which of the queries are of it."""
    return {kind: [other == kind for other in kinds] for kind in sorted(set(kinds))}


def _conversations(here: World, name: str, half: Sequence[Conversation]) -> None:
    asked = list(conversations.recollections(half))
    turns = [
        (f"§3.{place}.{turn}", text) for place, one in enumerate(half, 1) for turn, (_, text) in enumerate(one.turns, 1)
    ]
    repository = _memory(here, f"conversations-{name}", [])
    _write(repository, dict(_pages(half)))
    rankings = {_BASELINE: _plain(turns), **_memctl(repository, lambda result: result.id)}
    numbers = {key: number for number, (key, _) in enumerate(turns)}
    print(f"\n{name} half of conversations, {len(asked):,} queries, {len(turns):,} turns: recall and MRR")
    print(" " * 36, *(f"{title:>20}" for title in rankings), "  search less BM25")
    found = {title: [_recalled(one, ranked(one.query), numbers) for one in asked] for title, ranked in rankings.items()}
    groups = {kind: [one.kind == kind for one in asked] for kind in ("user", "agent")}
    _print({"all": [True] * len(asked), **{f"asked by the {kind}": chosen for kind, chosen in groups.items()}}, found)


def _print(groups: Mapping[str, Sequence[bool]], found: Mapping[str, Sequence[Quality]]) -> None:
    for name, chosen in groups.items():
        some = {
            title: [q for q, is_in in zip(qualities, chosen, strict=True) if is_in]
            for title, qualities in found.items()
        }
        count = len(some[_BASELINE])
        if count:
            cells = [f"{_mean(q.recall for q in part):.3f} {_mean(q.mrr for q in part):.3f}" for part in some.values()]
            pairs = list(zip(some[_BASELINE], list(some.values())[-1], strict=True))
            recall = _interval([(one.group, other.recall - one.recall) for one, other in pairs])
            mrr = _interval([(one.group, other.mrr - one.mrr) for one, other in pairs])
            print(f"  {name:<27}{count:>6} ", *(f"{cell:>20}" for cell in cells), f"  {recall}  {mrr}")


def _interval(differences: Iterable[tuple[int, float]]) -> str:
    """The mean of some differences, each given with its group, and the bounds of its 95 % interval."""
    groups: dict[int, list[float]] = defaultdict(list)
    for group, difference in differences:
        groups[group].append(difference)
    sums = [(sum(values), len(values)) for values in groups.values()]
    chance, drawn = random.Random(1), []
    for _ in range(_SAMPLES):
        sample = chance.choices(sums, k=len(sums))
        drawn.append(sum(total for total, _ in sample) / sum(count for _, count in sample))
    drawn.sort()
    middle = sum(total for total, _ in sums) / sum(count for _, count in sums)
    return f"{middle:+.3f} [{drawn[_SAMPLES // 40]:+.3f}, {drawn[-_SAMPLES // 40]:+.3f}]"


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known)


def _quality(group: int, query: Query, ranked: Sequence[str]) -> Quality:
    hits = [key in query.relevant for key in dict.fromkeys(ranked)][:_DEPTH]
    return Quality(group, sum(hits) / len(query.relevant), _reciprocal(hits))


def _recalled(one: Recollection, ranked: Sequence[str], numbers: Mapping[str, int]) -> Quality:
    known = [numbers[key] for key in ranked if key in numbers]
    earlier = [number for number in known if number < one.limit or number < one.start]
    hits = [number in one.answers for number in earlier[:_DEPTH]]
    return Quality(one.conversation, sum(hits) / len(one.answers), _reciprocal(hits))


def _reciprocal(hits: Sequence[bool]) -> float:
    return next((1 / place for place, is_hit in enumerate(hits, 1) if is_hit), 0.0)


def _halves(queries: Sequence[Query]) -> list[int]:
    """For each query which half it is of: of each kind every second is of the other."""
    seen: dict[str, int] = defaultdict(int)
    halves = []
    for query in queries:
        halves.append(seen[query.kind] % 2)
        seen[query.kind] += 1
    return halves


def _plain(entries: Sequence[tuple[str, str]]) -> Ranking:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter unicode61')")
    database.executemany("INSERT INTO texts VALUES (?)", ((text,) for _, text in entries))

    def ranked(query: str) -> list[str]:
        words = [word for word in re.findall(r"\w+", query.lower()) if word not in STOP_WORDS]
        expression = " OR ".join(f'"{word}"' for word in words)
        find = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank"
        return [entries[number - 1][0] for (number,) in database.execute(find, (expression,))] if words else []

    return ranked


def _memctl(repository: Path, key: Callable[[ranking.Result], str], now: str = NOW) -> dict[str, Ranking]:
    """The orders of memctl: by an entry's own words alone, and as `memctl search` has it."""
    snapshot: Snapshot = load.disk(open_memory(repository, os.environ))

    def found(query: str) -> list[ranking.Result]:
        return ranking.search(snapshot, query, now, Filters(archived=None))

    def own(query: str) -> list[str]:
        return [key(one) for one in sorted(found(query), key=lambda one: -one.own)]

    return {"own words": own, "search": lambda query: [key(one) for one in found(query)]}


def _labels(result: ranking.Result) -> str:
    return f"session:{result.id}" if result.kind == SESSION else result.id


def _memory(here: World, name: str, records: Sequence[dict[str, Any]]) -> Path:
    """A repository with a memory that holds some records."""
    repository = here.folder / name
    here.git(here.folder, "init", "-q", str(repository))
    here.run([MEMCTL, "init"], repository)
    lines = [json.dumps({"memory_type": d["type"], **{k: v for k, v in d.items() if k != "type"}}) for d in records]
    if lines:
        here.run([MEMCTL, "import", "-"], repository, "\n".join(lines))
    return repository


def _write(repository: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        file = repository / ".memory" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _queries(name: str) -> list[Query]:
    decode = msgspec.json.Decoder(Query).decode
    return [decode(line) for line in (_FOLDER / name).read_text(encoding="utf-8").splitlines()]


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_FOLDER / name).read_text(encoding="utf-8").splitlines()]


def _text_of(record: Mapping[str, Any]) -> str:
    return "\n".join([record["title"], record["body"], *record["tags"], *record["code_refs"]])


def _label(page: Mapping[str, Any]) -> str:
    return f"session:{page['id']}" if page["type"] == "session" else str(page["id"])


def _entries_of(page: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """What of a page, a session or a checkpoint is found by itself, with its text."""
    parts = page.get("parts", ())
    if page["type"] == "page" and page["id"].startswith("§2"):
        yield page["id"], "\n".join([page["title"], *(line for part in parts for line in part), *page["paths"]])
    elif page["type"] == "page":
        yield page["id"], page["title"]
        yield from ((f"{page['id']}.{number}", "\n".join(part)) for number, part in enumerate(parts, 1))
    elif page["type"] == "session":
        yield from ((_label(page), "\n".join(part)) for part in parts)
    else:
        lists = (line for value in page.values() if isinstance(value, list) for line in value)
        yield page["id"], "\n".join([page["mission"], page["phase"], *lists])


def _files(pages: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, str]]:
    """The files of pages, sessions and checkpoints, by their paths below `.memory/`."""
    for page in pages:
        identifier = page["id"]
        if page["type"] == "checkpoint":
            workflow, window, version, mark = identifier.rsplit("-", 3)
            yield f"checkpoints/{workflow}/{window}-{version}-{mark}.json", _checkpoint(page, workflow, window, version)
            continue
        if page["type"] == "session":
            head = {"session_id": identifier, "started": page["started"]}
        else:
            head = {key: page[key] for key in ("id", "title", "section", "paths") if key in page}
        level = "###" if page["type"] == "session" else "##"
        body = "\n".join(f"{level} {heading}\n\n{text}\n" for heading, text in page["parts"])
        folder = "sessions" if page["type"] == "session" else "sections" if identifier[1] == "2" else "details"
        name = identifier if page["type"] == "session" else f"{identifier[1:]}-page"
        yield f"{folder}/{name}.md", frontmatter.compose(head, body)


def _checkpoint(page: Mapping[str, Any], workflow: str, window: str, version: str) -> str:
    values = {key: value for key, value in page.items() if key not in ("id", "type")}
    known = {"format": 1, "checkpoint_id": page["id"], "workflow_id": workflow, "saved_at": NOW, "saved_by": "ada"}
    numbers = {"window_id": int(window[1:]), "version": int(version[1:])}
    return json.dumps({**known, **numbers, "session": "", "branch": "main", "head": "", **values})


def _pages(half: Sequence[Conversation]) -> Iterable[tuple[str, str]]:
    """A page for each conversation, with a heading for each turn."""
    yield "sections/2.1-conversations.md", frontmatter.compose({"id": "§2.1", "title": "Conversations"}, "")
    for number, one in enumerate(half, 1):
        head = {"id": f"§3.{number}", "title": f"Conversation {number}", "section": "§2.1"}
        # What would be read as a heading, or hide one, is no part of what was said.
        texts = (re.sub(r"(?m)^([ \t]*)(#|```|~~~|===|---|<)", r"\1\\\2", text) for _, text in one.turns)
        body = "\n".join(f"## Turn\n\n{text}\n" for text in texts)
        yield f"details/3.{number}-conversation.md", frontmatter.compose(head, body)
