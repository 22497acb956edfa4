"""Transcripts of hosts and lists of messages, read: events, usage, windows."""
