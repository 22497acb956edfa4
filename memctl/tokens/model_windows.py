"""The sizes of the windows of Claude's models, how full Claude Code lets them become, and their zones.

Commands, the hooks, and programs that run an agent of their own all use these numbers. A hook imports this module after
every tool call, so the module imports little.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from memctl.errors import USAGE, MemctlError
from memctl.text.lazy_regex import lazy_regex

# Claude Code compacts at window - min(max_output, 20,000) - 13,000 (seen by running it, 2.1.329): 167,000 of 200,000.
MOST_OUTPUT, BUFFER = 20_000, 13_000
DEFAULT_OUTPUT = 32_000  # tokens that a model may answer with if nobody says; any above MOST_OUTPUT count the same
SMALL, LARGE = 200_000, 1_000_000
YELLOW_AT, ORANGE_AT, RED_AT = 0.50, 0.75, 0.90  # shares of what can be filled; rules.md#window-pressure
GREEN, YELLOW, ORANGE, RED = "green", "yellow", "orange", "red"
TARGET = 0.60  # of the same; what eviction and compression aim at; rules.md#window-pressure
AGAIN = 0.02  # of the same; so much more must come before a step that gained too little is tried again
_MILLION = lazy_regex(r"\[1m\]|[-_:]1m\b", re.IGNORECASE)
# Models whose window Claude Code 2.1.330 says to be SMALL (`--output-format json`, under modelUsage); it takes all
# others to have LARGE ones, unknown ones too.
_SMALL = lazy_regex(
    r"\bclaude-(?:[23]|instant|(?:opus|sonnet|haiku)-(?:3|4(?:-[0-6])?(?!\d|-\d{1,2}(?!\d))))"
)  # for a name in small letters: with re.IGNORECASE the pattern takes twice as long to compile


def is_large(model: str) -> bool:
    """Return whether a model's name asks for the large window (1,000,000 tokens), as `claude-sonnet-4-5[1m]` does."""
    return _MILLION.search(model) is not None


def zone_of(share: float, yellow: float = YELLOW_AT, orange: float = ORANGE_AT, red: float = RED_AT) -> str:
    """Return the zone for a share (0 to 1) of the usable window that is full: green, yellow, orange or red.

    `yellow`, `orange` and `red` are the shares at which these zones begin.
    """
    if share >= red:
        return RED
    if share >= orange:
        return ORANGE
    return YELLOW if share >= yellow else GREEN


def claude_window(model: str, seen: int = 0, compacted: int = 0) -> int:
    """Return the size in tokens of the window that Claude Code uses for a model: 200,000 (small) or 1,000,000 (large).

    The model's name says which. But the suffix `[1m]`, which asks for the large window, is missing in transcripts, so
    two observed numbers of tokens can be given, 0 if they are not known:

    - `seen`: tokens that were in the window at some time. If they are more than 200,000, the window is the large one.
      A number above the 167,000 at which a small window is compacted is not enough: Claude Code compacts only after the
      request that passes this limit, and 12 of 234 real sessions had up to 175,000 tokens in a small window.
    - `compacted`: tokens at an automatic compaction. If they are at most 200,000, the window is the small one.
    """
    if seen > SMALL:
        return LARGE
    is_small = _SMALL.search(model.lower()) is not None and not is_large(model)
    return SMALL if is_small or 0 < compacted <= SMALL else LARGE


def compacted_at(window: int, max_output: int = DEFAULT_OUTPUT) -> int:
    """Return how many tokens are in a window when Claude Code compacts it by itself.

    `window` is the size of the window in tokens. `max_output` is the greatest number of tokens that an answer of the
    model may have, for which Claude Code keeps room.
    """
    return window - min(max_output, MOST_OUTPUT) - BUFFER


_SETTING, _DIGITS = "MEMCTL_CONTEXT_WINDOW", 12
# By these Claude Code compacts earlier (seen with 2.1.330): as if the window were no larger, at a share of its room.
_HOST_WINDOW, _HOST_SHARE = "CLAUDE_CODE_AUTO_COMPACT_WINDOW", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
_LEAST = 2 * (MOST_OUTPUT + BUFFER)  # tokens


def window_setting(environ: Mapping[str, str], *, has_host: bool = True) -> int | None:
    """Return the window size in tokens that MEMCTL_CONTEXT_WINDOW has in `environ`, None if it is not set.

    Raises MemctlError if the value is not a positive number of at most 12 digits. `has_host` says that a host runs the
    agent. A host compacts the window before it is full, so then a value of 66,000 or less, which leaves too little room
    for that, raises MemctlError, too.
    """
    value = environ.get(_SETTING, "").strip()
    if not value:
        return None
    number, least = _number(environ, _SETTING), _LEAST if has_host else 0
    if number <= least:
        hint = f"give a number of tokens above {least:,} and below {10**_DIGITS:,}"
        raise MemctlError(f"{_SETTING} is {value[:40]!r}, which is not a valid size of a window", hint, USAGE)
    return number


def host_window(window: int, environ: Mapping[str, str]) -> int:
    """Return the size in tokens that Claude Code gives a window.

    `window` is the size of the model's window. If CLAUDE_CODE_AUTO_COMPACT_WINDOW is set in `environ` to a smaller
    number, the result is this number. A number of 66,000 or less is ignored, since it leaves too little room for an
    answer.
    """
    most = _number(environ, _HOST_WINDOW)
    return min(window, most) if most > _LEAST else window


def host_limit(window: int, environ: Mapping[str, str], max_output: int = DEFAULT_OUTPUT) -> int:
    """Return how many tokens are in a window when Claude Code compacts it by itself, by the settings in `environ`.

    `window` is the size of the window in tokens, and `max_output` the greatest number of tokens that an answer of the
    model may have. A variable in `environ` may make Claude Code compact earlier.
    """
    limit, share = compacted_at(window, max_output), _number(environ, _HOST_SHARE)
    return min(limit, (window - min(max_output, MOST_OUTPUT)) * share // 100) if 0 < share <= 100 else limit


def _number(environ: Mapping[str, str], name: str) -> int:
    value = environ.get(name, "").replace("_", "").strip()
    return int(value) if value.isascii() and value.isdecimal() and len(value) <= _DIGITS else 0
