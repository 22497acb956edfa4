"""The JSON Schemas of what `--json` prints, and of config.yaml.

Everything that `--json` prints is in an envelope, an object with a key `kind`. For each kind there is a shape in
`memory.py`, `work.py` or `measures.py`: a Python literal that looks like the JSON, with types in place of values (see
`shapes.py`). Tests check everything that a command prints against its schema.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from memctl.cli.schemas import measures, memory, shapes, work

if TYPE_CHECKING:
    from memctl.store.memory import Memory

DIALECT = "https://json-schema.org/draft/2020-12/schema"  # the dialect that msgspec writes
CONFIG = "config"  # the name of the schema of `config.yaml`, beside the kinds of envelopes
KINDS: dict[str, shapes.Shape] = {**memory.KINDS, **work.KINDS, **measures.KINDS}


def answer(kind: str, value: Any, memory: Memory | None, alternative: int) -> Any:
    """Return the data that `--json` prints with a `kind`, made of what a room returned.

    `alternative` is the number of the shape, of a kind that has several.
    """
    shape = KINDS[kind]
    is_one = not isinstance(shape, tuple) or isinstance(shape, shapes.Fields)
    return shapes.answer(shape if is_one else shape[alternative], value, memory)


def schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of what `--json` prints with a `kind`, such as "check", or of config.yaml for "config".

    Raises KeyError for an unknown kind.
    """
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
