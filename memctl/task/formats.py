"""Write the state of a task as Markdown for people, and states and events as XML for agents.

The XML has the element names of rules.md#checkpoints and rules.md#events. Nothing reads these texts back: memctl itself
keeps states and events as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from memctl.record.checkpoint import Checkpoint
from memctl.record.event import NOT_MEASURED, PHASES, ContextSizes, WorkflowEvent
from memctl.record.task_state import TaskState
from memctl.task.parts import Line, Part, parts
from memctl.text.markdown import code, inline
from memctl.text.xml import add, indented

_META = ("event_id", "timestamp", "source_agent", "target_agent", "workflow_id", "session")


def markdown(state: TaskState) -> str:
    """Return the state of a task as a page of Markdown."""
    where = f"{code(state.environment.branch) if state.environment.branch else 'no branch'}"
    where += f", {state.environment.head[:10] or 'no commit yet'}"
    name = f"{inline(state.workflow_id)}: " if isinstance(state, Checkpoint) else ""
    progress = f", {len(state.done)} of {len(state.steps)} steps done" if state.steps else ""
    lines = [f"# {name}window {state.window_id}, version {state.version}", "", f"**Task**: {inline(state.goal)}", ""]
    lines += [f"**Phase**: {inline(state.phase)}", ""] if state.phase else []
    lines.append(f"**Saved**: {state.saved_at} by {inline(state.saved_by)} on {where}{progress}")
    lists = {part.title: [part.mark + _markdown(part, line) for line in part.lines] for part in parts(state)}
    lists["Not committed"] = [code(file.path) for file in state.environment.dirty]
    if isinstance(state, Checkpoint):
        metrics = state.context_metrics
        sizes = {"Shared context": metrics.scs_size, "Working set": metrics.aws_size}
        lists["Metrics"] = [f"{name}: {size:,} tokens" for name, size in sizes.items() if size is not None]
        lists["Metrics"] += [f"Events: {metrics.events}", f"Compressions: {metrics.compressions}"]
    for title, texts in lists.items():
        lines += ["", f"## {title}", "", *(f"- {text}" for text in texts)] if texts else []
    return "\n".join(lines) + "\n"


def _markdown(part: Part, line: Line) -> str:
    if part.item == "file":
        return f"{code(line.text)}{''.join(f' ({fact})' for fact in line.facts.values())}"
    return inline(line.whole)


def xml(saved: Checkpoint) -> str:
    """Return a checkpoint as XML text, an element `workflow_checkpoint`.

    Steps are in four elements, one for each status, so that planned or claimed steps do not look done.
    """
    lists = {part.tag: (part.item, part.lines) for part in parts(saved)}
    beside = {tag: lists.pop(tag) for tag in ("event_stream_summary", "next_actions") if tag in lists}
    where, metrics = saved.environment, saved.context_metrics
    environment = {"branch": where.branch, "head": where.head, "not_committed": ("file", [f.path for f in where.dirty])}
    state: dict[str, Any] = {"mission": saved.goal, "phase": saved.phase, **lists}
    state |= {"environment": environment} if where.branch or where.head else {}
    return _xml("workflow_checkpoint", {
        "checkpoint_id": saved.checkpoint_id,
        "timestamp": saved.saved_at,
        "resumable_state": {"compressed_workflow_state": state, **beside},
        "context_metrics": {
            "scs_size": metrics.scs_size,
            "aws_size": metrics.aws_size,
            "events_processed": metrics.events,
            "compression_ratio": _percent(metrics.compression_ratio),
        },
    })  # fmt: skip


def event_xml(event: WorkflowEvent, compressions: int) -> str:
    """Return an event as XML text, with every field that the event has.

    An event at the start or end of a phase (a part of the workflow, such as research or planning) becomes an element
    `agent_context`, which has the complete context for the agent that takes over. Any other event becomes an element
    `context_transition`. `compressions` is the number of compression events of the event's workflow so far.
    """
    meta = {name: getattr(event, name) for name in _META}
    kind, action = {"event_type": event.event_type}, {"action_taken": event.action_taken}
    before = {"before_state": _sizes(event.before_state)}
    after = {**_sizes(event.after_state), "compression_ratio": _percent(event.compression_ratio)}
    compressed = {
        "mission": event.mission,
        "phase": event.phase,
        "critical_decisions": ("decision", event.critical_decisions),
        "constraints": ("constraint", event.constraints),
    }
    has_context = event.mission or event.phase or event.critical_decisions or event.constraints
    context = {
        **({"compressed_context": compressed} if has_context else {}),
        "inputs": ("input", event.inputs),
        "expected_outputs": ("output", event.expected_outputs),
        "deliverables": ("deliverable", event.deliverables),
    }
    saved = {"checkpoint_id": event.checkpoint_id}
    if event.event_type not in PHASES:
        last = {"next_agent": event.target_agent, **saved}
        whole = {**kind, "meta": meta, **before, **action, **context, "after_state": after, **last}
        return _xml("context_transition", whole)
    before = before if event.before_state != NOT_MEASURED else {}
    state = {**kind, **action, **context, **saved}
    metrics = {**after, "compression_events": compressions}
    return _xml("agent_context", {"meta": meta, "state": state, **before, "context_metrics": metrics})


def _sizes(sizes: ContextSizes) -> dict[str, Any]:
    values = {name: getattr(sizes, name) for name in sizes.__struct_fields__}
    return {name: _percent(value) if name.endswith("ratio") else value for name, value in values.items()}


def _percent(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:g}%"


def _xml(tag: str, values: Mapping[str, Any]) -> str:
    root = Element(tag)
    _fill(root, values)
    return indented(root)


def _fill(parent: Element, values: Mapping[str, Any]) -> None:
    """Add an element for each value to `parent`: tag -> text, number, elements, or the tag of items and the items.

    "", None and lists without items are left out.
    """
    for tag, value in values.items():
        if isinstance(value, Mapping):
            _fill(SubElement(parent, tag), value)
        elif not isinstance(value, tuple):
            if value not in ("", None):
                add(parent, tag, str(value))
        elif value[1]:
            items = SubElement(parent, tag)
            for item in value[1]:
                line = item if isinstance(item, Line) else Line(item)
                add(items, value[0], line.text, **line.facts)
