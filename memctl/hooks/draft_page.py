"""The draft of a session's page, which is in no commit yet: it lies beside the session's counters."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from memctl.store.session_dir import SessionDir

if TYPE_CHECKING:
    from memctl.record.session_page import SessionPage

_DRAFT = "draft.md"


def read(folder: SessionDir) -> SessionPage | None:
    """Return the draft of a session, if there is one that can be read."""
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


def write(folder: SessionDir, made: SessionPage) -> None:
    from memctl.record import session_page
    from memctl.store import files

    files.replace_private(_file(folder), session_page.render(made))


def drop(folder: SessionDir) -> None:
    _file(folder).unlink(missing_ok=True)


def old_drafts(folder: SessionDir, top: Path, pause: float) -> list[SessionDir]:
    """Return the other sessions of a worktree that have an old draft: they ended with nothing that was worth a commit,
    or an older memctl did not note that they were under way."""
    found = [one for one in folder.others() if is_old(one, pause)]
    if not found:
        return []
    from memctl.hooks import session_state

    return [one for one in found if (state := session_state.read(one)) is not None and state.top == str(top)]


def is_old(folder: SessionDir, pause: float) -> bool:
    """Return whether there is a draft to which nothing was added for so many seconds."""
    try:
        return _file(folder).stat().st_mtime < time.time() - pause
    except OSError:
        return False


def _file(folder: SessionDir) -> Path:
    return folder.path / _DRAFT
