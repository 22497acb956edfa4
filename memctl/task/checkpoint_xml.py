"""A checkpoint as XML, in the element names of rules.md#checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

from memctl.record.checkpoint import Checkpoint, Noted
from memctl.task import elements
from memctl.task.elements import listed, texts
from memctl.text.xml import clean


def written(saved: Checkpoint) -> str:
    """One checkpoint as a `workflow_checkpoint`."""
    root = Element("workflow_checkpoint")
    texts(root, {"checkpoint_id": saved.checkpoint_id, "timestamp": saved.saved_at})
    state = SubElement(root, "resumable_state")
    _compressed(SubElement(state, "compressed_workflow_state"), saved)
    listed(state, "event_stream_summary", "event", saved.event_stream_summary)
    listed(state, "next_actions", "action", saved.next_actions)
    metrics = saved.context_metrics
    numbers = {"scs_size": metrics.scs_size, "aws_size": metrics.aws_size, "events_processed": metrics.events}
    element = SubElement(root, "context_metrics")
    texts(element, {tag: str(number) for tag, number in numbers.items() if number is not None})
    if metrics.compression_ratio is not None:
        texts(element, {"compression_ratio": f"{metrics.compression_ratio:g}%"})
    return elements.written(root)


def _compressed(state: Element, saved: Checkpoint) -> None:
    """Phases are three lists: what is planned must not be taken for done."""
    texts(state, {"mission": saved.mission, "phase": saved.phase})
    for name in ("done", "in_progress", "planned"):
        listed(state, name, "step", getattr(saved, name))
    decisions = SubElement(state, "critical_decisions")
    for text in saved.decisions:
        SubElement(decisions, "decision").text = clean(text)
    _noted(decisions, "decision", saved.recorded_decisions)
    issues = SubElement(state, "open_issues")
    for text in saved.issues:
        SubElement(issues, "issue").text = clean(text)
    _noted(issues, "issue", saved.open_issues)
    listed(state, "learnings", "learning", saved.lessons)
    listed(state, "summary", "line", saved.summary)
    listed(state, "active_constraints", "constraint", saved.constraints)
    listed(state, "required_inputs", "input", saved.inputs)
    listed(state, "expected_outputs", "output", saved.expected_outputs)
    listed(state, "files_touched", "file", [one.path for one in saved.files_touched])


def _noted(parent: Element, tag: str, records: Sequence[Noted]) -> None:
    for one in records:
        SubElement(parent, tag, {"id": clean(one.id)}).text = clean(one.title)
