"""The words for an action on a file: created, modified, deleted, read, written.

They are used in states of tasks, in pages of sessions and in answers of hooks.
"""

from __future__ import annotations

CREATED, MODIFIED, DELETED, READ = "created", "modified", "deleted", "read"
WRITTEN = "written"  # created if there was no such file before, else modified
