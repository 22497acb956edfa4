"""The words for what was done to a file, in the states of tasks, the pages of sessions and the answers of hooks."""

from __future__ import annotations

CREATED, MODIFIED, DELETED, READ = "created", "modified", "deleted", "read"
WRITTEN = "written"  # created if there was no such file before, else modified
