"""Bringing the memory of a clone and that of a remote together."""
