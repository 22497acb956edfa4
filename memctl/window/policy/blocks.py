"""Taking a text apart into blocks: the pieces between its explicit boundaries, by its format.

A boundary is what a reader sees as one: a heading, an empty line, a fence, a rule, an element, a key, a message. The
format is found by looking at the text; what is neither JSON, XML nor YAML is read as Markdown, of which plain text is
the simplest case.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from xml.parsers import expat

import msgspec

from memctl.errors import MemctlError
from memctl.window.policy import markdown_text, messages, trees
from memctl.window.policy.pieces import HEADING, Piece
from memctl.window.policy.trees import KEY

_LOOKED_AT = 200_000  # characters; a format shows itself before
_HEADING = re.compile(r"^#{2,6} \S", re.MULTILINE)
_ANY_HEADING = re.compile(r"^#{1,6} \S", re.MULTILINE)
_OWN = re.compile(r"MEMORY(?::|\n)")
_OPENED = 8  # one line in so many has indented text below it


def format_of(text: str, name: str) -> str:
    """The format of a text: json, xml, yaml, lines or markdown. Raises MemctlError for XML with a DOCTYPE."""
    start = text.lstrip()[:1]
    if start in ("{", "[") and messages.is_json(text):
        return "json"
    if start == "<":
        head = text.lstrip()[:1000]
        if re.match(r"(?:<\?xml.*?\?>\s*|<!--.*?-->\s*)*<!DOCTYPE", head, re.DOTALL | re.IGNORECASE):
            raise MemctlError(f"{name} has a DOCTYPE", "entities are not expanded here; take the DOCTYPE out")
        try:
            trees.xml_root(text)
            return "xml"
        except (expat.ExpatError, ValueError):
            return "markdown"  # elements among plain text
    if _is_yaml(text[:_LOOKED_AT]):
        return "yaml"
    return "lines" if _is_margin(text[:_LOOKED_AT]) else "markdown"


def _is_yaml(text: str) -> bool:
    """Whether every line at the margin is a key, an item or what closes one: YAML allows no other."""
    lines = [line for line in text.split("\n") if line.strip() and line[0] not in " \t#]}" and line != "---"]
    if not lines or _HEADING.search(text) or not any(KEY.match(line) for line in lines):
        return False
    return all(line.startswith("- ") or KEY.match(line) for line in lines)


def _is_margin(text: str) -> bool:
    """Whether lines at the margin have indented text that belongs to them, as in memctl's own format."""
    if _OWN.match(text):
        return True
    if _ANY_HEADING.search(text):
        return False
    lines = [line for line in text.split("\n") if line.strip()]
    opened = sum(1 for line, after in pairwise(lines) if line[0] not in " \t-*" and after[0] in " \t")
    return opened > 1 and opened * _OPENED >= len(lines)


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
    format_ = format_of(text, name)
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
