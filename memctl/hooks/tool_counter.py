"""After every tool call: count it, and suggest a compaction when one is due (rules.md#agent-hooks).

In 279 real sessions the median was 87 calls between compactions, and a count alone says little: so a number of calls
counts only once the context is half full (or nobody knows how full it is), and a context at 75 and 90 % of the host's
own point of compaction is named at any number. Each is said once until the next compaction, to the model, which is who
can save its state and ask.
"""

from __future__ import annotations

from collections.abc import Mapping

from memctl.errors import MemctlError
from memctl.hooks import log, pressure
from memctl.hooks.event_payload import Payload
from memctl.hooks.hosts import Host
from memctl.hooks.pressure import GREEN, ORANGE, RED, ContextFill
from memctl.store.session_dir import SessionDir

CALLS = (50, 100, 150)


def after_tool(host: Host, payload: Payload, folder: SessionDir, environ: Mapping[str, str]) -> str:
    """Count a call; the suggestion that is due, or ""."""
    calls = folder.count()
    _check(payload, folder, environ)
    found = pressure.measure(payload.transcript, environ) if host.reads else None
    return _text(calls, found) if _is_due(folder, calls, found) else ""


def _check(payload: Payload, folder: SessionDir, environ: Mapping[str, str]) -> None:
    """Note a window that the user says and that is none, once a session: it is not used, and nobody would know."""
    try:
        pressure.window_setting(environ)
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
    number = f"{calls:,} tool call{'s' if calls != 1 else ''} since the context was last compacted"
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
