"""Do the work that events have queued (`job_queue`): summarize the session, save a checkpoint, commit."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from memctl.git import edited_hooks, hook_commits
from memctl.hooks import live_sessions, log, summarize
from memctl.hooks.event_payload import QUEUED_FIELDS, Payload
from memctl.hooks.hosts import COMPACT, END, HOSTS, STOP, Host
from memctl.store import job_queue, live_session, memory_root
from memctl.store.memory import Memory, open_for_agent
from memctl.store.session_dir import SessionDir
from memctl.transcript.line import find_transcript

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


class _JobNote(msgspec.Struct, frozen=True):
    """A queued job: the event (`what`), the host's name, the agent's name, and the folder with the memory.

    `event` are the first fields of the payload; `moment` is unique to the job.
    """

    what: str
    host: str
    agent: str
    place: str
    event: list[Any]
    moment: str


class _Work(NamedTuple):
    """A job with its memory opened and its host and payload decoded."""

    memory: Memory
    host: Host
    payload: Payload
    folder: SessionDir
    moment: str


def settle_all(root: Path, environ: Mapping[str, str], patience: float = 0.0) -> bool:
    """Do the queued jobs of all sessions of a memory; returns whether no job is left.

    `root` is the folder in which hooks keep their data (`Memory.hooks`). A session is skipped if another process is
    still doing its jobs after `patience` seconds. An error in one session's jobs goes to the log of faults and does not
    stop other sessions' jobs.
    """
    is_settled = True
    for key in dict.fromkeys(note.key for note in job_queue.notes(root)):
        session_dir = SessionDir(root, key)
        try:
            is_settled &= job_queue.run_jobs(
                session_dir, partial(do_work, session_dir, environ), patience, fault=partial(log.fault, root, "", key)
            )
        except OSError as error:
            log.fault(root, "", key, error)
            is_settled = False
    return is_settled


def do_work(folder: SessionDir, environ: Mapping[str, str], entry: Mapping[str, Any]) -> bool:
    """Do a queued job of a session; returns whether the job is finished, so that it can be taken off the queue.

    `folder` is memctl's folder for the session, and `entry` the job's entry in the queue. An error goes to the log of
    faults, and the job is tried again later. A job that memctl can't read counts as finished. Raises NotNow if trying
    again is useless until the user does something: the memory can't be opened (such as by conflict markers in
    config.yaml) or is not trusted, a setting is invalid, a commit would run a Git hook that was edited but not
    committed, or the disk is full.
    """
    try:
        note = msgspec.convert(entry, _JobNote)
        host, do = HOSTS[note.host], _HANDLERS[note.what]
        payload = msgspec.convert(note.event[:QUEUED_FIELDS], Payload)  # an older memctl queued more fields
    except (msgspec.ValidationError, KeyError) as error:
        log.fault(folder.root, "", folder.key, error)
        return True  # the job is broken or of a later memctl: trying again does not help
    memory: Memory | None = None
    try:
        memory = open_for_agent(Path(note.place), environ, note.agent or host.name, folder.key)
        if not memory.is_trusted:  # an older memctl may have queued the job
            raise job_queue.NotNow
        do(_Work(memory, host, payload, folder, note.moment))
        return True
    except job_queue.NotNow:
        raise
    except Exception as error:
        log.fault(folder.root, payload.event, folder.key, error)
        is_closed = memory is None and (Path(note.place) / memory_root.FOLDER / memory_root.CONFIG).is_file()
        is_closed |= isinstance(error, (hook_commits.UnknownValue, edited_hooks.EditedHook))
        if is_closed or (isinstance(error, OSError) and error.errno in _FULL):
            raise job_queue.NotNow from None
        return False


def end_killed(memory: Memory, sessions: Iterable[SessionDir], most: int, patience: float) -> None:
    """Summarize killed sessions, commit their pages, and mark them as ended; at most `most` sessions.

    `sessions` are the killed sessions. If another process holds a session's lock for longer than `patience` seconds,
    the session is skipped. A session with an error does not count towards `most`; the error goes to the log of faults.
    """
    done = 0
    for session in sessions:
        if done == most:
            return
        try:
            job_queue.run_locked(session, partial(_end_killed, memory, session), patience)
            done += 1
        except job_queue.Busy:
            continue  # at work on it
        except Exception as error:
            log.fault(session.root, "", session.key, error)


def _end_killed(memory: Memory, folder: SessionDir) -> None:
    """Summarize a killed session, commit its page, and mark the session as ended."""
    from memctl.hooks import session_end

    session = live_session.read(folder)
    if session is not None and session.host in HOSTS:
        transcript = find_transcript(session.transcript)
        summarize.update_draft(memory, HOSTS[session.host], transcript, folder, is_over=True)
    session_end.end(memory, folder, was_killed=True)
    live_sessions.end(folder)


def _compact(work: _Work) -> None:
    """Update the session's draft and state, and save a checkpoint."""
    from memctl.hooks import compaction_checkpoint  # not needed at the end of a session, at which the host waits

    try:
        summarize.update_draft(work.memory, work.host, work.payload.transcript, work.folder)
    except Exception as error:  # the state known so far is saved all the same
        log.fault(work.folder.root, work.payload.event, work.folder.key, error)
    compaction_checkpoint.save(work.memory, work.folder, work.moment)


def _stop(work: _Work) -> None:
    summarize.update_draft(work.memory, work.host, work.payload.transcript, work.folder)


def _end(work: _Work) -> None:
    """Update the session's draft, and commit its page."""
    from memctl.hooks import session_end

    _stop(work)
    session_end.end(work.memory, work.folder)


_HANDLERS: Mapping[str, Callable[[_Work], None]] = {COMPACT: _compact, STOP: _stop, END: _end}
