"""Sync: merging the memory of a clone with that of a remote, and pushing the result."""
