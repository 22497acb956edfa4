"""The repository's own files: which of them a task needs, what they import, and summaries of large files."""
