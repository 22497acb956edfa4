"""Credentials in a text: one table of rules, one function that finds them, one that takes them out."""

from memctl.text.credentials.finding import Span, describe, find, lines, redact

__all__ = ["Span", "describe", "find", "lines", "redact"]
