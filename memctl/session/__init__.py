"""Summarize sessions of work with an agent: read the transcript and write a page for the next session."""
