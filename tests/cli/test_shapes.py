"""Shapes: what JSON has of a value, and that its schema says the same."""

from __future__ import annotations

from typing import Any, NamedTuple

import jsonschema
import msgspec
import pytest

from memctl.cli.schemas import shapes
from memctl.cli.schemas.shapes import NAME, Constant, Fields, Shape


class Point(msgspec.Struct, frozen=True, array_like=True):
    x: int
    note: str = ""


class Line(NamedTuple):
    ends: tuple[Point, Point]
    commit: str
    parent: Line | None
    labels: dict[str, str]


_POINT = Fields(f"{__name__}.Point")
_LINE = Line((Point(1, "a"), Point(2)), "", None, {"de": "Linie"})
CASES: dict[str, tuple[Shape, Any]] = {
    "attributes of several places": ({"first=ends.0.x last=ends.1.x": int}, {"first": 1, "last": 2}),
    "null for an empty text": ({"commit": str | None, "of=parent.commit": str | None}, {"commit": None, "of": None}),
    "nothing where there is no parent": ({"n=parent.n": int, "all=parent.ends": [int]}, {"n": 0, "all": []}),
    "a key that may be missing": ({"parent?": {"commit": str}, "commit": str}, {"commit": ""}),
    "an object of the same value": ({"self=": {"commit": str}}, {"self": {"commit": ""}}),
    "all fields of a struct": (
        {"*=ends.0": _POINT, "labels": {str: str}},
        {"x": 1, "note": "a", "labels": _LINE.labels},
    ),
    "fields without one": ({"ends": [Fields(f"{__name__}.Point", ("note",))]}, {"ends": [{"x": 1}, {"x": 2}]}),
    "a struct or nothing": (
        {"a=ends.0": (_POINT, None), "b=parent": (_POINT, None)},
        {"a": {"x": 1, "note": "a"}, "b": None},
    ),
    "any keys": ({str: str}, {"de": "Linie"}),
}


@pytest.mark.parametrize("name", CASES)
def test_json_of_a_value_fits_the_schema_of_its_shape(name: str) -> None:
    shape, expected = CASES[name]
    made = shapes.answer(shape, _LINE.labels if str in shape else _LINE, None)
    assert made == expected
    definitions: dict[str, Any] = {}
    schema = {**shapes.compile_shape(shape, definitions), "$defs": definitions}
    jsonschema.Draft202012Validator.check_schema(schema)
    plain = msgspec.json.decode(msgspec.json.encode(made))
    assert jsonschema.Draft202012Validator(schema).is_valid(plain)
    assert not jsonschema.Draft202012Validator(schema).is_valid([])


def test_a_name_that_is_not_utf8_is_escaped_and_an_unknown_key_is_an_error() -> None:
    assert shapes.answer([NAME], ["caf\udce9"], None) == ["caf\\xe9"]
    with pytest.raises(AttributeError):
        shapes.answer({"colour": str}, _LINE, None)
    assert shapes.compile_shape(Constant(1), {}) == {"const": 1}
