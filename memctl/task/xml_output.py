"""Checkpoints as XML, in the element names of rules.md#checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

from memctl.record.checkpoint import Checkpoint, Noted
from memctl.text.xml import add, add_list, add_texts, indented


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
