"""Choosing and ranking records of a Snapshot."""
