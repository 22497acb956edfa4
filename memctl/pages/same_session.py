"""Which records were made in the session in which a commit of code was made."""

from __future__ import annotations

from collections.abc import Collection

from memctl.git import git, message
from memctl.git.history import FileCommit
from memctl.git.repository import Repository
from memctl.record import ids, timestamps
from memctl.store.last_commits import MadeBetween
from memctl.store.memory import Memory

_AROUND = 12 * 3_600  # seconds before and after the commit in which records of its session are looked for
_BESIDE = 3_600  # seconds: who commits code has mostly recorded something less than an hour before or after


def of_commit(memory: Memory, commit: FileCommit) -> tuple[str, tuple[str, ...]]:
    """The session in which a commit of HEAD's history was made, and the ids of the records that were made in it.

    A session is known by the trailers of memctl's own commits. A commit of code belongs to it if it says so itself, or
    if the same author made it while that session wrote, or within an hour of it; of several the nearest is taken. If
    there is none, "" and no ids.
    """
    seconds = timestamps.to_epoch(commit.date)
    made = MadeBetween(memory, seconds - _AROUND, seconds + _AROUND)
    said = _sessions(memory.repository, made.commits)
    times: dict[str, list[int]] = {}
    for commit_id, (name, author) in said.items():
        if author == commit.author:
            times.setdefault(name, []).append(made.commits[commit_id])
    away = {name: max(min(some) - seconds, seconds - max(some), 0) for name, some in times.items()}
    near = sorted((distance, name) for name, distance in away.items() if distance <= _BESIDE)
    session = message.parse(commit.message).session or (near[0][1] if near else "")
    paths = made.paths([commit_id for commit_id, (name, _) in said.items() if name == session])
    return session, tuple(dict.fromkeys(record for path in paths if (record := ids.id_in_path(path))))


def _sessions(repository: Repository, commits: Collection[str]) -> dict[str, tuple[str, str]]:
    """The session that each of some commits names in its trailers, and its author."""
    if not commits:
        return {}
    args = ["log", "--no-show-signature", "--no-walk", "--stdin", "-z"]
    args.append("--format=%H%x1f%(trailers:key=Memctl-Session,valueonly,separator=%x2C)%x1f%an")
    out = git.read(args, repository.top, "".join(f"{name}\n" for name in sorted(commits)).encode())
    rows = (item.split("\x1f", 2) for item in out.decode(errors="replace").split("\0") if item)
    return {commit: (session, author) for commit, session, author in rows if session}
