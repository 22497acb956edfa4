"""Read from a session's folder which program runs the session, and whether that program is still there.

Hooks write the file at a session's first event and delete it at its end (`hooks.live_sessions`).
"""

from __future__ import annotations

import json
import os

from memctl.store.session_dir import SessionDir
from memctl.text.light_typing import NamedTuple

FILE = "alive.json"


class LiveSession(NamedTuple):
    """A session that has not ended, as hooks have recorded it.

    `host` is the host's name, `transcript` the path of the session's transcript, `place` the folder with the memory,
    and `process` the id of the host's process, 0 if it is unknown.
    """

    host: str
    transcript: str
    place: str
    process: int

    @property
    def can_be_checked(self) -> bool:
        """Whether the host's process is known and can be checked; on Windows the check would end the process."""
        return bool(self.process) and os.name == "posix"

    @property
    def is_gone(self) -> bool:
        """Whether no process has the id of the host; False if another process has got that id, or it is unknown."""
        try:
            if self.can_be_checked:
                os.kill(self.process, 0)
        except ProcessLookupError:
            return True
        except (OSError, OverflowError):
            pass
        return False


def read(folder: SessionDir) -> LiveSession | None:
    """Return what hooks wrote about a session; None if the session has ended or its file can't be read."""
    try:
        host, transcript, place, process = json.loads((folder.path / FILE).read_bytes())
        return LiveSession(str(host), str(transcript), str(place), int(process))
    except (OSError, ValueError, TypeError):
        return None
