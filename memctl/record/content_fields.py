"""Read and write content fields of a record or page: each is a section of the body, under a heading `## Heading`.

A line of a field's text that would begin another section is written with a backslash before it. `content` removes the
backslash.
"""

from __future__ import annotations

import re
from typing import Protocol

from memctl.record.frontmatter import clean_newlines
from memctl.record.kinds import Field
from memctl.text.headings import ITEM, close_fence, outside_fences, split
from memctl.text.lazy_regex import lazy_regex

# Lines that would open a section or look like a merge conflict; `---` makes the line above it a heading.
_OPENS = lazy_regex(r"^\\*(?: {0,3}##(?:[ \t]|$)|<{7}(?: |$)| {0,3}-+[ \t]*$)", re.MULTILINE)
_OPENS_SECTION = lazy_regex(r"\\* {0,3}##(?:[ \t]|$)")
_UNDERLINES = lazy_regex(r"\\* {0,3}-+[ \t]*")
_OPENS_CONFLICT = lazy_regex(r"\\*<{7}(?: |$)")
_RULE = lazy_regex(r"\\*(?:-[ \t]*)+$", re.MULTILINE)  # an item of dashes alone would be a line across the page


class HasFields(Protocol):
    """A type of record or a level of pages, with its content fields: the parts of a body under headings of memctl."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """The content fields, in the order in which a new body has them."""


def content(kind: HasFields, body: str) -> dict[str, str | list[str]]:
    """Return the content fields of a body by name; each is a text or, for a field that is a list, its items.

    A field without a section in the body is left out.
    """
    by_heading = {field.heading.casefold(): field for field in kind.fields}
    contents: dict[str, str | list[str]] = {}
    for section in split(body):
        field = by_heading.get(section.heading.casefold())
        if field is None or field.name in contents:
            continue
        text = section.body.strip("\n")
        contents[field.name] = list(map(_unescaped_item, parse_items(text))) if field.is_list else _unescape(text)
    return contents


def clean(value: str | list[str]) -> str | list[str]:
    """Return the value of a content field with LF line ends."""
    return clean_newlines(value) if isinstance(value, str) else [clean_newlines(item) for item in value]


def compose(field: Field, value: str | list[str]) -> str:
    """Return the Markdown section of a content field, its heading first; "" if the value is empty."""
    if isinstance(value, str):
        text = _escape(value.strip("\n"))
    else:
        text = "\n".join(_item(item) for item in value if item.strip())
    if not text.strip():
        return ""
    section = f"## {field.heading}\n\n{close_fence(text)}\n"
    if len(split(f"{section}\n## x\n")) != 2:  # HTML mixed with code can end the section despite escapes
        quoted = "\n".join(f"> {line}" for line in text.split("\n"))
        section = f"## {field.heading}\n\n{quoted}\n"
    return section


def replace(kind: HasFields, body: str, field: Field, value: str | list[str]) -> str:
    """Return `body` with one content field set to `value`; "" or [] removes the field's section.

    Everything else is unchanged. A section that the body does not have yet is placed in the order of `kind.fields`.
    """
    if content(kind, body).get(field.name) == value:
        return body
    parts = split(body)
    new = compose(field, value)
    wanted = field.heading.casefold()
    index = next((i for i, part in enumerate(parts) if part.heading.casefold() == wanted), None)
    if index is not None:
        follows = index + 1 < len(parts)
        texts = [part.text for part in parts]
        texts[index : index + 1] = [new + ("\n" if follows else "")] if new else []
        return _tidy_end("".join(texts))
    if not new:
        return body
    names = [other.heading.casefold() for other in kind.fields]
    before = set(names[: names.index(wanted)]) | {""}
    place = max((i + 1 for i, part in enumerate(parts) if part.heading.casefold() in before), default=0)
    head, tail = "".join(p.text for p in parts[:place]), "".join(p.text for p in parts[place:])
    head = close_fence(head.rstrip("\n")) + "\n\n" if head.strip() else ""
    return head + new + ("\n" + tail if tail else "")


def parse_items(text: str) -> list[str]:
    """Return the texts of the items of a Markdown list: "- a\\n- b" gives ["a", "b"].

    A paragraph outside of any item is returned as an item, too.
    """
    items: list[list[str]] = []
    fresh = True
    for line in text.split("\n"):
        match = ITEM.fullmatch(line)
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
    first, *more = text.rstrip("\n").lstrip().split("\n")  # an empty line at the beginning would end the item
    first = first.strip()
    mark = "- \\" if _RULE.match(first) else "- "
    return "\n".join([mark + first, *(f"  {line}" if line.strip() else "" for line in more)])


def _unescaped_item(item: str) -> str:
    return item[1:] if item[:1] == "\\" and _RULE.match(item) else item


def _escape(text: str) -> str:
    if _OPENS.search(text) is None:
        return text
    return "\n".join("\\" + line if special else line for line, special in _lines_with_marks(text))


def _unescape(text: str) -> str:
    if _OPENS.search(text) is None:
        return text
    return "\n".join(line[1:] if special and line[0] == "\\" else line for line, special in _lines_with_marks(text))


def _lines_with_marks(text: str) -> list[tuple[str, bool]]:
    lines = outside_fences(text)
    marked = []
    for (line, outside), (before, _) in zip(lines, [("", True), *lines], strict=False):
        is_heading = _OPENS_SECTION.match(line) or (before.strip(" \t") and _UNDERLINES.fullmatch(line))
        marked.append((line, bool(_OPENS_CONFLICT.match(line) or (outside and is_heading))))
    return marked


def _tidy_end(body: str) -> str:
    return body.rstrip("\n") + "\n" if body.strip() else ""
