"""The probes that were made when a session was summed up, for when its transcript is no longer at hand.

They lie in the Git directory that all worktrees share, beside the counters: in a page they would take the room of what
they are to judge, and in a file of the memory they would be the summary once more. So they can be deleted at any time;
then Git alone gives probes, of files.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from memctl.session import probes
from memctl.session.probes import Probe
from memctl.store import files
from memctl.store.memory import Memory

_MOST = 100  # sessions of which probes are kept, the latest


def keep(memory: Memory, identifier: str, made: Sequence[Probe]) -> None:
    """Keep the probes of a session, beside those of its earlier parts, if that folder can be written to."""
    file = _file(memory, identifier)
    with suppress(OSError):
        both = probes.merged(read(memory, identifier), made)
        files.replace_private(file, msgspec.json.encode(both).decode())
        for old in sorted(file.parent.glob("*.json"), key=lambda found: found.stat().st_mtime)[:-_MOST]:
            old.unlink(missing_ok=True)


def read(memory: Memory, identifier: str) -> list[Probe]:
    """The probes that were kept of a session, none if they are gone."""
    try:
        return msgspec.json.decode(_file(memory, identifier).read_bytes(), type=list[Probe])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return []


def _file(memory: Memory, identifier: str) -> Path:
    return memory.repository.shared / "probes" / memory.private.name / f"{identifier}.json"
