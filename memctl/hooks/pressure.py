"""How full a context is, against the point where the host compacts it by itself, and when to suggest that.

Zones are shares of that point (`tokens.model_windows`) and not of the window, of which 90 % are never reached
(rules.md#window-pressure).

After every tool call one is counted, and a compaction suggested when it is due (rules.md#agent-hooks):
In 279 real sessions the median was 87 calls between compactions, and a count alone says little: so a number of calls
counts only once the context is half full (or nobody knows how full it is), and a context at 75 and 90 % of the host's
own point of compaction is named at any number. Each is said once until the next compaction, to the model, which is who
can save its state and ask.
"""

from collections.abc import Mapping
from typing import NamedTuple

from memctl.errors import USAGE, MemctlError
from memctl.hooks import log
from memctl.hooks.event_payload import Payload
from memctl.hooks.hosts import Host
from memctl.store.session_dir import SessionDir
from memctl.text.phrases import quantity
from memctl.tokens import model_windows
from memctl.transcript.line import main_lines_backwards

CALLS = (50, 100, 150)  # since the last compaction, at which one may be suggested
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


def after_tool(host: Host, payload: Payload, folder: SessionDir, environ: Mapping[str, str]) -> str:
    """Count a call; the suggestion that is due, or ""."""
    calls = folder.count()
    _check(payload, folder, environ)
    found = measure(payload.transcript, environ) if host.reads else None
    return _text(calls, found) if _is_due(folder, calls, found) else ""


def _check(payload: Payload, folder: SessionDir, environ: Mapping[str, str]) -> None:
    """Note a window that the user says and that is none, once a session: it is not used, and nobody would know."""
    try:
        window_setting(environ)
    except MemctlError as error:
        if folder.is_new("odd-window"):
            log.fault(folder.root, payload.event, folder.key, error)


def _is_due(folder: SessionDir, calls: int, found: ContextFill | None) -> bool:
    zone = found.zone if found else ""
    passed = [number for number in CALLS if calls >= number]
    due = [f"calls-{passed[-1]}"] if passed and zone != GREEN else []
    due += {ORANGE: [ORANGE], RED: [RED, ORANGE]}.get(zone, [])
    new = [what for what in due if folder.is_first(what)]  # all are noted, for the text says them all
    return bool(new)


def _text(calls: int, found: ContextFill | None) -> str:
    number = f"{quantity(calls, 'tool call')} since the context was last compacted"
    full = (
        f"; it holds {found.tokens:,} tokens, {found.share:.0%} of the {found.limit:,} at which the host compacts it"
        f" by itself ({found.zone})"
        if found
        else ""
    )
    return (
        f"memctl: {number}{full}. At the next natural break, save where you are with `memctl checkpoint save --done …"
        " --doing … --next …` (the first time with `--task …`) and record what was decided, then suggest to the user to"
        " compact (/compact in Claude Code and Codex, /compress in Gemini CLI). memctl gives the state back afterwards."
        " Don't stop in the middle of a step for this."
    )
