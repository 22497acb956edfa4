"""Content fields of a record or page: each a headed section of its body, `## Heading`, in plain Markdown.

A text given for one section can't open another: a line of it that would is written with a backslash in front, which
reading takes away again.
"""

from __future__ import annotations

import re
from typing import Protocol

from memctl.record.kinds import Field
from memctl.text.headings import Part, close_fence, outside_fences, split

_OPENS = re.compile(r"^\\*(?:## |<{7}(?: |$))", re.MULTILINE)  # a section, or a merge conflict
_OPENS_SECTION = re.compile(r"\\*## ")
_OPENS_CONFLICT = re.compile(r"\\*<{7}(?: |$)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)")


class HasFields(Protocol):
    """What says which headings mean something: a type of record or of page."""

    @property
    def fields(self) -> tuple[Field, ...]: ...


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


def _item(text: str) -> str:
    first, *more = text.strip("\n").split("\n")
    return "\n".join([f"- {first.strip()}", *(f"  {line}" if line.strip() else "" for line in more)])


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
