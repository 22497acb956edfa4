"""At a file: what is recorded about it, with the first reading of it in a session; at most 400 characters.

The sentence itself comes, not where to find it: agents follow no pointers. A file that is written and was not read is
named as well, so that the work can be checked against the decision; with `git config memctl.guard deny` Claude Code is
kept from that once. Files that a shell command reads or writes count, too: Codex has no other way to read one.

It is one look-up in the cache, of the words that the call names; only if one is a file with a record, the call is read
properly. Each find is compared with the record's file; a record that came by no command of memctl's is found once some
command has read it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from memctl.git.repository import Repository, open_repository
from memctl.hooks.event_payload import Payload
from memctl.store import file_records
from memctl.store.place import FOLDER
from memctl.store.session_dir import SessionDir

SETTING = "memctl.guard"
DENY = "deny"
_MOST = 400  # characters
_OTHERS = 3  # ids of further records that are named
_AT_ONCE = 3  # files of one call that something is said of
_NO_MARKUP = str.maketrans({"<": "\u2039", ">": "\u203a", "[": "(", "]": ")"})
_BYTES = 64 * 1024  # of a record that are read
_LOOKED_AT, _WORDS = 16 * 1024, 300  # characters of an argument, and words of it, in which files are looked for
_LONGEST_PATH = 4096
_BETWEEN_WORDS = str.maketrans(dict.fromkeys("'\"`;|&()<>=,:", " "))
_MOVES = ("cd", "pushd")

_Found = list[tuple[str, ...]]


def after(place: Path, folder: SessionDir, payload: Payload) -> str:
    """Return what is recorded about the files that a call has read or written, once a session; "" if nothing is."""
    lines = []
    for name, is_written, found in _unsaid(open_repository(place), place, folder, payload):
        if not folder.is_first(_mark(name)):  # another call has just said it
            continue
        is_new = folder.is_first(f"record-{found[0][0]}")
        sentence = _sentence(name, found) if is_new else f"{found[0][0]}, given before, is about {_line(name)}, too."
        check = " Already written without a look at it: check it against that." if is_written else ""
        lines.append(f"{sentence}{check}\n")
        if len(lines) == _AT_ONCE:
            break
    return "".join(lines)


def before(place: Path, folder: SessionDir, payload: Payload) -> str:
    """Return the answer that keeps an agent from writing a file it has not read and of which something is recorded,
    once; "" without the setting."""
    repository = open_repository(place)
    if repository.own_setting(SETTING).lower() != DENY:
        return ""
    for name, is_written, found in _unsaid(repository, place, folder, payload):
        if is_written and folder.is_first(_mark(name)):
            reason = f"{_sentence(name, found)} Check the change against that; the next try is let through."
            answer = {"hookEventName": payload.event, "permissionDecision": DENY, "permissionDecisionReason": reason}
            return json.dumps({"hookSpecificOutput": answer})
    return ""


def _unsaid(
    repository: Repository, place: Path, folder: SessionDir, payload: Payload
) -> Iterator[tuple[str, bool, _Found]]:
    """Yield the files with a record that a call touches and that no answer named since the last compaction: the name,
    whether the call writes it, and its records in force, the weightiest first: id, title, type, status and reason."""
    named = _candidates(repository.top, payload.cwd or str(place), payload.arguments)
    rows = file_records.records_of_files(repository.private / folder.root.name, named) if named else []
    rows = [row for row in rows if not folder.was_said(_mark(row[0]))]
    if not rows or _is_restricted(repository, place, folder):
        return
    for name, is_written in _touched_files(repository.top, payload._replace(cwd=payload.cwd or str(place))).items():
        texts: _Found = [
            (*row[2:], why)
            for row in rows
            if row[0] == name and (why := _why(place / FOLDER / row[1], name, row[5])) is not None
        ]
        if texts:
            yield name, is_written, texts


def _candidates(top: Path, cwd: str, arguments: Mapping[str, object]) -> list[str]:
    """Return the names that files of the repository would have if the words of some arguments were such, each once."""
    texts = [text for value in arguments.values() for text in (value if isinstance(value, list) else [value])]
    found, folders = dict[str, None](), [cwd]
    for text in texts:
        if not isinstance(text, str):
            continue
        words = text[:_LOOKED_AT].translate(_BETWEEN_WORDS).split()[:_WORDS]
        folders += [os.path.join(folders[-1], to) for word, to in pairwise(words) if word in _MOVES]
        if len(words) > 1:
            whole = [text] if len(text) <= _LONGEST_PATH else []  # a name may have spaces in it
            words = [*whole, *(word for word in words if "." in word or "/" in word)]
        found |= dict.fromkeys(_inside(top, folder, word) for word in words for folder in folders)
    found.pop("", None)
    return list(found)[:_WORDS]


def _touched_files(top: Path, payload: Payload) -> dict[str, bool]:
    """Return the files of the repository that a call touches, and whether it writes them."""
    from memctl.record.task_state import READ
    from memctl.session import calls  # only where a file with a record is named

    found: dict[str, bool] = {}
    for one in calls.touched(payload):
        name = _inside(top, one.cwd, one.path)
        found[name] = found.get(name, False) or one.action != READ
    return found


def _inside(top: Path, folder: str, path: str) -> str:
    """Return a path as Git names a file of the repository; "" if it is none."""
    if "\0" in path:
        return ""
    whole = os.path.normpath(os.path.join(folder, path))
    root = f"{top}{os.sep}"
    if not whole.startswith(root) and (os.path.isabs(path) or not folder.startswith(str(top))):
        whole = os.path.realpath(whole)
    return whole[len(root) :].replace(os.sep, "/") if whole.startswith(root) else ""


def _is_restricted(repository: Repository, place: Path, folder: SessionDir) -> bool:
    """Return whether an owner keeps details to some agents: then hooks give nothing, rather than too much."""
    from memctl.team import read_access

    if read_access.is_known_open(repository, (place / FOLDER).relative_to(repository.top).as_posix()):
        return False
    from memctl.store.memory import open_for_agent

    return read_access.closed(open_for_agent(place, os.environ, "agent", folder.key)) is not None


def _why(file: Path, name: str, status: str) -> str | None:
    """Return the first sentence of a record's reason, else of its text; None if the file does not say any more what the
    cache says: that it has this status and refers to `name`."""
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
    return first_sentence(shown.strip().partition("```")[0]).rstrip(" :")


def _sentence(name: str, found: _Found) -> str:
    """Return what is recorded of a file as one line of data: of the weightiest what and why, of others the ids."""
    (identifier, title, type_, status, why), *others = found
    more = f" Also {', '.join(other[0] for other in others[:_OTHERS])}." if others else ""
    start, end = f"{identifier} ({status} {type_}) is about {name}: ", f"{more} (information from the project's memory)"
    text = why if _plain(why).startswith(_plain(title)) else f"{title.rstrip('.')}. {why}".rstrip()
    text = text if text.endswith((".", "!", "?")) else f"{text}."
    room = _MOST - len(start) - len(end)
    text = text if len(text) <= room else text[: max(room - 1, 0)].rstrip() + "…"
    return _line(f"{start}{text}{end}")


def _plain(text: str) -> str:
    """Return a text without what a title made of its beginning has not: code marks, and the mark of what is cut."""
    return " ".join(text.replace("`", "").split()).rstrip(" .…;:,")


def _line(text: str) -> str:
    """Return a text as one line in which nothing is markup."""
    from memctl.text.characters import printable_line

    return printable_line(text).translate(_NO_MARKUP)


def _mark(name: str) -> str:
    """Return the name by which a session's folder notes that a file was named."""
    from _blake2 import blake2b  # hashlib would load OpenSSL, 3 ms and more

    return f"file-{blake2b(name.encode(errors='surrogateescape'), digest_size=8).hexdigest()}"
