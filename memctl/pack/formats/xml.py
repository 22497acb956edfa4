"""Write packs as an XML message, or as an XML event that one agent sends to another (rules.md#formats).

All text is escaped, and characters that XML 1.0 does not allow are replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from xml.etree import ElementTree

from memctl.pack.draft import Contents, Item, ItemField, OmittedGroup, PackNote
from memctl.text import xml
from memctl.text.markdown import one_line
from memctl.text.xml import clean, to_text

# The elements of parts and notes whose names differ from those of the parts and notes.
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
_LINES = 6  # of a list in an element, which has less than 200 tokens
_EVENT = "agent_context"


def xml_item(item: Item) -> str:
    """Return one item as an XML element: its facts as attributes, the pieces of its body as elements."""
    element = ElementTree.Element(item.kind, {"id": _line(item.id)})
    if item.title:
        element.set("title", _line(item.title))
    for fact, value in item.facts:
        element.set(fact, _line(value))
    for field in item.fields():
        element.append(_field(field))
    return to_text(element)


event_item = xml_item


def xml_pack(contents: Contents) -> str:
    """Return a whole pack as one XML element."""
    draft = contents.draft
    opening = f"<{draft.root}{_attribute('project', draft.project)}>"
    return "\n".join([opening, *_blocks(contents), f"</{draft.root}>"]) + "\n"


def event_pack(contents: Contents) -> str:
    """Return a whole pack as an XML event that one agent sends to another.

    Its element `meta` has the event's id, its time and the agents, `state` has the pack's content, and
    `context_metrics` has sizes in tokens.
    """
    inside = _blocks(contents)
    state = ["<state>", *inside, "</state>"]
    if not contents.draft.project:
        return "\n".join([f"<{_EVENT}>", *state, f"</{_EVENT}>"]) + "\n"
    draft, sizes = contents.draft, contents.sizes
    meta = {
        "event_id": blake2b("\n".join(inside).encode(), digest_size=6).hexdigest(),  # one content has one id
        "timestamp": draft.made,
        "source_agent": draft.source,
        "target_agent": draft.target,
        "workflow_id": draft.project,
    }
    # The kinds of items in the shared context of agents: rules.md#shared-context.
    shared = sum(sizes.get(kind, 0) for kind in ("state", "decision"))
    metrics = {"scs_size": f"{shared}", "aws_size": f"{sum(sizes.values())}"} if sizes else {}
    lines = [*_group("meta", meta), *state, *_group("context_metrics", metrics)]
    return "\n".join([f"<{_EVENT}>", *lines, f"</{_EVENT}>"]) + "\n"


def _group(tag: str, values: Mapping[str, str]) -> list[str]:
    """Return the lines of an element with one child for each text that is not empty; [] if all are empty."""
    lines = [to_text(xml.element(name, value)) for name, value in values.items() if value]
    return [f"<{tag}>", *lines, f"</{tag}>"] if lines else []


def _blocks(contents: Contents) -> list[str]:
    """Return the lines inside the root element: opening notes, parts, what is left out, and closing notes."""
    blocks = [text for note in contents.draft.opening for text in _note(note)]
    for part, texts in contents.parts:
        tag = ELEMENTS.get(part.name, part.name)
        blocks.append("\n".join([f"<{tag}>", *texts, f"</{tag}>"]))
    if contents.left_out:
        rows = (row for group in contents.left_out for row in _left_out(group))
        blocks.append("\n".join(["<left_out>", *rows, "</left_out>"]))
    return blocks + [text for note in contents.draft.closing for text in _note(note)]


def _attribute(key: str, value: str) -> str:
    """Return an XML attribute with a space before it, "" if the value is empty."""
    if not value:
        return ""
    return to_text(ElementTree.Element("x", {key: _line(value)}))[2:-3].rstrip()


def _note(note: PackNote) -> list[str]:
    """Return the elements of a note: of a list one for each few lines, so that none is larger than rules.md#quality."""
    lines = note.text.split("\n")
    is_list = len(lines) > _LINES and all(line.startswith("- ") for line in lines)
    texts = ["\n".join(lines[at : at + _LINES]) for at in range(0, len(lines), _LINES)] if is_list else [note.text]
    return [to_text(xml.element(ELEMENTS.get(note.name, note.name), text)) for text in texts]


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


def _left_out(group: OmittedGroup) -> list[str]:
    lines = []
    for omitted in group.listed:
        why = {"why": _line(omitted.why)} if omitted.why else {}
        element = ElementTree.Element(_LISTED, {"id": _line(omitted.id), **why})
        element.text = _line(omitted.title)
        lines.append(to_text(element))
    if group.more:
        lines.append(f'<more count="{group.more}"{_attribute("command", group.command)}/>')
    if not group.element:
        return lines
    where = _attribute("id", group.marker) + _attribute("title", group.name.removeprefix(group.marker).strip())
    return [f"<{group.element}{where if group.marker else ''}>", *lines, f"</{group.element}>"]


def _line(text: str) -> str:
    return clean(one_line(text))
