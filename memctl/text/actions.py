"""The words for what was done to a file: created, modified, deleted, read, written.

They are used in states of tasks, in pages of sessions, and in what hooks tell an agent.
"""

from __future__ import annotations

CREATED, MODIFIED, DELETED, READ = "created", "modified", "deleted", "read"
WRITTEN = "written"  # created if there was no such file before, else modified
