"""Taking a text apart into blocks: the pieces between its explicit boundaries, by its format.

A boundary is what a reader sees as one: a heading, an empty line, a fence, a rule, an element, a key, a message. The
format is found by looking at the text; what is neither JSON, XML nor YAML is read as Markdown, of which plain text is
the simplest case.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from memctl.errors import MemctlError
from memctl.policy import markdown_text, messages, sniffing, trees
from memctl.policy.pieces import HEADING, Piece

# The kind of text that each format is counted as (`tokens.families.KINDS`): contexts are mostly prose, as packs are.
KINDS = {"markdown": "markdown", "xml": "markdown", "yaml": "markdown", "lines": "markdown", "json": "json"}

CountTokens = Callable[[str, str], int]  # of a text of a kind


class TextBlock(msgspec.Struct, frozen=True):
    """A piece of a text with its tokens, markup included. See `Piece` for the rest."""

    number: int
    piece: Piece
    tokens: int

    @property
    def is_heading(self) -> bool:
        """Whether it has nothing but its title."""
        return self.piece.kind == HEADING


class ParsedText(msgspec.Struct, frozen=True):
    """A text taken apart: its format, its blocks in their order, and the tokens of the whole."""

    text: str
    format: str
    blocks: list[TextBlock]
    tokens: int

    @property
    def content(self) -> list[TextBlock]:
        """The blocks that say something."""
        return [block for block in self.blocks if not block.is_heading]

    def ancestors(self, block: TextBlock) -> list[TextBlock]:
        """What a block stands under, nearest first."""
        found = []
        while block.piece.parent >= 0:
            block = self.blocks[block.piece.parent]
            found.append(block)
        return found

    def passes_down(self) -> list[bool]:
        """Of each block whether what holds of it holds of all below it: not if that is more than half of the text."""
        below = [block.tokens for block in self.blocks]
        for block in reversed(self.blocks):
            if block.piece.parent >= 0:
                below[block.piece.parent] += below[block.number]
        whole = sum(block.tokens for block in self.blocks)
        return [number * 2 <= whole for number in below]


def take_apart(text: str, name: str, count: CountTokens) -> ParsedText:
    """The blocks of a text; `name` is what a complaint calls it.

    Raises MemctlError for what is no text, for one of more parts than anybody could read, and for XML with a DOCTYPE,
    whose entities could be made to explode.
    """
    if "\0" in text[:8_000]:
        raise MemctlError(f"{name} is no text")
    format_ = sniffing.format_of(text, name)
    readers = {
        "json": messages.pieces,
        "xml": trees.xml_pieces,
        "yaml": trees.yaml_pieces,
        "lines": trees.margin_pieces,
    }
    read = readers.get(format_, markdown_text.pieces)
    kind = KINDS[format_]
    blocks = [TextBlock(number, piece, count(piece.source, kind)) for number, piece in enumerate(read(text))]
    return ParsedText(text, format_, blocks, count(text, kind) if text else 0)
