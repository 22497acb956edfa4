"""Packs as one event from an agent to another (rules.md#formats): complete in itself, with its metrics."""

from __future__ import annotations

from memctl.pack.draft import Contents, Item
from memctl.pack.formats import xml

name = "event"
ROOT = "agent_context"
_SHARED = ("state", "decision")  # kinds of items that every agent at work needs; rules.md#shared-context


def item(item: Item) -> str:
    """One item, as in the XML format."""
    return xml.item(item)


def pack(contents: Contents) -> str:
    """A whole pack: `meta` says what it is and where it goes, `context_metrics` how large its parts are."""
    inside = xml.blocks(contents)
    lines = [f"<{ROOT}>", *_meta(contents, inside), "<state>", *inside, "</state>", *_metrics(contents), f"</{ROOT}>"]
    return "\n".join(lines) + "\n"


def _meta(contents: Contents, inside: list[str]) -> list[str]:
    if not contents.project:
        return []
    draft = contents.draft
    values = {
        "event_id": _event_id(inside),
        "timestamp": draft.made,
        "source_agent": draft.source,
        "target_agent": draft.target,
        "workflow_id": contents.project,
    }
    return ["<meta>", *(xml.text_element(tag, value) for tag, value in values.items() if value), "</meta>"]


def _event_id(inside: list[str]) -> str:
    """An id that follows from what the event says."""
    from hashlib import blake2b

    return blake2b("\n".join(inside).encode(), digest_size=6).hexdigest()


def _metrics(contents: Contents) -> list[str]:
    """Sizes in tokens: of the shared slice, and of all items."""
    if not contents.project or not contents.sizes:
        return []
    shared = sum(contents.sizes.get(kind, 0) for kind in _SHARED)
    sizes = {"scs_size": shared, "aws_size": sum(contents.sizes.values())}
    rows = [xml.text_element(tag, str(size)) for tag, size in sizes.items()]
    return ["<context_metrics>", *rows, "</context_metrics>"]
