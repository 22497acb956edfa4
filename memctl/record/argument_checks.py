"""Checks of arguments from Python callers, so that a wrong type is reported at once and not deep inside memctl."""

from __future__ import annotations

import math

from memctl.errors import USAGE, MemctlError


def texts(**values: object) -> None:
    """Raise MemctlError unless every keyword argument is a string; the message has the argument's name."""
    for name, value in values.items():
        instance(value, str, name, "a text")


def numbers(**values: object) -> None:
    """Raise MemctlError unless every keyword argument is an int or a float; a bool or nan is refused, too."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
            raise MemctlError(f"{name} must be a number, not {_type_name(value)}", exit_code=USAGE)


def numbers_or_none(**values: object) -> None:
    """Raise MemctlError unless every keyword argument is None, an int or a float; a bool or nan is refused, too."""
    numbers(**{name: value for name, value in values.items() if value is not None})


def instance(value: object, kinds: type | tuple[type, ...], name: str, expected: str, hint: str | None = None) -> None:
    """Raise MemctlError unless `value`, the argument called `name`, is an instance of `kinds`.

    The message is such as "budget must be a number, not str", where `expected` is "a number". `hint` says what to do.
    """
    if not isinstance(value, kinds):
        raise MemctlError(f"{name} must be {expected}, not {_type_name(value)}", hint, USAGE)


def _type_name(value: object) -> str:
    return "nan" if isinstance(value, float) else type(value).__name__
