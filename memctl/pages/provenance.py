"""Why a file, or a line of it, is as it is: the sections, pages, records and commits that have to do with it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.git import blame, history, message, trees
from memctl.git.blame import LineOrigin
from memctl.git.history import FileCommit, LastKnown
from memctl.pages import freshness, repository_paths
from memctl.pages.coverage import Referral, covering, referring
from memctl.pages.freshness import AMBIGUOUS, FOUND, MISSING
from memctl.pages.path_args import inside, readings, refuse_memory, unknown
from memctl.record import ids
from memctl.record.pages import Page
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store import files
from memctl.store.memory import Memory

REVIEWED, UNREVIEWED, SUSPECT, BROKEN = "reviewed", "unreviewed", "suspect", "broken"
IN_CODE_REFS, IN_TEXT, IN_COMMIT = "code_refs", "text", "commit"
_ORDER = (IN_CODE_REFS, IN_TEXT, IN_COMMIT)
_WITH_LINE = re.compile(r"(.+):([1-9][0-9]*)")
_CODE_REF = re.compile(r"(.+?):([0-9]+)(?:-([0-9]+))?")
# A record's id in code or in a message, be it as the beginning of its file's name.
_NAMED = re.compile(rf"(?<![\w-]){ids.PATTERN.pattern}(?!\w)")


class FileQuery(msgspec.Struct, frozen=True):
    """A file that somebody asks about, below the worktree's top; a line of it; if it is gone, how it last was."""

    path: str
    line: int | None = None
    last: LastKnown | None = None


class Told(msgspec.Struct, frozen=True):
    """A page that refers to a file: how, whether it still agrees with it, and the ids of content if it is SUSPECT.

    `state` is one of REVIEWED, UNREVIEWED, SUSPECT, BROKEN (the file is gone) and AMBIGUOUS (it may mean another).
    """

    page: Page
    references: tuple[str, ...]
    state: str
    reviewed: str = ""
    now: str = ""


class Reason(msgspec.Struct, frozen=True):
    """Why a record was found: in its code_refs, in the file's text, or in a commit; there `where`.

    `how` says how a commit names it. `is_here`: it is about the very line that was asked for.
    """

    by: str
    where: str
    how: str = ""
    is_here: bool = False
    distance: int = 0  # what to order reasons of one kind by


class RelatedRecord(msgspec.Struct, frozen=True):
    """A record that has to do with a file, None if the memory does not have it, and all reasons, best first."""

    id: str
    record: Record | None
    reasons: tuple[Reason, ...]


class Cause(msgspec.Struct, frozen=True):
    """A commit that touched a file, the records that it names, and whether the line that was asked for is its."""

    touch: FileCommit
    records: tuple[str, ...]
    is_here: bool


class Why(msgspec.Struct, frozen=True):
    """All that explains a file. `origin` is where the line comes from, `has_more` whether there are older commits."""

    asked: FileQuery
    sections: tuple[tuple[Page, tuple[str, ...]], ...]  # each with those of its globs that cover the file
    pages: tuple[Told, ...]
    records: tuple[RelatedRecord, ...]
    commits: tuple[Cause, ...]
    origin: LineOrigin | None
    has_more: bool


def why(memory: Memory, snapshot: Snapshot, asked: FileQuery, at: str, limit: int) -> Why:
    """Gather what explains a file in the snapshot of the commit `at`, or with "" of the worktree.

    `limit` is how many commits are looked at, 0 for all. Raises MemctlError if the file has no such line.
    """
    repository, start = memory.repository, beginning(memory, at)
    touches = history.touches(repository, asked.path, start, limit + 1 if limit else None) if start else []
    has_more = bool(limit) and len(touches) > limit
    touches = touches[: limit or None]
    origin, text = None, _text(memory, snapshot, asked)
    if asked.line is not None:
        if text and asked.line > text.count("\n") + (not text.endswith("\n")):
            raise MemctlError(f"{asked.path} has no line {asked.line}", exit_code=USAGE)
        origin = blame.origin(repository, asked.path, asked.line, asked.last.revision if asked.last else at)
        if origin.commit and all(touch.commit != origin.commit for touch in touches):
            touches.insert(0, history.touch(repository, origin.commit, origin.path))
    here = origin.commit if origin else ""
    causes = tuple(Cause(touch, tuple(named(touch.message)), touch.commit == here) for touch in touches)
    return Why(
        asked=asked,
        sections=tuple(
            (page, tuple(glob for glob in page.paths if repository_paths.matching([asked.path], [glob])))
            for page in covering(snapshot, [asked.path])[asked.path]
        ),
        pages=_pages(snapshot, asked),
        records=_records(snapshot, asked, causes, text),
        commits=causes,
        origin=origin,
        has_more=has_more,
    )


def beginning(memory: Memory, at: str) -> str:
    """The commit that history is read from: the one given, or HEAD; "" if there is none yet."""
    return at or ("HEAD" if memory.repository.has_head() else "")


def locate(memory: Memory, snapshot: Snapshot, folder: Path, given: str, at: str) -> FileQuery:
    """The file, and the line if there is one, that a person names as PATH or PATH:LINE.

    PATH is taken as seen from `folder`, then from the worktree's top, then as a file that the history of the commit
    `at` (or "" for HEAD) has. Raises MemctlError with near names if Git knows no such file, or if it is kept from the
    reader.
    """
    texts: list[tuple[str, int | None]] = [(given, None)]
    if match := _WITH_LINE.fullmatch(given):
        texts.append((match[1], int(match[2])))
    names, start = snapshot.files.names(), beginning(memory, at)
    known = [(path, line) for text, line in texts for path in readings(memory.repository.top, folder, text)]
    for path, line in known:
        if path in names:
            return FileQuery(path, line)
    for path, line in known:
        refuse_memory(path)
        snapshot.withheld.refuse_file(path)
        if start and (last := history.last_known(memory.repository, path, start)) is not None:
            return FileQuery(path, line, last)
    for path, _ in known:
        if below := inside(names, path):
            raise MemctlError(f"{given} is a folder", f"ask for a file in it, such as {below[0]}", USAGE)
    raise unknown(names, texts[-1][0])


def named(text: str) -> dict[str, str]:
    """The records that a commit's message names, each with how: in a trailer of which key, or anywhere in it."""
    trailers = message.parse(text)
    found: dict[str, str] = {}
    for how, values in (("Decision", trailers.decisions), ("Memctl-Id", trailers.ids), ("message", (text,))):
        for value in values:
            for match in _NAMED.finditer(value):
                found.setdefault(match[0], how)
    return found


def _pages(snapshot: Snapshot, asked: FileQuery) -> tuple[Told, ...]:
    by_page: dict[str, list[Referral]] = {}
    for referral in referring(snapshot, [asked.path])[asked.path]:
        by_page.setdefault(referral.page.path, []).append(referral)
    found = []
    for referrals in by_page.values():
        page, references = referrals[0].page, tuple(dict.fromkeys(item.reference for item in referrals))
        states = {item.state for item in referrals}
        state, reviewed, now = (BROKEN if MISSING in states else AMBIGUOUS), "", ""
        if FOUND in states:
            state = REVIEWED if asked.path in page.stamps else UNREVIEWED
            for drift in freshness.drifted(snapshot, page):
                if drift.path == asked.path:
                    state, reviewed, now = SUSPECT, drift.reviewed, drift.now
        found.append(Told(page, references, state, reviewed, now))
    return tuple(found)


def _text(memory: Memory, snapshot: Snapshot, asked: FileQuery) -> str:
    """The file's text, as it is or last was; "" if it is none or too large."""
    if asked.last is None:
        content = snapshot.files.read([asked.path]).get(asked.path)
    else:
        content = trees.blobs(memory.repository, [asked.last.blob], files.MAX_BYTES)[asked.last.blob]
    return "" if content is None or b"\0" in content else content.decode(errors="replace")


def _records(snapshot: Snapshot, asked: FileQuery, causes: Iterable[Cause], text: str) -> tuple[RelatedRecord, ...]:
    known = {name: record for record in snapshot.records for name in (record.id, *record.aliases)}
    reasons: dict[str, list[Reason]] = {}
    current = snapshot.files.names()
    former = {cause.touch.path for cause in causes if cause.touch.path not in current} - {asked.path}
    for record in snapshot.records:
        for ref in record.code_refs:
            if (reason := _about(ref, asked, former)) is not None:
                reasons.setdefault(record.id, []).append(reason)
    for number, line in enumerate(text.split("\n"), 1):
        for match in _NAMED.finditer(line):
            distance = abs(number - asked.line) if asked.line else 0
            reason = Reason(IN_TEXT, str(number), "", number == asked.line, distance)
            reasons.setdefault(_own_id(known, match[0]), []).append(reason)
    for number, cause in enumerate(causes):
        for name, how in named(cause.touch.message).items():
            reason = Reason(IN_COMMIT, cause.touch.commit, how, cause.is_here, number)
            reasons.setdefault(_own_id(known, name), []).append(reason)
    found = [RelatedRecord(name, known.get(name), tuple(sorted(why, key=_rank))) for name, why in reasons.items()]
    return tuple(sorted(found, key=lambda item: _rank(item.reasons[0])))


def _own_id(known: dict[str, Record], name: str) -> str:
    """The id of a record that may be named by one it had before."""
    return known[name].id if name in known else name


def _rank(reason: Reason) -> tuple[bool, int, int]:
    return not reason.is_here, _ORDER.index(reason.by), reason.distance


def _about(ref: str, asked: FileQuery, former: Collection[str]) -> Reason | None:
    """The reason that a code reference of a record is, if it names the file, its earlier name or its folder."""
    if ref == asked.path:
        return Reason(IN_CODE_REFS, ref)
    match = _CODE_REF.fullmatch(ref)
    path = match[1] if match else ref
    if match and path == asked.path:
        first, last = int(match[2]), int(match[3] or match[2])
        return Reason(IN_CODE_REFS, ref, is_here=asked.line is not None and first <= asked.line <= last)
    if path in former:
        return Reason(IN_CODE_REFS, ref, distance=1)
    return Reason(IN_CODE_REFS, ref, distance=2) if asked.path.startswith(path.rstrip("/") + "/") else None
