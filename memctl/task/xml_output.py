"""Events and checkpoints as XML, in the element names of rules.md#events and rules.md#checkpoints.

A transition becomes a `context_transition`; the events at the two ends of a phase become an `agent_context`, the
complete context of whoever takes over.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

from memctl.record.checkpoint import Checkpoint, Noted
from memctl.record.event import PHASES, ContextSizes, WorkflowEvent
from memctl.text.xml import add, add_list, add_texts, indented


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


def checkpoint_xml(saved: Checkpoint) -> str:
    """One checkpoint as a `workflow_checkpoint`."""
    root = Element("workflow_checkpoint")
    add_texts(root, {"checkpoint_id": saved.checkpoint_id, "timestamp": saved.saved_at})
    state = SubElement(root, "resumable_state")
    _resumable(SubElement(state, "compressed_workflow_state"), saved)
    add_list(state, "event_stream_summary", "event", saved.event_stream_summary)
    add_list(state, "next_actions", "action", saved.next_actions)
    metrics = saved.context_metrics
    numbers = {"scs_size": metrics.scs_size, "aws_size": metrics.aws_size, "events_processed": metrics.events}
    element = SubElement(root, "context_metrics")
    add_texts(element, {tag: str(number) for tag, number in numbers.items() if number is not None})
    if metrics.compression_ratio is not None:
        add_texts(element, {"compression_ratio": f"{metrics.compression_ratio:g}%"})
    return indented(root)


def _resumable(state: Element, saved: Checkpoint) -> None:
    """Phases are three lists: what is planned must not be taken for done."""
    add_texts(state, {"mission": saved.mission, "phase": saved.phase})
    for name in ("done", "in_progress", "planned"):
        add_list(state, name, "step", getattr(saved, name))
    decisions = SubElement(state, "critical_decisions")
    for text in saved.decisions:
        add(decisions, "decision", text)
    _add_records(decisions, "decision", saved.recorded_decisions)
    issues = SubElement(state, "open_issues")
    for text in saved.issues:
        add(issues, "issue", text)
    _add_records(issues, "issue", saved.open_issues)
    add_list(state, "learnings", "learning", saved.lessons)
    add_list(state, "summary", "line", saved.summary)
    add_list(state, "active_constraints", "constraint", saved.constraints)
    add_list(state, "required_inputs", "input", saved.inputs)
    add_list(state, "expected_outputs", "output", saved.expected_outputs)
    add_list(state, "files_touched", "file", [one.path for one in saved.files_touched])


def _add_records(parent: Element, tag: str, records: Sequence[Noted]) -> None:
    for one in records:
        add(parent, tag, one.title, id=one.id)
