"""Times as text: every time that memctl stores has the canonical form `YYYY-MM-DDTHH:MM:SSZ`, in UTC.

Such texts sort in the order of time, so most code compares them directly and builds no datetime.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from functools import lru_cache

from memctl.text.lazy_regex import lazy_regex

CANONICAL = lazy_regex(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ")
_ACCEPTED = lazy_regex(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:[Zz]|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII
)
ALLOWED = "an ISO 8601 time such as 2025-11-04T14:32:00Z or 2025-11-04"


@lru_cache(maxsize=64)  # a record that is made is checked as values and as text, and "now" is asked for often
def parse(text: str) -> str:
    """Return an ISO 8601 time in canonical form; a time without a zone is taken as UTC.

    Raises ValueError if the text is not a time.
    """
    text = text.strip()
    if text[19:20] == "." and text[20:-1].isdecimal() and text.endswith("Z") and text.isascii():
        text = f"{text[:19]}Z"  # a fast path for the form on every line of a transcript
    if len(text) == 20 and text[10] == "T" and text[19] == "Z" and _text(_naive(text)) == text:
        return text  # for the 31st of February ValueError is raised
    if _ACCEPTED.fullmatch(text) is None:  # Python 3.11 would accept more forms than 3.10
        raise ValueError(text)
    # Python 3.10 reads neither a bare Z nor fractions of other lengths than 3 and 6.
    iso = re.sub(r"[Zz]$", "+00:00", text)
    iso = re.sub(r"([T ]\d\d:\d\d:\d\d)[.,]\d+", r"\1", iso)
    iso = re.sub(r"([+-]\d\d)(\d\d)?$", lambda m: f"{m[1]}:{m[2] or '00'}", iso) if "T" in iso or " " in iso else iso
    moment = datetime.fromisoformat(iso)
    if moment.tzinfo is not None:
        try:
            moment = moment.astimezone(timezone.utc)
        except OverflowError as error:
            raise ValueError(text) from error
    return _text(moment)


def is_moment(text: str) -> bool:
    """Return whether a text is an ISO 8601 time."""
    try:
        parse(text)
    except ValueError:
        return False
    return True


def days_between(earlier: str, later: str) -> float:
    """Return the number of days from the canonical time `earlier` to the canonical time `later`.

    It has a fraction, and is negative if `later` comes first.
    """
    return (_naive(later) - _naive(earlier)).total_seconds() / 86400


def days_before(moment: str, days: float) -> str:
    """Return the canonical time that is `days` before `moment`.

    If that would be before the year 1, the result is the beginning of the year 1.
    """
    try:
        return shift(moment, timedelta(days=-days))
    except OverflowError:
        return _text(datetime.min)


def shift(moment: str, span: timedelta) -> str:
    """Return the canonical time that is `span` after `moment`; raises OverflowError outside of the years 1 to 9999."""
    return _text(_naive(moment) + span)


def from_epoch(seconds: float) -> str:
    """Return the canonical time of a Unix time in seconds.

    If that would be after the year 9999, the result is the last second of the year 9999.
    """
    try:
        return _text(datetime.fromtimestamp(seconds, timezone.utc))
    except (OverflowError, ValueError, OSError):
        return _text(datetime.max)


def to_epoch(moment: str) -> int:
    """Return the Unix time, in whole seconds, of a canonical time."""
    return int(_naive(moment).replace(tzinfo=timezone.utc).timestamp())


def _naive(moment: str) -> datetime:
    return datetime.fromisoformat(moment[:-1])


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")[:19] + "Z"
