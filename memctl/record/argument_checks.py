"""Checks of arguments from Python callers, so that a wrong type is reported at the call and not deep inside."""

from __future__ import annotations

import math

from memctl.errors import USAGE, MemctlError


def texts(**given: object) -> None:
    """Raise MemctlError unless all of these arguments are strings."""
    for what, value in given.items():
        instance(value, str, what, "a text")


def numbers(**given: object) -> None:
    """Raise MemctlError unless all of these arguments are numbers, such as those of tokens."""
    for what, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
            raise MemctlError(f"{what} is a number, not {_type_name(value)}", exit_code=USAGE)


def numbers_or_none(**given: object) -> None:
    """Raise MemctlError unless all of these arguments are numbers or None."""
    numbers(**{what: value for what, value in given.items() if value is not None})


def instance(given: object, kinds: type | tuple[type, ...], what: str, named: str, hint: str | None = None) -> None:
    """Raise MemctlError unless the argument `what` is an instance of `kinds`; the message calls them `named`."""
    if not isinstance(given, kinds):
        raise MemctlError(f"{what} is {named}, not {_type_name(given)}", hint, USAGE)


def _type_name(given: object) -> str:
    return "nan" if isinstance(given, float) else type(given).__name__
