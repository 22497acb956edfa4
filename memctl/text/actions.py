"""The words for an action on a file: created, modified, deleted, read, written.

States of tasks, pages of sessions and answers of hooks use them.
"""

from __future__ import annotations

CREATED, MODIFIED, DELETED, READ = "created", "modified", "deleted", "read"
WRITTEN = "written"  # created if there was no such file before, else modified
