"""Merging one file without leaving a choice to anybody: where both sides changed one thing, the remote's stands.

The remote wins because others rely on what has reached it (rules.md#coordination). A later value would need clocks that
agree. What gives way is named, and stands in the history of this side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from memctl.errors import MemctlError
from memctl.record import session_page
from memctl.record.kinds import BY_FOLDER, HANDOFF
from memctl.store import files
from memctl.sync import answers
from memctl.write import merge
from memctl.write.merge import WHOLE
from memctl.write.merge_bodies import Lost
from memctl.write.redact_file import is_readable

if TYPE_CHECKING:
    from memctl.tokens.count import Counter

_SHOWN = 300  # characters of a value that gave way; the rest stands in the history


def decided(
    path: str, base: str, ours: str, theirs: str, counter: Callable[[], Counter]
) -> tuple[str, tuple[Lost, ...]]:
    """The merge of two versions of a record or page that come from `base` ("" for none), and what gave way.

    `counter` is asked for the budget of a session's page.
    """
    if not is_readable(path, theirs) and is_readable(path, ours):
        return ours, (Lost(WHOLE, theirs, ours),)  # a file that can't be read is no version to go on with
    whole = (theirs, (Lost(WHOLE, ours, theirs),))
    try:
        if session_page.is_page(path) or session_page.is_trail(path):
            from memctl.session import versions

            merged = versions.merge(base, ours, theirs, counter(), prefer="theirs")
        else:
            ours, answer = answers.without_ours(path, base, ours, theirs) if is_handoff(path) else (ours, ())
            merged = merge.merge(base, ours, theirs, prefer="theirs")
            merged = msgspec.structs.replace(merged, lost=(*answer, *merged.lost))
    except MemctlError:  # Git takes it for binary
        return whole
    return (merged.text, merged.lost) if is_readable(path, merged.text) or not is_readable(path, theirs) else whole


def is_handoff(path: str) -> bool:
    """Whether a file is the record of a handoff."""
    return path.startswith(f"{HANDOFF.folder}/") and files.is_record_path(path, BY_FOLDER)


def shown(value: Any) -> str:
    """A value on one line, cut if it is long."""
    text = " ".join(str(value).encode(errors="surrogateescape").decode(errors="backslashreplace").split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
