"""Rules about session pages, their lists of files, and checkpoints (MEM505 to MEM510)."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

from msgspec.structs import replace

from memctl.check.findings import CheckContext, Finding, unreadable
from memctl.record import checkpoint, session_page
from memctl.record.errors import InvalidRecord
from memctl.record.session_page import CHANGED, READ, SessionPage

_OURS, _THEIRS = re.compile(r"^<{7}(?: .*)?$", re.MULTILINE), re.compile(r"^={7}$", re.MULTILINE)
# Matches every page with a path that leads out of the repository. Only the pages that match are parsed, which is slow.
_SUSPECT = re.compile(r"` ?(?:/|~/|[A-Za-z]:[\\/]|[a-z][a-z0-9+.-]+://)|\.\.(?:/| ?`)")
_OUTSIDE = re.compile(r"/|~/|[A-Za-z]:[\\/]|[a-z][a-z0-9+.-]+://|(?:.*/)?\.\.(?:/|$)")


def pages(subject: CheckContext) -> Iterator[Finding]:
    """Report each session page that can't be read, is a duplicate, or lists files outside of the project.

    A session must have one page only.
    """
    pages_by_path: dict[str, SessionPage] = {}
    for path in subject.snapshot.names(session_page.FOLDER):
        if session_page.is_page(path) or session_page.is_trail(path):
            page = yield from _read(subject, path)
            if page is not None:
                pages_by_path[path] = page
            if page is not None and _SUSPECT.search(subject.snapshot.read(path)):
                page = session_page.parse(subject.snapshot.read(path), path)
                yield from _paths_outside(
                    subject, path, [row.path for key in (CHANGED, READ) for row in page.files.get(key, ())]
                )
    yield from _trails(subject, pages_by_path)


def _read(subject: CheckContext, path: str) -> Generator[Finding, None, SessionPage | None]:
    try:
        return session_page.head(subject.snapshot.read(path), path)
    except InvalidRecord as error:
        for fault in error.faults:
            finding = unreadable(fault, "MEM507")
            if fault.field == "session_id" and (other := _other_of(subject, path)):
                finding = replace(finding, code="MEM508", hint=f"{other} has the same session_id")
            yield finding
    except OSError:
        pass  # `files.unknown_files` reports it
    return None


def _other_of(subject: CheckContext, path: str) -> str:
    match = re.search(r"^session_id: *[\"']?([^\s\"']+)", subject.text(path) or "", re.MULTILINE)
    if match is None:
        return ""
    other = session_page.path_of(match[1])
    return other if other != path and other in subject.snapshot.names(session_page.FOLDER) else ""


def _trails(subject: CheckContext, pages_by_path: dict[str, SessionPage]) -> Iterator[Finding]:
    names = frozenset(subject.snapshot.names(session_page.FOLDER))
    for path, page in pages_by_path.items():
        if session_page.is_page(path) and page.trail and page.trail not in names:
            hint = f"restore {page.trail} with Git: it has the paths of all files of the session"
            yield subject.at_key("MEM510", path, session_page.TRAIL, f"{page.trail} is missing", hint)
        elif session_page.is_trail(path):
            owner = session_page.path_of(page.id)
            if owner not in names:
                message = f"the session's page {owner}, to which this list of files belongs, is missing"
                yield Finding("MEM510", path, 1, message, "restore the page with Git, or delete the list")
            elif owner in pages_by_path and not pages_by_path[owner].trail:
                message = f"the session's page {owner} does not link to this list of files"
                yield Finding("MEM510", path, 1, message, "delete this list, which a merge has left")


def checkpoints(subject: CheckContext) -> Iterator[Finding]:
    """Report each checkpoint that can't be read, and each with the same version number as the newest of its workflow.

    Equal numbers of older checkpoints are not reported, since work is resumed from the newest.
    """
    numbers: dict[str, list[checkpoint.Version]] = {}
    for path in filter(checkpoint.is_json, subject.snapshot.names(checkpoint.FOLDER)):
        found = yield from _checkpoint(subject, path)
        if found is not None:
            numbers.setdefault(found.workflow_id, []).append(found.number)
    for versions in numbers.values():
        first, *others = sorted(versions, reverse=True)
        message = f"the checkpoint {first.id} of the same workflow has the same version"
        yield from (Finding("MEM506", other.path, 1, message) for other in others if other.version == first.version)


def _checkpoint(subject: CheckContext, path: str) -> Generator[Finding, None, checkpoint.Checkpoint | None]:
    try:
        text = subject.snapshot.read(path)
        if (match := _OURS.search(text)) and _THEIRS.search(text, match.end()):
            line = text.count("\n", 0, match.start()) + 1
            yield Finding("MEM103", path, line, "this line begins an unresolved merge conflict")
            return None
        return checkpoint.parse(text, path)
    except InvalidRecord as error:
        yield Finding("MEM505", path, 1, unreadable(error.faults[0], "MEM505").message)
    except OSError:
        pass  # `files.unknown_files` reports it
    return None


def _paths_outside(subject: CheckContext, path: str, listed: list[str]) -> Iterator[Finding]:
    wrong = dict.fromkeys(name for name in listed if _OUTSIDE.match(name))
    lines = (subject.text(path) or "").split("\n") if wrong else []
    for name in wrong:
        line = next((number for number, text in enumerate(lines, start=1) if name in text), 1)
        yield Finding("MEM509", path, line, f"{name} leads out of the repository")
