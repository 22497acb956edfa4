"""How full a context is, against the point where the host compacts it by itself.

Zones are shares of that point (`tokens.model_windows`) and not of the window, of which 90 % are never reached
(rules.md#window-pressure).
"""

from collections.abc import Mapping
from typing import NamedTuple

from memctl.errors import USAGE, MemctlError
from memctl.tokens import model_windows
from memctl.transcript.line import main_lines_backwards

GREEN, YELLOW, ORANGE, RED = "green", "yellow", "orange", "red"
_ZONES = (
    (model_windows.RED_AT, RED),
    (model_windows.ORANGE_AT, ORANGE),
    (model_windows.YELLOW_AT, YELLOW),
    (0.0, GREEN),
)
_SETTING, _DIGITS = "MEMCTL_CONTEXT_WINDOW", 12
# By these Claude Code compacts earlier (seen with 2.1.330): as if the window were no larger, at a share of its room.
_HOST_WINDOW, _HOST_SHARE = "CLAUDE_CODE_AUTO_COMPACT_WINDOW", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
_LEAST = 2 * (model_windows.MOST_OUTPUT + model_windows.BUFFER)  # tokens
_REACH = 8 * 1024 * 1024  # bytes from the end in which the last answer is looked for


class ContextFill(NamedTuple):
    """The tokens in a context, and at how many the host compacts it."""

    tokens: int
    limit: int

    @property
    def share(self) -> float:
        return self.tokens / self.limit

    @property
    def zone(self) -> str:
        return next(zone for least, zone in _ZONES if self.share >= least)


def measure(transcript: str, environ: Mapping[str, str]) -> ContextFill | None:
    """The pressure on the main agent's context, by the end of a transcript of Claude Code's; None if unknown."""
    found = last_context(transcript)
    if found is None:
        return None
    tokens, model = found
    return ContextFill(tokens, limit_of(model, tokens, environ))


def limit_of(model: str, tokens: int, environ: Mapping[str, str]) -> int:
    """The tokens at which Claude Code compacts by itself, by the window and by what its own settings say of it."""
    window = window_of(model, tokens, environ)
    limit = model_windows.compacted_at(window)
    share = _number(environ, _HOST_SHARE)
    return min(limit, (window - model_windows.MOST_OUTPUT) * share // 100) if 0 < share <= 100 else limit


def window_of(model: str, tokens: int, environ: Mapping[str, str]) -> int:
    """The size of a model's window, in tokens: as MEMCTL_CONTEXT_WINDOW says, else by its name and what is in it, but
    no larger than Claude Code is told to take it for."""
    value = _number(environ, _SETTING)
    if value > _LEAST:
        return value
    named, most = model_windows.claude_window(model, tokens), _number(environ, _HOST_WINDOW)
    return min(named, most) if most > _LEAST else named


def window_setting(environ: Mapping[str, str], *, has_host: bool = True) -> int | None:
    """The window that MEMCTL_CONTEXT_WINDOW says, None if it is not set; raises MemctlError for what is no window.

    Without a host that compacts it before it is full, a window may be of any size.
    """
    value = environ.get(_SETTING, "").strip()
    if not value:
        return None
    number, least = _number(environ, _SETTING), _LEAST if has_host else 0
    if number <= least:
        raise MemctlError(f"{_SETTING} is {value[:40]!r}", f"it takes a number of tokens above {least:,}", USAGE)
    return number


def _number(environ: Mapping[str, str], name: str) -> int:
    """A number that a variable holds; 0 if it holds none."""
    value = environ.get(name, "").replace("_", "").strip()
    return int(value) if value.isascii() and value.isdecimal() and len(value) <= _DIGITS else 0


def last_context(transcript: str) -> tuple[int, str] | None:
    """Return the tokens in the context and the model, by the last answer or compaction, whichever is later."""
    for line in main_lines_backwards(transcript, _REACH, (b'"usage"', b"compact_boundary")):
        if line.is_boundary:
            left = line.compaction.get("postTokens")
            return (left if isinstance(left, int) and left >= 0 else 0), ""
        if line.context > 0:
            return line.context, line.model
    return None
