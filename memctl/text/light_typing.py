"""Stand-ins for names of `typing`, for the modules that every hook imports.

Importing `typing` itself takes as long as a third of Python's start. Type checkers read `light_typing.pyi`, where these
names are those of `typing`.
"""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False
Any = BinaryIO = IO = NoReturn = Protocol = object


def cast(_: object, value: Any) -> Any:
    """Return a value unchanged; a type checker takes it to have the type in the first argument."""
    return value


class _NamedTupleType(type):
    """The metaclass that turns a subclass of `NamedTuple` into a named tuple with the annotated fields.

    The annotations must be strings (`from __future__ import annotations`), since evaluating them would take longer than
    making the class.
    """

    def __new__(cls, name: str, bases: tuple[type, ...], members: dict[str, object]) -> type:
        if not bases:
            return super().__new__(cls, name, bases, members)
        fields = members["__annotations__"]
        result = namedtuple(name, fields, defaults=[members.pop(field) for field in fields if field in members])
        for key, value in members.items():
            setattr(result, key, value)
        return result


class NamedTuple(metaclass=_NamedTupleType):
    """A base class for tuples with named fields, used as `typing.NamedTuple` is."""
