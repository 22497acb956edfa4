"""Change control of the threshold of the shared context slice (rules.md#threshold-control).

Observations are lines of JSON, one for a batch or a day:

    {"date": "2025-11-04", "scs": 1640, "threshold": 2000, "requests": 5, "denied": 2,
     "macro_summaries": 1, "no_ops": 0}       (on one line)

`date` and `scs` are required; `requests` and `denied` count the fan-outs asked for and refused, `no_ops` the macro
summaries that saved nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Annotated

import msgspec

from memctl.errors import MemctlError
from memctl.record import timestamps
from memctl.record.errors import describe

DAYS = 7
RAISE_MEDIAN, RAISE_DENIED = 0.75, 0.30
LOWER_MEDIAN, LOWER_NO_OPS = 0.40, 2
STEPS = (
    "propose the new threshold with these figures",
    "pilot it on at least 3 complex tasks (--threshold)",
    "record the same metrics",
    "adopt it (scs_threshold in config.yaml), or revert",
)
_ROUND = 100  # a proposal is a multiple of so many tokens

Number = Annotated[int, msgspec.Meta(ge=0)]


class ThresholdObservation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the log."""

    date: str
    scs: Number
    threshold: Annotated[int, msgspec.Meta(ge=1)] | None = None
    requests: Number = 0
    denied: Number = 0
    macro_summaries: Number = 0
    no_ops: Number = 0


class Review(msgspec.Struct, frozen=True):
    """What the last seven days say: `decision` is raise, lower or keep; `proposal` is a threshold, or None."""

    observations: int
    since: str
    until: str
    threshold: int
    median: float | None  # of the share of the threshold in use
    largest_delta: int  # between one observation and the next
    requests: int
    denial_rate: float | None
    macro_summaries: int
    no_ops: int
    decision: str
    why: str
    proposal: int | None


def parse(text: str, name: str) -> list[ThresholdObservation]:
    """Read a log of observations, in the order of their dates; raises MemctlError that names line and key."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            given = msgspec.json.decode(line, type=ThresholdObservation)
            found.append(msgspec.structs.replace(given, date=timestamps.parse(given.date)))
        except msgspec.ValidationError as error:
            raise MemctlError(f"{name}:{number}: {describe(error)}", _HINT) from None
        except (msgspec.DecodeError, RecursionError) as error:
            raise MemctlError(f"{name}:{number}: this is no JSON: {error}", _HINT) from None
        except ValueError:
            raise MemctlError(
                f"{name}:{number}: date: {given.date!r} is not a time", f"give {timestamps.ALLOWED}"
            ) from None
        if given.denied > given.requests or given.no_ops > given.macro_summaries:
            wrong = "denied" if given.denied > given.requests else "no_ops"
            whole = "requests" if wrong == "denied" else "macro_summaries"
            raise MemctlError(f"{name}:{number}: {wrong}: there are more of them than {whole}")
    return sorted(found, key=lambda item: item.date)


_HINT = f"a line has {', '.join(ThresholdObservation.__struct_fields__)}; date and scs are required"


def review(observations: Sequence[ThresholdObservation], threshold: int) -> Review:
    """What the seven days up to the last observation say about a threshold."""
    until = observations[-1].date if observations else ""
    since = timestamps.days_before(until[:10] + "T23:59:59Z", DAYS) if until else ""
    week = [item for item in observations if item.date > since]
    shares = [item.scs / (item.threshold or threshold) for item in week]
    middle = median(shares) if shares else None
    largest = max((abs(b.scs - a.scs) for a, b in pairwise(week)), default=0)
    requests, denied = sum(item.requests for item in week), sum(item.denied for item in week)
    rate = denied / requests if requests else None
    macros, no_ops = sum(item.macro_summaries for item in week), sum(item.no_ops for item in week)
    decision, why = _decide(middle, rate, no_ops)
    proposal = _proposal(decision, median(item.scs for item in week), threshold) if week else None
    first = week[0].date if week else ""
    return Review(
        len(week), first, until, threshold, middle, largest, requests, rate, macros, no_ops, decision, why, proposal
    )


def _decide(middle: float | None, rate: float | None, no_ops: int) -> tuple[str, str]:
    if middle is None:
        return "keep", "there are no observations"
    used = f"the median use is {middle:.0%}"
    if middle > RAISE_MEDIAN:
        if rate is not None and rate > RAISE_DENIED:
            return "raise", f"{used} (above 75 %) and {rate:.0%} were denied (above 30 %)"
        denied = "no fan-out was asked for" if rate is None else f"only {rate:.0%} were denied (30 % needed)"
        return "keep", f"{used}, but {denied}"
    if middle < LOWER_MEDIAN:
        saved = f"{no_ops} macro summaries saved nothing"
        if no_ops > LOWER_NO_OPS:
            return "lower", f"{used} (below 40 %) and {saved} (above 2)"
        return "keep", f"{used}, but only {saved} (more than 2 needed)"
    return "keep", f"{used}, between 40 and 75 %"


def _proposal(decision: str, middle: float, threshold: int) -> int | None:
    """The threshold at which the median would just be back within the range."""
    if decision == "raise":
        return max(math.ceil(middle / RAISE_MEDIAN / _ROUND) * _ROUND, threshold + _ROUND)
    if decision == "lower":
        lowest = math.floor(middle / LOWER_MEDIAN / _ROUND) * _ROUND
        return max(min(lowest, threshold - _ROUND), _ROUND) if threshold > _ROUND else None
    return None
