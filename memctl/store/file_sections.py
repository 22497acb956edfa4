"""The sections that a file of the memory belongs to."""

from __future__ import annotations

from memctl.record import pages
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import BY_FOLDER
from memctl.record.pages import Outline
from memctl.record.parser import parse
from memctl.store import files


def sections(path: str, text: str, outline: Outline) -> tuple[tuple[str, ...], ...]:
    """Return the sections that a page or record belongs to, each with the markers that `Outline.enclosing` returns.

    For example a page of details gives (("§3.1", "§2.1"),), and a record on code that two sections cover (("§2.1",),
    ("§2.2",)). `path` is the file's path below `.memory/`, and `text` its text. The result is () for any other file.
    """
    if number := pages.number_at(path):
        try:
            page = pages.parse(text, path)
        except InvalidRecord:
            return (outline.enclosing(f"§{number}"),)
        return ((page.id, *((page.section,) if page.section else ())),)
    if not files.is_record_path(path, BY_FOLDER):
        return ()
    try:
        return outline.sections_of(parse(text, path)[0])
    except InvalidRecord:
        return ()  # `check` reports it
