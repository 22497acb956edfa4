"""The first line of a rendered document: who made it, and a digest of its text, by which edits by hand are found."""

from __future__ import annotations

import msgspec

from memctl.pages.links import EXECUTIVE, INDEX, SOURCES
from memctl.text.lazy_regex import lazy_regex

# The layout of documents that an earlier memctl laid out in another way; raise it with such a change, so that what is
# left of the earlier one is a warning, not an error, until somebody renders it.
LAYOUTS = {INDEX: 3, EXECUTIVE: 2, SOURCES: 2}
_HEAD = "<!-- Rendered by memctl from the memory, which is the place for edits. {}text:{} -->\n"
_HEADED = lazy_regex(
    r"<!-- Rendered by memctl [^\n]*?(?:layout:(\d{1,4}) )?text:([0-9a-f]{16})(?: from:([0-9a-f]{16}))? -->\n"
)


class Document(msgspec.Struct, frozen=True):
    """A document read from the disk: its text without the header, the digest of its sources, whether it is unedited,
    and its layout."""

    text: str
    made_from: str
    is_intact: bool
    layout: int = 1


def seal(text: str, made_from: str = "", layout: int = 1) -> str:
    """Return a document: its head, then its text. `made_from` is a digest of what in the memory it shows."""
    told = f"layout:{layout} " if layout > 1 else ""
    return _HEAD.format(told, digest(text) + (f" from:{made_from}" if made_from else "")) + text


def split(document: str) -> Document | None:
    """Return a document split into header and text; None if it has no header, so that memctl did not write it."""
    match = _HEADED.match(document)
    if match is None:
        return None
    text = document[match.end() :]
    return Document(text, match[3] or "", digest(text) == match[2], int(match[1] or 1))


def is_earlier(document: str, now: str) -> bool:
    """Return whether an unedited document has an older layout than `now`, the text that rendering makes."""
    one, other = split(document), split(now)
    return one is not None and other is not None and one.is_intact and one.layout < other.layout


def digest(text: str) -> str:
    from hashlib import blake2b  # 3 ms

    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()
