"""Answer one event of a host: read it from standard input, and write the answer to standard output.

Errors go to a log, never to the user's session. This module imports only what the answer to a tool call needs, since
tool calls are the most frequent events; modules for other events are imported when such an event comes. Work that the
host need not wait for goes to a queue (`job_queue`) and runs in a process of its own (`jobs`).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from memctl.git import trust
from memctl.git.repository import Repository
from memctl.hooks import daemonize, event_payload, live_sessions, log
from memctl.hooks.event_payload import COMPACTED, MOST_BYTES, QUEUED_FIELDS, Payload, parse
from memctl.hooks.hosts import AGENT, BEFORE, COMPACT, END, PROMPT, START, STOP, TOOL, Host
from memctl.store import agent_env, job_queue
from memctl.store.memory_root import FOLDER
from memctl.store.session_dir import SessionDir, find_root
from memctl.text.light_typing import TYPE_CHECKING, Any, NamedTuple
from memctl.text.model_text import visible
from memctl.transcript.line import find_transcript

if TYPE_CHECKING:
    from memctl.git.status import StatusProcess
    from memctl.store.memory import Memory

GUARD = "MEMCTL_NO_HOOKS"  # set when memctl itself runs an agent's program, whose hooks must do nothing
_UNTRUSTED = (
    "memctl: this repository has a memory (.memory/) that memctl does not trust yet, so memctl shows and records"
    f" nothing. The user can trust it: `{trust.COMMAND}`\n"
)
_ATTENDED = "CLAUDE_CODE_SESSION_ATTENDED"  # "0" if a program waits for the last answer (`claude -p`)
_OWED = "owed"  # marks a compacted context: the next event of the host is answered with the state of its work
_PATIENCE = 4.0  # seconds to wait for the work of earlier events; hosts give a start 10 s
_LAST_PATIENCE = 20.0  # seconds to wait at the end of a session; hosts give it 60 s (Codex 3, and the job stays queued)
_LATE = "The memory's pack is missing here: it took more than {:g} s. `memctl rehydrate` prints it. (memctl)\n"
_MOST_AT_ONCE = 3  # killed sessions that are summarized at one start
_IN_JSON = (START, TOOL, PROMPT, AGENT, STOP)  # events whose answers reach the model in JSON
_MOMENT = 0.02  # seconds to wait for a lock that others hold only for a moment

Later = Callable[[], object]


class _EventCall(NamedTuple):
    """An event to answer: the host, the event, the session's folder, the environment, and the folder with the memory.

    `now` is the time; `behind` collects functions that run once the host has its answer.
    """

    host: Host
    payload: Payload
    folder: SessionDir
    environ: Mapping[str, str]
    repository: Repository
    place: Path
    now: str
    behind: list[Later]


def run(host: Host, environ: Mapping[str, str], start: Path | None = None) -> None:
    """Read a host's event from standard input, and print the whole answer or nothing. Never raises.

    The memory is looked for in the folder `start` and the folders above it. If `start` is None, the search starts at
    the session's folder, which the host names in the event or in `environ`.
    """
    with suppress(Exception):
        behind: list[Later] = []
        text = answer(host, sys.stdin.buffer.read(MOST_BYTES), environ, start, behind)
        with suppress(OSError):  # the host has closed the pipe; queued work is done all the same
            sys.stdout.buffer.write(text.encode())
            sys.stdout.buffer.flush()
        if behind:
            daemonize.run(lambda: [do() for do in behind])


def answer(
    host: Host,
    data: bytes,
    environ: Mapping[str, str],
    start: Path | None = None,
    behind: list[Later] | None = None,
) -> str:
    """Return the answer to the host's event in `data`, which is JSON; "" if there is nothing to answer.

    The answer is "" if there is no memory, if the kind of event is unknown, and for events of sub-agents other than
    their start and their prompts.

    The memory is looked for in the folder `start` and the folders above it. If `start` is None, the search starts at
    the session's folder, which the host names in the event or in `environ`. Work that need not delay the answer is
    appended to the list `behind`, as functions that the caller runs once the host has its answer. If `behind` is None,
    these functions run before this function returns.
    """
    if environ.get(GUARD):
        return ""
    environ = agent_env.without_trust(environ, is_hook=True)
    try:
        payload = parse(data)
    except ValueError as error:
        _note_unreadable(error, start, environ)
        return ""
    what = BEFORE if payload.event == host.before else host.events.get(payload.event)
    if payload.agent:
        what = AGENT if what in (AGENT, PROMPT) else None
    if what is None:
        return ""
    found = _find_root(start, environ, payload.cwd)
    if found is None:
        return ""
    repository, place, root = found
    folder = SessionDir(root, payload.key)
    if not _is_trusted(repository, folder, what, environ):
        return _warning(host, payload, data, environ) if what == START else ""
    later: list[Later] = []
    payload = payload._replace(transcript=find_transcript(payload.transcript))
    call = _EventCall(host, payload, folder, environ, repository, place, log.moment(environ), later)
    if _is_known(call.folder, data, what, environ):
        return ""
    if what not in (AGENT, BEFORE, END):
        _attempt(call, lambda: live_sessions.note(call.folder, host, payload, place, environ, anew=what == START))
    text = visible(_try_text(call, lambda: _HANDLERS[what](call)))
    if behind is not None:
        behind += later
    else:
        for do in later:
            do()
    return event_payload.render_answer(host, payload.event, text) if text and what in _IN_JSON else text


def _find_root(start: Path | None, environ: Mapping[str, str], cwd: str) -> tuple[Repository, Path, Path] | None:
    """Return the repository, the folder with the memory, and the folder of its hooks' files; None without a memory.

    The memory is searched from `start`, or else from the folders that the host names for the session.
    """
    places = [start] if start else [environ.get("CLAUDE_PROJECT_DIR", ""), cwd or "."]
    return next(filter(None, (find_root(Path(place)) for place in places if place)), None)


def _note_unreadable(error: ValueError, start: Path | None, environ: Mapping[str, str]) -> None:
    """Log that standard input has no valid event, if there is a trusted memory here."""
    root = _find_root(start, environ, "")
    if root is not None and trust.state(root[0], environ) == trust.TRUSTED:
        log.fault(root[2], "", "", error)


def _warning(host: Host, payload: Payload, data: bytes, environ: Mapping[str, str]) -> str:
    """Return the warning for a session that starts in an untrusted clone, "" if the session has got it already.

    That is noted in the user's own folder, because nothing is written to an untrusted clone.
    """
    folder = _user_dir(payload.key, environ)
    if _is_known(folder, data, START, environ):
        return ""
    with suppress(OSError):
        folder.tidy()
    return event_payload.render_answer(host, payload.event, _UNTRUSTED)


def _user_dir(key: str, environ: Mapping[str, str]) -> SessionDir:
    """Return a session's folder outside of the clone, for clones that can't be written or are not trusted."""
    from memctl.hooks import host_files

    return SessionDir(host_files.state_home(environ).with_name("untrusted"), key)


def _is_trusted(repository: Repository, folder: SessionDir, what: str, environ: Mapping[str, str]) -> bool:
    """Return whether the clone of a memory is trusted.

    For a tool call Git is not asked: the session's folder exists only in a clone that was trusted at its start.
    """
    if what in (BEFORE, TOOL):
        return trust.is_marked(repository) or (folder.path.exists() and not trust.is_refused(repository))
    return trust.state(repository, environ) == trust.TRUSTED


def _is_known(folder: SessionDir, data: bytes, what: str, environ: Mapping[str, str]) -> bool:
    """Return whether another process has got this event already; False if that can't be recorded.

    Where the Git directory can't be written, it is recorded in the user's own folder.
    """
    is_one_of_many = what in (BEFORE, TOOL, AGENT)
    with suppress(OSError):
        return not folder.claim_event(data, is_one_of_many=is_one_of_many)
    with suppress(OSError):
        return not _user_dir(folder.key, environ).claim_event(data, is_one_of_many=is_one_of_many)
    return False


def _attempt(call: _EventCall, do: Callable[[], object]) -> None:
    """Call a function; an error goes to the log of faults."""
    try:
        do()
    except Exception as error:
        log.fault(call.folder.root, call.payload.event, call.folder.key, error)


def _try_text(call: _EventCall, make: Callable[[], str]) -> str:
    """Return what `make` returns, "" for an error, which goes to the log of faults."""
    texts: list[str] = []
    _attempt(call, lambda: texts.append(make()))
    return "".join(texts)


def _in_time(call: _EventCall, make: Callable[[], str]) -> str:
    """Return what `make` returns, "" if it takes longer than a session's start may, or fails."""
    return daemonize.within(daemonize.seconds(call.environ), lambda: _try_text(call, make)) or ""


def _tool(call: _EventCall) -> str:
    """Return what a model gets after a tool call: an owed state, or records of a file and a suggestion to compact."""
    from memctl.hooks import pressure

    _attempt(call, lambda: _check_compression(call))
    suggestion = pressure.after_tool(call.host, call.payload, call.folder, call.environ)
    return _owed_context(call) or _try_text(call, lambda: _of_call(call)) + suggestion


def _of_call(call: _EventCall) -> str:
    """Return what is recorded about the files that a tool call read or wrote, or about its error, and its command."""
    if not call.payload.arguments:
        return ""
    from memctl.hooks import file_recall, form_recall

    if call.payload.error:
        return form_recall.after(call.folder, call.payload) or _of_error(call)
    of_files = file_recall.after(call.repository, call.place, call.folder, call.payload, call.now)
    return of_files + form_recall.after(call.folder, call.payload)


def _of_error(call: _EventCall) -> str:
    """Return what the memory knows of the error of a tool call, "" if nothing, or if that takes too long."""
    from memctl.hooks import error_recall

    open_memory = partial(_open_for_search, call)
    return _in_time(call, lambda: error_recall.find(open_memory, call.folder, call.payload.error))


def _before(call: _EventCall) -> str:
    """Return an answer that refuses a write to an unread file with records, "" if the call may go ahead."""
    from memctl.hooks import file_recall

    return file_recall.before(call.repository, call.place, call.folder, call.payload, call.now)


def _prompt(call: _EventCall) -> str:
    """Return what a model gets with a prompt: an owed state, or else records that are relevant to the prompt."""
    _attempt(call, lambda: _check_compression(call))
    owed = _owed_context(call)  # before the prompt is noted, so that it has the state of the compacted context
    if call.payload.prompt and not _is_read(call):
        _attempt(call, lambda: _note_prompt(call))
        if call.host.reads:  # its transcript may never come, and then Git tells what the session changes
            call.behind.append(lambda: _attempt(call, lambda: _note_dirty_files(call)))
    return owed or (_recall(call) if call.payload.prompt else "")


def _recall(call: _EventCall) -> str:
    """Return the memory's text for a prompt; "" if nothing is relevant, or if it takes longer than a start may."""
    from memctl.hooks import recall

    open_memory = partial(_open_for_search, call)
    made = _in_time(call, lambda: recall.find(open_memory, call.folder, call.payload.prompt, call.host.models))
    return recall.give(call.folder, made) if made else ""


def _agent(call: _EventCall) -> str:
    """Return the text for a sub-agent that starts, "" if there is none or it takes too long."""
    from memctl.hooks import sub_agents

    open_memory = partial(_open_for_search, call)
    return _in_time(call, lambda: sub_agents.context(open_memory, call.payload, call.folder, call.host.models))


def _is_read(call: _EventCall) -> bool:
    """Return whether memctl reads the session's whole transcript, which must be there."""
    return call.host.reads and os.path.isfile(call.payload.transcript)


def _note_prompt(call: _EventCall) -> None:
    from memctl.hooks import session_state

    job_queue.run_locked(call.folder, lambda: session_state.note_prompt(call.folder, call.payload.prompt), _PATIENCE)


def _note_dirty_files(call: _EventCall) -> None:
    from memctl.hooks import session_start

    job_queue.run_locked(call.folder, lambda: session_start.note_dirty_files(_open(call), call.folder), _PATIENCE)


def _note_answer(call: _EventCall) -> None:
    from memctl.hooks import session_state

    job_queue.run_locked(call.folder, lambda: session_state.note_answer(call.folder, call.payload.answer), _PATIENCE)


def _check_compression(call: _EventCall) -> None:
    """Check whether a host without an event for compactions has compacted the context; then mark its state as owed."""
    if not call.host.silent:
        return
    from memctl.hooks import gemini_compaction

    if gemini_compaction.take_new_compression(call.folder, call.payload.transcript):
        call.folder.create_marker(_OWED)
        _note_compaction(call)
        job_queue.add(call.folder, _job_of(call, COMPACT))


def _owed_context(call: _EventCall) -> str:
    """Return the state of the work for a context that was compacted without an event, "" if there is none."""
    try:
        (call.folder.path / _OWED).unlink()
    except OSError:
        return ""
    memory = _open(call)
    payload = call.payload._replace(source=COMPACTED)
    text, _ = _within(call, lambda: _start_context(call._replace(payload=payload), memory))
    from memctl.hooks import recall

    _attempt(call, lambda: recall.note(call.folder, text))
    return text


def _within(call: _EventCall, make: Callable[[], str], spent: float = 0.0) -> tuple[str, bool]:
    """Return what `make` returns within the time of a session's start, and True; or a line that it is late, and False.

    `spent` are the seconds of that time that have passed already.
    """
    seconds = daemonize.seconds(call.environ)
    text = daemonize.within(seconds - spent, make)
    return (_LATE.format(seconds), False) if text is None else (text, True)


def _start_context(call: _EventCall, memory: Memory) -> str:
    """Return the text for a session that starts, after finishing the queued work of its earlier events."""
    _attempt(call, lambda: _settle(call, _PATIENCE))
    if call.payload.source != COMPACTED:
        memory.asked = memory.ask()  # Git compares with HEAD while memctl imports modules
    from memctl.hooks import other_memctl, session_start, session_state
    from memctl.store import load

    state = session_state.read(call.folder)
    texts = [
        _try_text(call, lambda: session_start.context(memory, call.host, call.payload, call.folder, state)),
        _try_text(call, lambda: session_start.pages_elsewhere(memory, call.folder.root)),
        _try_text(call, lambda: log.report_faults(call.folder.root)),
        _try_text(call, lambda: other_memctl.line(call.host, call.place, call.folder.root, call.environ)),
    ]
    if left_out := load.sparse_note(memory):
        complete = "`memctl rehydrate --at HEAD` prints the complete text"
        texts.append(f"{left_out}, so the text above is incomplete; {complete}. (memctl)\n")
    return "".join(texts)


def _start(call: _EventCall) -> str:
    """Return what a model gets when a session starts, and record that it has got it."""
    begun = time.monotonic()
    if call.payload.source != COMPACTED and (job_queue.notes(call.folder.root) or _killed_sessions(call)):
        # Before the pack, which includes the results; if it takes longer, it goes on in its own process.
        daemonize.within(daemonize.seconds(call.environ) / 2, lambda: _finish_killed(call))
    memory = _open(call)
    from memctl.hooks import guide, recall, session_start, session_state  # before the fork, which needs them, too

    text, is_given = _within(call, lambda: _start_context(call, memory), time.monotonic() - begun)
    state = session_state.read(call.folder)
    note = partial(session_start.note, memory, call.host, call.payload, call.folder, state, is_given=is_given)
    if is_given:
        _attempt(call, lambda: job_queue.run_locked(call.folder, note, _MOMENT))
        _attempt(call, lambda: recall.note(call.folder, text))
    else:  # the forked process may hold the session's lock for a while
        text = f"{guide.GUIDE}\n{text}"
        call.behind.append(lambda: _attempt(call, lambda: job_queue.run_locked(call.folder, note, _PATIENCE)))
    _attempt(call, lambda: session_start.name_the_session(call.host, call.folder, call.environ))
    return text


def _killed_sessions(call: _EventCall) -> list[SessionDir]:
    """Return the killed sessions of this memory; without other sessions the memory is not even opened."""
    if next(iter(call.folder.others()), None) is None:
        return []
    return live_sessions.killed_sessions(call.folder, call.place, _open(call).config.session_pause)


def _finish_killed(call: _EventCall) -> str:
    """Do the queued work of killed sessions, and end up to three of them; returns ""."""
    from memctl.hooks import jobs

    waiting = daemonize.seconds(call.environ) / 2
    _attempt(call, lambda: jobs.settle_all(call.folder.root, call.environ, waiting))
    _attempt(call, lambda: jobs.end_killed(_open(call), _killed_sessions(call), _MOST_AT_ONCE, waiting))
    return ""


def _compact(call: _EventCall) -> str:
    """Log a compaction, queue its work, and return the instructions for the model that summarizes."""
    from memctl.hooks import compaction

    _note_compaction(call)
    _attempt(call, lambda: _queue(call, COMPACT))
    return compaction.INSTRUCTIONS + _reminder(call) if call.host.instructs else ""


def _note_compaction(call: _EventCall) -> None:
    """Log a compaction, and forget what the compacted context had been shown."""
    from memctl.hooks import compaction

    _attempt(call, lambda: compaction.note(call.host, call.payload, call.folder, call.environ, call.now))
    _attempt(call, call.folder.reset)


def _stop(call: _EventCall) -> str:
    """Return a reminder of unrecorded decisions, and queue the work of a stop.

    The agent continues because of a reminder, so none is given if a program waits for the answer, or if the agent
    continues after one already.
    """
    is_attended = call.environ.get(_ATTENDED) != "0"
    text = _reminder(call) if is_attended and not call.payload.continues else ""
    if call.payload.answer and not _is_read(call):
        _attempt(call, lambda: _note_answer(call))
    _queue(call, STOP)
    return text


def _reminder(call: _EventCall) -> str:
    """Return the reminder of decisions that were stated and not recorded, "" if there are none."""
    if not call.host.reads:
        return ""
    from memctl.hooks import reminder

    unread: list[reminder.NewRows] = []
    payload = call.payload
    _attempt(call, lambda: unread.append(reminder.unread(call.folder, payload.transcript, payload.answer)))
    if not unread:
        return ""
    new = unread[0]
    has_new = new.rows or new.answer
    made = _in_time(call, lambda: reminder.find(partial(_open, call), call.folder, new)) if has_new else ""
    return _try_text(call, lambda: reminder.give(call.folder, made, new.end))


def _queue(call: _EventCall, what: str) -> None:
    """Queue the work of an event, to run in a process of its own, or in one that is working for the session already."""
    job_queue.add(call.folder, _job_of(call, what))
    held = job_queue.acquire_lock(call.folder, _MOMENT)
    if held is not None:
        call.behind.append(lambda: _attempt(call, lambda: _settle(call, held=held)))


def _end(call: _EventCall) -> str:
    """End a session, and wait a little, so that mostly its page is committed before the user can push; returns "".

    A Git hook of the user's may take longer than a host waits at the end, and the commit is made all the same.
    """
    job_queue.add(call.folder, _job_of(call, END))
    live_sessions.end(call.folder)
    daemonize.within(daemonize.seconds(call.environ), lambda: _settle(call, _LAST_PATIENCE))
    return ""


def _job_of(call: _EventCall, what: str) -> dict[str, object]:
    """Return the entry of the queue for the work of an event."""
    return {
        "what": what,
        "host": call.host.name,
        "agent": call.environ.get("MEMCTL_AGENT", ""),
        "place": str(call.place),
        "moment": str(time.time_ns()),  # unlike `now`, it differs even if MEMCTL_NOW fixes the clock
        "event": call.payload[:QUEUED_FIELDS],
    }


def _settle(call: _EventCall, seconds: float = 0.0, held: int | None = None) -> str:
    """Do the queued work of the session, or wait up to `seconds` for the process that does it; returns "".

    The modules that do the work, which take 70 ms to import, are imported only if there is any. `held` is the
    descriptor of the session's lock if this process has it.
    """

    def do(entry: Mapping[str, Any]) -> bool:
        from memctl.hooks import jobs

        return jobs.do_work(call.folder, call.environ, entry)

    job_queue.run_jobs(call.folder, do, seconds, held, partial(log.fault, call.folder.root, "", call.folder.key))
    return ""


_HANDLERS: Mapping[str, Callable[[_EventCall], str]] = {
    START: _start,
    BEFORE: _before,
    TOOL: _tool,
    PROMPT: _prompt,
    AGENT: _agent,
    COMPACT: _compact,
    STOP: _stop,
    END: _end,
}


def _open_for_search(call: _EventCall) -> Memory:
    """Open the memory for a search, and start Git before modules are imported.

    Git compares the memory with HEAD and reads its settings, which name the language model, in the background.
    """
    from memctl.git.status import StatusProcess

    status = StatusProcess(call.repository, (call.place / FOLDER).relative_to(call.repository.top).as_posix())
    call.repository.ask_settings()
    return _open(call, status)


def _open(call: _EventCall, status: StatusProcess | None = None) -> Memory:
    """Open the memory with the agent as the actor; `status` is a question that Git answers already."""
    from memctl.store.memory import open_for_agent

    # The name is never "", which means a person, who may read everything.
    agent = call.environ.get("MEMCTL_AGENT") or call.host.name
    return open_for_agent(call.place, call.environ, agent, call.folder.key, status)
