"""What agents are told at files (`hooks/file_recall.py`), replayed over real transcripts.

Sessions are taken by time. In a memory made of what the sessions before proposed (all accepted), each Read, Edit and
Write of the main agent's goes through the hook's own function. Printed are how often it says something, what share of
a session's tokens that is, and of the files that a record is about how many were told of before their first change.
Tokens are characters by four, for both sides of the share.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bench.world import MEMCTL, World
from memctl.hooks import file_recall
from memctl.hooks.event_payload import Payload
from memctl.record.kinds import STATE
from memctl.session import trail
from memctl.session.proposals import propose
from memctl.session.summary import summarize
from memctl.session.trail import Places
from memctl.store.session_dir import SessionDir
from memctl.transcript import reading
from memctl.transcript.events import CALL, Session

_ARCHIVE = "transcripts-dev.tar.xz"
_CHARACTERS = 4  # a token
_TOO_LOUD = 0.02


class Replay(NamedTuple):
    """What came of one session: texts that were said, characters of the session, and files that were changed of which
    something is recorded, with those that were told of before."""

    said: list[str]
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
    print(f"  {len(said)} sentences, {sum(map(len, said)) / _CHARACTERS / max(1, len(loud)):.0f} tokens a session told")
    above = sum(share > _TOO_LOUD for share in loud)
    shares = f"{median(loud or [0]):.2%} (median), {max(loud, default=0):.2%} at most, {above} above {_TOO_LOUD:.0%}"
    print(f"  share of a session's tokens: {shares}")
    print(f"  files changed of which something is recorded: {changed}, told of before: {before}")
    return True


def _replays(here: World, repo: Path, archive: Path) -> Iterator[Replay]:
    top = repo.resolve()
    for number, session in enumerate(sorted(_sessions(archive), key=lambda one: one.started)):
        folder = SessionDir(repo / ".git" / "memctl" / "hooks" / ".memory", f"s{number}")
        yield _replay(top, folder, session)
        places = Places(Path(session.cwd), session.cwd)
        summary = summarize(session, trail.of_session(session, places, (), ()), f"s{number}", "bench")
        lines = [
            json.dumps({"memory_type": one.kind, "title": one.title, **one.values, **one.content})
            for one in propose(summary, ())
            if one.kind != STATE.name and one.values.get("code_refs")
        ]
        if lines:
            (here.folder / "proposed.jsonl").write_text("\n".join(lines))
            here.run([MEMCTL, "-C", str(repo), "import", str(here.folder / "proposed.jsonl")])


def _sessions(archive: Path) -> Iterator[Session]:
    with tarfile.open(archive) as packed:
        for member in packed:
            file = packed.extractfile(member) if member.name.endswith(".jsonl") else None
            if file is not None:
                yield reading.read(file.read())


def _replay(top: Path, folder: SessionDir, session: Session) -> Replay:
    said: list[str] = []
    told, seen = set[str](), set[str]()
    changed = before = 0
    for event in session.events:
        name = event.tool if event.kind == CALL and not event.agent else ""
        given: Any = event.arguments
        path = given.get("file_path", "") if isinstance(given, dict) else ""
        if name not in ("Read", "Edit", "Write", "MultiEdit") or not str(path).startswith(f"{session.cwd}/"):
            continue
        inside = str(path)[len(session.cwd) + 1 :]
        payload = Payload("PostToolUse", folder.key, "", str(top), "", "", "", tool=name, file=inside)
        text = file_recall.after(top, folder, payload)
        if text:
            said.append(text)
            told.add(inside)
        if name != "Read" and inside not in seen:
            seen.add(inside)
            changed += inside in told
            before += inside in told and not text
    characters = sum(len(event.text) + len(str(event.arguments or "")) for event in session.events)
    return Replay(said, max(characters, 1), changed, before)
