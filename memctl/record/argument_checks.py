"""Checks of arguments from Python callers, so that a wrong type is reported at the call and not deep inside."""

from __future__ import annotations

import math

from memctl.errors import USAGE, MemctlError


def texts(**given: object) -> None:
    """Raise MemctlError unless every argument is a string; the message names the keyword."""
    for what, value in given.items():
        instance(value, str, what, "a text")


def numbers(**given: object) -> None:
    """Raise MemctlError unless every argument is an int or a float; bool and nan are refused."""
    for what, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
            raise MemctlError(f"{what} must be a number, not {_type_name(value)}", exit_code=USAGE)


def numbers_or_none(**given: object) -> None:
    """Raise MemctlError unless every argument is None or a number (int or float, not bool or nan)."""
    numbers(**{what: value for what, value in given.items() if value is not None})


def instance(given: object, kinds: type | tuple[type, ...], what: str, named: str, hint: str | None = None) -> None:
    """Raise MemctlError unless `given`, the value of the argument `what`, is an instance of `kinds`.

    `named` describes the type that was expected: the message reads "`what` must be `named`, not TYPE", such as
    "budget must be a number, not str". `hint` says what to do.
    """
    if not isinstance(given, kinds):
        raise MemctlError(f"{what} must be {named}, not {_type_name(given)}", hint, USAGE)


def _type_name(given: object) -> str:
    return "nan" if isinstance(given, float) else type(given).__name__
