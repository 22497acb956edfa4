"""At a file: what is recorded about it, with the first reading of it in a session; at most 400 characters.

The sentence itself comes, not where to find it: agents follow no pointers. What is in force comes before what is
proposed, of which only a choice with a reason counts; what refers to the file, before what refers to a folder above it;
then what weighs more. A file that is written and was not read is named as well, so that the work can be checked against
the decision; with `git config memctl.guard deny` Claude Code is kept from that once. Files that a shell command reads
or writes count, too: Codex has no other way to read one.

It is one look-up in the cache, of the paths that the call names, or of the words of a shell command or a patch; only if
one is a file with a record, the call is read properly. Each find is compared with the record's file; a record that came
by no command of memctl's is found once some command has read it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, pairwise
from pathlib import Path

from memctl.git.repository import Repository, open_repository
from memctl.hooks.event_payload import Payload
from memctl.store import file_records
from memctl.store.file_records import PROPOSED, FileRecord
from memctl.store.place import FOLDER
from memctl.store.session_dir import SessionDir

SETTING = "memctl.guard"
DENY = "deny"
_MOST = 400  # characters
_OTHERS = 3  # ids of further records that are named
_AT_ONCE = 3  # files of one call that something is said of
_NO_MARKUP = str.maketrans({"<": "\u2039", ">": "\u203a", "[": "(", "]": ")"})
_BYTES = 64 * 1024  # of a record that are read
_READERS = ("Read", "read_file")  # Claude Code's and Gemini CLI's; `session.calls`, which takes 10 ms, knows all tools
_LOOKED_AT, _WORDS = 16 * 1024, 300  # characters of an argument, and words of it, in which files are looked for
_LONGEST_PATH = 4096
_BETWEEN_WORDS = str.maketrans(dict.fromkeys("'\"`;|&()<>=,:", " "))
_MOVES = ("cd", "pushd")


# A file that a call touches, of which something is recorded: its name, whether the call writes it, the record to give,
# with its reason, and ids of others.
_Recall = tuple[str, bool, FileRecord, str, tuple[str, ...]]


def after(place: Path, folder: SessionDir, payload: Payload, now: str) -> str:
    """Return what is recorded about the files that a call has read or written, once a session; "" if nothing is."""
    lines = []
    for name, is_written, record, reason, others in _recalls(open_repository(place), place, folder, payload, now):
        if not folder.claim_hint(_mark(name)):  # another call has just said it
            continue
        is_new = folder.claim_hint(_mark_of_record(record))
        again = f"{record.id}, given before, is about {_line(name)}, too."
        sentence = _sentence(name, record, reason, others) if is_new else again
        check = " Already written without a look at it: check it against that." if is_written else ""
        lines.append(f"{sentence}{check}\n")
        if len(lines) == _AT_ONCE:
            break
    return "".join(lines)


def before(place: Path, folder: SessionDir, payload: Payload, now: str) -> str:
    """Return the answer that keeps an agent from writing a file it has not read and of which something is recorded,
    once; "" without the setting."""
    repository = open_repository(place)
    if repository.own_setting(SETTING).lower() != DENY:
        return ""
    for name, is_written, record, reason, others in _recalls(repository, place, folder, payload, now):
        if is_written and record.status != PROPOSED and folder.claim_hint(_mark(name)):
            told = (
                f"{_sentence(name, record, reason, others)} Check the change against that; the next try is let through."
            )
            answer = {"hookEventName": payload.event, "permissionDecision": DENY, "permissionDecisionReason": told}
            return json.dumps({"hookSpecificOutput": answer})
    return ""


def _recalls(repository: Repository, place: Path, folder: SessionDir, payload: Payload, now: str) -> Iterator[_Recall]:
    """Yield the files with a record that a call touches and that no answer named since the last compaction."""
    top, cwd = repository.top, payload.cwd or str(place)
    named = [name for name in _candidates(top, cwd, payload.arguments) if not folder.was_hinted(_mark(name))]
    rows = file_records.records_of_files(repository.private / folder.root.name, named, now) if named else {}
    if not rows or _is_restricted(repository, place, folder):
        return
    for name, is_written in _touched_files(top, cwd, payload, named).items():
        ranked = sorted(rows.get(name, []), key=lambda row: (row.status == PROPOSED, row.file != name))
        given = [row.id for row in ranked if folder.was_hinted(_mark_of_record(row))]
        # What was given already comes after what is new; at a folder it was given for all that is below.
        ranked = [row for row in ranked if row.id not in given or row.file == name]
        ranked.sort(key=lambda row: row.id in given)
        reasons = ((row, _reason(place / FOLDER / row.path, row)) for row in ranked)
        held = [(row, reason) for row, reason in islice(reasons, 2 * _OTHERS) if reason is not None]
        if held:
            (first, reason), *others = held
            ids = tuple(row.id for row, _ in others[:_OTHERS])
            yield name, is_written, first, reason, ids


def _candidates(top: Path, cwd: str, arguments: Mapping[str, object]) -> list[str]:
    """Return the files of the repository that a call may touch, as Git names them: those that its arguments name by
    themselves, or else each word of its command or patch that may be a path."""
    given = {key: value if isinstance(value, list) else [value] for key, value in arguments.items()}
    paths = [each for key, values in given.items() if "path" in key.lower() or "file" in key.lower() for each in values]
    if paths and "command" not in given:
        return list(_inside(top, [cwd], (path for path in paths if isinstance(path, str))))
    found, folders = dict[str, None](), [cwd]
    for text in (each for values in given.values() for each in values if isinstance(each, str)):
        words = text[:_LOOKED_AT].translate(_BETWEEN_WORDS).split()[:_WORDS]
        folders += [os.path.join(folders[-1], to) for word, to in pairwise(words) if word in _MOVES]
        if len(words) > 1:
            whole = [text] if len(text) <= _LONGEST_PATH else []  # a name may have spaces in it
            words = [*whole, *(word for word in words if "." in word or "/" in word)]
        found |= dict.fromkeys(_inside(top, folders, dict.fromkeys(words)))
    return list(found)[:_WORDS]


def _touched_files(top: Path, cwd: str, payload: Payload, named: Iterable[str]) -> dict[str, bool]:
    """Return the files of the repository that a call touches, and whether it writes them."""
    if payload.tool in _READERS:
        return dict.fromkeys(named, False)
    from memctl.record.task_state import READ
    from memctl.session import calls  # only where a file with a record is named

    found: dict[str, bool] = {}
    for one in calls.touched(payload._replace(cwd=cwd)):
        for name in _inside(top, [one.cwd], [one.path]):
            found[name] = found.get(name, False) or one.action != READ
    return found


def _inside(top: Path, folders: Iterable[str], paths: Iterable[str]) -> Iterator[str]:
    """Yield paths as Git names files of the repository, seen from each of some folders; of others nothing."""
    root = f"{top}{os.sep}"
    for path in paths:
        for folder in folders:
            whole = os.path.normpath(os.path.join(folder, path))
            if "\0" in whole:
                continue
            if not whole.startswith(root) and (os.path.isabs(path) or not folder.startswith(str(top))):
                whole = os.path.realpath(whole)
            if whole.startswith(root):
                yield whole[len(root) :].replace(os.sep, "/")


def _is_restricted(repository: Repository, place: Path, folder: SessionDir) -> bool:
    """Return whether an owner keeps details to some agents: then hooks give nothing, rather than too much."""
    from memctl.team import read_access

    if read_access.is_known_open(repository, (place / FOLDER).relative_to(repository.top).as_posix()):
        return False
    from memctl.store.memory import open_for_agent

    return read_access.read_check(open_for_agent(place, os.environ, "agent", folder.key)) is not None


def _reason(file: Path, row: FileRecord) -> str | None:
    """Return a record's reason, or else its text.

    None if its file does not say any more what the cache says, that it has this status and refers to this code; or if
    it is proposed without a reason or an alternative: a report of work, and no choice.
    """
    try:
        with open(file, "rb") as stream:
            text = stream.read(_BYTES).decode(errors="replace")
    except OSError:
        return None
    head, _, body = text.removeprefix("---\n").partition("\n---\n")
    if f"status: {row.status}" not in head.split("\n") or row.file not in head:
        return None
    _, _, reason = body.partition("\n## Rationale\n")
    if row.status == PROPOSED and not reason and "\n## Alternatives considered\n" not in body:
        return None
    shown = reason or body.partition("\n## ")[2].partition("\n")[2] or body
    return shown.strip().partition("```")[0]


def _sentence(name: str, record: FileRecord, reason: str, others: tuple[str, ...]) -> str:
    """Return what is recorded of a file as one line of data: of one record what and why, of others the ids."""
    from memctl.text.markdown import first_sentence

    about = name if record.file == name else record.file
    more = f" Also {', '.join(others)}." if others else ""
    start, end = f"{record.id} ({record.status} {record.type}) is about {about}: ", f"{more} {_SOURCE}"
    title, why = record.title.rstrip(".…"), first_sentence(reason).rstrip(" :")
    if _plain(title).startswith(_plain(why)):  # the title has it, and perhaps more of what follows
        why = " ".join(reason.partition("\n\n")[0].split())
    text = why if _plain(why).startswith(_plain(title)) else f"{title}. {why}".rstrip()
    text = text if text.endswith((".", "!", "?")) else f"{text}."
    room = _MOST - len(start) - len(end)
    text = text if len(text) <= room else text[: max(room - 1, 0)].rstrip() + "…"
    return _line(f"{start}{text}{end}")


_SOURCE = "(information from the project's memory)"


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


def _mark_of_record(row: FileRecord) -> str:
    """Return the name by which a session's folder notes that a record was given."""
    return f"record-{row.id}"
