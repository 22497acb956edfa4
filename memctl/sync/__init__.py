"""Merge the memory of a clone with that of a remote, and push it."""
