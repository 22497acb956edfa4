"""Write events as XML, with every field that an event has, in the element names of rules.md#events.

A transition becomes a `context_transition`. The events at the two ends of a phase become an `agent_context`, the
complete context for the agent that takes over.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

from memctl.record.event import PHASES, ContextSizes, WorkflowEvent
from memctl.text.xml import add_list, add_texts, indented

_META = ("event_id", "timestamp", "source_agent", "target_agent", "workflow_id", "session")


def event_xml(event: WorkflowEvent, compressions: int) -> str:
    """Return one event as XML. `compressions` is the number of compression events of its workflow so far."""
    return indented(_context(event, compressions) if event.event_type in PHASES else _transition(event))


def _transition(event: WorkflowEvent) -> Element:
    root = Element("context_transition")
    add_texts(root, {"event_type": event.event_type})
    add_texts(SubElement(root, "meta"), {name: getattr(event, name) for name in _META})
    _add_sizes(SubElement(root, "before_state"), event.before_state)
    add_texts(root, {"action_taken": event.action_taken})
    _add_context(root, event)
    _add_after(SubElement(root, "after_state"), event)
    add_texts(root, {"next_agent": event.target_agent, "checkpoint_id": event.checkpoint_id})
    return root


def _context(event: WorkflowEvent, compressions: int) -> Element:
    root = Element("agent_context")
    add_texts(SubElement(root, "meta"), {name: getattr(event, name) for name in _META})
    state = SubElement(root, "state")
    add_texts(state, {"event_type": event.event_type, "action_taken": event.action_taken})
    _add_context(state, event)
    add_texts(state, {"checkpoint_id": event.checkpoint_id})
    if event.before_state != ContextSizes():
        _add_sizes(SubElement(root, "before_state"), event.before_state)
    metrics = SubElement(root, "context_metrics")
    _add_after(metrics, event)
    add_texts(metrics, {"compression_events": str(compressions)})
    return root


def _add_context(parent: Element, event: WorkflowEvent) -> None:
    """Add the fields of an event that an agent needs to take over, as far as the event has them."""
    if event.mission or event.phase or event.critical_decisions or event.constraints:
        compressed = SubElement(parent, "compressed_context")
        add_texts(compressed, {"mission": event.mission, "phase": event.phase})
        add_list(compressed, "critical_decisions", "decision", event.critical_decisions)
        add_list(compressed, "constraints", "constraint", event.constraints)
    add_list(parent, "inputs", "input", event.inputs)
    add_list(parent, "expected_outputs", "output", event.expected_outputs)
    add_list(parent, "deliverables", "deliverable", event.deliverables)


def _add_after(parent: Element, event: WorkflowEvent) -> None:
    _add_sizes(parent, event.after_state)
    if event.compression_ratio is not None:
        add_texts(parent, {"compression_ratio": f"{event.compression_ratio:g}%"})


def _add_sizes(parent: Element, sizes: ContextSizes) -> None:
    found = {name: value for name in sizes.__struct_fields__ if (value := getattr(sizes, name)) is not None}
    add_texts(parent, {name: f"{value:g}%" if name.endswith("ratio") else str(value) for name, value in found.items()})
