"""Embedding a text in other Markdown, within a line or below a heading, so that it can't change the text around it."""

from __future__ import annotations

import re
from collections.abc import Callable

from memctl.text import headings
from memctl.text.lazy_regex import lazy_regex

_HEADING = lazy_regex(r"^#{1,6}(?=[ \t]|$)", re.MULTILINE)
# HTML, an indented heading, the underline of a heading, a fence that does not begin its line.
_ODD = lazy_regex(
    r"^(?: {0,3}<| {1,3}#{1,6}(?:[ \t]|$)| {0,3}(?:=+|-+)[ \t]*$|(?:[ \t>*+-]|\d{1,9}[.)])+(?:`{3}|~{3}))", re.MULTILINE
)
# In Markdown such a line may close a fence, in `headings` it does not.
_INDENTED_FENCE = lazy_regex(r"^ {1,3}(?:`{3}|~{3})", re.MULTILINE)
# Characters that begin code, emphasis, a link, HTML, an entity or a cell of a table in a line, or that end a heading.
_SPECIAL = lazy_regex(r"[\\`*\[\]<|~]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)|(?<!\S)#")
_ESCAPE = lazy_regex(headings.CODE_SPAN.pattern + r"|\\([!-/:-@\[-`{-~])")  # a backslash in a code span escapes nothing
# A mark that begins a block at the beginning of a line.
_OPENING = lazy_regex(r"(?:\d{1,9}(?=[.)](?:\s|$))|(?=[-+>=]))")
_LINKING = lazy_regex(r"^.*\]\(.*", re.MULTILINE)
_TARGET = lazy_regex(r"(?<!\\)\]\([^()\s]*\)")
_LEADING_LINK = lazy_regex(r"^((?:[ \t>*+-]|\d{1,9}[.)])*)\[([^\[\]]*)\]\([^()\s]*\)(?=:)")
_LINK = lazy_regex(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
# `[x]: target` anywhere sets the target of `[x]` for the whole document.
_DEFINITION = lazy_regex(r"^((?:[ \t>*+-]|\d{1,9}[.)])*)\[(?=[^\[\]\n]+\]:)", re.MULTILINE)
_ESCAPED = r"\1\\["
# What formatters change besides white space, emphasis and escapes: marks of quotations, lists and tables.
_MARKS = lazy_regex(r"^[ \t>]*(?:[-*+]|\d{1,9}[.)])(?=\s)|:-+:?|-+:|-{2,}|\|", re.MULTILINE)
# What prettier or mdformat write in another way: emphasis, bullets, escapes that change nothing.
_EMPHASIS = lazy_regex(r"(?<![\w*\\])\*(?=[^\s*])([^*_\n]*[^\s*_\\])\*(?![\w*])")
_BULLET = lazy_regex(r"^([ \t]*)[*+](?=[ \t]+\S)(?![* \t]*$)")
_NEEDLESS = lazy_regex(r"(?<=[\w\])”\",;:] )\\(?:(#(?=\w)|<(?=\s))|(\[[^\[\]\\\n]*)\\(\])(?![(\[:]))")


def words(text: str) -> list[str]:
    """Return the words of a text without what formatters change: white space, marks of tables, lists and emphasis."""
    return _MARKS.sub(" ", re.sub(r"[*_\\]", "", text)).split()


def formatted(text: str) -> str:
    """Return a text in the form in which prettier and mdformat leave it, as far as they agree; code stays as it is."""

    def change(part: str) -> str:
        return _NEEDLESS.sub(r"\1\2\3", _EMPHASIS.sub(r"_\1_", part))

    lines: list[str] = []
    for line, outside in headings.outside_code(text):
        if not outside:
            lines.append(line)
        elif line or (lines and lines[-1]):
            has_marks = "*" in line or "\\" in line or "+" in line
            lines.append(outside_code(_BULLET.sub(r"\1-", line), change) if has_marks else line)
    return "\n".join(lines)


def unwrapped(text: str) -> list[str]:
    """Return what formatters leave of a text: its words, with their signs in one form, and its code by lines."""
    found: list[str] = []
    for line, outside in headings.outside_code(formatted(text)):
        found += line.split() if outside else [line]
    return found


def one_line(text: str) -> str:
    """Return a text on one line, each run of white space as one space."""
    return " ".join(text.split())


def inline(text: str) -> str:
    """Return a text for use within a line of Markdown: special characters outside of code spans are escaped."""
    text = one_line(text)
    line = outside_code(text, lambda part: _SPECIAL.sub(r"\\\g<0>", part))
    return _OPENING.sub(r"\g<0>\\", line, count=1) if _OPENING.match(line) else line


def without_escapes(line: str) -> str:
    """Return a line of Markdown without backslash escapes: `\\[a\\]` becomes `[a]`. It reverses `inline`."""
    return _ESCAPE.sub(lambda match: match[2] or match[0], line)


def in_cell(line: str) -> str:
    """Return a line of Markdown for use in a cell of a table: each `|` is escaped.

    Even within code a `|` would end the cell.
    """
    return re.sub(r"(?<!\\)\|", r"\|", line)


def target(path: str) -> str:
    """Return a relative path as the target of a Markdown link: spaces and special characters are percent-encoded."""
    from urllib.parse import quote  # 2 ms, and hooks that make no link must be fast

    return quote(path, safe="/")


def code(text: str) -> str:
    """Return a text as a code span.

    The text is put between as many backticks as are needed so that backticks in the text do not end the span.
    """
    text = one_line(text)
    ticks = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{ticks}{text}{ticks}" if len(ticks) == 1 else f"{ticks} {text} {ticks}"


def slug(heading: str, *, literal: bool = False) -> str:
    """Return the anchor that hosting sites and editors give a heading: lower case, no punctuation, spaces as dashes.

    Of a link in the heading only its text is used. If `literal` is True, the heading is plain text and not Markdown, so
    what looks like a link in it is kept.
    """
    shown = heading if literal else _LINK.sub(r"\1", heading)
    return re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")


def visible(text: str) -> str:
    """Return a Markdown text without the targets of its links: "[title](path)" becomes "[title]".

    The result is for a model, which finds places by § markers and ids and does not need the targets.
    """
    if "](" not in text:
        return text

    def without(line: re.Match[str]) -> str:
        # A line that begins with `[words]:` would define a target, so such words lose their brackets.
        return outside_code(_LEADING_LINK.sub(r"\1\2", line[0]), lambda part: _TARGET.sub("]", part))

    stretches = headings.stretches(text)
    return "\n".join(_LINKING.sub(without, part) if outside else part for part, outside in stretches)


def outside_code(line: str, change: Callable[[str], str]) -> str:
    """Return a line with `change` applied to everything outside of its code spans."""
    if "`" not in line:
        return change(line)
    parts, end = [], 0
    for match in headings.CODE_SPAN.finditer(line):
        parts += [change(line[end : match.start()]), match[0]]
        end = match.end()
    return "".join([*parts, change(line[end:])])


_HREF = lazy_regex(r"""(?<=\]\()(<?)([^()<>\s]+)(?=>?(?:[ \t]+["'][^"'\n]*["'])?\))""")
_ABSOLUTE = lazy_regex(r"[a-zA-Z][\w+.-]*:|[#/]|§")  # an address, a heading of the same text, an absolute path


def rewrite_links(text: str, rewrite: Callable[[str], str]) -> str:
    """Return a text with `rewrite` applied to the target of each relative link or image; code is left as it is."""
    if "](" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        return match[1] + (match[2] if _ABSOLUTE.match(match[2]) else rewrite(match[2]))

    return "\n".join(
        outside_code(line, lambda part: _HREF.sub(replace, part)) if is_outside and "](" in line else line
        for line, is_outside in headings.outside_code(text)
    )


def embed(body: str, *, lowered_by: int = 2, lowered_to: int = 4) -> str:
    """Return a record's text in a form that can't change the structure of the Markdown text into which it is put.

    Headings are lowered: by `lowered_by` levels, or by more where that is needed to reach level `lowered_to`. A text
    with Markdown that could change the text around it (raw HTML, underlined headings, indented or unclosed code fences)
    is turned into a quotation.
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
