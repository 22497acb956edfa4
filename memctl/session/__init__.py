"""Summarize a session of work with an agent: read its transcript, and write a page for the next session."""
