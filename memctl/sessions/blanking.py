"""Taking credentials out of what comes from a transcript: sessions see them, and a memory keeps what it is given."""

from __future__ import annotations

import re

from memctl.model.credentials import kind_of_secret
from memctl.model.markdown import one_line

_WORD = re.compile(r"[^\s\"'`<>|,;()]{12,}")
# A value that is given to something named like a secret; what follows a space may be prose.
_ASSIGNED = re.compile(
    r"(?i)\b([\w-]*(?:password|passwd|secret|token|api[_-]?key|private[_-]?key)[\w-]*[=:]"
    r"|--(?:password|token|api-key)[= ]|authorization: (?:bearer|basic) )([\"']?)(?![\s\"'$<{*])[^\s\"']{6,}\2"
)
_BLANK = "[blanked: {}]"


def blanked(text: str) -> str:
    """A line without what looks like a credential, which is named instead."""
    text = _ASSIGNED.sub(lambda match: match[1] + _BLANK.format("secret"), text)
    kind = kind_of_secret(text)
    if not kind:
        return text
    if "PRIVATE KEY" not in text:  # the rest of the line is part of it
        for word in sorted(_WORD.findall(text), key=len, reverse=True):
            if kind_of_secret(word) or not kind_of_secret(text.replace(word, "")):
                text = text.replace(word, _BLANK.format(kind.lower()))
            if not kind_of_secret(text):
                return text
    return _BLANK.format(kind.lower())


def plain(given: str) -> str:
    """Text out of a transcript on one line, without credentials and without what is no character to be seen."""
    return blanked(one_line("".join(c if c.isprintable() else " " for c in given)))
