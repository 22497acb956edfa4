"""Text inside XML: what XML 1.0 can't hold at all, not even escaped, is replaced."""

from __future__ import annotations

import re

_FORBIDDEN = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: str) -> str:
    """A text that a serialiser can write as XML."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
