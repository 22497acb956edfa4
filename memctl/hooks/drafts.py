"""The draft of a session's page, which is in no commit yet: it lies beside the session's counters."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from memctl.hooks import known
from memctl.hooks.folder import SessionFolder

if TYPE_CHECKING:
    from memctl.model.session_page import Page

_DRAFT = "draft.md"
_LEFT_BEHIND = 6 * 3600  # seconds: a session that has said nothing for so long was killed, or sleeps


def read(folder: SessionFolder) -> Page | None:
    """The draft of a session, if there is one that can be read."""
    try:
        text = _file(folder).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    from memctl.model import session_page
    from memctl.model.faults import InvalidRecord

    try:
        return session_page.parse(text, session_page.path_of(folder.key))
    except InvalidRecord:
        return None


def write(folder: SessionFolder, made: Page) -> None:
    from memctl.model import session_page
    from memctl.store import files

    files.replace_private(_file(folder), session_page.render(made))


def drop(folder: SessionFolder) -> None:
    _file(folder).unlink(missing_ok=True)


def left_behind(folder: SessionFolder, top: Path) -> list[SessionFolder]:
    """The other sessions of a worktree that have a draft, and that nobody has ended."""
    before = time.time() - _LEFT_BEHIND
    left = [one for one in folder.others() if 0 < _written(one) < before]
    return [one for one in left if (state := known.read(one)) is not None and state.top == str(top)]


def _written(folder: SessionFolder) -> float:
    """When the draft was written last, in seconds since the epoch; 0 if there is none."""
    try:
        return _file(folder).stat().st_mtime
    except OSError:
        return 0.0


def _file(folder: SessionFolder) -> Path:
    return folder.path / _DRAFT
