"""Write and read the first line of a rendered document, whose digest of the text reveals edits by hand."""

from __future__ import annotations

import msgspec

from memctl.pages.links import EXECUTIVE, INDEX, SOURCES
from memctl.text.lazy_regex import lazy_regex

# The layout numbers of documents, 1 if not listed. Raise a number when the layout changes: an older document is then a
# warning of `check` and not an error, until it is rendered.
LAYOUTS = {INDEX: 4, EXECUTIVE: 3, SOURCES: 3}
_HEAD = "<!-- Rendered by memctl from the memory, which is the place for edits. {}text:{} -->\n"
_HEADED = lazy_regex(
    r"<!-- Rendered by memctl [^\n]*?(?:layout:(\d{1,4}) )?text:([0-9a-f]{16})(?: from:([0-9a-f]{16}))? -->\n"
)


class Document(msgspec.Struct, frozen=True):
    """A rendered document: its text without the header, and its layout number.

    `made_from` is the digest of the memory's content that the document shows, "" for most documents. `is_intact` says
    that nobody has edited the document. `layout` is the number in its header, which memctl raises whenever it changes
    the document's layout.
    """

    text: str
    made_from: str
    is_intact: bool
    layout: int = 1


def seal(text: str, made_from: str = "", layout: int = 1) -> str:
    """Return a whole document: its header line, and below it `text`.

    `made_from` is a digest of the memory's content that the document shows, "" for none. `layout` is the document's
    layout number, which memctl raises whenever it changes the layout.
    """
    layout_field = f"layout:{layout} " if layout > 1 else ""
    return _HEAD.format(layout_field, digest(text) + (f" from:{made_from}" if made_from else "")) + text


def split(document: str) -> Document | None:
    """Split a document into header and text; None if it has no header, and so was not written by memctl."""
    match = _HEADED.match(document)
    if match is None:
        return None
    text = document[match.end() :]
    return Document(text, match[3] or "", digest(text) == match[2], int(match[1] or 1))


def is_earlier(document: str, now: str) -> bool:
    """Return whether a document that nobody edited has an older layout than memctl gives it now.

    `now` is the same document as memctl renders it now.
    """
    one, other = split(document), split(now)
    return one is not None and other is not None and one.is_intact and one.layout < other.layout


def digest(text: str) -> str:
    """Return the digest of a text for a document's header: 16 hexadecimal digits."""
    from _blake2 import blake2b  # hashlib would load OpenSSL, which takes 3 ms

    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()
