"""Events as XML, in the element names of rules.md#events; of checkpoints: `forms`.

A transition becomes a `context_transition`; the events at the two ends of a phase become an `agent_context`, the
complete context of whoever takes over.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

from memctl.record.event import PHASES, ContextSizes, WorkflowEvent
from memctl.text.xml import add_list, add_texts, indented


def written(event: WorkflowEvent, compressions: int) -> str:
    """One event; `compressions` is how many compression events its workflow has had."""
    root = _context(event, compressions) if event.event_type in PHASES else _transition(event)
    return indented(root)


def _transition(event: WorkflowEvent) -> Element:
    root = Element("context_transition")
    add_texts(root, {"event_type": event.event_type})
    _meta(root, event)
    _sizes(SubElement(root, "before_state"), event.before_state)
    add_texts(root, {"action_taken": event.action_taken})
    after = SubElement(root, "after_state")
    _sizes(after, event.after_state)
    if event.compression_ratio is not None:
        add_texts(after, {"compression_ratio": f"{event.compression_ratio:g}%"})
    add_texts(root, {"next_agent": event.target_agent, "checkpoint_id": event.checkpoint_id})
    return root


def _context(event: WorkflowEvent, compressions: int) -> Element:
    root = Element("agent_context")
    _meta(root, event)
    state = SubElement(root, "state")
    add_texts(state, {"event_type": event.event_type})
    compressed = SubElement(state, "compressed_context")
    add_texts(compressed, {"mission": event.mission, "phase": event.phase})
    add_list(compressed, "critical_decisions", "decision", event.critical_decisions)
    add_list(compressed, "constraints", "constraint", event.constraints)
    add_list(state, "inputs", "input", event.inputs)
    add_list(state, "expected_outputs", "output", event.expected_outputs)
    add_list(state, "deliverables", "deliverable", event.deliverables)
    metrics = SubElement(root, "context_metrics")
    _sizes(metrics, event.after_state)
    add_texts(metrics, {"compression_events": str(compressions)})
    return root


def _meta(root: Element, event: WorkflowEvent) -> None:
    values = {
        "event_id": event.event_id,
        "timestamp": event.timestamp,
        "source_agent": event.source_agent,
        "target_agent": event.target_agent,
        "workflow_id": event.workflow_id,
    }
    add_texts(SubElement(root, "meta"), values)


def _sizes(parent: Element, sizes: ContextSizes) -> None:
    add_texts(
        parent,
        {
            "scs_size": "" if sizes.scs_size is None else str(sizes.scs_size),
            "aws_size": "" if sizes.aws_size is None else str(sizes.aws_size),
            "context_debt_ratio": "" if sizes.context_debt_ratio is None else f"{sizes.context_debt_ratio:g}%",
        },
    )
