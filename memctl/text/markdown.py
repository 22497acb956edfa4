"""Record text inside other Markdown: in a line of it, or below a heading, without ever leaving its place."""

from __future__ import annotations

import re
from collections.abc import Callable

from memctl.text import headings
from memctl.text.headings import CODE_SPAN
from memctl.text.lazy_regex import lazy_regex

_HEADING = lazy_regex(r"^#{1,6}(?=[ \t]|$)", re.MULTILINE)
# HTML, an indented heading, the underline of one, a fence that does not begin its line.
_ODD = lazy_regex(
    r"^(?: {0,3}<| {1,3}#{1,6}(?:[ \t]|$)| {0,3}(?:=+|-+)[ \t]*$|(?:[ \t>*+-]|\d{1,9}[.)])+(?:`{3}|~{3}))", re.MULTILINE
)
# Markdown lets it close a fence, `headings` does not.
_INDENTED_FENCE = lazy_regex(r"^ {1,3}(?:`{3}|~{3})", re.MULTILINE)
# What would begin something in a line (code, emphasis, a link, HTML, an entity, a cell of a table) or end a heading.
_SPECIAL = lazy_regex(r"[\\`*\[\]<|~]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)|(?<!\S)#")
_ESCAPE = lazy_regex(CODE_SPAN.pattern + r"|\\([!-/:-@\[-`{-~])")  # in a code span a backslash is one
_OPENING = lazy_regex(r"(?:\d{1,9}(?=[.)](?:\s|$))|(?=[-+>=]))")  # what would begin a block if it began its line
_LINKING = lazy_regex(r"^.*\]\(.*", re.MULTILINE)
_TARGET = lazy_regex(r"(?<!\\)\]\([^()\s]*\)")
_LINK = lazy_regex(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
# `[x]: where` would say for the whole document where `[x]` leads, wherever it stands.
_DEFINITION = lazy_regex(r"^((?:[ \t>*+-]|\d{1,9}[.)])*)\[(?=[^\[\]\n]+\]:)", re.MULTILINE)
_ESCAPED = r"\1\\["
_ABBREVIATED = 160  # characters of a text that stands for the whole


def one_line(text: str) -> str:
    return " ".join(text.split())


def inline(text: str) -> str:
    """A text as part of one line of Markdown, its special characters escaped; code spans stay what they are."""
    text = one_line(text)
    line = outside_code(text, lambda part: _SPECIAL.sub(r"\\\g<0>", part))
    return _OPENING.sub(r"\g<0>\\", line, count=1) if _OPENING.match(line) else line


def without_escapes(line: str) -> str:
    """A line of Markdown as it reads: `\\[a\\]` as `[a]`; the reverse of `inline`."""
    return _ESCAPE.sub(lambda found: found[2] or found[0], line)


def cell(text: str) -> str:
    """A text as a cell of a table."""
    return in_cell(inline(text))


def in_cell(line: str) -> str:
    """A line of Markdown as a cell of a table: there a bar ends a cell even in code, but for a backslash."""
    return re.sub(r"(?<!\\)\|", r"\|", line)


def first_sentence(text: str) -> str:
    """How a text begins, as one line: its first sentence, or as many words as fit into 160 characters."""
    block = next((block for block in text.split("\n\n") if block.strip()), "")
    line = one_line(re.sub(r"^\s*(?:[-*+]|\d{1,9}[.)])\s+", "", block))
    match = re.match(r".+?[.!?](?=\s+[^a-z\s]|$)", line)
    line = match[0] if match else line
    if len(line) <= _ABBREVIATED:
        return line
    return line[: _ABBREVIATED - 1].rpartition(" ")[0].rstrip(",;:") + " …"


def target(path: str) -> str:
    """A relative path as the target of a link."""
    from urllib.parse import quote  # 2 ms, which what makes no link has no time for

    return quote(path, safe="/")


def code(text: str) -> str:
    """A text as a code span, whatever backticks it has."""
    text = one_line(text)
    ticks = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{ticks}{text}{ticks}" if len(ticks) == 1 else f"{ticks} {text} {ticks}"


def slug(heading: str, *, literal: bool = False) -> str:
    """The anchor that hosting sites and editors give a heading: lower case, no punctuation, spaces as dashes.

    A `literal` heading is no Markdown: what looks like a link in it is shown as it is.
    """
    shown = heading if literal else _LINK.sub(r"\1", heading)
    return re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")


def visible(text: str) -> str:
    """A text without the targets of its links: what a model needs, since it goes by § markers and ids."""
    if "](" not in text:
        return text

    def without(line: re.Match[str]) -> str:
        return outside_code(line[0], lambda part: _TARGET.sub("]", part))

    stretches = headings.stretches(text)
    return "\n".join(_LINKING.sub(without, part) if outside else part for part, outside in stretches)


def outside_code(line: str, change: Callable[[str], str]) -> str:
    """A line with everything but its code spans changed."""
    if "`" not in line:
        return change(line)
    parts, end = [], 0
    for match in CODE_SPAN.finditer(line):
        parts += [change(line[end : match.start()]), match[0]]
        end = match.end()
    return "".join([*parts, change(line[end:])])


def contained(body: str, *, lowered_by: int = 2, lowered_to: int = 4) -> str:
    """A record's text such that nothing of it can stand beside the headings around it or swallow what follows.

    Its headings are lowered by `lowered_by` levels, and to no less than `lowered_to`. A text with anything that a
    Markdown reader might take for more than that (raw HTML, underlined headings, code fences that are indented or
    left open) is quoted, line by line.
    """
    stretches = list(headings.stretches(body))
    is_odd = any((_ODD if outside else _INDENTED_FENCE).search(text) for text, outside in stretches)
    if is_odd or headings.close_fence(body) != body:
        return "\n".join(f"> {line}".rstrip() for line in _DEFINITION.sub(_ESCAPED, body).split("\n"))

    def lower(match: re.Match[str]) -> str:
        return "#" * min(max(len(match[0]) + lowered_by, lowered_to), 6)

    return "\n".join(
        _DEFINITION.sub(_ESCAPED, _HEADING.sub(lower, text)) if outside else text for text, outside in stretches
    )
