"""`python -m bench.retrieval`: how well search finds what answers a query, on labelled queries.

Measured is what `memctl search` prints, against plain FTS5 BM25 over the same texts: porter stems, any of the query's
words without stop words. nDCG counts grades (2 answers the query, 1 helps), recall and MRR whatever has a label.
"""

from __future__ import annotations

import argparse
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
from memctl.model.snapshot import Snapshot
from memctl.search import ranking
from memctl.search.filters import Filters
from memctl.store import load
from memctl.store.memory import open_memory

_FOLDER = Path(__file__).parent / "labelled"
_DEPTH = 10  # results that count
_STOP = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "been",
        "but",
        "by",
        "can",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "more",
        "my",
        "not",
        "of",
        "on",
        "or",
        "our",
        "so",
        "that",
        "the",
        "their",
        "then",
        "there",
        "they",
        "this",
        "to",
        "up",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "you",
    ]
)
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
    print(f"{len(queries):,} queries on {len(documents):,} documents; the first {_DEPTH} results count")
    with tempfile.TemporaryDirectory(prefix="memctl-bench-") as name:
        rankings = {"plain FTS5 BM25": _plain(documents), "memctl search": _memctl(Path(name).resolve(), documents)}
        found = {
            title: [(query, _quality(query, ranked(query.query))) for query in queries]
            for title, ranked in rankings.items()
        }
    for title, results in found.items():
        print(f"\n{title:<16} queries  recall     MRR    nDCG")
        _print("all", [quality for _, quality in results])
        for kind in sorted({query.kind for query, _ in results if query.kind}):
            _print(kind, [quality for query, quality in results if query.kind == kind])


def _print(title: str, qualities: Sequence[Quality]) -> None:
    count = len(qualities)
    means = (sum(getattr(quality, name) for quality in qualities) / count for name in ("recall", "mrr", "ndcg"))
    print(f"  {title:<14} {count:>7}  " + "   ".join(f"{mean:.3f}" for mean in means))


def _quality(query: Query, ranked: Sequence[str]) -> Quality:
    grades = [query.relevant.get(identifier, 0) for identifier in ranked[:_DEPTH]]
    ideal = sorted(query.relevant.values(), reverse=True)[:_DEPTH]
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
        words = [word for word in re.findall(r"\w+", query.lower()) if word not in _STOP]
        if not words:
            return []
        expression = " OR ".join(f'"{word}"' for word in words)
        found = database.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?", (expression, _DEPTH)
        )
        return [documents[number - 1]["id"] for (number,) in found]

    return ranked


def _memctl(folder: Path, documents: Sequence[dict[str, Any]]) -> Ranking:
    """Search as the command does it, in a memory that holds the documents."""
    here = world.make(folder)
    repository = folder / "labelled"
    here.git(folder, "init", "-q", str(repository))
    here.run([MEMCTL, "init"], repository)
    lines = [json.dumps({"memory_type": d["type"], **{k: v for k, v in d.items() if k != "type"}}) for d in documents]
    here.run([MEMCTL, "import", "-"], repository, "\n".join(lines))
    snapshot: Snapshot = load.disk(open_memory(repository, os.environ))

    def ranked(query: str) -> list[str]:
        return [result.record.id for result in ranking.search(snapshot, query, Filters(archived=None), NOW)[:_DEPTH]]

    return ranked


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.retrieval", description=__doc__)
    parser.add_argument(
        "--documents", type=Path, default=_FOLDER / "documents.jsonl", help="JSON Lines; see bench/labelled"
    )
    parser.add_argument(
        "--queries", type=Path, default=_FOLDER / "queries.jsonl", help="JSON Lines; see bench/labelled"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
