"""The JSON Schemas of what `--json` prints, by the `kind` of the envelope, and of `config.yaml`.

Each kind has a shape in `memory.py`, `work.py` or `measures.py`: literals that look like the JSON itself, with types in
the place of values (`shapes.py` says how). Tests check everything that a command prints against its schema.
"""

from __future__ import annotations

from typing import Any

import msgspec

from memctl.cli.schemas import measures, memory, shapes, work

DIALECT = "https://json-schema.org/draft/2020-12/schema"  # which msgspec writes
CONFIG = "config"  # in the place of a kind: the schema of `config.yaml`
KINDS: dict[str, shapes.Shape] = {**memory.KINDS, **work.KINDS, **measures.KINDS}


def schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of an envelope with a kind, or of `config.yaml`; KeyError if there is no such kind."""
    if kind == CONFIG:
        from memctl.record.config import Config

        return {"$schema": DIALECT, "title": ".memory/config.yaml of memctl", **msgspec.json.schema(Config)}
    definitions: dict[str, Any] = {}
    envelope = {
        "schema": shapes.Constant(1),
        "kind": shapes.Constant(kind),
        "data": KINDS[kind],
        "faults?": [memory.FAULT],
    }
    written = shapes.compile_shape(envelope, definitions)
    return {"$schema": DIALECT, "title": f"memctl --json: {kind}", **written, "$defs": definitions}
