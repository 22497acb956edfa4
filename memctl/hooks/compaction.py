"""Log each compaction of a context before it happens, and say what the summary of the context is to keep.

The text in `INSTRUCTIONS` goes to the model that summarizes the context.
"""

from __future__ import annotations

from collections.abc import Mapping

from memctl.hooks import log, pressure
from memctl.hooks.event_payload import Payload
from memctl.hooks.hosts import Host
from memctl.store.session_dir import SessionDir

# rules.md#preservation and the trail of files of rules.md#session-summary, as instructions for a model.
INSTRUCTIONS = """\
Keep in the summary, exactly and completely:
- every decision: what was decided, when, why, which alternatives were rejected, by whom, and its id if it has one
- every open bug and question: id, severity, how to reproduce it, what was tried and what came of it
- what is not obvious in the code: algorithms, performance, security and data constraints, and why
- every file that was created, modified, deleted or read: its full path, never shortened, the verb, and what changed
- the task: what was asked for, in the user's words, what counts as done, how far it is, blockers, the next 3 actions
- errors that are not solved: the message as it was; commands that work here; what the user forbade or insisted on
Leave out: repeated search results and listings, raw logs and stack traces of what is solved, whole file contents,
confirmations that something worked. Of a dead end keep one sentence. Don't guess: what is unknown stays unknown.
"""


def note(host: Host, payload: Payload, folder: SessionDir, environ: Mapping[str, str], now: str) -> None:
    """Log a compaction that is about to happen: the time, the tokens in the context, and the tool calls before it.

    `now` is the time, and `folder` memctl's folder for the session. The tokens are read from the host's transcript, if
    memctl can read it. The tool calls are those since the last compaction.
    """
    fill = pressure.measure(payload.transcript, environ) if host.reads else None
    entry = {
        "kind": "compaction",
        "at": now,
        "session": folder.key,
        "host": host.name,
        "trigger": payload.trigger,
        "before": fill.tokens if fill else None,
        "limit": fill.limit if fill else None,
        "calls": folder.calls(),
        "suggested": folder.hints(),
    }
    log.add(folder.root, log.COMPACTIONS, entry)
