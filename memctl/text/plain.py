"""Text out of a transcript as a line of ours."""

from __future__ import annotations

from memctl.text.credentials import redact


def plain(text: str) -> str:
    """Return a text on one line, without credentials and without characters that can't be seen."""
    return redact(" ".join("".join(c if c.isprintable() else " " for c in text).split()))
