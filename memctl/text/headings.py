"""Headings and code in a text of Markdown.

A line that begins with `## ` opens a section, unless it stands in a fenced code block whose fences begin their lines
too (in a list item everything is indented, and opens nothing).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:.*?[^`])?\1(?!`)")
_FENCE = re.compile(r"(`{3,}|~{3,})(.*)")
_FENCES = re.compile(r"^(?:`{3}|~{3}).*", re.MULTILINE)
_FENCES_AND_SECTIONS = re.compile(r"^(?:## |`{3}|~{3}).*", re.MULTILINE)
_TITLE = re.compile(r"\s*# +(\S[^\n]*)(?:\n|\Z)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)")


class Part(msgspec.Struct, frozen=True):
    """A part of a body: its heading ("" for what precedes the first one) and the raw lines, heading included."""

    heading: str
    text: str


def split(body: str) -> list[Part]:
    """Cut a body at its `## ` headings; joining the texts gives the body back."""
    found: list[Part] = []
    heading = fence = ""
    start = 0
    for match in _FENCES_AND_SECTIONS.finditer(body):
        line = match[0]
        fence = _fence_after(line, fence)
        if not fence and line.startswith("## "):
            if match.start() > start:
                found.append(Part(heading, body[start : match.start()]))
            heading, start = _without_closing(line[3:].strip()), match.start()
    if start < len(body):
        found.append(Part(heading, body[start:]))
    return found


def take_title(text: str) -> tuple[str, str]:
    """The heading of level 1 that a text begins with ("" if it does not), and the rest."""
    match = _TITLE.match(text)
    if match is None:
        return "", text
    line = match[1].rstrip(" \t")
    return _without_closing(line) or line, text[match.end() :]


def _without_closing(heading: str) -> str:
    """A heading without the signs that close it and are none of its text, as in `## Text ##`."""
    text = heading.rstrip("#")
    return heading if text and text[-1] not in " \t" else text.rstrip(" \t")


def close_fence(text: str) -> str:
    """The text, with a code fence that it leaves open closed, so that what follows is not swallowed."""
    fence = ""
    for match in _FENCES.finditer(text):
        fence = _fence_after(match[0], fence)
    return f"{text}\n{fence}" if fence else text


def stretches(text: str) -> Iterator[tuple[str, bool]]:
    """The stretches of whole lines of a text, and of each whether it is outside of fenced code; `\\n` joins them.

    A fence that opens belongs to the code, one that closes does not.
    """
    fence, start = "", 0
    for match in _FENCES.finditer(text):
        before, fence = fence, _fence_after(match[0], fence)
        if bool(before) != bool(fence):
            if match.start() > start:
                yield text[start : match.start() - 1], not before
            start = match.start()
    yield text[start:], not fence


def outside_fences(text: str) -> list[tuple[str, bool]]:
    """The lines of a text, and of each whether it is outside of fenced code."""
    return [(line, outside) for stretch, outside in stretches(text) for line in stretch.split("\n")]


def outside_code(text: str) -> list[tuple[str, bool]]:
    """The lines of a text, and of each whether it is outside of fenced and of indented code."""
    marked: list[tuple[str, bool]] = []
    is_list = is_code = False
    before = fence = ""
    for line, outside in outside_fences(text):
        inner = line.strip() if line[:1] in (" ", "\t") else ""  # a fence inside of a list item
        was_open, fence = fence, _fence_after(inner, fence)
        outside = outside and not fence and not was_open
        if outside and line.strip():
            is_indented = line.startswith(("    ", "\t"))
            is_code = is_indented and not is_list and (is_code or not before.strip())
            is_list = _ITEM.match(line) is not None or (is_list and line[0] in " \t")
        marked.append((line, outside and not (is_code and line.strip())))
        before = line
    return marked


def _fence_after(line: str, fence: str) -> str:
    """The fence that is open after a line, given the one before it ("" for none)."""
    match = _FENCE.match(line)
    if match is None:
        return fence
    if not fence:
        return match[1] if match[1][0] == "~" or "`" not in match[2] else ""
    closes = match[1][0] == fence[0] and len(match[1]) >= len(fence) and not match[2].strip(" \t\n")
    return "" if closes else fence
