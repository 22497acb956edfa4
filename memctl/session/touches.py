"""What a step of a session did to a file."""

from __future__ import annotations

import msgspec

CREATED, MODIFIED, DELETED, READ = "created", "modified", "deleted", "read"
WRITTEN = "written"  # created if there was no such file before, else modified


class FileAction(msgspec.Struct, frozen=True):
    """One file, touched: its path as it was given, the folder that it is seen from, what was done, and a word on it.

    `target` is set where the path may be a folder into which a file of this name was put.
    """

    path: str
    action: str
    cwd: str = ""
    what: str = ""
    target: str = ""
