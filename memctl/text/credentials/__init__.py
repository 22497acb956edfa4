"""Credentials in a text: a table of rules, a function that finds them, a function that redacts them."""

from memctl.text.credentials.finder import GIVEN, MARK, Span, describe, find, is_in, lines, mark_pattern, redact

__all__ = ["GIVEN", "MARK", "Span", "describe", "find", "is_in", "lines", "mark_pattern", "redact"]
