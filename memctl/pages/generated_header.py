"""Write and read the first line of a rendered document: the number of its layout.

In a memory of format 1 it also has a hash of the text, which reveals edits by hand (in format 2: `edited_documents`).
"""

from __future__ import annotations

import msgspec

from memctl.pages.links import EXECUTIVE, INDEX, SOURCES
from memctl.text.lazy_regex import lazy_regex

# The layout numbers of documents. Raise a number when the layout changes: an older document is then a warning of
# `check` and not an error, until it is rendered.
LAYOUTS = {INDEX: 6, EXECUTIVE: 4, SOURCES: 4}
OF_PAGES = 3  # of the documents of sections and pages of details
OF_FORMAT_2 = 7  # of all documents of a memory of format 2
_HEAD = "<!-- Rendered by memctl from the memory, which is the place for edits. {} -->\n"
_HEADED = lazy_regex(
    r"<!-- Rendered by memctl [^\n]*?(?:layout:(\d{1,4}) ?)?(?:text:([0-9a-f]{16})(?: from:([0-9a-f]{16}))?)? ?-->\n"
)


class Document(msgspec.Struct, frozen=True):
    """A rendered document, split into its header and its text.

    - `text`: the document without its header.
    - `made_from`: for the document of source files a hash of what decides which files it lists, "" for any other.
    - `is_intact`: whether nobody has edited the document since it was rendered; None without a hash (format 2).
    - `layout`: the number of its layout. memctl raises a document's layout number whenever it changes the layout.
    """

    text: str
    made_from: str
    is_intact: bool | None
    layout: int = 1


def seal(text: str, made_from: str = "", layout: int = 1) -> str:
    """Return a whole document: its header line, and below it `text`.

    `made_from` is a hash for the document of source files (see `Document`), "" for any other. `layout` is the number of
    the document's layout, which memctl raises whenever it changes the layout.
    """
    layout_field = f"layout:{layout} " if layout > 1 else ""
    return _HEAD.format(f"{layout_field}text:{digest(text)}" + (f" from:{made_from}" if made_from else "")) + text


def head(text: str) -> str:
    """Return a whole document of a memory of format 2: the header line, an empty line, and below it `text`."""
    return _HEAD.format(f"layout:{OF_FORMAT_2}") + f"\n{text}"


def split(document: str) -> Document | None:
    """Split a document into header and text; None if it has no header, and so was not written by memctl."""
    match = _HEADED.match(document)
    if match is None or not (match[1] or match[2]):
        return None
    text = document[match.end() :]
    if match[2] is None:
        return Document(text.removeprefix("\n"), "", None, int(match[1] or 1))
    return Document(text, match[3] or "", digest(text) == match[2], int(match[1] or 1))


def is_earlier(document: str, now: str) -> bool:
    """Return whether an older version of memctl rendered a document, in a layout that is no longer used.

    `document` is its text, and `now` the text that rendering it gives now. The result is False if somebody has edited
    the document.
    """
    one, other = split(document), split(now)
    return one is not None and other is not None and one.is_intact is not False and one.layout < other.layout


def digest(text: str) -> str:
    """Return the hash of a text for a document's header: 16 hexadecimal digits."""
    from _blake2 import blake2b  # hashlib would load OpenSSL, which takes 3 ms

    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()
