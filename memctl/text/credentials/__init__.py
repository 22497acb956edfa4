"""Credentials in a text: one table of rules, one function that finds them, one that takes them out."""

from memctl.text.credentials.finding import Span, describe, find, is_in, line_of, redact

__all__ = ["Span", "describe", "find", "is_in", "line_of", "redact"]
