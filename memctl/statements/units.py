"""Cut a text into units for a summary: sentences, code blocks, tables and headings, with the numbers of their lines.

A summary keeps some units and drops the others. Every line with text belongs to exactly one unit, so the summary can
say which lines it leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from memctl.statements.lines import role_of
from memctl.text.headings import CODE_SPAN
from memctl.text.markdown import one_line

SENTENCE, CODE, TABLE, HEADING = "sentence", "code", "table", "heading"

_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
# A line in bold is a heading unless it ends as a sentence does.
_HEADING = re.compile(r"#{1,6}[ \t]+(.*)|(?:\*\*|__)([^*_]{1,60})(?<![.!?]):?(?:\*\*|__):?$")
_ITEM = re.compile(r"\s*(?:[-*+\u2022\u25cf\u25e6\u25aa\u2023\u23fa]|\d{1,3}[.)])(?:\s+|$)(?:\[[ xX]\](?:\s+|$))?")
_QUOTE = re.compile(r"^\s*(?:>\s?)+")
_RULE = re.compile(r"\s*(?:[-*_]\s*){3,}$")
# A sentence ends with a mark before white space and what may begin another. Small letters may not: two sentences taken
# for one are kept or dropped together, one taken for two would be cut in half.
_END = re.compile(r"(?<=[.!?])[\"')\]*_]*(?=\s+[\"'(\[*_`]*[A-Z0-9§$/])")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|resp|incl|excl|no|nr|fig|sec|st|mr|mrs|ms|dr|[A-Z])\.$", re.IGNORECASE
)
_BEGINS = re.compile(r"\s{0,8}[A-Z0-9`*\"'(\[]")
_GOES_ON = re.compile(r"[,(\u2014\u2013-]\s*$")
_POINTS_BACK = re.compile(
    r"\W*(?:(?:and|but|so|also|then|however|yet|still)\b,? )*(?!it turn)(?:this|that|it|these|those|they|here)\b",
    re.IGNORECASE,
)
_NEXT_STEP = re.compile(r"\W*(?:let me|let's|i'll|i will|now let)\b", re.IGNORECASE)
_NARROWEST = 72  # characters
_PARAGRAPH = 40  # lines in which the width of one is looked for
_MOST_ITEMS = 4  # that are joined to the sentence before them
_LOOKED_BACK = 12  # characters, more than an abbreviation has


class Unit(msgspec.Struct, frozen=True):
    """A sentence, or a block such as a table, which a summary keeps or drops as a whole.

    `line` is the number of its first line, and `form` is SENTENCE, CODE, TABLE or HEADING. `heading` is the text of the
    heading above it, "" if there is none. For a sentence in a list item, `item` is the number of the item's first line;
    otherwise it is 0.
    """

    line: int
    form: str
    text: str
    heading: str = ""
    item: int = 0


def units(text: str) -> Iterator[Unit]:
    """Yield the sentences, code blocks, tables and headings of a text, in their order."""
    heading = ""
    lines = text.split("\n")
    for line, form, block in _blocks(lines):
        if form == SENTENCE:
            item = line if _ITEM.match(_QUOTE.sub("", lines[line - 1])) else 0
            yield from (
                Unit(line + offset, SENTENCE, sentence, heading, item) for offset, sentence in _sentences(block)
            )
            continue
        unit = Unit(line, form, "\n".join(block).rstrip("\n"), heading)
        if form == HEADING:
            heading = _heading(block[0]) or ""
        yield unit


def sentences(text: str) -> Iterator[Unit]:
    """Yield the sentences of a text, each on one line, without `**` and without the bullet or number of a list item.

    A sentence that ends with a colon is joined with the first sentences of the list items that follow it, at most four:
    "We need: a cache; a pool". If no list follows, it is joined with the next sentence. It is left out if nothing
    follows before the next heading. Both are left out if what follows is a next step of the work: "Let me look".
    """
    opened: Unit | None = None
    items: list[Unit] = []
    for unit in units(text):
        if unit.form == HEADING and opened is not None:
            yield from _announced(opened, items)
            opened = None
        if unit.form != SENTENCE:
            continue
        unit = msgspec.structs.replace(unit, text=without_marks(unit.text))
        if opened is not None and (unit.item or not items):
            if len(items) < _MOST_ITEMS and not (items and unit.item == items[-1].item):
                items.append(unit)
            if unit.item:
                continue
        if opened is not None:
            yield from _announced(opened, items)
            opened = None
            if items and not items[-1].item:  # the sentence that was announced
                continue
        if unit.text.endswith(":"):
            opened, items = unit, []
        else:
            yield unit
    if opened is not None:
        yield from _announced(opened, items)


def without_marks(text: str) -> str:
    """Return a text on one line, without `**`, and without the bullet or number of a list item."""
    line = one_line(text.replace("**", ""))
    match = _ITEM.match(line)
    return line[match.end() :] if match else line


def points_back(sentence: str) -> bool:
    """Return whether a sentence begins with a word such as "that" or "it", which only the sentence before explains."""
    return _POINTS_BACK.match(sentence) is not None


def _announced(opened: Unit, items: list[Unit]) -> Iterator[Unit]:
    """Yield a sentence that ends in a colon, joined with what follows it; nothing if only the next step of work
    follows."""
    if items and not _NEXT_STEP.match(items[0].text):
        text = "; ".join(item.text.rstrip(".:;") for item in items)
        yield msgspec.structs.replace(opened, text=f"{opened.text} {text}")


def _blocks(lines: list[str]) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the blocks of a text as (number of the first line, form, lines).

    The lines of a paragraph or list item are without the `>` of a quotation, and without the item's bullet or number.
    """
    number = 0
    while number < len(lines):
        line, start = lines[number], number
        if not line:
            number += 1
        elif fence := _FENCE.match(line):
            number += 1
            while number < len(lines) and not _closes(lines[number], fence[1]):
                number += 1
            number += 1
            yield start + 1, CODE, lines[start:number]
        elif line.lstrip().startswith("|"):
            while number < len(lines) and lines[number].lstrip().startswith("|"):
                number += 1
            yield start + 1, TABLE, lines[start:number]
        elif _heading(line) is not None:
            number += 1
            yield start + 1, HEADING, [line]
        elif not line.strip() or _RULE.match(line):
            number += 1
        else:
            number += 1
            while number < len(lines) and _continues(lines[number]) and not _is_broken(lines, start, number):
                number += 1
            yield (
                start + 1,
                SENTENCE,
                [_bare(lines[start]), *(_QUOTE.sub("", line) for line in lines[start + 1 : number])],
            )


def _closes(line: str, fence: str) -> bool:
    end = line.strip()
    return len(end) >= len(fence) and set(end) == {fence[0]}


def _heading(line: str) -> str | None:
    match = _HEADING.match(line.strip())
    return None if match is None else (match[1] or match[2] or "").rstrip("#: \t")


def _continues(line: str) -> bool:
    """Return whether a line continues the paragraph or item before it; one that begins with a label does not."""
    if ":" in line and _BEGINS.match(line) and role_of(line):
        return False
    if line[:1].isalpha():
        return True
    is_block = _FENCE.match(line) or line.lstrip().startswith("|") or _ITEM.match(line)
    return bool(line.strip()) and not is_block and _heading(line) is None and not _RULE.match(line)


def _is_broken(lines: list[str], start: int, number: int) -> bool:
    """Return whether a line break is deliberate: the first word of the next line would fit into the line before.

    A paragraph is as wide as its longest line, but at least 72 characters. A line that begins with a lower-case letter
    continues the sentence.
    """
    if not _BEGINS.match(lines[number]) or _GOES_ON.search(lines[number - 1]):
        return False
    end = number
    while end < len(lines) and lines[end].strip() and end - start < _PARAGRAPH:
        end += 1
    width = max(_NARROWEST, *map(len, lines[start:end]))
    return len(lines[number - 1]) + 1 + len(lines[number].split(maxsplit=1)[0]) <= width


def _bare(line: str) -> str:
    """Return a line without the `>` of a quotation, and without the bullet or number of a list item."""
    line = _QUOTE.sub("", line)
    match = _ITEM.match(line)
    return line[match.end() :] if match else line


def _sentences(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a paragraph, each on one line, with the offset of the line it begins in."""
    text = "\n".join(lines)
    hidden = CODE_SPAN.sub(lambda match: "X" * len(match[0]), text)  # marks in code end nothing
    start = line = counted = 0
    for match in [*_END.finditer(hidden), None]:
        end = match.end() if match else len(text)
        if match and _ABBREVIATION.search(hidden, max(start, match.start() - _LOOKED_BACK), match.start()):
            continue
        sentence = " ".join(text[start:end].split())
        if sentence:
            begun = start + len(text[start:end]) - len(text[start:end].lstrip())
            line, counted = line + text.count("\n", counted, begun), begun
            yield line, sentence
        start = end
