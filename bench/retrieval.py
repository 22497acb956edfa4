"""`python -m bench.retrieval`: how well search finds what answers a query, on labelled queries.

Measured are the order by text alone and the order that `memctl search` prints, against plain FTS5 BM25 over the same
texts: porter stems, any of the query's words without stop words. nDCG counts grades (2 answers the query, 1 helps),
recall and MRR whatever has a label. The two halves are every second query of each kind: what can be tuned was tuned on
the first, and the second confirms it. With `--model`, or if a package that has a model is installed, both orders are
measured with embeddings too.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import re
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench import world
from bench.world import MEMCTL, NOW
from memctl.record.snapshot import Snapshot
from memctl.search import ranking
from memctl.search.filters import Filters
from memctl.store import load
from memctl.store.memory import open_memory
from memctl.text.words import STOP_WORDS

_FOLDER = Path(__file__).parent / "labelled"
_MOST = 100  # results that a ranking gives
_PACKAGES = ("wordllama",)
Ranking = Callable[[str], list[str]]


class Query(msgspec.Struct, frozen=True):
    """A query, the grade of each document that is relevant to it, and its kind."""

    query: str
    relevant: dict[str, int]
    kind: str = ""


class Quality(msgspec.Struct, frozen=True):
    """Means over queries of what the first ten results hold."""

    recall: float
    mrr: float
    ndcg: float


def main() -> None:
    options = _options()
    documents = [json.loads(line) for line in options.documents.read_text(encoding="utf-8").splitlines()]
    decode = msgspec.json.Decoder(Query).decode
    queries = [decode(line) for line in options.queries.read_text(encoding="utf-8").splitlines()]
    print(f"{len(queries):,} queries on {len(documents):,} documents; the first {options.depth} results count")
    with tempfile.TemporaryDirectory(prefix="memctl-bench-") as name:
        rankings = {"plain FTS5 BM25": _plain(documents)}
        repository = _memory(Path(name).resolve(), documents)
        rankings |= {f"memctl, {order}": ranked for order, ranked in _memctl(repository).items()}
        if model := options.model or _installed():
            (repository / ".memory" / "config.yaml").open("a").write(f"semantic_model: {model}\n")
            rankings |= {f"memctl, {order}, {model}": ranked for order, ranked in _memctl(repository).items()}
        for title, ranked in rankings.items():
            _report(title, [(query, _quality(query, ranked(query.query), options.depth)) for query in queries])


def _report(title: str, results: Sequence[tuple[Query, Quality]]) -> None:
    print(f"\n{title}\n{'':16} queries  recall     MRR    nDCG")
    _print("all", [quality for _, quality in results])
    by_kind: dict[str, list[Quality]] = {}
    for query, quality in results:
        by_kind.setdefault(query.kind, []).append(quality)
    for half, name in enumerate(("first half", "second half")):
        _print(name, [quality for qualities in by_kind.values() for quality in qualities[half::2]])
    for kind, qualities in sorted(by_kind.items()):
        if kind:
            _print(kind, qualities)


def _print(title: str, qualities: Sequence[Quality]) -> None:
    count = len(qualities)
    means = (sum(getattr(quality, name) for quality in qualities) / count for name in ("recall", "mrr", "ndcg"))
    print(f"  {title:<14} {count:>7}  " + "   ".join(f"{mean:.3f}" for mean in means))


def _quality(query: Query, ranked: Sequence[str], depth: int) -> Quality:
    grades = [query.relevant.get(identifier, 0) for identifier in ranked[:depth]]
    ideal = sorted(query.relevant.values(), reverse=True)[:depth]
    first = next((place for place, grade in enumerate(grades, 1) if grade), 0)
    return Quality(
        recall=sum(grade > 0 for grade in grades) / len(query.relevant),
        mrr=1 / first if first else 0.0,
        ndcg=_gain(grades) / _gain(ideal),
    )


def _gain(grades: Sequence[int]) -> float:
    return sum((2**grade - 1) / math.log2(place + 1) for place, grade in enumerate(grades, 1))


def _plain(documents: Sequence[dict[str, Any]]) -> Ranking:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter unicode61')")
    for document in documents:
        parts = (document["title"], document["body"], *document["tags"], *document["code_refs"])
        database.execute("INSERT INTO texts VALUES (?)", ("\n".join(parts),))

    def ranked(query: str) -> list[str]:
        words = [word for word in re.findall(r"\w+", query.lower()) if word not in STOP_WORDS]
        if not words:
            return []
        expression = " OR ".join(f'"{word}"' for word in words)
        found = database.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?", (expression, _MOST)
        )
        return [documents[number - 1]["id"] for (number,) in found]

    return ranked


def _memory(folder: Path, documents: Sequence[dict[str, Any]]) -> Path:
    """A repository with a memory that holds the documents."""
    here = world.make(folder)
    repository = folder / "labelled"
    here.git(folder, "init", "-q", str(repository))
    here.run([MEMCTL, "init"], repository)
    lines = [json.dumps({"memory_type": d["type"], **{k: v for k, v in d.items() if k != "type"}}) for d in documents]
    here.run([MEMCTL, "import", "-"], repository, "\n".join(lines))
    return repository


def _memctl(repository: Path) -> dict[str, Ranking]:
    """The orders of memctl: by text alone, and as `memctl search` has it."""
    snapshot: Snapshot = load.disk(open_memory(repository, os.environ))
    ids = {record.path: record.id for record in snapshot.records}

    def by_text(query: str) -> list[str]:
        found = ranking.similarities(snapshot, query)
        return [ids[path] for path in sorted(found, key=lambda path: (-found[path].content, path))[:_MOST]]

    def blended(query: str) -> list[str]:
        return [result.record.id for result in ranking.search(snapshot, query, Filters(archived=None), NOW)[:_MOST]]

    return {"text alone": by_text, "search": blended}


def _installed() -> str:
    """The name of a package that has a model, if one is installed."""
    return next((name for name in _PACKAGES if importlib.util.find_spec(name)), "")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.retrieval", description=__doc__)
    parser.add_argument(
        "--documents", type=Path, default=_FOLDER / "documents.jsonl", help="JSON Lines; see bench/labelled"
    )
    parser.add_argument(
        "--queries", type=Path, default=_FOLDER / "queries.jsonl", help="JSON Lines; see bench/labelled"
    )
    parser.add_argument("--depth", type=int, default=10, help="how many results count (default: 10)")
    parser.add_argument("--model", help="what `semantic_model` is to name")
    return parser.parse_args()


if __name__ == "__main__":
    main()
