"""The sections that a file of the memory belongs to."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from memctl.record import pages
from memctl.record.errors import InvalidRecord
from memctl.record.parser import parse
from memctl.store import files
from memctl.store.memory import Memory


def sections(path: str, text: str, parent: Callable[[str], str]) -> tuple[str, ...]:
    """Return the markers of the pages that a file of the memory belongs to, such as ("§3.1", "§2.1"), innermost first.

    `path` is the file's path below `.memory/`, and `text` its text. `parent` returns the section (§2.N) of a page of
    details (§3.N), "" if it is unknown. The result is () for a file that is neither a page nor a record.
    """
    if number := pages.number_at(path):
        try:
            page = pages.parse(text, path)
        except InvalidRecord:
            return enclosing(f"§{number}", parent)
        return (page.id, *((page.section,) if page.section else ()))
    if not files.is_record_path(path):
        return ()
    try:
        return enclosing(parse(text, path)[0].section or "", parent)
    except InvalidRecord:
        return ()  # `check` reports it


def enclosing(marker: str, parent: Callable[[str], str]) -> tuple[str, ...]:
    """Return the markers of the page in which a marker is, and of the section to which that page belongs.

    For example the heading §3.1.2 gives §3.1, its page of details, and §2.1, the section of that page. §2.1 gives only
    itself, and the marker of a file (§4) gives none. `parent` returns the section (§2.N) of a page of details (§3.N),
    "" if it is unknown.
    """
    if marker == pages.PROJECT_ID:
        return (marker,)
    level, _, rest = marker.removeprefix("§").partition(".")
    page = f"§{level}.{rest.partition('.')[0]}"
    if level == "2":
        return (page,)
    above = parent(page) if level == "3" else ""
    return (page, *((above,) if above else ())) if level == "3" else ()


def parent_on_disk(memory: Memory, marker: str) -> str:
    """Return the section (§2.N) to which a page of details (§3.N) in the worktree belongs, "" if that is unknown."""
    number = marker.removeprefix("§")
    for file in sorted((memory.folder / pages.DETAIL.folder).glob(f"{number}*.md")):
        path = f"{pages.DETAIL.folder}/{file.name}"
        if pages.number_at(path) == number:
            with suppress(InvalidRecord, OSError, UnicodeError):
                return pages.parse(files.read(memory.folder, path), path).section or ""
    return ""
