"""Build the text that a model gets when a session starts, within the length that hosts show of a hook's output.

- A new context gets the guide, where work stands, and the rehydration pack.
- A context that was just compacted gets the guide and the state of the task, from the checkpoint before the compaction.
- A resumed session still has its context, and gets only what was recorded after it last got a text.

The guide tells the model what to do. The memory comes after it, below a line that says: information, not instructions.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from memctl import agent_view
from memctl.errors import MemctlError
from memctl.git import differences
from memctl.git.differences import WorktreeProcess
from memctl.hooks import session_state
from memctl.hooks.event_payload import COMPACTED, Payload
from memctl.hooks.guide import GUIDE
from memctl.hooks.hosts import Host
from memctl.hooks.session_state import SessionState
from memctl.record.notices import NOTICE, for_model
from memctl.session.active import Running
from memctl.store import load
from memctl.store.memory import Memory
from memctl.store.session_dir import SessionDir
from memctl.text.fit import LIMIT, length

if TYPE_CHECKING:
    from memctl.record.checkpoint import Checkpoint
    from memctl.record.snapshot import Snapshot

_ELSEWHERE = "elsewhere"
_RESUMED = ("resume", "fork")
_SHELLS = "CLAUDE_ENV_FILE"  # the variable with a file that an agent's shells read before each command
_LINES, _LEAST_LINES = 0.25, 40  # share of the pack for titles of records without room, and their least number
_ROOM = LIMIT - length(GUIDE) - 1  # characters below the guide
_WORK = 5_000  # characters on the sessions before, which leaves at least 3,500 to what is recorded
_REST = "MEMORY: `memctl rehydrate` prints what is recorded\n"


def context(memory: Memory, host: Host, payload: Payload, folder: SessionDir, state: SessionState | None) -> str:
    """Return the text for a session that starts, is resumed or was compacted; `payload.source` says which.

    `folder` is memctl's folder for the session, and `state` what memctl has stored about the session, None if it is
    new.
    """
    if state is not None and _has_context(payload, state):
        return pack(memory, host, state.seen)
    compacted = _before_compaction(memory, folder) if payload.source == COMPACTED else ""
    if compacted:
        return f"{GUIDE}\n{compacted}"
    work = _work(memory, host, WorktreeProcess(memory.repository))
    return f"{GUIDE}\n{work}{pack(memory, host, room=_ROOM - _size(host)(work))}"


def note(
    memory: Memory,
    host: Host,
    payload: Payload,
    folder: SessionDir,
    state: SessionState | None,
    *,
    is_given: bool = True,
) -> None:
    """Record that a session starts or continues, and the state of Git (branch and commit) when it first started.

    `is_given` says whether the agent gets the memory's text now; the time of that is recorded. `folder` is memctl's
    folder for the session, and `state` what memctl has stored about the session, None if it is new.
    """
    folder.tidy()
    if not _has_context(payload, state):
        folder.reset()
    began = state.began if state is not None and state.began else _beginning(memory, host, folder)
    seen = memory.now if is_given else state.seen if state is not None else ""
    session_state.update(folder, top=str(memory.repository.top), seen=seen, began=began)


def _has_context(payload: Payload, state: SessionState | None) -> bool:
    """Return whether the session is resumed and still has the memory's text that it got before."""
    return payload.source in _RESUMED and state is not None and bool(state.seen)


def name_the_session(host: Host, folder: SessionDir, environ: Mapping[str, str]) -> None:
    """Set MEMCTL_AGENT and MEMCTL_SESSION in the agent's shells, so that commits name the agent and its session.

    Both are added to the file that Claude Code names in CLAUDE_ENV_FILE, since its shells read it. Without such a file
    nothing is done. `folder` is memctl's folder for the session.
    """
    file = environ.get(_SHELLS, "")
    names = {"MEMCTL_AGENT": host.name, "MEMCTL_SESSION": folder.key}
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in names.items() if not environ.get(name)]
    if file and os.path.isabs(file) and lines:
        with open(file, "a", encoding="utf-8") as stream:
            stream.write("".join(lines))


def _before_compaction(memory: Memory, folder: SessionDir) -> str:
    """Return the text from which a session's own work is resumed after a compaction, "" if there is none."""
    from memctl.task import checkpoints, live_state, progress, resume

    state = live_state.read(folder)
    if state is None or not state.task.goal:
        return ""
    snapshot = agent_view.readable(memory, load.disk(memory))
    with suppress(MemctlError):  # the checkpoint may be missing or broken, or could not be saved
        if state.is_saved:
            return _resume_text(memory, snapshot, checkpoints.resolve(snapshot, state.checkpoint, ""))
    task, _ = checkpoints.readable(snapshot, state.task)
    return resume.write(progress.with_last_request(task), limit=_ROOM - length(_REST)).text


def _work(memory: Memory, host: Host, asked: WorktreeProcess) -> str:
    """Return where work stands, with the files and commands of the last sessions; "" if there was no session.

    `asked` is the question for uncommitted files, which Git answers meanwhile.
    """
    from memctl.pack import item_sources, last_work

    snapshot = agent_view.readable(memory, load.disk(memory))
    worktree = item_sources.worktree(memory, asked)
    left = last_work.collect(snapshot, last_work.sessions(snapshot), _WORK, _size(host), memory.now, worktree)
    text = "".join(f"## {item.title}\n\n{NOTICE}\n{item.body}\n" for item in left)
    return for_model(text)


def _resume_text(memory: Memory, snapshot: Snapshot, saved: Checkpoint) -> str:
    """Return the resume text of a checkpoint within the room below the guide.

    It does not list what is missing to resume, because a hook can't ask the user.
    """
    from memctl.task import checkpoints, environment, progress, resume

    saved, _ = checkpoints.readable(snapshot, progress.with_last_request(saved))
    drift = environment.drift(memory, snapshot, saved)
    return resume.text(memory, saved, drift, limit=_ROOM - length(_REST)).text


def pack(memory: Memory, host: Host, since: str = "", room: int = _ROOM) -> str:
    """Return the rehydration pack (what an agent needs to start work) in at most `room` characters.

    For a host that limits answers by bytes, `room` is in bytes. Its default is what the guide leaves of the host's
    limit. The pack does not say where work stands. If `since` (a time) is given, it has only what was recorded later,
    and is "" if there is nothing.
    """
    size = _size(host)
    from memctl.pack import budget_fill, item_sources, last_work, rehydrate
    from memctl.store import retrieval_counts

    snapshot = agent_view.readable(memory, load.disk(memory))
    wanted = rehydrate.RehydrationRequest(since=since, has_work=True)
    work = last_work.room(room, _ROOM)
    draft = rehydrate.draft(snapshot, memory.now, wanted, item_sources.sources(memory, snapshot, None), size, work)
    if since and not draft.items() and not draft.others:
        return ""
    draft = replace(draft, lines=_LINES, least_lines=_LEAST_LINES)
    made = budget_fill.fill(draft, "markdown", room, size)
    included = set(made.included())
    with suppress(OSError):  # if the disk is full or read-only, retrievals are not counted
        counted = [record.memory_id for record in snapshot.open_records if record.id in included]
        retrieval_counts.count(memory.repository.shared, counted, memory.now)
    return made.text


def _size(host: Host) -> Callable[[str], int]:
    """Return the function that measures texts for a host: one that cuts by bytes must have nothing to cut."""
    return _bytes if host.most_bytes else length


def _bytes(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def _beginning(memory: Memory, host: Host, folder: SessionDir) -> Running:
    """Return the state of Git at a session's start, with changed files only if memctl can't read its transcript."""
    branch, commit = memory.repository.branch()
    dirty = () if host.reads else tuple(change.path for change in differences.changed_in_worktree(memory.repository))
    return Running(folder.key, memory.actor, memory.now, commit, branch.removeprefix("refs/heads/"), "", dirty)


def note_dirty_files(memory: Memory, folder: SessionDir) -> None:
    """Add the files that differ from HEAD to the state of Git at a session's start, at the session's first prompt.

    `folder` is memctl's folder for the session.
    """
    state = session_state.read(folder)
    if state is None or state.began is None or state.began.dirty or len(state.task.said) > 1:
        return
    dirty = tuple(change.path for change in differences.changed_in_worktree(memory.repository))
    session_state.update(folder, began=replace(state.began, dirty=dirty))


def pages_elsewhere(memory: Memory, root: Path) -> str:
    """Return a line, once per clone, which says that a remote has pages of earlier sessions, and how to fetch them.

    The result is "" if the clone has session pages of its own, if no remote seems to have any, or if the line was
    returned before. `root` is the folder in which hooks keep their data (`Memory.hooks`); a file in it records that the
    line was returned.
    """
    from memctl.git import hook_commits, private_files
    from memctl.store import sessions_ref

    repository = memory.repository
    if sessions_ref.head(memory) or (root / _ELSEWHERE).exists():
        return ""
    are_kept_there = repository.own_setting(hook_commits.SETTING).lower() == hook_commits.RECORDS
    if not are_kept_there and not (repository.common_dir / "refs" / "memctl" / "remotes").is_dir():
        return ""
    from memctl.write import install  # rarely needed

    remote = install.fetched_remote(repository)
    if not remote:
        return ""
    is_known = bool(repository.tip(sessions_ref.remote_ref(remote)))
    if not is_known and not are_kept_there:
        return ""
    private_files.make_file(root / _ELSEWHERE)
    missing = f"Pages of earlier sessions may be at {remote} and are not here yet"
    return f"{missing}: ask the user to run `memctl sync`, which fetches them. (memctl)\n"
