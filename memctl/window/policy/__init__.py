"""Judgements about a context: how good it is, and when to share it, compress it, or ask a person or another agent."""
