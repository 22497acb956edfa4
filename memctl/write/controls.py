"""Keeping control characters out of records: commands refuse them, `check` finds those that got in otherwise."""

from __future__ import annotations

from memctl.errors import MemctlError
from memctl.record.change import Change
from memctl.record.kinds import BY_FOLDER
from memctl.record.pages import kind_at
from memctl.store import files
from memctl.text import characters
from memctl.write import credentials


def refuse(change: Change) -> None:
    """Raise MemctlError, naming the field, if a change adds a control character to a record or page.

    Lines that a file had before are not complained of again, nor what is brought back as it was.
    """
    if change.op == "restore":
        return
    for write in change.writes:
        is_ours = files.is_record_path(write.path, BY_FOLDER) or kind_at(write.path) is not None
        if not is_ours or not characters.first_in(write.text):
            continue
        for field, line in credentials.added(write):
            if found := characters.first_in(line):
                raise MemctlError(
                    f"{write.path}: {field}: the control character {found!r} stands in a line",
                    "take it out; most programs print without colours if NO_COLOR is set",
                )
