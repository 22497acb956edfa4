"""What can be done to a file, by the words that states of tasks, pages of sessions and answers of hooks use for it."""

from __future__ import annotations

CREATED, MODIFIED, DELETED, READ = "created", "modified", "deleted", "read"
WRITTEN = "written"  # created if there was no such file before, else modified
