"""A piece of a text between two boundaries: what all readers of formats come to."""

from __future__ import annotations

import re

import msgspec

from memctl.errors import MemctlError
from memctl.text.program_output import LOG_LINE

HEADING, TEXT, LIST, CODE, DATA = "heading", "text", "list", "code", "data"

# Parts of a text: pieces, and the elements and keys of which they consist. Each takes 30 to 70 µs and 500 bytes, so
# that as many end within 5 seconds; nobody reads a text of more.
_MOST = 60_000

_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s")
_CODE_LINE = re.compile(
    r".*(?:[;{}]|\):|=>|\\)\s*$|\s*(?:def|class|import|from|return|const|let|var|if|for|func|\$)\s\S"
)


class Piece(msgspec.Struct, frozen=True):
    """A piece of a text.

    `title` is the heading, element or key that it stands under, `text` what it says without markup, `source` its part
    of the text as it stands. `line` to `end` are its lines, from 1. `parent` is the index of the piece that encloses
    it, -1 for none. `is_marked` says whether a visible boundary other than an empty line comes before it.
    """

    title: str
    text: str
    source: str
    line: int
    end: int
    kind: str
    parent: int = -1
    is_marked: bool = False


def enough(number: int) -> int:
    """The number of parts that a text has so far; raises MemctlError if it has more than anybody could read."""
    if number > _MOST:
        raise MemctlError(f"the text has more than {_MOST:,} parts", "measure a piece of it")
    return number


def kind_of(text: str) -> str:
    """What a stretch of text looks like: most of its lines decide."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return TEXT
    if _ITEM.match(lines[0]):
        return LIST
    begins, ends = text.lstrip()[:1], text.rstrip()[-1:]
    if (begins, ends) in (("{", "}"), ("[", "]"), ("|", "|")):
        return DATA
    if sum(1 for line in lines if LOG_LINE.match(line)) * 2 > len(lines):
        return DATA
    if len(lines) > 1 and sum(1 for line in lines if _CODE_LINE.match(line[:500])) * 2 > len(lines):
        return CODE
    return TEXT
