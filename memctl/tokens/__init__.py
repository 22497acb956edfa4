"""Counting tokens, with the source of every figure and how far it may be off."""
