"""Blocks of a text: the pieces between its visible boundaries, here those of Markdown and plain text.

A block of Markdown is a paragraph, a list, fenced code or a table, with the heading before it. Lines that prompts use
as headings count as headings: a line of one XML tag, a line in bold, or a line in capitals that ends with a colon.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

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
    """A piece of a text between two boundaries, such as a paragraph, a list or a message.

    `number` is the block's index among all blocks of the text. `title` is the heading, element or key above the block,
    and `text` the block's content without markup. `source` is the block as the original text has it, in the lines
    `line` to `end` (the first line of the text is 1), and `tokens` is the size of `source`. `kind` is "heading",
    "text", "list", "code" or "data". `parent` is the number of the block that encloses this block, -1 for none.
    `is_marked` says whether a visible boundary, such as a heading, and not only an empty line, precedes the block.
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
        """Whether the block has only a title, and no text below it."""
        return self.kind == HEADING

    @property
    def name(self) -> str:
        """The block's title; without a title, the first 50 characters of its text."""
        return self.title or " ".join(self.text.split())[:50]


class ParsedText(msgspec.Struct, frozen=True):
    """A text split into blocks, with its format and its tokens.

    If the text was a list of messages in JSON, `text` has only what the messages say, because a model does not read the
    JSON around them.
    """

    text: str
    format: str
    blocks: list[TextBlock]
    tokens: int = 0
    is_messages: bool = False

    @property
    def kind(self) -> str:
        """The kind of text for the counting of tokens: "json" for JSON that is no list of messages, else "markdown"."""
        return "json" if self.format == "json" and not self.is_messages else "markdown"

    @property
    def content(self) -> list[TextBlock]:
        """The blocks that have text, and are not only a heading."""
        return [block for block in self.blocks if not block.is_heading]

    def ancestors(self, block: TextBlock) -> list[TextBlock]:
        """Return the blocks that enclose a block, the innermost first."""
        above = []
        while block.parent >= 0:
            block = self.blocks[block.parent]
            above.append(block)
        return above

    def passes_down(self) -> list[bool]:
        """Return for each block whether a judgement on it, such as "relevant", also holds for the blocks below it.

        It holds unless the block and those below it are more than half of the text: a heading over nearly everything
        says little about each block.
        """
        below = [block.tokens for block in self.blocks]
        for block in reversed(self.blocks):
            if block.parent >= 0:
                below[block.parent] += below[block.number]
        whole = sum(block.tokens for block in self.blocks)
        return [number * 2 <= whole for number in below]


def enough(number: int) -> int:
    """Check that a text does not have too many parts to be measured; return their `number` unchanged.

    Parts are blocks, elements and keys. Raises MemctlError for more than 60,000 parts, which take about 5 seconds.
    """
    if number > _MOST:
        raise MemctlError(f"the text has more than {_MOST:,} blocks", "measure a part of the text")
    return number


def kind_of(text: str) -> str:
    """Return the kind of a text: "text", "list", "code" or "data".

    A text is a list if its first line is a list item. It is data if it looks like JSON, a table or a log, and code if
    most of its lines look like code.
    """
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


_HEADING = re.compile(r"(#{1,6})(?:[ \t](.*))?$")
_CLOSING = re.compile(r"(?:^|[ \t])#+$")
_LIKE_HEADING = re.compile(r"\*\*([^*]{1,100})\*\*:?\s*$|([A-Z][A-Z0-9 _/&-]{2,60}):\s*$")
_TAG = re.compile(r"\s*<(/?)([A-Za-z_][\w.-]*)((?:\s[^<>]*)?)(/?)>\s*$")
_RULE = re.compile(r" {0,3}(?:([-*_=~])[ \t]*)(?:\1[ \t]*){2,}$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_FRAMED = re.compile(r"^[^\S\n]*(?:`{3}|~{3}|\|)", re.MULTILINE)  # a fence, or a table
_MARKS = re.compile(r"^[^\S\n]*(?:(?:>\s?)+|(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?)+", re.MULTILINE)
_INLINE = re.compile(r"\*\*|__|`+|(?<=\])\([^()\s]*\)|(?<![ \t])[ \t]*\|[ \t]*(?=\n|$)|^[ \t]*\|", re.MULTILINE)
_LIKE_LEVEL = 7  # of what is only like a heading: below all that are
_LONGEST = 2_000  # characters of a line that patterns look at


def markdown_blocks(text: str) -> list[TextBlock]:
    """Return the blocks of a Markdown text, which are paragraphs, lists, code and tables, with their headings."""
    blocks: list[TextBlock] = []
    add_markdown(blocks, text)
    return blocks


def add_markdown(blocks: list[TextBlock], text: str, first_line: int = 1, title: str = "", parent: int = -1) -> None:
    """Add the blocks of a Markdown text, which is a part of a larger text, to the list `blocks`.

    `first_line` is the number of this part's first line in the larger text. `title` and `parent` are the title and the
    number of the block that encloses this part.
    """
    reader = _LineReader(blocks, title, parent)
    for number, line in enumerate(text.split("\n"), first_line):
        reader.take(number, line)
    reader.end()


def plain(text: str) -> str:
    """Return a piece of Markdown without the marks of quotes, list items, bold text, code, links and tables."""
    return _INLINE.sub("", _MARKS.sub("", text)).strip()


class _Heading(NamedTuple):
    """A heading that waits for its text."""

    line: int
    source: str
    level: int
    title: str


class _LineReader:
    """Collects the lines of a Markdown text, and adds a block at each boundary."""

    def __init__(self, blocks: list[TextBlock], title: str, parent: int) -> None:
        self._blocks = blocks
        self._above: list[tuple[int, int, str]] = [(-1, parent, title)]  # levels, blocks and titles that are open
        self._lines: list[tuple[int, str]] = []
        self._heading: _Heading | None = None
        self._fence = ""
        self._is_marked = self._in_front = False

    def take(self, number: int, line: str) -> None:
        short = line[:_LONGEST]
        if self._fence or self._in_front:
            self._lines.append((number, line))
            if self._in_front and line in ("---", "...") and len(self._lines) > 1:
                self._in_front = False
                self._flush(DATA)
            elif self._fence and short.strip().startswith(self._fence) and not short.strip().strip(self._fence[0]):
                self._fence = ""
                self._flush(CODE)
        elif line == "---" and number == 1:
            self._in_front = True
            self._lines.append((number, line))
        elif match := _FENCE.match(short):
            self._break()
            self._fence = match[1]
            self._lines.append((number, line))
        else:
            self._take_plain(number, line, short)

    def _take_plain(self, number: int, line: str, short: str) -> None:
        if not short.strip():
            self._flush()
        elif match := _HEADING.match(short):
            self._open(number, line, len(match[1]), _CLOSING.sub("", (match[2] or "").strip()).strip())
        elif _RULE.match(short):
            if len(self._lines) == 1 and short.strip()[0] in "=-" and not self._heading:
                at, above = self._lines.pop()  # it is underlined
                self._open(at, f"{above}\n{line}", 1 if short.strip()[0] == "=" else 2, above.strip())
            else:
                self._break()
        elif match := _TAG.match(short):
            self._break()
            if not match[1]:
                self._open(number, line, _LIKE_LEVEL, f"{match[2]}{match[3]}".strip())
        elif not self._lines and (match := _LIKE_HEADING.match(short)):
            self._open(number, line, _LIKE_LEVEL, (match[1] or match[2]).strip(" :"))
        else:
            self._lines.append((number, line))

    def end(self) -> None:
        self._flush(CODE if self._fence else None)
        self._add_heading()

    def _break(self) -> None:
        self._flush()
        self._is_marked = True

    def _open(self, number: int, source: str, level: int, title: str) -> None:
        self._break()
        self._add_heading()
        while self._above[-1][0] >= level:
            self._above.pop()
        self._heading = _Heading(number, source, level, title)
        self._is_marked = True

    def _add_heading(self) -> None:
        if self._heading is not None:
            line, source, _, title = self._heading
            self._add(title, "", source, line, line + source.count("\n"), HEADING)

    def _flush(self, kind: str | None = None) -> None:
        if not self._lines:
            return
        source = "\n".join(line for _, line in self._lines)
        first, last = self._lines[0][0], self._lines[-1][0]
        self._lines = []
        block_kind = kind or kind_of(source)
        says = source if block_kind == CODE and kind is None else plain(source)
        title = self._above[-1][2]
        if self._heading is not None:
            first, source, title = self._heading.line, f"{self._heading.source}\n\n{source}", self._heading.title
        self._add(title, says, source, first, last, block_kind)

    def _add(self, title: str, text: str, source: str, line: int, end: int, kind: str) -> None:
        number = enough(len(self._blocks))
        is_framed = _FRAMED.search(source) is not None and kind in (CODE, DATA)
        is_marked, parent = self._is_marked or is_framed, self._above[-1][1]
        self._blocks.append(TextBlock(number, title, text, source, line, end, kind, parent, is_marked))
        self._is_marked = is_framed
        if self._heading is not None:
            self._above.append((self._heading.level, number, title))
            self._heading = None
