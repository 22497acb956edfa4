"""The pages of sessions that a memory has: all of them, or the one that somebody names."""

from __future__ import annotations

from memctl.errors import MemctlError
from memctl.record import session_page
from memctl.record.errors import Fault, InvalidRecord
from memctl.record.session_page import SessionPage
from memctl.record.snapshot import Snapshot


def pages(snapshot: Snapshot) -> tuple[list[SessionPage], list[Fault]]:
    """All pages that can be read, the session that ended last first, and the faults of the others."""
    found: list[SessionPage] = []
    faults: list[Fault] = []
    for path in names(snapshot):
        try:
            found.append(session_page.parse(snapshot.read(path), path))
        except InvalidRecord as error:
            faults += error.faults
    return sorted(found, key=ended, reverse=True), faults


def read(snapshot: Snapshot, path: str, text: str) -> tuple[SessionPage | None, list[Fault]]:
    """A page with all its files, those that are listed beside it too, and what of it can't be read."""
    try:
        found = session_page.parse(text, path)
    except InvalidRecord as error:
        return None, error.faults
    if not found.trail:
        return found, []
    try:
        trail = session_page.parse(snapshot.read(found.trail), found.trail)
        return session_page.joined(found, trail), []
    except InvalidRecord as error:
        return found, error.faults
    except FileNotFoundError:
        return found, [Fault(found.trail, 1, "", "the list of the session's files is missing")]


def ended(made: SessionPage) -> tuple[str, str]:
    """When a session ended, or was summed up if nobody knows, and its name: what pages are ordered by."""
    return str(made.values.get("ended") or made.values.get("summarized") or ""), made.id


def names(snapshot: Snapshot) -> list[str]:
    """The paths of all pages of sessions."""
    folder = session_page.FOLDER
    return [path for path in snapshot.names(folder) if path.endswith(".md") and path.count("/") == 1]


def find(snapshot: Snapshot, given: str) -> tuple[str, str]:
    """The path and text of the page of a session, named by whatever its name begins with; raises MemctlError."""
    known = {path[len(session_page.FOLDER) + 1 : -len(".md")]: path for path in names(snapshot)}
    fitting = [given] if given in known else [name for name in known if name.startswith(given)]
    if len(fitting) == 1:
        path = known[fitting[0]]
        try:
            return path, snapshot.read(path)
        except InvalidRecord as error:
            raise MemctlError(f"{snapshot.prefix}/{error}") from None
    if fitting:
        raise MemctlError(f"{given!r} may be any of {', '.join(sorted(fitting)[:5])}", "give more of the name")
    raise MemctlError(f"there is no summary of a session {given!r}", "`memctl session list` lists them")
