"""Times that people give: an option's or a field's, and MEMCTL_NOW."""

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
    """Read a time given by a person: ISO 8601, or a span such as `36h`, `7d`, `2w` before `now` (`ahead`: after it).

    With `whole_day` a date means the end of that day, not its beginning. Raises MemctlError.
    """
    if whole_day and re.fullmatch(r"\d{4}-\d\d-\d\d", text.strip()):
        text = text.strip() + _END_OF_DAY
    span = _AGO.fullmatch(text.strip())
    if span is None and (bare := text.strip().lstrip("+-")) != text.strip() and _AGO.fullmatch(bare):
        way = "from now on" if ahead else "back from now"
        raise MemctlError(
            f"{text.strip()!r} has a sign", f"give {bare} without a sign: a span is always counted {way}", USAGE
        )
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
    """MEMCTL_NOW in canonical form, or None."""
    value = environ.get("MEMCTL_NOW", "").strip()
    if not value:
        return None
    try:
        moment = timestamps.parse(value)
    except ValueError:
        raise MemctlError(f"MEMCTL_NOW: {value!r} is not a time", f"give {timestamps.ALLOWED}", USAGE) from None
    if timestamps.to_epoch(moment) < 0:
        raise MemctlError(f"MEMCTL_NOW: {value!r} is before 1970, and Git can't date a commit so", None, USAGE)
    return moment
