"""What the code's own authors say of a definition: its docstring, or the comment above it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memctl.pages.code_lines import PYTHON
from memctl.text import markdown

_SIGNATURE = 40  # lines that the head of a function may have
_COMMENT = 40  # lines of a comment that are read
_OPENS = re.compile(r"\s*[rRuU]?(\"\"\"|'''|\"|')")
_ENDS_HEAD = re.compile(r":\s*(?:#.*)?$")
_NEXT = re.compile(r"\s*(?:def|class|async|@|return|pass)\b")
_BETWEEN = re.compile(r"\s*@\w")  # decorators stand between a comment and what it is about
_TAG = re.compile(r"@\w+")


def of_definition(suffix: str, lines: Sequence[str], line: int) -> str:
    """The first sentence about what a line (1-based) defines, "" if there is none."""
    found = _docstring(lines, line) if suffix in PYTHON else _comment_above(lines, line)
    return markdown.first_sentence(found)


def _docstring(lines: Sequence[str], line: int) -> str:
    for number in range(line - 1, min(line - 1 + _SIGNATURE, len(lines))):
        if number >= line and _NEXT.match(lines[number]):
            return ""
        if _ENDS_HEAD.search(lines[number]):
            break
    else:
        return ""
    body = lines[number + 1 : number + 1 + _COMMENT]
    opening = _OPENS.match(body[0]) if body else None
    if opening is None:
        return ""
    text = "\n".join([body[0][opening.end() :], *body[1:]])
    return "\n".join(row.strip() for row in text.partition(opening[1])[0].split("\n"))


def _comment_above(lines: Sequence[str], line: int) -> str:
    number = line - 2
    while number >= 0 and _BETWEEN.match(lines[number]):
        number -= 1
    found: list[str] = []
    is_block = number >= 0 and lines[number].rstrip().endswith("*/")
    while number >= 0 and len(found) < _COMMENT:
        text = lines[number].strip()
        if not is_block and not text.startswith("//"):
            break
        found.append(text.removesuffix("*/").lstrip("/*! "))
        if is_block and text.startswith("/*"):
            break
        number -= 1
    said = [text.rstrip() for text in reversed(found)]
    return "\n".join("" if _TAG.match(text) else text for text in said).lstrip("\n")
