"""One event of a host: from its standard input to what we print. Faults of ours never reach the user's session.

Only what a tool call needs is imported here; the rest of memctl, when an event needs it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memctl.errors import MemctlError
from memctl.hooks import counting, log
from memctl.hooks.folder import SessionFolder, root_of
from memctl.hooks.given import COMPACTED, MOST_BYTES, Given, parse
from memctl.hooks.hosts import COMPACT, END, PROMPT, START, STOP, TOOL, Host

if TYPE_CHECKING:
    from memctl.store.memory import Memory

GUARD = "MEMCTL_NO_HOOKS"  # set where memctl itself runs an agent's program: its hooks are silent then
_OWED = "owed"  # a context was compacted, and the host has no start of a session after that


class _Call(NamedTuple):
    """An event on its way: who calls, what happened, where the memory is."""

    host: Host
    given: Given
    folder: SessionFolder
    environ: Mapping[str, str]
    place: Path


def run(host: Host, environ: Mapping[str, str], start: Path | None = None) -> None:
    """Answer the event on standard input, on standard output. Never raises, and prints all of an answer or nothing."""
    with suppress(Exception):
        text = answer(host, sys.stdin.buffer.read(MOST_BYTES), environ, start)
        if text:
            sys.stdout.buffer.write(text.encode())
            sys.stdout.buffer.flush()


def answer(host: Host, data: bytes, environ: Mapping[str, str], start: Path | None = None) -> str:
    """What to print for an event; "" outside of a memory, for a sub-agent's event and for one that we don't know.

    The memory is looked for from `start`, or else from where the host says that the session is.
    """
    if environ.get(GUARD):
        return ""
    given = parse(data)
    what = host.events.get(given.event)
    if what is None or given.agent:
        return ""
    places = [start] if start else [environ.get("CLAUDE_PROJECT_DIR", ""), given.cwd or "."]
    found = next(filter(None, (_root(Path(place)) for place in places if place)), None)
    if found is None:
        return ""
    place, root = found
    call = _Call(host, given, SessionFolder(root, given.key), environ, place)
    said: list[str] = []
    _attempt(call, lambda: said.append(_DOING[what](call)))
    text = said[0] if said else ""
    return _spoken(host, given.event, text) if text and what in host.speaks else text


def _root(start: Path) -> tuple[Path, Path] | None:
    """The folder that has a memory, at or above a place, and where its hooks keep what they know."""
    from memctl.journal.repository import open_repository
    from memctl.store import place

    try:
        top, memory = place.find(start)
        name = memory.relative_to(top).as_posix().replace("%", "%25").replace("/", "%2F")  # as Memory.private has it
        return memory.parent, root_of(open_repository(top).shared, name)
    except (MemctlError, OSError, ValueError):
        return None


def _attempt(call: _Call, do: Callable[[], object]) -> None:
    """Do something; a fault goes into our own log."""
    try:
        do()
    except Exception as error:
        log.fault(call.folder.root, call.given.event, call.folder.key, error)


def _spoken(host: Host, event: str, text: str) -> str:
    """An answer as the host takes it."""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})


def _tool(call: _Call) -> str:
    return _owed(call) or counting.after_tool(call.host, call.given, call.folder, call.environ)


def _owed(call: _Call) -> str:
    """The state that a context was compacted from, if the host had no event to give it at."""
    try:
        (call.folder.path / _OWED).unlink()
    except OSError:
        return ""
    from memctl.hooks import known, starting

    return starting.bootstrap(_opened(call), known.read(call.folder))


def _start(call: _Call) -> str:
    is_fresh = call.given.source != COMPACTED
    memory = _opened(call, asks=is_fresh)
    from memctl.hooks import known, starting

    state = known.read(call.folder)
    said: list[str] = []
    _attempt(call, lambda: said.append(starting.told(memory, call.given, state)))
    _attempt(call, lambda: starting.note(memory, call.host, call.given, call.folder, state))
    _attempt(call, lambda: starting.name_the_session(call.host, call.folder, call.environ))
    if is_fresh:
        _attempt(call, lambda: starting.end_what_was_left(memory, call.folder))
    return "".join(said)


def _compact(call: _Call) -> str:
    if PROMPT in call.host.speaks:
        call.folder.path.mkdir(parents=True, exist_ok=True)
        (call.folder.path / _OWED).touch()
    memory = _opened(call, asks=True)
    from memctl.hooks import compacting

    return compacting.before(memory, call.host, call.given, call.folder, call.environ, lambda do: _attempt(call, do))


def _stop(call: _Call) -> str:
    from memctl.hooks import known, summing

    memory = _opened(call)
    summing.take_in(memory, call.host, call.given, call.folder)
    known.changed(call.folder, seen=memory.now)
    return ""


def _end(call: _Call) -> str:
    from memctl.hooks import ending

    _stop(call)
    ending.end(_opened(call), call.folder)
    return ""


_DOING: Mapping[str, Callable[[_Call], str]] = {
    START: _start,
    TOOL: _tool,
    PROMPT: _owed,
    COMPACT: _compact,
    STOP: _stop,
    END: _end,
}


def _opened(call: _Call, *, asks: bool = False) -> Memory:
    """The memory, with the agent as who is at work: a session's writes say whose they are.

    If it `asks`, Git looks for what differs from HEAD while we import what the answer is for.
    """
    from memctl.store.memory import open_memory

    agent = call.environ.get("MEMCTL_AGENT") or call.host.name  # never nobody: that would be a person, who reads all
    memory = open_memory(call.place, {**call.environ, "MEMCTL_AGENT": agent, "MEMCTL_SESSION": call.folder.key})
    if asks:
        memory.asked = memory.ask()
    return memory
