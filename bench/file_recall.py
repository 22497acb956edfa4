"""What agents are told at files (`hooks/file_recall.py`), replayed over real transcripts.

Sessions are taken by time. In a memory made of all that the sessions before proposed, with the status and the term that
a proposal has, each call of the main agent's goes through the hook's own function at the session's time. Printed are
how often it says something, what share of a session's tokens that is, and of the files that a record in force, or a
proposed choice with a reason, is about how many were told of before a tool changed them first. Tokens are characters by
four, for both sides of the share.
"""

from __future__ import annotations

import json
import os
import re
import tarfile
from collections.abc import Collection, Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec

from bench.world import MEMCTL, World
from memctl.git.repository import open_repository
from memctl.hooks import file_recall
from memctl.hooks.event_payload import Payload
from memctl.record.kinds import DECISION, ISSUE, LEARNING
from memctl.record.pages import code_path
from memctl.session import trail
from memctl.session.proposals import propose
from memctl.session.summary import summarize
from memctl.session.trail import Places
from memctl.store.file_records import PROPOSED, PROPOSED_DAYS
from memctl.store.session_dir import SessionDir
from memctl.text import timestamps
from memctl.text.phrases import is_failure
from memctl.transcript import reader
from memctl.transcript.events import CALL, Session

_ARCHIVE = "transcripts-dev.tar.xz"
_CHARACTERS = 4  # a token
_TOO_LOUD = 0.02
_KINDS = (DECISION.name, ISSUE.name, LEARNING.name)
_CHANGING = ("Edit", "Write", "MultiEdit")
_FILE = re.compile(r"\bis about (\S+?)[:,] ")


class Replay(NamedTuple):
    """What came of one session: sentences that were said and how many of them at a shell command, characters of the
    session, and files that tools changed of which something is recorded, with those that were told of before."""

    said: list[str]
    by_shell: int
    characters: int
    changed: int
    told_before: int


def table(here: World, data: str) -> bool:
    """Print the table; `data` is the folder with the transcripts, "" if there is none."""
    archive = Path(data) / _ARCHIVE if data else None
    if archive is None or not archive.exists():
        print(f"\nAt files: left out, there is no {_ARCHIVE} (make bench DATA=FOLDER)")
        return True
    repo = here.folder / "file-recall"
    repo.mkdir()
    here.run(["git", "init", "-q", str(repo)])
    here.run([MEMCTL, "-C", str(repo), "init"])
    found = list(_replays(here, repo, archive))
    said = [text for one in found for text in one.said]
    loud = [len("".join(one.said)) / one.characters for one in found if one.said]
    changed, before = sum(one.changed for one in found), sum(one.told_before for one in found)
    print(f"\nAt files: {len(found)} sessions, {sum(bool(one.said) for one in found)} of them are told something")
    by_shell = sum(one.by_shell for one in found)
    print(f"  {len(said)} sentences, {by_shell} of them at a shell command")
    print(f"  {sum(map(len, said)) / _CHARACTERS / max(1, len(loud)):.0f} tokens in each of these sessions")
    above = sum(share > _TOO_LOUD for share in loud)
    shares = f"{median(loud or [0]):.2%} (median), {max(loud, default=0):.2%} at most, {above} above {_TOO_LOUD:.0%}"
    print(f"  share of a session's tokens: {shares}")
    print(f"  files changed of which something is recorded: {changed}; told of before: {before / max(1, changed):.1%}")
    return True


def _replays(here: World, repo: Path, archive: Path) -> Iterator[Replay]:
    top, recorded = repo.resolve(), dict[str, str]()  # until when something is recorded of a file
    for number, session in enumerate(sorted(_sessions(archive), key=lambda one: one.started)):
        folder = SessionDir(repo / ".git" / "memctl" / "hooks" / ".memory", f"s{number}")
        yield _replay(top, folder, session, {path for path, until in recorded.items() if until > session.started})
        places = Places(Path(session.cwd), session.cwd)
        summary = summarize(session, trail.of_session(session, places, (), ()), f"s{number}", "bench")
        lines = []
        for one in propose(summary):
            if one.kind in _KINDS and one.values.get("code_refs"):
                lines.append(json.dumps({"memory_type": one.kind, "title": one.title, **one.values, **one.content}))
                is_choice = not {"rationale", "alternatives_considered"}.isdisjoint(one.content)
                is_run = is_failure(str(one.content.get("description", "")))
                if not is_run and (one.values.get("status") != PROPOSED or is_choice):
                    is_proposed = one.values.get("status") == PROPOSED
                    term = f"{PROPOSED_DAYS}d" if is_proposed else one.values.get("expires_at", "")
                    until = _end(one.values.get("timestamp", session.started), term)
                    for path in map(code_path, one.values["code_refs"]):
                        recorded[path] = max(until, recorded.get(path, ""))
        if lines:
            (here.folder / "proposed.jsonl").write_text("\n".join(lines))
            then = msgspec.structs.replace(here, environment={**here.environment, "MEMCTL_NOW": session.started})
            then.run([MEMCTL, "-C", str(repo), "import", str(here.folder / "proposed.jsonl")])


def _end(moment: str, term: str) -> str:
    """Return when a term such as "7d" from a moment on is over; after all sessions without one."""
    return timestamps.days_before(moment, -int(term.removesuffix("d"))) if term else "9999"


def _sessions(archive: Path) -> Iterator[Session]:
    with tarfile.open(archive) as packed:
        for member in packed:
            file = packed.extractfile(member) if member.name.endswith(".jsonl") else None
            if file is not None:
                session = reader.read(file.read())
                if session.cwd:
                    yield session


def _replay(top: Path, folder: SessionDir, session: Session, recorded: Collection[str]) -> Replay:
    said: list[str] = []
    by_shell, repository = 0, open_repository(top)
    told, changed, before = set[str](), set[str](), 0
    for event in session.events:
        if event.kind != CALL or event.agent:
            continue
        given = json.loads(json.dumps(event.arguments).replace(session.cwd, str(top)))
        cwd = event.cwd.replace(session.cwd, str(top)) or str(top)
        path = os.path.relpath(str(given.get("file_path", "")), top) if event.tool in _CHANGING else ""
        if path in recorded and path not in changed:
            changed.add(path)
            before += path in told
        payload = Payload("PostToolUse", folder.key, "", cwd, "", "", "", tool=event.tool, arguments=given)
        text = file_recall.after(repository, top, folder, payload, session.started)
        lines = text.splitlines()
        said += lines
        by_shell += len(lines) if event.tool == "Bash" else 0
        told.update(match[1] for line in lines if (match := _FILE.search(line)))
    characters = sum(len(event.text) + len(str(event.arguments or "")) for event in session.events)
    return Replay(said, by_shell, max(characters, 1), len(changed), before)
