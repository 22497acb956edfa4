"""Build the trail of a session: each file that it touched, with the exact path and what was done to the file.

The files are found in the tool calls, and in the changes in Git between the session's start and end. Paths are relative
to the worktree's top and never shortened (rules.md#session-summary). Symbolic links are not followed.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from memctl.git import differences
from memctl.git.differences import FileChange
from memctl.record.task_state import TouchedFile
from memctl.session import edits, failures, file_actions, tool_calls
from memctl.session.file_actions import FileAction
from memctl.statements import labels, reader
from memctl.statements.statement import Statement
from memctl.task.progress import after
from memctl.text.actions import CREATED, DELETED, MODIFIED, READ, WRITTEN
from memctl.text.lazy_regex import lazy_regex
from memctl.text.markdown import one_line
from memctl.transcript.events import ANSWER, CALL, PROMPT, RESULT, Event, Session, pending_calls

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+://")
_HOME = re.compile(r"^(?:/(?:home|Users)/[^/]+|/root|[A-Za-z]:/Users/[^/]+)/")
_PATTERN = re.compile(r"[*?|{}<>$\n]|://")  # in a word of a command that is not the path of one file
_MISSING = lazy_regex(r"(?i)([^\s'\":]+)['\"]?: no such file or directory(?!: )|no such file or directory: (\S+)")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_MOUNTED = re.compile(r"(?:/mnt|/cygdrive)?/([A-Za-z])(?=/|$)")  # a drive, as shells of Unix on Windows write it
_GIT = ".git"  # the folder, or in a linked worktree the file, whose content is Git's own


class Places:
    """Turns the paths in a transcript into paths of files.

    `root` is the folder of the session's repository, which paths are relative to. It is the top of this worktree if the
    session worked there. Otherwise the session worked in another clone or on another machine, and `root` is the folder
    in which it started.
    """

    def __init__(self, top: Path, cwd: str) -> None:
        self._top = top.as_posix()
        self.root = _root(self._top, _slashes(cwd))

    @property
    def is_elsewhere(self) -> bool:
        """Whether the session worked outside of this worktree."""
        return os.path.realpath(self.root) != os.path.realpath(self._top)

    def locate(self, path: str, cwd: str) -> tuple[str, bool]:
        """Return a path relative to the session's repository and True, or an absolute path and False if it is outside.

        `path` may be relative to the folder `cwd`, which is "" for the repository's top. Of a file of Git's own, such
        as `.git/index.lock`, the path is "".
        """
        path, cwd = self._slashes(path), self._slashes(cwd) or self.root
        if path.startswith("~") or _SCHEME.match(path):
            return path, False
        whole = posixpath.normpath(path if path.startswith("/") or _DRIVE.match(path) else posixpath.join(cwd, path))
        roots = (root.rstrip("/") + "/" for root in (self.root, self._top))
        inside = next((whole.removeprefix(root) for root in roots if whole.startswith(root)), "")
        path = inside or whole
        return ("", False) if _GIT in path.split("/") else (path, bool(inside))

    def _slashes(self, path: str) -> str:
        """Return a path with slashes, and on Windows in the one form that the root has: "/d/shop" gives "D:/shop".

        Programs there may write only the rest of a path with backslashes.
        """
        path = path.replace("\\", "/") if path.startswith(f"{self.root}\\") else _slashes(path)
        drive = self.root[0] if _DRIVE.match(self.root) else ""
        mounted = _MOUNTED.match(path) if drive else None
        letter = mounted[1] if mounted else path[0] if _DRIVE.match(path) else ""
        if not drive or letter.upper() != drive.upper():
            return path
        return f"{drive}:{path[mounted.end() if mounted else 2 :]}"


def _root(top: str, cwd: str) -> str:
    if not cwd or cwd == top or cwd.startswith(top.rstrip("/") + "/"):
        return top
    real = os.path.realpath(cwd) if posixpath.isabs(cwd) else cwd
    if real == top:
        return cwd
    below = real.removeprefix(top.rstrip("/") + "/")
    if below != real and cwd.endswith("/" + below):
        return cwd[: -len(below) - 1]  # the session's path leads to the worktree through a symbolic link
    return cwd


def _slashes(path: str) -> str:
    return path.replace("\\", "/") if _DRIVE.match(path) else path


_VERBS = {differences.ADDED: CREATED, differences.DELETED: DELETED, differences.CHANGED: MODIFIED}
_LAST_WORDS = 300  # last characters of a message, which may say what the agent reads next
_LOOKS = lazy_regex(
    r"(?i)\b(?:let me|let's|i'll|i will|i need to|i want to|going to) (?:(?:now|also|first|next|then|just|quickly) )*"
    r"((?:check|look|see|read|understand|find|verify|compare|review|examine|trace|explore|inspect)\b"
    r"(?: [^\s.:]+){2,14})[.:]?\s*$"
)
_LOOKED_AT = 400  # first characters of a result, which may have an error's tag
SAID = "word alone"  # `TrailEntry.by` of a file that only a text names
_MOST_REASONS = 2  # for reading one file


class TrailEntry(msgspec.Struct, frozen=True):
    """A file that a session touched: its path, its action (created, modified, deleted or read), and what changed.

    - `what` are descriptions of the changes.
    - `is_inside` says whether the file is in the repository.
    - `by` says from where the action is known, such as "Git" or "agent NAME".
    """

    path: str
    action: str
    what: tuple[str, ...] = ()
    is_inside: bool = True
    by: tuple[str, ...] = ()


class Trail(msgspec.Struct, frozen=True):
    """All files that a session touched, in the order of their last change.

    `unknown` counts the words of shell commands that can't be known without running them; they may name further files.
    """

    entries: tuple[TrailEntry, ...]
    unknown: int = 0

    def having(self, *actions: str, inside: bool = True) -> list[TrailEntry]:
        """Return the files whose action is one of `actions`, such as "created".

        `inside` chooses between the files inside the repository (True) and those outside (False).
        """
        return [entry for entry in self.entries if entry.action in actions and entry.is_inside == inside]


def of_session(session: Session, places: Places, base: Collection[str], changes: Iterable[FileChange]) -> Trail:
    """Return all files that a session touched, by its tool calls, its messages, and what changed in Git meanwhile.

    `places` turns the session's paths into paths of files. `base` are the paths of the files that existed before the
    session; any other file counts as created. `changes` are the changes that Git saw during the session.
    """
    fold = _Fold(places, base)
    unknown = 0
    reasons = _reasons(session.events)
    for event, result in effective(session.events):
        fold.take(event, result, reasons.get(event.call, ""))
        unknown += file_actions.unknown_words(tool_calls.command_of(event.arguments))
    fold.take_git(changes)
    has_calls = session.count(CALL) > 0
    for event in session.events:
        if event.kind in (ANSWER, PROMPT) and not event.agent:
            for made in reader.read(event.text):
                fold.take_said(made, is_only_said=not has_calls)
    return Trail(tuple(map(_with_one_description, fold.entries.values())), unknown)


def _with_one_description(entry: TrailEntry) -> TrailEntry:
    """Return an entry whose edits are described at once; a file that is gone has no description of its edits."""
    if entry.action == READ:
        return msgspec.structs.replace(entry, what=entry.what[:_MOST_REASONS])
    words = [text for text in entry.what if entry.action != DELETED or text.startswith("moved to")]
    return msgspec.structs.replace(entry, what=tuple(filter(None, [edits.join(words)])))


def effective(events: Sequence[Event]) -> Iterator[tuple[Event, Event | None]]:
    """Yield the tool calls that had an effect, each with its result (None if it has none).

    A call that is still running is left out, and so is one that was refused or failed. But a failed shell command is
    kept, since it may have changed files before it failed.
    """
    results = {event.call: event for event in events if event.kind == RESULT and event.call}
    open_calls = pending_calls(events)
    for event in events:
        if event.kind == CALL and event.call not in open_calls:
            result = results.get(event.call)
            if not is_without_effect(event, result):
                yield event, result


def _reasons(events: Sequence[Event]) -> dict[str, str]:
    """Return the purpose of calls by their ids: what the agent said right before that it would look at."""
    reasons: dict[str, str] = {}
    reason = ""
    for event in events:
        if event.kind == ANSWER:
            match = _LOOKS.search(event.text[-_LAST_WORDS:])
            reason = one_line(match[1]).rstrip(" .:") if match else ""
        elif event.kind == PROMPT:
            reason = ""
        elif event.kind == CALL and event.call and reason:
            reasons[event.call] = reason
    return reasons


def touches(call: Event, result: Event | None) -> Iterator[FileAction]:
    """Yield what a call did to files, with paths as the call gives them; `result` is None if the call has no result.

    Of a shell command, words that are patterns and files that do not exist, as the result says, are left out.
    """
    touched = tool_calls.touched(call, failed=result is not None and failures.is_failure(result, call))
    if not tool_calls.command_of(call.arguments):
        yield from touched
        return
    missing = {path for groups in _MISSING.findall(result.text) for path in groups} if result else set[str]()
    yield from (touch for touch in touched if not _PATTERN.search(touch.path) and touch.path not in missing)


def touched_files(events: Sequence[Event], places: Places, whole: Trail) -> list[TouchedFile]:
    """Return the files that some events of a session touched, each once, the one touched last first.

    `whole` is the trail of the whole session. The action of each file is taken from it, since a file that the session
    first created and then modified counts as created. Paths that the trail does not have, such as those of folders,
    are left out. A file outside of the repository has an absolute path, or one that begins with `~/`.
    """
    actions = {entry.path: entry.action for entry in whole.entries}
    files: dict[str, TouchedFile] = {}
    for event, result in reversed(list(effective(events))):
        for touch in reversed(list(touches(event, result))):
            path, is_inside = places.locate(touch.path, touch.cwd)
            action = actions.get(path)
            if action is not None:  # folders are not in the trail
                shown = path if is_inside else _HOME.sub("~/", path)
                files.setdefault(shown, TouchedFile(shown, action))
    return list(files.values())


def is_without_effect(call: Event, result: Event | None) -> bool:
    """Return whether a call changed nothing: it was refused, or it failed and was no shell command.

    A shell command may change files before it fails. Any other tool does all of its work or nothing.
    """
    if result is None or not result.is_error:
        return False
    was_not_made = failures.is_refused(result) or "<tool_use_error>" in result.text[:_LOOKED_AT]
    return was_not_made or not tool_calls.command_of(call.arguments)


class _Fold:
    """Merges what calls did to files into one entry per file."""

    def __init__(self, places: Places, base: Collection[str]) -> None:
        self._places = places
        self._base = base
        self._folders = {folder for path in base for folder in _above(path)}
        self.entries: dict[str, TrailEntry] = {}

    def take(self, event: Event, result: Event | None, reason: str = "") -> None:
        kind = result.details.get("type") if result else None  # Claude Code says whether it created the file
        for touch in touches(event, result):
            action = touch.action
            if action == WRITTEN and kind in ("create", "update"):
                action = CREATED if kind == "create" else MODIFIED
            if not touch.what:
                what = reason if action == READ else edits.of_call(event, touch.path)
                touch = touch._replace(what=what)
            self._touch(touch, action, event.agent)

    def _touch(self, touch: FileAction, action: str, agent: str) -> None:
        path, is_inside = self._places.locate(touch.path, touch.cwd)
        if not path:
            return
        if touch.target and path in self._folders:
            path = posixpath.join(path, touch.target)
        is_folder = path in self._folders or path in (".", self._places.root) or touch.path.endswith("/")
        if is_folder and action != DELETED:
            return
        self._folders.update(_above(path))
        old = self.entries.get(path)
        if action == WRITTEN:
            is_there = (old.action != DELETED) if old else path in self._base
            action = MODIFIED if is_there else CREATED
        is_reason = action == READ and old is not None and old.action != READ  # for reading a file that was changed
        self._put(path, is_inside, action, "" if is_reason else touch.what, f"agent {agent}" if agent else "")

    def _put(self, path: str, is_inside: bool, action: str, what: str, by: str) -> None:
        old = self.entries.get(path, TrailEntry(path, READ, is_inside=is_inside))
        known = () if old.action == READ != action else old.what  # reasons for reading
        words = (*known, what) if what and what not in known else known
        makers = (*old.by, by) if by and by not in old.by else old.by
        if action != READ:
            self.entries.pop(path, None)  # entries are in the order of the last change
        self.entries[path] = TrailEntry(path, after(old.action, action), words, is_inside, makers)

    def take_git(self, changes: Iterable[FileChange]) -> None:
        """Add the changes that Git saw, which override what the calls say."""
        for change in changes:
            if change.status == differences.RENAMED:
                self._settle(change.before, DELETED, f"moved to {change.path}")
                self._settle(change.path, CREATED, f"moved from {change.before}")
            else:
                self._settle(change.path, _VERBS[change.status], "")

    def take_said(self, made: Statement, *, is_only_said: bool) -> None:
        """Add what a labelled statement says about a file.

        A file that no call touched is added only if the session has no calls at all (`is_only_said`).
        """
        if made.kind not in (labels.CHANGE, labels.READ) or not made.title:
            return
        path, is_inside = self._places.locate(made.title, "")
        if not path:
            return
        words = one_line(made.text("changes") or made.text("reason"))
        if path in self.entries:
            self._put(path, is_inside, READ, words, "")
        elif is_only_said:
            action = str(made.values.get("action", READ))
            self._put(path, is_inside, action, words, SAID)

    def _settle(self, path: str, action: str, what: str) -> None:
        is_new = path not in self.entries
        self._put(path, True, action, "" if not is_new and self.entries[path].what else what, "Git" if is_new else "")
        self.entries[path] = msgspec.structs.replace(self.entries[path], action=action)


def _above(path: str) -> Sequence[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
