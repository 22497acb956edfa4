"""Measure how full a context is, and suggest a compaction to the model when one is due (rules.md#agent-hooks).

The zones (green to red) are shares of the number of tokens at which the host compacts a context by itself
(`tokens.model_windows`). They are not shares of the window, since hosts compact before 90 % of the window are full
(rules.md#window-pressure).

A compaction is suggested after 50, 100 and 150 tool calls if the context is at least half full, or if it is unknown how
full it is. (In 279 real sessions the median was 87 tool calls between compactions.) It is also suggested, after any
number of calls, at 75 % and at 90 % of the tokens at which the host compacts. Each of these suggestions is made once
until the next compaction. It goes to the model, which can save its state and ask the user.
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
    """How full a context is: the tokens in it, and `limit`, the tokens at which the host compacts it by itself."""

    tokens: int
    limit: int

    @property
    def share(self) -> float:
        """The tokens in the context as a share of those at which the host compacts it by itself, such as 0.75."""
        return self.tokens / self.limit

    @property
    def zone(self) -> str:
        """The zone of the context: green, yellow, orange or red."""
        return model_windows.zone_of(self.share)


def measure(transcript: str, environ: Mapping[str, str]) -> ContextFill | None:
    """Return how full the main agent's context is, by the end of a transcript of Claude Code; None if unknown.

    `transcript` is the transcript's path. Variables in `environ` may set the size of the window or when Claude Code
    compacts.
    """
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
    """Return the size of a model's window in tokens.

    If MEMCTL_CONTEXT_WINDOW is set in `environ`, the result is its value. Otherwise the window is small or large:

    - It is large if the tokens in the context now (`tokens`) don't fit into a small window.
    - If they do, it is small if the model's name says so, or if the tokens at the last automatic compaction
      (`compacted`, 0 if unknown) fit into a small window.
    - Otherwise it is large.

    Settings of Claude Code in `environ` may lower this size.
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
    """Return the number of tokens in the context and the model's name, from the end of a transcript; None if unknown.

    They are read from the last answer or compaction in the transcript at the path `transcript`. After a compaction,
    when no answer has followed yet, the model's name is "".
    """
    for line in main_lines_backwards(transcript, _REACH, (b'"usage"', b"compact_boundary")):
        if line.is_boundary:
            tokens = line.compaction.get("postTokens")
            return (tokens if isinstance(tokens, int) and tokens >= 0 else 0), ""
        if line.context > 0:
            return line.context, line.model
    return None


def after_tool(host: Host, payload: Payload, folder: SessionDir, environ: Mapping[str, str]) -> str:
    """Count a tool call of a session, and return the suggestion of a compaction if one is due, otherwise "".

    `folder` is memctl's folder for the session, in which the calls are counted.
    """
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
    if fill:
        number += f"; it holds {fill.tokens:,} tokens, {fill.share:.0%} of the {fill.limit:,} at which the host"
        number += f" compacts it by itself ({fill.zone})"
    return (
        f"memctl: {number}. At the next natural break, save where you are with `memctl checkpoint save --done A"
        " --doing B --next C` (the first time with `--task T`) and record what was decided, then suggest to the user to"
        " compact (/compact in Claude Code and Codex, /compress in Gemini CLI). memctl gives the state back afterwards."
        " Don't stop in the middle of a step for this."
    )
