"""A text as blocks: the pieces between its explicit boundaries, whatever its format."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from memctl.errors import MemctlError
from memctl.text.program_output import LOG_LINE

HEADING, TEXT, LIST, CODE, DATA = "heading", "text", "list", "code", "data"
CountTokens = Callable[[str, str], int]  # of a text of a kind (`tokens.families.KINDS`)

# Parts of a text: blocks, and the elements and keys of which they consist. Each takes 30 to 70 µs and 500 bytes, so
# that as many end within 5 seconds; nobody reads a text of more.
_MOST = 60_000
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s")
_CODE_LINE = re.compile(
    r".*(?:[;{}]|\):|=>|\\)\s*$|\s*(?:def|class|import|from|return|const|let|var|if|for|func|\$)\s\S"
)


class TextBlock(msgspec.Struct, frozen=True):
    """A piece of a text.

    `number` is its place among the blocks. `title` is the heading, element or key that it is under, `text` what it says
    without markup, `source` its part of the text as it came. `line` to `end` are its lines, from 1. `parent` is the
    number of the block that encloses it, -1 for none. `is_marked` says whether a visible boundary other than an empty
    line comes before it. `tokens` are those of the source.
    """

    number: int
    title: str
    text: str
    source: str
    line: int
    end: int
    kind: str
    parent: int = -1
    is_marked: bool = True
    tokens: int = 0

    @property
    def is_heading(self) -> bool:
        """Whether it has nothing but its title."""
        return self.kind == HEADING

    @property
    def name(self) -> str:
        """Its title, or the beginning of its text on one line."""
        return self.title or " ".join(self.text.split())[:50]


class ParsedText(msgspec.Struct, frozen=True):
    """A text taken apart: its format, its blocks in their order, and the tokens of the whole."""

    text: str
    format: str
    blocks: list[TextBlock]
    tokens: int = 0

    @property
    def kind(self) -> str:
        """The kind of text that it is counted as: contexts are mostly prose, as packs are."""
        return "json" if self.format == "json" else "markdown"

    @property
    def content(self) -> list[TextBlock]:
        """The blocks that have text."""
        return [block for block in self.blocks if not block.is_heading]

    def ancestors(self, block: TextBlock) -> list[TextBlock]:
        """The blocks that enclose a block, nearest first."""
        found = []
        while block.parent >= 0:
            block = self.blocks[block.parent]
            found.append(block)
        return found

    def passes_down(self) -> list[bool]:
        """Of each block whether what holds of it holds of all below it: not if that is more than half of the text."""
        below = [block.tokens for block in self.blocks]
        for block in reversed(self.blocks):
            if block.parent >= 0:
                below[block.parent] += below[block.number]
        whole = sum(block.tokens for block in self.blocks)
        return [number * 2 <= whole for number in below]


def enough(number: int) -> int:
    """The number of parts that a text has so far; raises MemctlError if it has more than anybody could read."""
    if number > _MOST:
        raise MemctlError(f"the text has more than {_MOST:,} parts", "measure a piece of it")
    return number


def kind_of(text: str) -> str:
    """What a stretch of text looks like (TEXT, LIST, CODE or DATA): most of its lines decide."""
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
