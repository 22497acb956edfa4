"""Events as XML, in the element names of rules.md#events.

A transition becomes a `context_transition`; the events at the two ends of a phase become an `agent_context`, the
complete context of whoever takes over.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

from memctl.record.event import PHASES, ContextSizes, Event
from memctl.task import elements
from memctl.task.elements import listed, texts


def written(event: Event, compressions: int) -> str:
    """One event; `compressions` is how many compression events its workflow has had."""
    root = _context(event, compressions) if event.event_type in PHASES else _transition(event)
    return elements.written(root)


def _transition(event: Event) -> Element:
    root = Element("context_transition")
    texts(root, {"event_type": event.event_type})
    _meta(root, event)
    _sizes(SubElement(root, "before_state"), event.before_state)
    texts(root, {"action_taken": event.action_taken})
    after = SubElement(root, "after_state")
    _sizes(after, event.after_state)
    if event.compression_ratio is not None:
        texts(after, {"compression_ratio": f"{event.compression_ratio:g}%"})
    texts(root, {"next_agent": event.target_agent, "checkpoint_id": event.checkpoint_id})
    return root


def _context(event: Event, compressions: int) -> Element:
    root = Element("agent_context")
    _meta(root, event)
    state = SubElement(root, "state")
    texts(state, {"event_type": event.event_type})
    compressed = SubElement(state, "compressed_context")
    texts(compressed, {"mission": event.mission, "phase": event.phase})
    listed(compressed, "critical_decisions", "decision", event.critical_decisions)
    listed(compressed, "constraints", "constraint", event.constraints)
    listed(state, "inputs", "input", event.inputs)
    listed(state, "expected_outputs", "output", event.expected_outputs)
    listed(state, "deliverables", "deliverable", event.deliverables)
    metrics = SubElement(root, "context_metrics")
    _sizes(metrics, event.after_state)
    texts(metrics, {"compression_events": str(compressions)})
    return root


def _meta(root: Element, event: Event) -> None:
    values = {
        "event_id": event.event_id,
        "timestamp": event.timestamp,
        "source_agent": event.source_agent,
        "target_agent": event.target_agent,
        "workflow_id": event.workflow_id,
    }
    texts(SubElement(root, "meta"), values)


def _sizes(parent: Element, sizes: ContextSizes) -> None:
    texts(
        parent,
        {
            "scs_size": "" if sizes.scs_size is None else str(sizes.scs_size),
            "aws_size": "" if sizes.aws_size is None else str(sizes.aws_size),
            "context_debt_ratio": "" if sizes.context_debt_ratio is None else f"{sizes.context_debt_ratio:g}%",
        },
    )
