"""Doing what events have left undone (`job_queue`): summing the session up, saving, committing."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from memctl.git import edited_hooks, hook_commits
from memctl.hooks import live_sessions, log, summarize
from memctl.hooks.event_payload import NOTED, Payload
from memctl.hooks.hosts import COMPACT, END, HOSTS, STOP, Host
from memctl.store import job_queue, place
from memctl.store.memory import Memory, open_for_agent
from memctl.store.session_dir import SessionDir

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


class _JobNote(msgspec.Struct, frozen=True):
    """What an event's note says; `agent` is as it was then, and `moment` tells it from all others."""

    what: str
    host: str
    agent: str
    place: str
    event: list[Any]
    moment: str


class _Work(NamedTuple):
    """An event whose work is to be done."""

    memory: Memory
    host: Host
    payload: Payload
    folder: SessionDir
    moment: str


def settle_all(root: Path, environ: Mapping[str, str], patience: float = 0.0) -> bool:
    """Do what all sessions of a memory have left undone, but for those that a process is at work for, still after
    `patience` seconds; whether nothing is left. What can't be read or written of one session stops no other, and is in
    our log."""
    is_settled = True
    for key in dict.fromkeys(note.key for note in job_queue.notes(root)):
        one = SessionDir(root, key)
        try:
            is_settled &= job_queue.run_jobs(
                one, partial(do_work, one, environ), patience, fault=partial(log.fault, root, "", key)
            )
        except OSError as error:
            log.fault(root, "", key, error)
            is_settled = False
    return is_settled


def do_work(folder: SessionDir, environ: Mapping[str, str], entry: Mapping[str, Any]) -> bool:
    """Do the work of an event; whether it is done. What went wrong is in our log.

    Raises NotNow where only a user can help: for a memory that is there and can't be opened, as in a merge that left
    its marks in config.yaml, for a setting without a meaning, for a Git hook that is edited, and for a full disk.
    """
    try:
        left = msgspec.convert(entry, _JobNote)
        host, do = HOSTS[left.host], _DOING[left.what]
        payload = msgspec.convert(left.event[:NOTED], Payload)  # an older memctl noted more of it
    except (msgspec.ValidationError, KeyError) as error:
        log.fault(folder.root, "", folder.key, error)
        return True  # of a later memctl, or broken: it will not get better
    memory: Memory | None = None
    try:
        memory = open_for_agent(Path(left.place), environ, left.agent or host.name, folder.key)
        if not memory.is_trusted:  # an older memctl may have left it
            raise job_queue.NotNow
        do(_Work(memory, host, payload, folder, left.moment))
        return True
    except job_queue.NotNow:
        raise
    except Exception as error:
        log.fault(folder.root, payload.event, folder.key, error)
        is_closed = memory is None and (Path(left.place) / place.FOLDER / place.CONFIG).is_file()
        is_closed |= isinstance(error, (hook_commits.UnknownValue, edited_hooks.EditedHook))
        if is_closed or (isinstance(error, OSError) and error.errno in _FULL):
            raise job_queue.NotNow from None
        return False


def end_killed(memory: Memory, sessions: Iterable[SessionDir], most: int, patience: float) -> None:
    """Sum up sessions that were killed, and end them, `most` of them, if no other process is at work for them after
    `patience` seconds: one that a hook of theirs left behind may be. One with which that fails does not count, and
    stops no other: it is tried again at each start."""
    done = 0
    for one in sessions:
        if done == most:
            return
        try:
            job_queue.run_locked(one, partial(_end_killed, memory, one), patience)
            done += 1
        except Exception as error:
            log.fault(one.root, "", one.key, error)


def _end_killed(memory: Memory, one: SessionDir) -> None:
    from memctl.hooks import session_end
    from memctl.write import commit

    found = live_sessions.read(one)
    if found is not None and found.host in HOSTS:
        summarize.take_in(memory, HOSTS[found.host], found.transcript, one, is_over=True)
    session_end.end(memory, one, was_killed=True)
    commit.end_batch(memory)
    live_sessions.end(one)


def _compact(work: _Work) -> None:
    from memctl.hooks import compaction_checkpoint  # the end of a session saves none, and is waited for

    try:
        summarize.take_in(work.memory, work.host, work.payload.transcript, work.folder)
    except Exception as error:  # what was known before is saved all the same
        log.fault(work.folder.root, work.payload.event, work.folder.key, error)
    compaction_checkpoint.save(work.memory, work.folder, work.moment)


def _stop(work: _Work) -> None:
    summarize.take_in(work.memory, work.host, work.payload.transcript, work.folder)


def _end(work: _Work) -> None:
    from memctl.hooks import session_end
    from memctl.write import commit

    _stop(work)
    session_end.end(work.memory, work.folder)
    commit.end_batch(work.memory)


_DOING: Mapping[str, Callable[[_Work], None]] = {COMPACT: _compact, STOP: _stop, END: _end}
