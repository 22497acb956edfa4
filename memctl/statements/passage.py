"""The text under a label such as `Rationale:`, collected line by line: its paragraphs and list items."""

from __future__ import annotations

import re
from typing import NamedTuple

from memctl.statements.labels import VALUES
from memctl.statements.lines import Label, Line

_WRAPPED = 60  # characters: a line that ends a sentence before is not cut to a width, so that the next is another one


class Part(NamedTuple):
    """A paragraph or a list item: its lines, and the number of its first line."""

    is_item: bool
    lines: list[str]
    number: int


class Passage:
    """The text under one label, collected line by line into paragraphs and list items.

    `line` is the number of the line that has the label. `is_section` says that the text may go on after empty lines.
    That is so if the label is a heading, or if it is in bold and belongs to a statement whose own label is a heading.
    """

    def __init__(self, label: Label, line: Line, *, is_section: bool) -> None:
        self.label = label
        self.column = line.column
        self.is_item = line.is_item
        self.is_section = is_section
        self.first_item = -1
        self.line = self.last = line.number
        self.parts = [Part(False, [label.rest], line.number)] if label.rest else list[Part]()
        self.has_gap = False

    @property
    def is_below(self) -> bool:
        """Whether the text of this passage starts in a line below its label, and not in the label's own line."""
        return not self.label.rest

    @property
    def has_items(self) -> bool:
        """Whether the last part of the passage so far is a list item, and not a paragraph."""
        return bool(self.parts) and self.parts[-1].is_item

    def takes_item(self, line: Line) -> bool:
        """Return whether a list item belongs to this passage, judged by how far it and the label are indented.

        If the label is in a list item itself, an item below it must begin further to the right. Otherwise the item must
        not begin further to the left than the label or the first item of the list.
        """
        if not (self.is_below or self.is_section):
            return False
        return line.column > self.column or (not self.is_item and line.column >= max(self.first_item, self.column))

    def add_item(self, line: Line) -> None:
        """Add a list item; if it is indented further than the first item, it becomes part of the item before it."""
        if 0 <= self.first_item < line.column and self.has_items:
            self.parts[-1].lines.append(f"- {line.text}")
        else:
            self.first_item = line.column if self.first_item < 0 else min(self.first_item, line.column)
            self.parts.append(Part(True, [line.text], line.number))
        self.has_gap, self.last = False, line.number

    def takes_text(self, line: Line) -> bool:
        """Return whether a line without marks continues this passage.

        A label for a single value, such as the severity, has only the text behind it in its own line; if there is none,
        it has the lines below it up to the first empty line.
        """
        if not self.parts:
            return True
        if self.label.role in VALUES and (self.has_gap or not self.is_below):
            return False
        if self.has_items and line.text.startswith("(") and line.column <= self.first_item:
            return False  # a remark on the list
        if self.is_section:
            return True
        if self.has_gap:
            return self.has_items and line.column > self.first_item >= 0
        last = self.parts[-1].lines[-1]
        ended = last.endswith((".", "!", "?")) and len(last) < _WRAPPED
        return not (ended and line.text[:1].isupper() and not self.has_items)

    def add_text(self, line: Line, text: str | None = None) -> None:
        """Add a line to the last part, or as a new paragraph after an empty line.

        `text` is the portion of the line to add, None for the line's whole text.
        """
        text = line.text if text is None else text
        if not self.parts or (self.has_gap and not (self.has_items and line.column > self.first_item)):
            self.parts.append(Part(False, [text], line.number))
        else:
            self.parts[-1].lines.append(text)
        self.has_gap, self.last = False, line.number

    def items(self) -> tuple[str, ...]:
        """Return each paragraph and list item as one text.

        If the passage is a single text such as `a (why), b (why)`, the result has an item for each: `a (why)` and
        `b (why)`.
        """
        texts = tuple(plain("\n".join(part.lines)) for part in self.parts)
        if len(texts) == 1 and not self.has_items and "), " in texts[0] and texts[0].rstrip(".").endswith(")"):
            return _explained(texts[0])
        return tuple(text for text in texts if text)

    def whole(self) -> str:
        """Return the whole passage as Markdown."""
        blocks: list[str] = []
        was_item = False
        for is_item, lines, _ in self.parts:
            text = "\n".join(lines).strip("\n")
            if is_item:
                text = "- " + text.replace("\n", "\n  ")
            if is_item and was_item:
                blocks[-1] += f"\n{text}"
            else:
                blocks.append(text)
            was_item = is_item
        return "\n\n".join(blocks)


def plain(text: str) -> str:
    """Return an item without the marks that make its first words bold: "**Fast** and small" gives "Fast and small"."""
    return re.sub(r"^(\*\*|__)([^*_\n]{1,80})\1", r"\2", text.strip())


def _explained(text: str) -> tuple[str, ...]:
    """Return the items of `a (why), b (why)`, which commas behind brackets separate."""
    result, depth, start = list[str](), 0, 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth <= 0 and text[place - 1] == ")":
            result.append(text[start:place].strip())
            start = place + 1
    return tuple(part for part in (*result, text[start:].strip()) if part)
