"""Credentials in a text: one table of rules, one function that finds them, one that redacts them."""

from memctl.text.credentials.finder import GIVEN, MARK, Span, describe, find, is_in, lines, mark_pattern, redact

__all__ = ["GIVEN", "MARK", "Span", "describe", "find", "is_in", "lines", "mark_pattern", "redact"]
