"""The text of a page: from options, a file, or an editor."""

from __future__ import annotations

from typing import Any

from memctl.cli import editor
from memctl.errors import MemctlError
from memctl.record import content_fields, frontmatter
from memctl.record.errors import Malformed
from memctl.record.pages import Page, PageKind
from memctl.record.required_text import refuse_stand_in
from memctl.text import headings
from memctl.write.pages import Text, with_content


def read(kind: PageKind, options: dict[str, Any], page: Page | None, title: str) -> tuple[Text, str]:
    """What the options say of a page, the file and the editor that they ask for among them.

    `page` is the page there is, `title` what the editor calls a new one. With it comes the whole text that an editor
    left, "" if none did.
    """
    file, use_editor = options.pop("source"), options.pop("use_editor")
    text = _named(kind, options)
    values = dict(text.values)
    if file is not None:
        heading, body = _from_file(file)
        values |= {"title": heading} if heading and "title" not in values else {}
        text = Text(values, text.content, body)
    _refuse_stand_ins(text)
    if not use_editor:
        return text, ""
    is_new = page is None and text.body is None
    shown = _skeleton(kind, text) if is_new else _filled(kind, text, page)
    skeleton = [field.heading for field in kind.fields] if is_new else []
    written = editor.write_page(f"# {values.get('title') or (page.title if page else title)}\n\n{shown}", skeleton)
    values |= {"title": written.title} if written.title else {}
    if is_new and not written.body.strip() and not set(values) - {"id", "section"}:
        raise MemctlError("nothing was written, so nothing is recorded")
    return Text(values, {}, written.body), written.text


def _named(kind: PageKind, options: dict[str, Any]) -> Text:
    """What the options say of a page; an empty text, alone in a list too, is one and clears what there was."""
    fields = {field.name for field in kind.fields}
    values: dict[str, Any] = {}
    content: dict[str, str | list[str]] = {}
    for name, value in options.items():
        if value is None or value == ():
            continue
        if isinstance(value, tuple):
            value = [item for item in value if item.strip()]
        elif name in ("id", "section"):
            value = "§" + value.strip().removeprefix("§")
        elif name == "title":
            value = value.strip()
        (content if name in fields else values)[name] = value
    return Text(values, content)


def _refuse_stand_ins(text: Text) -> None:
    """Raise MemctlError if a title, or what an option says, says nothing."""
    refuse_stand_in(text.values.get("title", ""), "title")
    for name, value in text.content.items():
        for one in [value] if isinstance(value, str) else value:
            refuse_stand_in(one, name)


def _from_file(file: str) -> tuple[str, str]:
    """The title and the text in a Markdown file."""
    from memctl.cli import source  # it brings what reads JSON: seldom needed

    text = source.read(file)
    try:
        has_values = bool(frontmatter.read(text)[0])
    except Malformed:
        has_values = False  # a line `---` is a line across the page, too
    if has_values:
        raise MemctlError(f"{file} begins with front matter", "give the text without it, and its values as options")
    return headings.take_title(text)


def _skeleton(kind: PageKind, text: Text) -> str:
    """The headings that a page may have, with what is given of them."""
    parts = ((field.heading, content_fields.compose(field, text.content.get(field.name, ""))) for field in kind.fields)
    return "\n".join(part or f"## {heading}\n" for heading, part in parts)


def _filled(kind: PageKind, text: Text, page: Page | None) -> str:
    """The text of a file or a page, with what is given of its headings."""
    body = text.body if text.body is not None else page.body if page else ""
    return with_content(kind, body.lstrip("\n"), text)
