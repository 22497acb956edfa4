"""What commands print under `--json`, against the schemas that memctl ships; a key that no schema names is a fault."""

from __future__ import annotations

import functools
from typing import Any

import jsonschema
import msgspec

from memctl.cli import schemas

_MOST = 300_000  # characters of an answer that is looked at: longer ones are many records, and none is like no other


def _closed(schema: Any) -> Any:
    """A schema in which an object may have no more keys than are named."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _closed(value) for key, value in schema.items()}
    if "properties" in found:
        found.setdefault("additionalProperties", False)
    return found


@functools.cache
def _validator(kind: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(_closed(schemas.schema(kind)))


def check(text: str) -> None:
    """Fail if a text is an envelope that its schema does not allow, or of a kind without one."""
    if len(text) > _MOST:
        return
    envelope = msgspec.json.decode(text)
    if not isinstance(envelope, dict) or "kind" not in envelope:
        return  # such as SARIF
    for error in _validator(envelope["kind"]).iter_errors(envelope):
        raise AssertionError(f"{envelope['kind']}: {error.json_path}: {error.message[-300:]}")
