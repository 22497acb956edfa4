"""What was done to a file, in one word: as states of tasks, pages of sessions and answers of hooks call it."""

from __future__ import annotations

CREATED, MODIFIED, DELETED, READ = "created", "modified", "deleted", "read"
WRITTEN = "written"  # created if there was no such file before, else modified
