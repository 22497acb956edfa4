"""Times that people type: in an option, in a field of a record, and in the environment variable MEMCTL_NOW."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta

from memctl.errors import USAGE, MemctlError
from memctl.text import timestamps
from memctl.text.lazy_regex import lazy_regex

_END_OF_DAY = "T23:59:59Z"
_AGO = lazy_regex(r"(\d{1,6})\s*([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def parse(text: str, now: str, *, ahead: bool = False, whole_day: bool = False) -> str:
    """Return the canonical time for what a person typed, such as an ISO 8601 time, a date, `36h`, `7d` or `2w`.

    A span such as `7d` counts back from `now`, with `ahead` into the future. A date stands for the beginning of the
    day, with `whole_day` for its end. Raises MemctlError for anything else.
    """
    if whole_day and re.fullmatch(r"\d{4}-\d\d-\d\d", text.strip()):
        text = text.strip() + _END_OF_DAY
    span = _AGO.fullmatch(text.strip())
    if span is None and (bare := text.strip().lstrip("+-")) != text.strip() and _AGO.fullmatch(bare):
        way = "from now on" if ahead else "back from now"
        raise MemctlError(f"{text.strip()!r} must not have a sign", f"give {bare}: a span always counts {way}", USAGE)
    try:
        if span is None:
            return timestamps.parse(text)
        delta = timedelta(**{_UNITS[span[2]]: int(span[1])})
        return timestamps.shift(now, delta if ahead else -delta)
    except (ValueError, OverflowError) as error:
        raise MemctlError(
            f"{text.removesuffix(_END_OF_DAY)!r} is not a time",
            f"give {timestamps.ALLOWED}, or a span such as 36h, 7d or 2w",
            USAGE,
        ) from error


def fixed_now(environ: Mapping[str, str]) -> str | None:
    """Return the time that the environment variable MEMCTL_NOW sets, in canonical form; None if it is not set.

    Raises MemctlError if it is not a time from 1970 on.
    """
    value = environ.get("MEMCTL_NOW", "").strip()
    if not value:
        return None
    try:
        moment = timestamps.parse(value)
    except ValueError:
        raise MemctlError(f"MEMCTL_NOW: {value!r} is not a time", f"give {timestamps.ALLOWED}", USAGE) from None
    if timestamps.to_epoch(moment) < 0:
        raise MemctlError(f"MEMCTL_NOW: {value!r} must be in 1970 or later, as dates of Git's commits are", None, USAGE)
    return moment
