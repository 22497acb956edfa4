"""The repository's own files, level 4: which of them a task needs, what they import, what is in a large one."""
