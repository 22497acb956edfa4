"""Measure how full a context is, and suggest a compaction to the model when one is due (rules.md#agent-hooks).

Zones are shares of the tokens at which the host compacts a context (`tokens.model_windows`), not of the window, since
hosts compact before 90 % of the window are full (rules.md#window-pressure).

In 279 real sessions the median was 87 tool calls between compactions, but a count alone means little. So the number of
calls counts only if the context is at least half full, or if that is unknown. At 75 % and at 90 % of the tokens at
which the host compacts, memctl suggests a compaction after any number of calls. Each suggestion is made once until the
next compaction. It goes to the model, which can save its state and ask the user.
"""

from __future__ import annotations

from collections.abc import Mapping

from memctl.errors import MemctlError
from memctl.hooks import log
from memctl.hooks.event_payload import Payload
from memctl.hooks.hosts import Host
from memctl.store.session_dir import SessionDir
from memctl.text.light_typing import NamedTuple
from memctl.tokens import model_windows
from memctl.transcript.line import main_lines_backwards

CALLS = (50, 100, 150)  # tool calls since the last compaction, at which one may be suggested
_REACH = 8 * 1024 * 1024  # bytes at the end of a transcript that are searched for the last answer


class ContextFill(NamedTuple):
    """The tokens in a context, and the tokens at which the host compacts it (`limit`)."""

    tokens: int
    limit: int

    @property
    def share(self) -> float:
        """The tokens in the context as a fraction of those at which the host compacts it, such as 0.75."""
        return self.tokens / self.limit

    @property
    def zone(self) -> str:
        """The zone of the context: green, yellow, orange or red."""
        return model_windows.zone_of(self.share)


def measure(transcript: str, environ: Mapping[str, str]) -> ContextFill | None:
    """Return how full the main agent's context is, by the end of a transcript of Claude Code; None if unknown."""
    context = last_context(transcript)
    if context is None:
        return None
    tokens, model = context
    window = window_of(model, tokens, environ)
    small = model_windows.SMALL
    # If the model has a small and a large window, an earlier compaction shows which one is used.
    if window > small >= tokens >= model_windows.YELLOW_AT * model_windows.compacted_at(small):
        window = window_of(model, tokens, environ, _last_compaction(transcript))
    return ContextFill(tokens, model_windows.host_limit(window, environ))


def window_of(model: str, tokens: int, environ: Mapping[str, str], compacted: int = 0) -> int:
    """Return the size of a model's window in tokens: the value of MEMCTL_CONTEXT_WINDOW, or a size by the model's name.

    A name may stand for a small and a large window, so numbers of tokens correct it. `tokens` is the number in the
    context now: if it does not fit into the small window, the window is the large one. `compacted` is the number at the
    last automatic compaction, 0 if unknown: if it fits into the small window, the window is the small one.

    Settings of Claude Code in `environ` may lower the size.
    """
    try:
        window = model_windows.window_setting(environ)
    except MemctlError:  # `_check` logs the error
        window = None
    return window or model_windows.host_window(model_windows.claude_window(model, tokens, compacted), environ)


def _last_compaction(transcript: str) -> int:
    """Return the tokens at the last automatic compaction near the end of a transcript, 0 if there is none."""
    for line in main_lines_backwards(transcript, _REACH, (b"compact_boundary",)):
        if line.is_boundary:
            return line.compacted_by_itself
    return 0


def last_context(transcript: str) -> tuple[int, str] | None:
    """Return the tokens in the context and the model's name, by the last answer or compaction; None if unknown.

    The model's name is "" right after a compaction.
    """
    for line in main_lines_backwards(transcript, _REACH, (b'"usage"', b"compact_boundary")):
        if line.is_boundary:
            tokens = line.compaction.get("postTokens")
            return (tokens if isinstance(tokens, int) and tokens >= 0 else 0), ""
        if line.context > 0:
            return line.context, line.model
    return None


def after_tool(host: Host, payload: Payload, folder: SessionDir, environ: Mapping[str, str]) -> str:
    """Count a tool call, and return the suggestion of a compaction if one is due, otherwise ""."""
    calls = folder.count()
    _check(payload, folder, environ)
    fill = measure(payload.transcript, environ) if host.reads else None
    return _text(calls, fill) if _is_due(folder, calls, fill) else ""


def _check(payload: Payload, folder: SessionDir, environ: Mapping[str, str]) -> None:
    """Log an invalid MEMCTL_CONTEXT_WINDOW once a session, because it is ignored silently otherwise."""
    try:
        model_windows.window_setting(environ)
    except MemctlError as error:
        if folder.create_marker("odd-window"):
            log.fault(folder.root, payload.event, folder.key, error)


def _is_due(folder: SessionDir, calls: int, fill: ContextFill | None) -> bool:
    """Return whether a compaction is to be suggested now, and record that it was."""
    zone = fill.zone if fill else ""
    passed = [number for number in CALLS if calls >= number]
    due = [f"calls-{passed[-1]}"] if passed and zone != model_windows.GREEN else []
    orange, red = model_windows.ORANGE, model_windows.RED
    due += {orange: [orange], red: [red, orange]}.get(zone, [])
    new = [what for what in due if folder.claim_hint(what)]  # marks all, because one suggestion covers them
    return bool(new)


def _text(calls: int, fill: ContextFill | None) -> str:
    """Return the suggestion of a compaction, with the number of calls and how full the context is."""
    from memctl.text.phrases import quantity

    number = f"{quantity(calls, 'tool call')} since the context was last compacted"
    full = (
        f"; it holds {fill.tokens:,} tokens, {fill.share:.0%} of the {fill.limit:,} at which the host compacts it"
        f" by itself ({fill.zone})"
        if fill
        else ""
    )
    return (
        f"memctl: {number}{full}. At the next natural break, save where you are with `memctl checkpoint save --done A"
        " --doing B --next C` (the first time with `--task T`) and record what was decided, then suggest to the user to"
        " compact (/compact in Claude Code and Codex, /compress in Gemini CLI). memctl gives the state back afterwards."
        " Don't stop in the middle of a step for this."
    )
