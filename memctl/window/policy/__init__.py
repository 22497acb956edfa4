"""Policies on context: how a window is divided, how good a context is, when to share, compress or escalate."""
