"""An agent's notes in a file of the project: read when a task goes on, and appended to."""

from __future__ import annotations

import re
from pathlib import Path

from memctl.store import files
from memctl.window.compression.notes import CATEGORIES, IMPORTANCES, Note, Notes
from memctl.window.state.files import alone, text_of

_LINE = re.compile(rf"- \[({'|'.join(IMPORTANCES)})\] ({'|'.join(CATEGORIES)}): (.*\S)\s*", re.IGNORECASE)


def in_file(folder: Path, path: str) -> Notes:
    """The notes in a file of the project, to which each one that is taken is appended.

    A note is a line `- [HIGH] bugs: what it says`; whatever else people write there stays, and is no note. Raises
    MemctlError if the file can't be read or written.
    """
    files.locate(folder, path)  # before anything is read

    def keep(note: Note) -> None:
        line = f"- [{note.importance.upper()}] {note.category}: {note.content}\n"
        with alone(folder, path):
            files.append_line(files.locate(folder, path), line.encode(errors="replace"))

    lines = (text_of(folder, path) or "").split("\n")
    found = [match for line in lines if (match := _LINE.fullmatch(line))]
    return Notes([Note(match[2].lower(), match[3], match[1].lower()) for match in found], keep)
