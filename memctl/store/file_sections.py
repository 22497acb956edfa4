"""The sections that a file of the memory belongs to."""

from __future__ import annotations

from memctl.record import pages
from memctl.record.errors import InvalidRecord
from memctl.record.parser import parse
from memctl.store import files


def sections(path: str, text: str, outline: pages.Outline) -> tuple[tuple[str, ...], ...]:
    """Return the sections that a page or record names, each with the markers that `Outline.enclosing` returns.

    For example a page of details gives (("§3.1", "§2.1"),). `path` is the file's path below `.memory/`, and `text` its
    text. The result is () for any other file, and for a record that names no section: what somebody finds in the code
    of others remains theirs to record and to change.
    """
    if number := pages.number_at(path):
        try:
            page = pages.parse(text, path)
        except InvalidRecord:
            return (outline.enclosing(f"§{number}"),)
        return ((page.id, *((page.section,) if page.section else ())),)
    if not files.is_record_path(path):
        return ()
    try:
        record = parse(text, path)[0]
        return (outline.enclosing(record.section),) if record.section else ()
    except InvalidRecord:
        return ()  # `check` reports it
