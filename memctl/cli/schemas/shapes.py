"""Turn shapes, which describe JSON as Python literals, into JSON Schemas.

- `{"id title": str, "line": int | None, "tokens?": int, "tags": [str]}` is an object, whose `id` and `title` are texts,
  and whose `tokens` may be missing.
- `[shape]` is a list, and `{str: shape}` an object with any keys.
- A tuple is a value of any of several shapes, and None is null.
- A function without arguments returns a shape; it is called only for the kinds of JSON whose schemas are wanted, and so
  may import what most calls don't need. `shape_of` makes the shape of what a command prints just as a struct has it.
- Everything else is a type of which msgspec makes a schema, such as a record.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import FunctionType, NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec

Shape = Any  # a dict, list or tuple of shapes, a Constant, a type, a function that returns a shape, or None
_REFERENCE = "#/$defs/{name}"


class Constant(NamedTuple):
    """A shape for a JSON value that is always the same."""

    value: Any


def shape_of(kind: Any) -> Shape:
    """Return the shape of the JSON that msgspec makes of values of a type: of a struct, an object with its fields.

    Limits of texts and numbers are left out, and so is which of some values a text may have: later versions of memctl
    may have others.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return shape_of(parts[0])
    if origin is Literal:
        return str
    if origin in (list, tuple, frozenset):
        return [shape_of(parts[0])]
    if origin in (dict, Mapping):
        return {str: shape_of(parts[1])}
    if origin in (Union, UnionType):
        return tuple(map(shape_of, parts))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return str
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return {one.encode_name: shape_of(one.type) for one in msgspec.structs.fields(kind)}
    return {NoneType: None, Any: object}.get(kind, kind)


def compile_shape(shape: Shape, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a shape.

    Schemas of types that it refers to (by `$ref`) are added to `definitions`, by the name of the type.
    """
    if isinstance(shape, FunctionType):
        return compile_shape(shape(), definitions)
    if isinstance(shape, Constant):
        return {"const": shape.value}
    if isinstance(shape, tuple):
        return {"anyOf": [compile_shape(one, definitions) for one in shape]}
    if isinstance(shape, list):
        return {"type": "array", "items": compile_shape(shape[0], definitions)}
    if isinstance(shape, dict):
        return _object(shape, definitions)
    if shape is None:
        return {"type": "null"}
    if shape is object:  # anything
        return {}
    if isinstance(shape, type) and issubclass(shape, msgspec.Struct):
        return _struct(shape, definitions)
    (found,), needed = msgspec.json.schema_components([shape], ref_template=_REFERENCE)
    definitions.update(needed)
    return found


def _struct(shape: type[msgspec.Struct], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a struct as an object, also if msgspec would encode the struct as an array.

    A field is optional if it can be unset or is left out at its default.
    """
    if shape.__name__ not in definitions:
        is_whole = not shape.__struct_config__.omit_defaults
        fields = {}
        for one in msgspec.structs.fields(shape):
            is_certain = one.required or (is_whole and one.default is not msgspec.UNSET)
            fields[one.encode_name if is_certain else f"{one.encode_name}?"] = one.type
        definitions[shape.__name__] = {}  # set first, since a struct may contain itself
        definitions[shape.__name__] = {"title": shape.__name__, **compile_shape(fields, definitions)}
    return {"$ref": _REFERENCE.format(name=shape.__name__)}


def _object(shape: dict[Any, Shape], definitions: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "object"}
    if str in shape:
        found["additionalProperties"] = compile_shape(shape[str], definitions)
    named = {name: one for keys, one in shape.items() if keys is not str for name in keys.split()}
    if named:
        found["properties"] = {key.removesuffix("?"): compile_shape(one, definitions) for key, one in named.items()}
        found["required"] = [key for key in named if not key.endswith("?")]
    return found
