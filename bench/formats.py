"""`python -m bench.formats`: how many tokens each pack format takes for the same records.

Baselines: chat messages in JSON, one a record, whose content is the record as a JSON object of its fields (what a
program hands over that knows no packs), or its Markdown text. The goal is 40-60 % less than that (rules.md#formats).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memctl.pack import budget_fill
from memctl.pack.budget_fill import fill
from memctl.pack.draft import NOTICED, Item, PackDraft, PackNote, PackPart
from memctl.pack.formats import markdown
from memctl.pack.rehydrate import TITLES
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES

_DOCUMENTS = Path(__file__).parent / "labelled" / "documents.jsonl"
_SIZES = (1, 3, 10, 30, 100, 240)  # records in a pack
_AMPLE = 10_000_000  # tokens
_TASK = "Find out why checkout is slow"


def main() -> None:
    options = _options()
    documents = [json.loads(line) for line in options.documents.read_text(encoding="utf-8").splitlines()]
    count = Counter(FAMILIES["gpt"]).tokens
    print("tokens of o200k; less than JSON messages with fields / with text\n")
    print("records  JSON fields  JSON text  " + "".join(f"{name:>22}" for name in budget_fill.FORMATS))
    for size in _SIZES:
        if size <= len(documents):
            _print(size, [_item(document) for document in documents[:size]], count)


def _print(size: int, items: Sequence[Item], count: Any) -> None:
    fields = count(_messages([json.dumps(_fields(item), ensure_ascii=False) for item in items]))
    texts = count(_messages([markdown.markdown_item(item) for item in items]))
    cells = []
    for name in budget_fill.FORMATS:
        tokens = fill(_draft(items), name, _AMPLE, count).tokens
        cells.append(f"{tokens:>8,} {1 - tokens / fields:>+5.0%} / {1 - tokens / texts:>+4.0%}")
    print(f"{size:>7}  {fields:>11,}  {texts:>9,}  " + "  ".join(cells))


def _item(document: dict[str, Any]) -> Item:
    facts = {
        "importance": str(document["importance"]),
        "date": document["timestamp"],
        "tags": ", ".join(document["tags"]),
        "code": ", ".join(document["code_refs"]),
    }
    given = tuple((name, value) for name, value in facts.items() if value)
    return Item(document["type"], document["id"], document["title"], document["body"], given, document["id"])


def _draft(items: Sequence[Item]) -> PackDraft:
    parts = tuple(
        PackPart(name, title, tuple(item for item in items if item.kind == name)) for name, title in TITLES.items()
    )
    return PackDraft("shop", parts, opening=(NOTICED, PackNote("task", "Chosen for the task", _TASK)))


def _fields(item: Item) -> dict[str, Any]:
    return {
        "id": item.id,
        "memory_type": item.kind,
        "title": item.title,
        **dict(item.facts),
        "content": {field.name or field.heading: field.value for field in item.fields()},
    }


def _messages(contents: Sequence[str]) -> str:
    return json.dumps(
        [{"role": "user", "content": content} for content in (*contents, _TASK)], ensure_ascii=False, indent=2
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.formats", description=__doc__)
    parser.add_argument("--documents", type=Path, default=_DOCUMENTS, help="JSON Lines; see bench/labelled")
    return parser.parse_args()


if __name__ == "__main__":
    main()
