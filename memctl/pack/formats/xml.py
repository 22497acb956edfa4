"""Packs as one XML message (rules.md#formats).

Text is escaped by a serialiser; characters that XML 1.0 can't hold at all are replaced.
"""

from __future__ import annotations

from xml.etree import ElementTree

from memctl.pack.draft import Contents, Item, ItemField, LeftOut, PackNote
from memctl.text import xml
from memctl.text.markdown import one_line
from memctl.text.xml import clean, written

name = "xml"
# Names of elements that are not those of parts and notes.
ELEMENTS = {
    "task": "current_objective",
    "summary": "project_summary",
    "critical": "most_important",
    "continuity": "session_continuity",
    "next": "next_step_context",
    "state": "current_state",
    "decision": "decisions_made",
    "issue": "open_issues",
    "learning": "learnings",
    "session": "last_session",
    "more": "also_open",
    "check": "check_before_use",
}
_LISTED = "item"


def item(item: Item) -> str:
    """One item as an element: facts as attributes, fields as elements."""
    element = ElementTree.Element(item.kind, {"id": _line(item.id)})
    if item.title:
        element.set("title", _line(item.title))
    for fact, value in item.facts:
        element.set(fact, _line(value))
    for field in item.fields():
        element.append(_field(field))
    return written(element)


def pack(contents: Contents) -> str:
    """A whole pack as one element."""
    root = contents.draft.root
    opening = f"<{root}{attribute('project', contents.project)}>"
    return "\n".join([opening, *blocks(contents), f"</{root}>"]) + "\n"


def blocks(contents: Contents) -> list[str]:
    """What stands in the one element: notes, parts, what was left out, what comes next."""
    found = [_note(note) for note in contents.opening]
    for part, texts in contents.parts:
        if texts:
            tag = ELEMENTS.get(part.name, part.name)
            found.append("\n".join([f"<{tag}>", *texts, f"</{tag}>"]))
    if contents.left_out:
        found.append(
            "\n".join(["<left_out>", *(row for group in contents.left_out for row in _left_out(group)), "</left_out>"])
        )
    return found + [_note(note) for note in contents.closing]


def text_element(tag: str, text: str) -> str:
    """An element that holds a text."""
    return written(xml.element(tag, text))


def attribute(key: str, value: str) -> str:
    """An attribute with the space before it; "" without a value."""
    if not value:
        return ""
    return written(ElementTree.Element("x", {key: _line(value)}))[2:-3].rstrip()


def _note(note: PackNote) -> str:
    return text_element(ELEMENTS.get(note.name, note.name), note.text)


def _field(field: ItemField) -> ElementTree.Element:
    if field.name:
        element = ElementTree.Element(field.name)
    else:
        element = ElementTree.Element("part", {"title": _line(field.heading)} if field.heading else {})
    if isinstance(field.value, str):
        element.text = clean(field.value)
    else:
        for value in field.value:
            xml.add(element, _LISTED, value)
    return element


def _left_out(group: LeftOut) -> list[str]:
    lines = []
    for left in group.listed:
        element = ElementTree.Element(_LISTED, {"id": _line(left.id)} | ({"why": _line(left.why)} if left.why else {}))
        element.text = _line(left.title)
        lines.append(written(element))
    if group.more:
        lines.append(f'<more count="{group.more}"{attribute("command", group.command)}/>')
    if not group.element:
        return lines
    where = attribute("id", group.marker) + attribute("title", group.name.removeprefix(group.marker).strip())
    return [f"<{group.element}{where if group.marker else ''}>", *lines, f"</{group.element}>"]


def _line(text: str) -> str:
    return clean(one_line(text))
