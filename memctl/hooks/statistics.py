"""Make statistics of compactions from the log of compactions.

A hook writes an entry to this log before each compaction. Later, a hook adds what the transcript says of the
compaction, such as how many tokens it left.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from memctl.hooks import log
from memctl.text import timestamps

_NEAR = 30 * 60  # seconds between a hook's entry and the transcript's for one compaction, which takes a few minutes
_TEXTS, _NUMBERS = ("session", "host", "trigger"), ("before", "after", "limit", "calls")


class CompactionCount(msgspec.Struct, frozen=True):
    """The figures of one compaction. Unknown values are "" or None.

    - `at`: its time; `session`: the session's id; `host`: the host's name.
    - `trigger`: who started it: a person ("manual") or the host ("auto").
    - `before`, `after`: the tokens in the context before and after it. If the host does not say what was left, `after`
      is the number of tokens of the next request.
    - `limit`: the tokens at which the host compacts by itself.
    - `calls`: the tool calls since the previous compaction.
    - `suggested`: the suggestions to compact that memctl made since the previous compaction.
    """

    at: str
    session: str
    host: str = ""
    trigger: str = ""
    before: int | None = None
    after: int | None = None
    limit: int | None = None
    calls: int | None = None
    suggested: tuple[str, ...] = ()


class Figures(msgspec.Struct, frozen=True):
    """Statistics of compactions: how many there were, in how many sessions, and medians over all compactions.

    `by_trigger` is the number of compactions by what started them, such as {"auto": 5, "manual": 2}. The medians are
    of the tool calls before a compaction, and of the tokens in the context before and after it; a median is None if no
    compaction has the value. `suggested_before` is the share, from 0 to 1, of compactions before which memctl had
    suggested one. Compactions that no hook logged before they happened, and that are known only from a transcript, do
    not count; if there are no others, it is None.
    """

    compactions: int
    sessions: int
    by_trigger: dict[str, int]
    median_calls: float | None
    median_tokens_before: float | None
    median_tokens_after: float | None
    suggested_before: float | None


def compactions(root: Path) -> list[CompactionCount]:
    """Return all compactions in the log, the oldest first.

    `root` is the folder in which hooks keep their data (`Memory.hooks`), with the log.
    """
    counts: list[CompactionCount] = []
    # A resumed session repeats the lines of the earlier session in its transcript.
    by_line: dict[str, int] = {}
    for entry in log.entries(root, log.COMPACTIONS):
        line = str(entry.get("line") or "")
        if entry.get("kind") == "left":
            left = by_line.get(line)
            if left is not None and counts[left].after is None:
                counts[left] = msgspec.structs.replace(counts[left], after=_number(entry.get("after")))
            continue
        one = _read(entry)
        if one is None or line in by_line:
            continue
        place = None
        if entry.get("kind") == "boundary":
            taken = set(by_line.values())
            free = (index for index in reversed(range(len(counts))) if index not in taken)
            place = next((index for index in free if _is_same(counts[index], one)), None)
        if place is None:
            place = len(counts)
            counts.append(one)
        else:
            before = one.before if one.before is not None else counts[place].before
            counts[place] = msgspec.structs.replace(counts[place], before=before, after=one.after)
        if line:
            by_line[line] = place
    return sorted(counts, key=lambda entry: entry.at)


def figures(counts: Iterable[CompactionCount]) -> Figures:
    """Return the statistics of some compactions."""
    counts = list(counts)
    with_calls = [entry for entry in counts if entry.calls is not None]
    triggers = [entry.trigger or "unknown" for entry in counts]
    return Figures(
        compactions=len(counts),
        sessions=len({entry.session for entry in counts}),
        by_trigger={name: triggers.count(name) for name in sorted(set(triggers))},
        median_calls=_median(entry.calls for entry in with_calls),
        median_tokens_before=_median(entry.before for entry in counts),
        median_tokens_after=_median(entry.after for entry in counts),
        suggested_before=sum(bool(entry.suggested) for entry in with_calls) / len(with_calls) if with_calls else None,
    )


def _read(entry: dict[str, Any]) -> CompactionCount | None:
    """Parse an entry of the log, whose values come from hosts and transcripts; None if it is broken."""
    try:
        at = timestamps.parse(str(entry.get("at") or ""))
    except ValueError:
        return None
    values: dict[str, Any] = {name: str(entry.get(name) or "")[:200] for name in _TEXTS}
    values |= {name: _number(entry.get(name)) for name in _NUMBERS}
    listed = entry.get("suggested")
    suggested = tuple(name for name in listed if isinstance(name, str)) if isinstance(listed, list) else ()
    return CompactionCount(at=at, suggested=suggested, **values)


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _is_same(noted: CompactionCount, boundary: CompactionCount) -> bool:
    """Return whether a transcript's entry (`boundary`) is the compaction that a hook logged shortly before."""
    seconds = timestamps.to_epoch(boundary.at) - timestamps.to_epoch(noted.at)
    is_open = noted.after is None and noted.calls is not None
    return noted.session == boundary.session and is_open and 0 <= seconds <= _NEAR


def _median(values: Iterable[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
