"""Check the arguments of methods by the methods' annotations, and turn them into the texts that commands take."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from memctl.errors import USAGE, MemctlError

_Class = TypeVar("_Class", bound=type)
_WORDS = {
    "str": "a text", "int": "a whole number of 0 or more", "bool": "True or False", "None": "None",
    "Iterable": "a list of texts", "Mapping": "a mapping of fields to values", "PathLike": "a path",
}  # fmt: skip
_LARGEST = 2**63 - 1  # the largest integer of SQLite
_RANGES = {"importance": (1, 10), "completion_percentage": (0, 100)}  # of the whole numbers with these names
_BRACKETS = re.compile(r"\[.*?\]+")


def checked(cls: _Class) -> _Class:
    """Make every public method of a class raise MemctlError if it is called with an argument of a wrong type.

    This is a decorator for classes. Types are compared by name: a value is accepted if the annotation names its class
    or one of its base classes. So the module must have `from __future__ import annotations`, which keeps annotations as
    texts. Keyword arguments that a TypedDict describes (`**fields: Unpack[Fields]`) are checked one by one. Numbers out
    of their range are refused as well, and so are texts that no file can contain, such as a text with a NUL character.
    """
    for name, value in list(vars(cls).items()):
        if name.startswith("_"):
            continue
        if isinstance(value, classmethod):
            setattr(cls, name, classmethod(_checked(value.__func__)))
        elif inspect.isfunction(value):
            setattr(cls, name, _checked(value))
    return cls


def _checked(function: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(function)
    kinds = inspect.Parameter

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        for name, value in signature.bind(*args, **keywords).arguments.items():
            parameter = signature.parameters[name]
            if parameter.kind is kinds.VAR_POSITIONAL:
                for item in value:
                    _require(name, item, parameter.annotation)
            elif parameter.kind is kinds.VAR_KEYWORD:
                fields = _fields(function, parameter.annotation)
                for field, item in value.items():
                    if item is not None and field in fields:
                        _require(field, item, fields[field])
            elif parameter.annotation is not kinds.empty:
                _require(name, value, parameter.annotation)
        return function(*args, **keywords)

    return call


def _fields(function: Callable[..., Any], annotation: str) -> dict[str, str]:
    """Return the annotations of the TypedDict that `Unpack[Name]` names in the module of a function."""
    form = getattr(function, "__globals__", {}).get(annotation.removeprefix("Unpack[").removesuffix("]"))
    annotations = getattr(form, "__annotations__", {})
    return {name: text if isinstance(text, str) else text.__forward_arg__ for name, text in annotations.items()}


def _require(name: str, value: object, annotation: str) -> None:
    """Raise MemctlError if a value's class is not in the annotation, a number is out of its range, or a text has a
    character that no file can contain: NUL or a lone surrogate."""
    allowed = [kind.rpartition(".")[2] for kind in _BRACKETS.sub("", annotation).split(" | ")]
    low, high = _RANGES.get(name, (0, _LARGEST))
    if not any(_is(value, kind) for kind in allowed) or (isinstance(value, int) and not low <= value <= high):
        number = f"a whole number from {low} to {high}" if name in _RANGES else _WORDS["int"]
        words = " or ".join(dict.fromkeys({**_WORDS, "int": number}.get(kind, f"a {kind}") for kind in allowed))
        raise MemctlError(f"{name} must be {words}, not {value!r}", exit_code=USAGE)
    for text in _texts(value):
        if "\0" in text:
            raise MemctlError(f"{name} must not contain a NUL character: {text!r}", exit_code=USAGE)
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            hint = "remove it: UTF-8 can't encode half of a surrogate pair"
            raise MemctlError(f"{name} must not contain a lone surrogate: {text!r}", hint, USAGE)


def _texts(value: object) -> Iterator[str]:
    """Yield the texts in an argument, except those of an iterable that can be read only once."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Collection) and not isinstance(value, bytes):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)


def _is(value: object, name: str) -> bool:
    if name == "None":
        return value is None
    if name == "Iterable":  # of texts; the items of an iterator are not checked, since it can be read only once
        is_readable = isinstance(value, Iterable) and not isinstance(value, str | bytes)
        return is_readable and (not isinstance(value, Collection) or all(isinstance(item, str) for item in value))
    if name == "Mapping":
        return isinstance(value, Mapping)
    if name == "PathLike":
        return hasattr(value, "__fspath__")
    if name == "int":
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST
    return any(item.__name__ == name for item in type(value).__mro__)


def set_pairs(fields: Mapping[str, object], joined: Collection[str]) -> list[tuple[str, str]]:
    """Return the values of fields as (field, text) pairs, in the form that `memctl edit --set` takes.

    A list becomes a Markdown list: `["a", "b"]` gives "- a" and "- b" on two lines. Lists of the fields in `joined`
    become one line: "a,b". None becomes "". Raises MemctlError for a value that is not a text, a number or a list of
    texts.
    """
    pairs = []
    for name, value in fields.items():
        if isinstance(value, str | int) or value is None:
            pairs.append((name, "" if value is None else str(value)))
        else:
            pairs.append((name, (",".join if name in joined else _items)(_list_of_texts(name, value))))
    return pairs


def _items(texts: Iterable[str]) -> str:
    return "\n".join("- " + text.replace("\n", "\n  ") for text in texts)


def item_pairs(fields: Mapping[str, str | Iterable[str]]) -> list[tuple[str, str]]:
    """Return the texts of fields as (field, text) pairs: `{"tags": ["a", "b"]}` gives ("tags", "a") and ("tags", "b").

    Raises MemctlError for a value that is neither a text nor a list of texts.
    """
    return [(name, text) for name, value in fields.items() for text in _list_of_texts(name, value)]


def _list_of_texts(name: str, value: object) -> list[str]:
    items = [value] if isinstance(value, str) else list(value) if isinstance(value, Iterable) else []
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) < len(items) or not isinstance(value, Iterable):
        message = f"{name} must be a text, a number or a list of texts, not {value!r}"
        raise MemctlError(message, exit_code=USAGE)
    return texts
