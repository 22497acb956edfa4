"""The artifact trail: every file that a session touched, with its exact path and what became of it.

Paths are never compressed, and each has a verb and a word on what changed (rules.md#session-summary). It is made from
the tool calls, and from Git between the session's start and end.

Paths are shown as seen from the worktree's top. Nothing on the disk is followed on their account.
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
from memctl.session import calls, edits, failures, file_actions
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
_PATTERN = re.compile(r"[*?|(){}<>$\n]")  # in a word of a command: more than one file, or a program of its own
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


class Places:
    """What a transcript's paths mean: below `root`, where the repository was for the session, or outside of it.

    `root` is the worktree's top here if the session worked in it, else the folder that the session began in: it ran
    in another clone, or on another machine.
    """

    def __init__(self, top: Path, cwd: str) -> None:
        self._top = top.as_posix()
        self.root = _root(self._top, _slashes(cwd))

    @property
    def is_elsewhere(self) -> bool:
        """Whether the session did not work in this worktree."""
        return os.path.realpath(self.root) != os.path.realpath(self._top)

    def locate(self, path: str, cwd: str) -> tuple[str, bool]:
        """Return a path below the root, and True; or the whole path of something outside of it, and False."""
        path, cwd = _slashes(path), _slashes(cwd) or self.root
        if path.startswith("~") or _SCHEME.match(path):
            return path, False
        whole = posixpath.normpath(path if path.startswith("/") or _DRIVE.match(path) else posixpath.join(cwd, path))
        for root in (self.root, self._top):
            if whole.startswith(root.rstrip("/") + "/"):
                return whole[len(root.rstrip("/")) + 1 :], True
        return whole, False


def _root(top: str, cwd: str) -> str:
    if not cwd or cwd == top or cwd.startswith(top.rstrip("/") + "/"):
        return top
    real = os.path.realpath(cwd) if posixpath.isabs(cwd) else cwd
    if real == top:
        return cwd
    below = real.removeprefix(top.rstrip("/") + "/")
    if below != real and cwd.endswith("/" + below):
        return cwd[: -len(below) - 1]  # the session knew the worktree by another name, through a link
    return cwd


def _slashes(path: str) -> str:
    return path.replace("\\", "/") if _DRIVE.match(path) else path


_VERBS = {differences.ADDED: CREATED, differences.DELETED: DELETED, differences.CHANGED: MODIFIED}
_LAST_WORDS = 300  # characters of a message in which it says what is looked at next
_LOOKS = lazy_regex(
    r"(?i)\b(?:let me|let's|i'll|i will|i need to|i want to|going to) (?:(?:now|also|first|next|then|just|quickly) )*"
    r"((?:check|look|see|read|understand|find|verify|compare|review|examine|trace|explore|inspect)\b"
    r"(?: [^\s.:]+){2,14})[.:]?\s*$"
)
_LOOKED_AT = 400  # characters of a result
SAID = "word alone"  # where a file is known from that only a text names
_MOST_WORDS = 4  # different words on one file


class TrailEntry(msgspec.Struct, frozen=True):
    """One file: its path, its action (created, modified, deleted or read), and what changed, in words.

    `is_inside` says whether it lies in the repository; `by` where it is known from.
    """

    path: str
    action: str
    what: tuple[str, ...] = ()
    is_inside: bool = True
    by: tuple[str, ...] = ()


class Trail(msgspec.Struct, frozen=True):
    """All files in the order of their last change; `unknown` words of shell commands may have been further ones."""

    entries: tuple[TrailEntry, ...]
    unknown: int = 0

    def having(self, *actions: str, inside: bool = True) -> list[TrailEntry]:
        return [entry for entry in self.entries if entry.action in actions and entry.is_inside == inside]


def of_session(session: Session, places: Places, base: Collection[str], changes: Iterable[FileChange]) -> Trail:
    """Return the trail of a session; `base` are the files that there were before it, `changes` what Git
    says of them."""
    fold = _Fold(places, base)
    unknown = 0
    reasons = _reasons(session.events)
    for event, result in effective(session.events):
        fold.take(event, result, reasons.get(event.call, ""))
        unknown += file_actions.unknown_words(calls.command_of(event.arguments))
    fold.take_git(changes)
    has_calls = session.count(CALL) > 0
    for event in session.events:
        if event.kind in (ANSWER, PROMPT) and not event.agent:
            for made in reader.read(event.text):
                fold.take_said(made, is_only_said=not has_calls)
    return Trail(tuple(fold.entries.values()), unknown)


def effective(events: Sequence[Event]) -> Iterator[tuple[Event, Event | None]]:
    """Yield the calls that did something, each with its result, None for one that is known to have none.

    A call whose result is still to come may fail yet, and has done nothing so far.
    """
    results = {event.call: event for event in events if event.kind == RESULT and event.call}
    open_calls = pending_calls(events)
    for event in events:
        if event.kind == CALL and event.call not in open_calls:
            result = results.get(event.call)
            if not is_without_effect(event, result):
                yield event, result


def _reasons(events: Sequence[Event]) -> dict[str, str]:
    """Return what calls look for, by their ids: what the agent said right before them that it would look at."""
    found: dict[str, str] = {}
    reason = ""
    for event in events:
        if event.kind == ANSWER:
            match = _LOOKS.search(event.text[-_LAST_WORDS:])
            reason = one_line(match[1]).rstrip(" .:") if match else ""
        elif event.kind == PROMPT:
            reason = ""
        elif event.kind == CALL and event.call and reason:
            found[event.call] = reason
    return found


def touches(call: Event, result: Event | None) -> Iterator[FileAction]:
    """Return what a call with such a result did to files."""
    return calls.touched(call, failed=result is not None and failures.is_failure(result, call))


def touched_files(events: Sequence[Event], places: Places, whole: Trail) -> list[TouchedFile]:
    """Return the files that events touched, each once and the latest first, with what became of them by the `whole`
    trail.

    What lies outside of the repository is named from the home folder, whoever's that was, or else from the root.
    """
    actions = {entry.path: entry.action for entry in whole.entries}
    found: dict[str, TouchedFile] = {}
    for event, result in reversed(list(effective(events))):
        for touch in reversed(list(touches(event, result))):
            path, is_inside = places.locate(touch.path, touch.cwd)
            action = actions.get(path)
            is_pattern = bool(calls.command_of(event.arguments) and _PATTERN.search(touch.path))
            if action is not None and not is_pattern:  # a folder is none of the trail's files
                shown = path if is_inside else _HOME.sub("~/", path)
                found.setdefault(shown, TouchedFile(shown, action))
    return list(found.values())


def is_without_effect(call: Event, result: Event | None) -> bool:
    """Return whether a call did nothing: it was refused, or failed in a tool that does all or nothing."""
    if result is None or not result.is_error:
        return False
    was_not_made = failures.is_refused(result) or "<tool_use_error>" in result.text[:_LOOKED_AT]
    return was_not_made or not calls.command_of(call.arguments)


class _Fold:
    """Gathers touches into one entry a file."""

    def __init__(self, places: Places, base: Collection[str]) -> None:
        self._places = places
        self._base = base
        self._folders = {folder for path in base for folder in _above(path)}
        self.entries: dict[str, TrailEntry] = {}

    def take(self, event: Event, result: Event | None, reason: str = "") -> None:
        told = result.details.get("type") if result else None  # Claude Code says whether a file was there
        for touch in touches(event, result):
            action = touch.action
            if action == WRITTEN and told in ("create", "update"):
                action = CREATED if told == "create" else MODIFIED
            if not touch.what:
                what = reason if action == READ else edits.of_call(event, touch.path)
                touch = touch._replace(what=what)
            self._touch(touch, action, event.agent)

    def _touch(self, touch: FileAction, action: str, agent: str) -> None:
        path, is_inside = self._places.locate(touch.path, touch.cwd)
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
        self._put(path, is_inside, action, touch.what, f"agent {agent}" if agent else "")

    def _put(self, path: str, is_inside: bool, action: str, what: str, by: str) -> None:
        old = self.entries.get(path, TrailEntry(path, READ, is_inside=is_inside))
        known = () if old.action == READ != action and what else old.what  # why it was read says no more then
        words = (*known, what) if what and what not in known else known
        makers = (*old.by, by) if by and by not in old.by else old.by
        if action != READ:
            self.entries.pop(path, None)  # what was changed last stands last
        self.entries[path] = TrailEntry(path, after(old.action, action), words[-_MOST_WORDS:], is_inside, makers)

    def take_git(self, changes: Iterable[FileChange]) -> None:
        """What Git knows is right: a file that it had before was not created, one that is gone was deleted."""
        for change in changes:
            if change.status == differences.RENAMED:
                self._settle(change.before, DELETED, f"moved to {change.path}")
                self._settle(change.path, CREATED, f"moved from {change.before}")
            else:
                self._settle(change.path, _VERBS[change.status], "")

    def take_said(self, made: Statement, *, is_only_said: bool) -> None:
        """What a text says under labels was done to a file and why: of a file that is known, or of any if there is
        nothing else to know files from."""
        if made.kind not in (labels.CHANGE, labels.READ) or not made.title:
            return
        path, is_inside = self._places.locate(made.title, "")
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
