"""Read and write the draft of a session's page, kept in memctl's folder for the session until it is committed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from memctl.store.session_dir import SessionDir

if TYPE_CHECKING:
    from memctl.record.session_page import SessionPage

_DRAFT = "draft.md"


def read(folder: SessionDir) -> SessionPage | None:
    """Return the draft of a session's page; None if there is no draft, or if it can't be read."""
    try:
        text = _file(folder).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    from memctl.record import session_page
    from memctl.record.errors import InvalidRecord

    try:
        return session_page.parse(text, session_page.path_of(folder.key))
    except InvalidRecord:
        return None


def write(folder: SessionDir, page: SessionPage) -> None:
    """Write the draft of a session's page to memctl's folder for the session."""
    from memctl.record import session_page
    from memctl.store import files

    files.replace_private(_file(folder), session_page.render(page))


def drop(folder: SessionDir) -> None:
    """Delete the draft of a session's page, if there is one."""
    _file(folder).unlink(missing_ok=True)


def _file(folder: SessionDir) -> Path:
    return folder.path / _DRAFT
