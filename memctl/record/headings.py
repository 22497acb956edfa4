"""The body of a record: headed sections, `## Heading` each, in plain Markdown.

A line that begins with `## ` opens a section, unless it stands in a fenced code block whose fences begin their lines
too (in a list item everything is indented, and opens nothing). A text given for one section can't open another: a
line of it that would is written with a backslash in front, which reading takes away again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

import msgspec

from memctl.record.kinds import Field

_OPENS = re.compile(r"^\\*(?:## |<{7}(?: |$))", re.MULTILINE)  # a section, or a merge conflict
_OPENS_SECTION = re.compile(r"\\*## ")
_OPENS_CONFLICT = re.compile(r"\\*<{7}(?: |$)")
_FENCE = re.compile(r"(`{3,}|~{3,})(.*)")
_FENCES = re.compile(r"^(?:`{3}|~{3}).*", re.MULTILINE)
_FENCES_AND_SECTIONS = re.compile(r"^(?:## |`{3}|~{3}).*", re.MULTILINE)
_TITLE = re.compile(r"\s*# +(\S[^\n]*)(?:\n|\Z)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)")


class HasFields(Protocol):
    """What says which headings mean something: a type of record or of page."""

    @property
    def fields(self) -> tuple[Field, ...]: ...


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


def content(kind: HasFields, body: str) -> dict[str, str | list[str]]:
    """The content fields of a body by their names (rules.md#records); fields without a section are left out."""
    by_heading = {field.heading.casefold(): field for field in kind.fields}
    found: dict[str, str | list[str]] = {}
    for section in split(body):
        field = by_heading.get(section.heading.casefold())
        if field is None or field.name in found:
            continue
        text = section.text.partition("\n")[2].strip("\n")
        found[field.name] = parse_items(text) if field.is_list else _unescape(text)
    return found


def compose(field: Field, value: str | list[str]) -> str:
    """The section of one content field; "" if there is nothing to say."""
    if isinstance(value, str):
        text = _escape(value.strip("\n"))
    else:
        text = "\n".join(_item(item) for item in value if item.strip())
    if not text.strip():
        return ""
    return f"## {field.heading}\n\n{close_fence(text)}\n"


def replace(kind: HasFields, body: str, field: Field, value: str | list[str]) -> str:
    """Give a content field a new value ("" or [] removes its section); everything else stays as it is.

    A new section goes behind the nearest one that precedes it in the type's order.
    """
    if content(kind, body).get(field.name) == value:
        return body
    parts = split(body)
    new = compose(field, value)
    wanted = field.heading.casefold()
    index = next((i for i, part in enumerate(parts) if part.heading.casefold() == wanted), None)
    if index is not None:
        follows = index + 1 < len(parts)
        parts[index : index + 1] = [Part(field.heading, new + ("\n" if follows else ""))] if new else []
        return _tidy_end("".join(part.text for part in parts))
    if not new:
        return body
    names = [other.heading.casefold() for other in kind.fields]
    before = set(names[: names.index(wanted)]) | {""}
    place = max((i + 1 for i, part in enumerate(parts) if part.heading.casefold() in before), default=0)
    head, tail = "".join(p.text for p in parts[:place]), "".join(p.text for p in parts[place:])
    head = close_fence(head.rstrip("\n")) + "\n\n" if head.strip() else ""
    return head + new + ("\n" + tail if tail else "")


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


def parse_items(text: str) -> list[str]:
    """The items of a Markdown list; lines that belong to no item make an item of their own."""
    items: list[list[str]] = []
    fresh = True
    for line in text.split("\n"):
        match = _ITEM.fullmatch(line)
        if match:
            items.append([match[1]])
        elif not line.strip():
            if items:
                items[-1].append("")
        elif line.startswith(("  ", "\t")) and items:
            items[-1].append(line[2:] if line.startswith("  ") else line[1:])
        elif fresh or not items:
            items.append([line])
        else:
            items[-1].append(line)
        fresh = not line.strip()
    joined = ["\n".join(lines).rstrip("\n") for lines in items]
    return [item for item in joined if item.strip()]


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


def _item(text: str) -> str:
    first, *more = text.strip("\n").split("\n")
    return "\n".join([f"- {first.strip()}", *(f"  {line}" if line.strip() else "" for line in more)])


def _fence_after(line: str, fence: str) -> str:
    """The fence that is open after a line, given the one before it ("" for none)."""
    match = _FENCE.match(line)
    if match is None:
        return fence
    if not fence:
        return match[1] if match[1][0] == "~" or "`" not in match[2] else ""
    closes = match[1][0] == fence[0] and len(match[1]) >= len(fence) and not match[2].strip(" \t\n")
    return "" if closes else fence


def _escape(text: str) -> str:
    if _OPENS.search(text) is None:
        return text
    return "\n".join("\\" + line if special else line for line, special in _marked(text))


def _unescape(text: str) -> str:
    if _OPENS.search(text) is None:
        return text
    return "\n".join(line[1:] if special and line[0] == "\\" else line for line, special in _marked(text))


def _marked(text: str) -> list[tuple[str, bool]]:
    """The lines of a text, and of each whether it would (but for backslashes) open a section or a merge conflict."""
    return [
        (line, bool(_OPENS_CONFLICT.match(line) or (outside and _OPENS_SECTION.match(line))))
        for line, outside in outside_fences(text)
    ]


def _tidy_end(body: str) -> str:
    return body.rstrip("\n") + "\n" if body.strip() else ""
