"""Write and read records as JSON Lines: one object per line, with the keys of the front matter, `body` and `path`.

Keys that are not memctl's are in an object `extra`. An import restores all values and texts of an export, but not the
comments and the order of keys of a hand-written front matter. For an import `memory_type` and `title` are enough. The
names of content fields (`rationale`, …, see rules.md#records) may be used instead of a `body`, and `author` may name
who made the record. An `id` of another tool is kept as `source_id`, and commands find the record by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from memctl.exchange.row_import import ImportResult, ImportTarget, import_items
from memctl.exchange.rows import json_objects
from memctl.record import frontmatter, record_form
from memctl.record.parser import is_slim
from memctl.record.record import FIELDS, ORDER, Record
from memctl.record.snapshot import Snapshot


def export_lines(snapshot: Snapshot, records: Iterable[Record]) -> Iterator[str]:
    """Yield a line of JSON for each record, with the values and the text of its file."""
    for record in records:
        values, body = frontmatter.read(snapshot.read(record.path))
        names = FIELDS if is_slim(values) else ORDER
        values = record_form.complete(values, snapshot.config.project)
        known = {name: value for name, value in values.items() if name in names}
        extra = {name: value for name, value in values.items() if name not in names}
        line = {**known, **({"extra": extra} if extra else {}), "body": body, "path": record.path}
        yield msgspec.json.encode(line).decode()


def import_json(target: ImportTarget, text: str) -> ImportResult:
    """Read records in JSON Lines or a JSON array; return the Change that adds them, and messages on what is lost.

    A line that was imported before is skipped, so an import can be repeated:

    - A line with an id of memctl's form, if the memory has this record with the same text. If the record has another
      text, the line is refused.
    - A line with a memory_id or with an id of another tool, if a record has this memory_id or `source_id`, whatever its
      text.
    - A line without any id, if an equal line was imported.
    """
    return import_items(target, json_objects(text), "correct these lines")
