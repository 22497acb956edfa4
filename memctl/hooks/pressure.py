"""How full a context is, as a share of the point where the host compacts it, and when to suggest a compaction.

Zones are shares of that point (`tokens.model_windows`), not of the window: the host compacts a context before 90 % of
the window are full (rules.md#window-pressure).

memctl counts tool calls, and suggests a compaction when one is due (rules.md#agent-hooks). In 279 real sessions the
median was 87 calls between compactions, but a count alone means little. So the number of calls counts only if the
context is at least half full, or if nobody knows how full it is. At 75 and at 90 % of the host's own point of
compaction memctl suggests one after any number of calls. Each suggestion is made once until the next compaction. It
goes to the model, which can save its state and ask the user.
"""

from collections.abc import Mapping
from typing import NamedTuple

from memctl.errors import MemctlError
from memctl.hooks import log
from memctl.hooks.event_payload import Payload
from memctl.hooks.hosts import Host
from memctl.store.session_dir import SessionDir
from memctl.text.phrases import quantity
from memctl.tokens import model_windows
from memctl.transcript.line import main_lines_backwards

CALLS = (50, 100, 150)  # since the last compaction, at which one may be suggested
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
        return model_windows.zone_of(self.share)


def measure(transcript: str, environ: Mapping[str, str]) -> ContextFill | None:
    """Return the pressure on the main agent's context, by the end of a transcript of Claude Code's; None if unknown."""
    found = last_context(transcript)
    if found is None:
        return None
    tokens, model = found
    window = window_of(model, tokens, environ)
    small = model_windows.SMALL
    # In a window that may be a large one an earlier compaction tells, where that makes a difference to the zone.
    if window > small >= tokens >= model_windows.YELLOW_AT * model_windows.compacted_at(small):
        window = window_of(model, tokens, environ, _last_compaction(transcript))
    return ContextFill(tokens, model_windows.host_limit(window, environ))


def window_of(model: str, tokens: int, environ: Mapping[str, str], compacted: int = 0) -> int:
    """Return the size of a model's window, in tokens: as MEMCTL_CONTEXT_WINDOW says, else by its name and what is in
    it, but no larger than the settings of Claude Code make it."""
    try:
        given = model_windows.window_setting(environ)
    except MemctlError:  # `_check` notes it
        given = None
    return given or model_windows.host_window(model_windows.claude_window(model, tokens, compacted), environ)


def _last_compaction(transcript: str) -> int:
    """Return the tokens at which the host compacted by itself last, as far as the end of a transcript tells; else 0."""
    for line in main_lines_backwards(transcript, _REACH, (b"compact_boundary",)):
        if line.is_boundary:
            return line.compacted_by_itself
    return 0


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
        model_windows.window_setting(environ)
    except MemctlError as error:
        if folder.create_marker("odd-window"):
            log.fault(folder.root, payload.event, folder.key, error)


def _is_due(folder: SessionDir, calls: int, found: ContextFill | None) -> bool:
    zone = found.zone if found else ""
    passed = [number for number in CALLS if calls >= number]
    due = [f"calls-{passed[-1]}"] if passed and zone != model_windows.GREEN else []
    orange, red = model_windows.ORANGE, model_windows.RED
    due += {orange: [orange], red: [red, orange]}.get(zone, [])
    new = [what for what in due if folder.claim_hint(what)]  # all are noted, for the text says them all
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
        f"memctl: {number}{full}. At the next natural break, save where you are with `memctl checkpoint save --done A"
        " --doing B --next C` (the first time with `--task T`) and record what was decided, then suggest to the user to"
        " compact (/compact in Claude Code and Codex, /compress in Gemini CLI). memctl gives the state back afterwards."
        " Don't stop in the middle of a step for this."
    )
