"""The first line of a rendered document: who made it, and a digest of its text, by which edits by hand are found."""

from __future__ import annotations

import re

import msgspec

_HEAD = "<!-- Rendered by memctl from the memory, which is the place for edits. text:{} -->\n"
_HEADED = re.compile(r"<!-- Rendered by memctl [^\n]*text:([0-9a-f]{16})(?: from:([0-9a-f]{16}))? -->\n")


class Document(msgspec.Struct, frozen=True):
    """A document as found: its text without the head, what it was made from, whether it is as memctl left it."""

    text: str
    made_from: str
    is_intact: bool


def sealed(text: str, made_from: str = "") -> str:
    """A document: its head, then its text. `made_from` is a digest of what in the memory it shows."""
    return _HEAD.format(digest(text) + (f" from:{made_from}" if made_from else "")) + text


def opened(document: str) -> Document | None:
    """A document taken apart; None if it has no head and so is none of memctl's."""
    match = _HEADED.match(document)
    if match is None:
        return None
    text = document[match.end() :]
    return Document(text, match[2] or "", digest(text) == match[1])


def digest(text: str) -> str:
    from hashlib import blake2b  # 3 ms

    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()
