"""Find and redact credentials in a text, by a table of rules."""

from memctl.text.credentials.finder import (
    GIVEN,
    MARK,
    RANDOM,
    STATED,
    Span,
    describe,
    find,
    fingerprint,
    is_in,
    lines,
    mark_pattern,
    redact,
)

__all__ = [
    "GIVEN",
    "MARK",
    "RANDOM",
    "STATED",
    "Span",
    "describe",
    "find",
    "fingerprint",
    "is_in",
    "lines",
    "mark_pattern",
    "redact",
]
