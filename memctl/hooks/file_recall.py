"""At a file: what is recorded about it, with the first reading of it in a session; at most 400 characters.

The sentence itself comes, not where to find it: agents follow no pointers. A file that is written and was not read is
named as well, so that the work can be checked against the decision; with `git config memctl.guard deny` Claude Code is
kept from that once. It is one look-up in the cache, of which each find is compared with the record's file; a record
that came by no command of memctl's is found once some command has read it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from memctl.git.repository import Repository, open_repository
from memctl.hooks.event_payload import Payload
from memctl.store import file_records
from memctl.store.place import FOLDER
from memctl.store.session_dir import SessionDir

SETTING = "memctl.guard"
DENY = "deny"
_READING = ("Read", "read_file")  # tools of Claude Code and of Gemini CLI
_WRITING = ("Edit", "Write", "MultiEdit", "NotebookEdit", "replace", "write_file")
_MOST = 400  # characters
_OTHERS = 3  # ids of further records that are named
_NO_MARKUP = str.maketrans({"<": "\u2039", ">": "\u203a"})
_BYTES = 64 * 1024  # of a record that are read


def after(place: Path, folder: SessionDir, payload: Payload) -> str:
    """What is recorded about a file that was read or written, once a session; "" if nothing is, or for other tools."""
    if payload.tool not in _READING + _WRITING or not payload.file:
        return ""
    said = _said(open_repository(place), place, folder, payload)
    if not said:
        return ""
    if payload.tool in _READING:
        return f"{said}\n"
    return f"{said} Already written without a look at it: check it against that.\n"


def before(place: Path, folder: SessionDir, payload: Payload) -> str:
    """The answer that keeps an agent from writing a file it has not read and of which something is recorded, once; ""
    without the setting."""
    repository = open_repository(place)
    if payload.tool not in _WRITING or not payload.file or repository.own_setting(SETTING).lower() != DENY:
        return ""
    said = _said(repository, place, folder, payload)
    if not said:
        return ""
    reason = f"{said} Check the change against that; the next try is let through."
    answer = {"hookEventName": payload.event, "permissionDecision": DENY, "permissionDecisionReason": reason}
    return json.dumps({"hookSpecificOutput": answer})


def _said(repository: Repository, place: Path, folder: SessionDir, payload: Payload) -> str:
    """What is recorded about a file and was not said in this session since its last compaction."""
    file = os.path.normpath(os.path.join(payload.cwd or place, payload.file))
    name = os.path.relpath(os.path.realpath(file), repository.top)
    if name.startswith("..") or os.path.isabs(name):
        return ""
    found = _records(repository, place, folder, name.replace(os.sep, "/"))
    if not found or not folder.is_first(f"file-{_digest(name)}"):
        return ""
    return _sentence(name, found)


def _records(repository: Repository, place: Path, folder: SessionDir, name: str) -> list[tuple[str, ...]]:
    """The open records that refer to a file, the weightiest first: id, title, type, status, and why it is so."""
    rows = file_records.records_of_file(repository.private / folder.root.name, name)
    if not rows or _is_restricted(repository, place, folder):
        return []
    memory = place / FOLDER
    return [(*row[1:], why) for row in rows if (why := _why(memory / row[0], name, row[4])) is not None]


def _is_restricted(repository: Repository, place: Path, folder: SessionDir) -> bool:
    """Whether somebody has details that not every agent may read: then nothing is said, rather than too much."""
    from memctl.store.memory import open_for_agent
    from memctl.team import read_access

    return read_access.closed(open_for_agent(place, os.environ, "agent", folder.key)) is not None


def _why(file: Path, name: str, status: str) -> str | None:
    """The first sentence of a record's reason, else of its text; None if the file does not say any more what the cache
    says: that it has this status and refers to `name`."""
    from memctl.text.markdown import first_sentence

    try:
        with open(file, "rb") as stream:
            text = stream.read(_BYTES).decode(errors="replace")
    except OSError:
        return None
    head, _, body = text.removeprefix("---\n").partition("\n---\n")
    if f"status: {status}" not in head.split("\n") or name not in head:
        return None
    _, _, reason = body.partition("\n## Rationale\n")
    shown = reason or body.partition("\n## ")[2].partition("\n")[2] or body
    return first_sentence(shown.strip())


def _sentence(name: str, found: list[tuple[str, ...]]) -> str:
    """What is recorded of a file as one line of data: of the weightiest what and why, of others the ids."""
    from memctl.pack.draft import harmless

    (identifier, title, type_, status, why), *others = found
    more = f" Also {', '.join(other[0] for other in others[:_OTHERS])}." if others else ""
    start, end = f"{identifier} ({status} {type_}) is about {name}: ", f"{more} (information from the project's memory)"
    said = f"{title.rstrip('.')}. {why}".rstrip()
    said = said if said.endswith((".", "!", "?")) else f"{said}."
    room = _MOST - len(start) - len(end)
    text = said if len(said) <= room else said[: max(room - 1, 0)].rstrip() + "…"
    return harmless(" ".join(f"{start}{text}{end}".split())).translate(_NO_MARKUP)


def _digest(name: str) -> str:
    from _blake2 import blake2b  # hashlib would load OpenSSL, 3 ms and more

    return blake2b(name.encode(errors="surrogateescape"), digest_size=8).hexdigest()
