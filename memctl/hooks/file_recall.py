"""Tell an agent what is recorded about a file when it first reads or writes the file in a session.

An answer has the title and the reason of a record (at most 400 characters), because agents don't follow references. If
a file has several records, an accepted one is preferred to a proposed one, a record about the file itself to one about
a folder above it, and a more important record to a less important one. A proposed decision without a reason and
without an alternative is not shown. At a file to which no record refers, up to two that name it in their text are
shown, of which one may be a resolved issue. At a file without a record to show, the answer is what the last session
that changed the file was asked.

An agent that writes a file without reading it gets an answer as well. With `git config memctl.guard deny` the first
such write of Claude Code is refused. Files in shell commands count, too, since Codex has no other way to read files.

To be fast, a hook asks the cache once about all paths that a call may touch, and parses the call only if one of these
files has a record. The cache is updated by memctl's commands, not by hooks: a record that somebody wrote by hand is
found after the next command that reads the memory. Renamed files are followed (`file_records`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, pairwise
from pathlib import Path

from memctl.git.repository import Repository
from memctl.hooks import daemonize
from memctl.hooks.event_payload import Payload
from memctl.store import file_records
from memctl.store.file_records import PROPOSED, RESOLVED, FileRecord
from memctl.store.memory_root import FOLDER
from memctl.store.session_dir import SessionDir
from memctl.text.light_typing import NamedTuple

SETTING = "memctl.guard"
# Marks a record as shown with a file. There it is shown even if the session's start has shown it: work is at this file.
_SHOWN_AT_FILE = "at-file-"
DENY = "deny"
_SESSION = "session of "  # before a file in the mark which says that its last session was shown
_MOST = 400  # characters
_NAMING, _TRIED = 2, 6  # records that name a file and are shown; that are looked at for that
_MARKS, _TELLING = " -*#>\\\t", 25  # marks around a line; characters beside the name in one that says something
_OTHERS = 3  # further records that are named by id
_AT_ONCE = 3  # files in the answer to one call
_NO_MARKUP = str.maketrans({"<": "\u2039", "[": "(", "]": ")"})  # "->" stays: without "<" there is no tag
_SECONDS = 1.0  # to wait for Git
_BYTES = 64 * 1024  # of a record's file that are read
# The tools of Claude Code and Gemini CLI with one file as argument, and whether they write it. `session.tool_calls`,
# which takes 1 ms to import, knows all tools.
_FILE_TOOLS = {"Read": False, "read_file": False, "Edit": True, "Write": True}
_LOOKED_AT, _WORDS = 16 * 1024, 300  # characters and words of an argument that are searched for files
_LONGEST_PATH = 4096
_BETWEEN_WORDS = str.maketrans(dict.fromkeys("'\"`;|&()<>=,:", " "))
_MOVES = ("cd", "pushd")


class _Recall(NamedTuple):
    """A file that a call touches, and what is recorded about it.

    `shown` are the records to show, each with its reason: one that refers to the file, or up to two that name it in
    their text (`is_named`). `others` are the ids of further records.
    """

    file: str
    is_written: bool
    shown: list[tuple[FileRecord, str]]
    others: tuple[str, ...] = ()
    is_named: bool = False


def after(repository: Repository, place: Path, folder: SessionDir, payload: Payload, now: str) -> str:
    """Return what is recorded about the files that a tool call read or wrote; "" if nothing is.

    The result is text for the model. What is recorded about a file is returned once, and again only after a compaction.
    `place` is the folder with the memory, `folder` memctl's folder for the session, and `payload` the event of the
    call. Records that have expired at the time `now` are left out.
    """
    lines: list[str] = []
    for recall in islice(_recalls(repository, place, folder, payload, now), _AT_ONCE):
        # Its own records are shown by one call only; of records that name it, each has a mark of its own.
        if recall.is_named or folder.mark_shown(_mark(recall.file)):
            made = list(_lines(folder, recall))
            if made and recall.is_named:
                folder.mark_shown(_mark(recall.file))
            lines += made
    return "".join(lines) or _last_session(repository, place, folder, payload)


def _lines(folder: SessionDir, recall: _Recall) -> Iterator[str]:
    """Yield a line for each record of a file; one that was shown is only named, if it refers to the file."""
    check = " The file is already changed: check the change against this record." if recall.is_written else ""
    for record, reason in recall.shown:
        if folder.mark_shown(_SHOWN_AT_FILE + record.id):
            line = _sentence(recall, record, reason)
        elif recall.is_named:
            continue
        else:
            line = f"{record.id}, shown before, is about {_line(recall.file)}, too."
        yield f"{line}{'' if recall.is_named else check}\n"


def _last_session(repository: Repository, place: Path, folder: SessionDir, payload: Payload) -> str:
    """Return a line on the last session that changed a file of a call; "" if none did.

    The result is also "" if this was said already, or if the session was shown a record of the file.
    """
    top, cwd, shown = repository.top, payload.cwd or str(place), folder.shown()
    candidates = [
        name
        for name in _candidates(top, cwd, payload.arguments)
        if shown.isdisjoint((_mark(name), _mark(f"{_SESSION}{name}")))
    ]
    private = repository.private / folder.root.name
    sessions = file_records.last_sessions(private, candidates, folder.key) if candidates else {}
    if not sessions or _is_restricted(repository, place, folder):
        return ""
    for name in _touched_files(top, cwd, payload, candidates):
        if name in sessions and folder.mark_shown(_mark(f"{_SESSION}{name}")):
            ended, asked = sessions[name]
            return f"{sentence(f'{_line(name)} was changed in the session of {ended[:10]}: ', asked, '')}\n"
    return ""


def before(repository: Repository, place: Path, folder: SessionDir, payload: Payload, now: str) -> str:
    """Return an answer (JSON) that refuses a tool call which writes a file with records that the agent was not shown.

    The result is "" if the call is allowed, or if Git's setting memctl.guard is not "deny". A call is refused once for
    each file, so the agent's next attempt is allowed; after a compaction it can be refused again. A record that is only
    proposed, or that has expired at the time `now`, is no reason to refuse a call. `place` is the folder with the
    memory, `folder` memctl's folder for the session, and `payload` the event of the call.
    """
    if repository.own_setting(SETTING).lower() != DENY:
        return ""
    for recall in _recalls(repository, place, folder, payload, now):
        record, reason = recall.shown[0]
        is_binding = recall.is_written and not recall.is_named and record.status != PROPOSED
        if is_binding and folder.mark_shown(_mark(recall.file)):
            text = _sentence(recall, record, reason)
            text += " Check the change against this record; the next attempt is allowed."
            answer = {"hookEventName": payload.event, "permissionDecision": DENY, "permissionDecisionReason": text}
            return json.dumps({"hookSpecificOutput": answer})
    return ""


def _recalls(repository: Repository, place: Path, folder: SessionDir, payload: Payload, now: str) -> Iterator[_Recall]:
    """Yield the files with records that a call touches, except those that were shown since the last compaction."""
    top, cwd = repository.top, payload.cwd or str(place)
    shown = folder.shown()
    candidates = [name for name in _candidates(top, cwd, payload.arguments) if _mark(name) not in shown]
    private = repository.private / folder.root.name
    find_renamed = partial(_find_renamed, repository)
    rows = file_records.records_of_files(repository, private, candidates, now, find_renamed) if candidates else {}
    naming = file_records.records_naming(repository, private, candidates, now) if candidates else {}
    if not (rows or naming) or _is_restricted(repository, place, folder):
        return
    for name, is_written in _touched_files(top, cwd, payload, candidates).items():
        ranked = sorted(rows.get(name, []), key=lambda row: (row.status == PROPOSED, row.file != name))
        recalled = [row.id for row in ranked if _SHOWN_AT_FILE + row.id in shown]
        # New records go before those that were given; a given record about a folder counts for all files below.
        ranked = [row for row in ranked if row.id not in recalled or row.file == name]
        ranked.sort(key=lambda row: row.id in recalled)
        if held := _with_reasons(place, ranked, 2 * _OTHERS):
            ids = tuple(row.id for row, _ in held[1 : 1 + _OTHERS])
            yield _Recall(name, is_written, held[:1], ids)
        else:
            new = [row for row in naming.get(name, []) if _SHOWN_AT_FILE + row.id not in shown]
            held = _with_reasons(place, new, _TRIED)
            done = [pair for pair in held if pair[0].status == RESOLVED]
            if held := [pair for pair in held if pair not in done[1:]][:_NAMING]:
                yield _Recall(name, is_written, held, is_named=True)


def _with_reasons(place: Path, records: Sequence[FileRecord], most: int) -> list[tuple[FileRecord, str]]:
    """Return those of the first `most` records whose file still has what the cache says, each with its reason."""
    reasons = ((row, _reason(place / FOLDER / row.path, row)) for row in records[:most])
    return [(row, reason) for row, reason in reasons if reason is not None]


def _find_renamed(repository: Repository, missing: Sequence[str], keep: Callable[[Mapping[str, str]], None]) -> None:
    """Call `keep` with the present paths of the renamed files and folders among `missing`, by their old paths.

    If Git takes longer than 1 s, this returns, and the forked process that waits for Git calls `keep` later.
    """

    def find() -> str:
        from memctl.pages import renamed_files  # slow to import, and mostly no file is missing

        keep(renamed_files.find(repository, missing, (), repository.branch()[1], is_staged=True))
        return ""

    daemonize.within(_SECONDS, find)


def _candidates(top: Path, cwd: str, arguments: Mapping[str, object]) -> list[str]:
    """Return the files of the repository that a call may touch, relative to the top.

    They come from the arguments for paths, otherwise from the words of a command or a patch that may be paths.
    """
    lists = {key: value if isinstance(value, list) else [value] for key, value in arguments.items()}
    paths = [each for key, values in lists.items() if "path" in key.lower() or "file" in key.lower() for each in values]
    if paths and "command" not in lists:
        return list(_inside(top, [cwd], (path for path in paths if isinstance(path, str))))
    names, folders = dict[str, None](), [cwd]
    for text in (each for values in lists.values() for each in values if isinstance(each, str)):
        words = text[:_LOOKED_AT].translate(_BETWEEN_WORDS).split()[:_WORDS]
        folders += [os.path.join(folders[-1], to) for word, to in pairwise(words) if word in _MOVES]
        if len(words) > 1:
            whole = [text] if len(text) <= _LONGEST_PATH else []  # a path may contain spaces
            words = [*whole, *(word for word in words if "." in word or "/" in word)]
        names |= dict.fromkeys(_inside(top, folders, dict.fromkeys(words)))
    return list(names)[:_WORDS]


def _touched_files(top: Path, cwd: str, payload: Payload, candidates: Iterable[str]) -> dict[str, bool]:
    """Return the files of the repository that a call touches, each with whether the call writes it."""
    if payload.tool in _FILE_TOOLS:
        return dict.fromkeys(candidates, _FILE_TOOLS[payload.tool])
    from memctl.session import tool_calls  # slow to import, and needed only for files with a record
    from memctl.text.actions import READ

    files_touched: dict[str, bool] = {}
    for file_name in tool_calls.touched(payload._replace(cwd=cwd)):
        for name in _inside(top, [file_name.cwd], [file_name.path]):
            files_touched[name] = files_touched.get(name, False) or file_name.action != READ
    return files_touched


def _inside(top: Path, folders: Iterable[str], paths: Iterable[str]) -> Iterator[str]:
    """Yield paths relative to the repository's top, resolved from each of some folders; skips paths outside of it."""
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
    """Return whether any owner limits who may read details; then hooks show no records, to be on the safe side."""
    from memctl.team import read_access

    if read_access.is_known_open(repository, (place / FOLDER).relative_to(repository.top).as_posix()):
        return False
    from memctl.store.memory import open_for_agent

    return read_access.read_check(open_for_agent(place, os.environ, "agent", folder.key)) is not None


def _reason(file: Path, row: FileRecord) -> str | None:
    """Return a record's reason, or else the text that says most about it (`reasons_first`); "" if it has a credential.

    Returns None if the record's file has another status or no longer refers to the code, unlike the cache. Also None
    for a proposal without a reason or alternatives, which is a report of work and not a decision, and for an issue
    that only says how a command failed: whoever runs it again sees that, and the line that it names has moved.
    """
    from memctl.text.fit import reasons_first
    from memctl.text.phrases import is_failure

    try:
        with open(file, "rb") as stream:
            data = stream.read(_BYTES)
    except OSError:
        return None
    text = data.decode(errors="replace")
    head, _, body = text.removeprefix("---\n").partition("\n---\n")
    if f"status: {row.status}" not in head.split("\n") or row.reference not in (text if row.is_named else head):
        return None
    _, *parts = f"\n{body}".split("\n## ")
    sections = {heading: text for heading, _, text in (part.partition("\n") for part in parts)}
    if row.status == PROPOSED and not {"Rationale", "Alternatives considered"} & sections.keys():
        return None
    shown = _line_naming(body, row.reference) if row.is_named else ""
    shown = shown or next(filter(None, reasons_first(sections.items())), body.strip())
    if is_failure(shown):
        return None
    return "" if _has_credential(row, data, text) else shown.partition("```")[0]


def _has_credential(row: FileRecord, data: bytes, text: str) -> bool:
    """Return whether a record's text has a credential; the cache knows that of the text that it has read."""
    from _sha1 import sha1  # type: ignore[import-not-found]  # hashlib would load OpenSSL, 3 ms and more

    if row.clean_blob == sha1(b"blob %d\0" % len(data) + data).hexdigest():
        return False
    from memctl.text.credentials import is_in  # 7 ms

    return is_in(text)


def _line_naming(body: str, name: str) -> str:
    """Return the first line of a text that has a name and says something of it, without marks; "" if there is none."""
    lines = (line.strip(_MARKS) for line in body.split("\n") if name in line)
    return next((line for line in lines if len(line) >= len(name) + _TELLING), "")


def _sentence(recall: _Recall, record: FileRecord, reason: str) -> str:
    """Return a line on a file: a record's title and reason, and the ids of other records; at most 400 characters."""
    about = recall.file if record.file == recall.file else record.file
    more = f" Also {', '.join(recall.others)}." if recall.others else ""
    verb = "names" if recall.is_named else "is about"
    return sentence(f"{record.id} ({record.status} {record.type}) {verb} {about}: ", record.title, reason, more)


def sentence(start: str, title: str, reason: str, more: str = "") -> str:
    """Return a line with a record's title and the first sentence of its reason; at most 400 characters.

    It begins with `start`, and ends with `more` and where it comes from.
    """
    from memctl.text.fit import first_sentence

    end = f"{more} {_SOURCE}"
    title, why = title.rstrip(".…"), first_sentence(reason).rstrip(" :")
    if _plain(title).startswith(_plain(why)):  # the title repeats the reason's beginning
        why = " ".join(reason.partition("\n\n")[0].split())
    text = why if _plain(why).startswith(_plain(title)) else f"{title}. {why}".rstrip()
    text = text if text.endswith((".", "!", "?")) else f"{text}."
    room = _MOST - len(start) - len(end) - 1  # a line end follows
    text = text if len(text) <= room else text[: max(room - 1, 0)].rstrip() + "…"
    return _line(f"{start}{text}{end}")


_SOURCE = "(information from the project's memory)"


def _plain(text: str) -> str:
    """Return a text without code marks and final punctuation, to compare it with a title that was made from it."""
    return " ".join(text.replace("`", "").split()).rstrip(" .…;:,")


def _line(text: str) -> str:
    """Return a text as one line without characters of markup, which become similar ones."""
    from memctl.text.characters import printable_line

    return printable_line(text).translate(_NO_MARKUP)


def _mark(name: str) -> str:
    """Return the name of the mark in a session's folder which says that a file's records were shown."""
    from _blake2 import blake2b  # hashlib would load OpenSSL, 3 ms and more

    return f"file-{blake2b(name.encode(errors='surrogateescape'), digest_size=8).hexdigest()}"
