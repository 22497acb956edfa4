"""Shapes describe the JSON of an answer once: JSON is made by them of what a room returns, and so are JSON Schemas.

A shape is a Python literal that looks like the JSON, with types in place of values:

- `{"id title": str, "line": int | None, "tokens?": int, "tags": [str]}` is an object, whose `id` and `title` are texts,
  and whose `tokens` may be missing. `"commit=touch.commit"` takes its value from another attribute, and "=" from the
  answer itself. `"*": Fields(…)` stands for all fields of a struct, and `"*=parties"` for those of an attribute.
- `[shape]` is a list, and `{str: shape}` an object with any keys.
- A tuple is a value of any of several shapes, and None is null; "" and 0 are null where null is allowed. Where it is
  not, nothing is [] or 0.
- A text is the name of a struct, such as "memctl.record.pages.Page", which is imported only for its schema.
- Everything else is a type of which msgspec makes a schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from pkgutil import resolve_name
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec.structs import asdict

from memctl.record.record import Record

if TYPE_CHECKING:
    from memctl.store.memory import Memory

# A dict, list or tuple of shapes, a Constant, Fields, one of the two below, a type, a struct's name, or None.
Shape = Any
NAME = "name"  # a name of a file, in which bytes that are not UTF-8 are escaped
PATH = "path"  # such a name below `.memory/`, which JSON has relative to the worktree's top
_REFERENCE = "#/$defs/{name}"
_REST = "*"


class Constant(NamedTuple):
    """A shape for a JSON value that is always the same."""

    value: Any


class Fields(NamedTuple):
    """The shape of the JSON that msgspec makes of a struct with this name, without what `left_out` names.

    Limits of texts and numbers are no part of it, and neither is which of some values a text may have: later versions
    of memctl may have others.
    """

    name: str
    left_out: tuple[str, ...] = ()


def answer(shape: Shape, value: Any, memory: Memory | None) -> Any:
    """Return what JSON has of a value that a room returned, such as a struct or a dict, by its shape."""
    if isinstance(shape, Fields) or isinstance(value, Record):
        return _fields(shape, value, memory)
    if isinstance(shape, tuple):
        is_none = value is None or value == "" or (type(value) is int and value == 0)
        if is_none and None in shape:
            return None
        return answer(shape[0], value, memory) if shape[1:] == (None,) else value
    if isinstance(shape, list):
        return [answer(shape[0], one, memory) for one in value or ()]
    if isinstance(shape, dict):
        return _values(shape, value, memory)
    if shape in (PATH, NAME):
        path = memory.tracked(value) if shape == PATH and memory else str(value)
        return path.encode(errors="surrogateescape").decode(errors="backslashreplace")
    if value is None and shape is int:
        return 0
    return None if value == "" and isinstance(shape, UnionType) else value


def _values(shape: dict[Any, Shape], value: Any, memory: Memory | None) -> dict[str, Any]:
    if str in shape:
        return {key: answer(shape[str], one, memory) for key, one in dict(value).items()}
    found: dict[str, Any] = {}
    for key, where, one in _members(shape):
        if key == _REST:
            found |= _fields(one, value if where == _REST else _get(value, where), memory)
            continue
        is_needed = not key.endswith("?")
        part = _get(value, where, is_needed=is_needed)
        if is_needed or not (part is None or part is msgspec.UNSET or part == ()):
            found[key.removesuffix("?")] = answer(one, part, memory)
    return found


def _members(shape: dict[Any, Shape]) -> list[tuple[str, str, Shape]]:
    """Return the keys of an object, each with the attribute that has its value, and with its shape."""
    members = []
    for names, one in shape.items():
        for name in names.split():
            key, is_other, where = name.partition("=")
            members.append((key, where if is_other else key.removesuffix("?"), one))
    return members


def _get(source: Any, where: str, *, is_needed: bool = True) -> Any:
    """Return what is at a place of a value, such as "touch.commit" or, of the second item of a tuple, "1.key"."""
    for name in where.split(".") if where else ():
        if source is None:
            return None
        if isinstance(source, Mapping):
            source = source[name] if is_needed else source.get(name)
        elif name.isdigit():
            source = source[int(name)]
        else:
            source = getattr(source, name) if is_needed else getattr(source, name, None)
    return source


def _fields(shape: Fields | str, value: Any, memory: Memory | None) -> dict[str, Any]:
    """Return the fields of a struct by their names in JSON, also of one that msgspec would encode as an array."""
    if isinstance(value, Record) and memory:
        return {**asdict(value.of_project(memory.config.project)), "path": memory.tracked(value.path)}
    kind = type(value)
    names = zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True)
    found = {name: getattr(value, field) for name, field in names}
    left_out = shape.left_out if isinstance(shape, Fields) else ()
    return {name: one for name, one in found.items() if name not in left_out and one is not msgspec.UNSET}


def shape_of(kind: Any) -> Shape:
    """Return the shape of the JSON that msgspec makes of values of a type: of a struct, an object with its fields."""
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
    if isinstance(shape, Constant):
        return {"const": shape.value}
    if isinstance(shape, Fields):
        return compile_shape(_expanded(shape), definitions)
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
    if shape in (PATH, NAME):
        return {"type": "string"}
    if isinstance(shape, str):
        return _struct(_struct_named(shape), definitions)
    if isinstance(shape, type) and issubclass(shape, msgspec.Struct):
        return _struct(shape, definitions)
    (found,), needed = msgspec.json.schema_components([shape], ref_template=_REFERENCE)
    definitions.update(needed)
    return found


def _struct_named(name: str) -> type[msgspec.Struct]:
    found: type[msgspec.Struct] = resolve_name(name)
    return found


def _expanded(shape: Fields | str) -> dict[Any, Shape]:
    if isinstance(shape, str):
        return _types(_struct_named(shape))
    fields: dict[Any, Shape] = shape_of(_struct_named(shape.name))
    return {name: one for name, one in fields.items() if name not in shape.left_out}


def _struct(shape: type[msgspec.Struct], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a struct as an object, also if msgspec would encode the struct as an array."""
    if shape.__name__ not in definitions:
        definitions[shape.__name__] = {}  # set first, since a struct may contain itself
        definitions[shape.__name__] = {"title": shape.__name__, **compile_shape(_types(shape), definitions)}
    return {"$ref": _REFERENCE.format(name=shape.__name__)}


def _types(struct: type[msgspec.Struct]) -> dict[Any, Shape]:
    """Return the fields of a struct with their types; a field is optional if it is left out at its default."""
    is_whole = not struct.__struct_config__.omit_defaults
    return {
        one.encode_name if one.required or is_whole else f"{one.encode_name}?": one.type
        for one in msgspec.structs.fields(struct)
    }


def _object(shape: dict[Any, Shape], definitions: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "object"}
    if str in shape:
        found["additionalProperties"] = compile_shape(shape[str], definitions)
    named: dict[str, Shape] = {}
    for key, _, one in _members({names: one for names, one in shape.items() if names is not str}):
        named |= _expanded(one) if key == _REST else {key: one}
    if named:
        found["properties"] = {key.removesuffix("?"): compile_shape(one, definitions) for key, one in named.items()}
        found["required"] = [key for key in named if not key.endswith("?")]
    return found
