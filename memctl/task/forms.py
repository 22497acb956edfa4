"""Write the state of a task as Markdown for people and as XML for agents; memctl itself reads its JSON.

The XML has the element names of rules.md#checkpoints.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

from memctl.record.checkpoint import Checkpoint
from memctl.record.task_state import TaskState
from memctl.task.parts import Line, Part, parts
from memctl.text.markdown import code, inline
from memctl.text.xml import add, add_list, add_texts, indented

_APART = ("next_actions", "event_stream_summary")  # elements beside the state, not in it


def markdown(state: TaskState) -> str:
    """Return the state of a task as a page of Markdown."""
    where = f"{code(state.environment.branch) if state.environment.branch else 'no branch'}"
    where += f", {state.environment.head[:10] or 'no commit yet'}"
    name = f"{inline(state.workflow_id)}: " if isinstance(state, Checkpoint) else ""
    far = f"{len(state.done)}" if state.completion is None else f"{state.completion} %"
    percent = f", {far} of {len(state.steps)} steps done" if state.steps else ""
    lines = [
        f"# {name}window {state.window_id}, version {state.version}",
        "",
        f"**Task**: {inline(state.goal)}",
        "",
        *([f"**Phase**: {inline(state.phase)}", ""] if state.phase else []),
        f"**Saved**: {state.saved_at} by {inline(state.saved_by)} on {where}{percent}",
    ]
    for part in parts(state):
        lines += ["", f"## {part.title}", "", *(f"- {part.mark}{_markdown(part, line)}" for line in part.lines)]
    if state.environment.dirty:
        lines += ["", "## Not committed", "", *(f"- {code(one.path)}" for one in state.environment.dirty)]
    if isinstance(state, Checkpoint):
        metrics = state.context_metrics
        sizes = {"Shared context": metrics.scs_size, "Working set": metrics.aws_size}
        measured = [f"- {name}: {size:,} tokens" for name, size in sizes.items() if size is not None]
        lines += ["", "## Metrics", "", *measured]
        lines += [f"- Events: {metrics.events}", f"- Compressions: {metrics.compressions}"]
    return "\n".join(lines) + "\n"


def _markdown(part: Part, line: Line) -> str:
    if part.item == "file":
        return f"{code(line.text)}{''.join(f' ({fact})' for fact in line.facts.values())}"
    return inline(line.whole)


def xml(saved: Checkpoint) -> str:
    """Return a checkpoint as XML text, an element `workflow_checkpoint`."""
    root = Element("workflow_checkpoint")
    add_texts(root, {"checkpoint_id": saved.checkpoint_id, "timestamp": saved.saved_at})
    state = SubElement(root, "resumable_state")
    add_state(SubElement(state, "compressed_workflow_state"), saved)
    add_list(state, "event_stream_summary", "event", saved.event_stream_summary)
    add_list(state, "next_actions", "action", saved.next_actions)
    metrics = saved.context_metrics
    numbers = {"scs_size": metrics.scs_size, "aws_size": metrics.aws_size, "events_processed": metrics.events}
    element = SubElement(root, "context_metrics")
    add_texts(element, {tag: str(number) for tag, number in numbers.items() if number is not None})
    if metrics.compression_ratio is not None:
        add_texts(element, {"compression_ratio": f"{metrics.compression_ratio:g}%"})
    return indented(root)


def add_state(parent: Element, state: TaskState) -> None:
    """Add the XML elements of a task's state to the element `parent`.

    Steps are in four elements, one for each status, so that planned or claimed steps do not look done.
    """
    add_texts(parent, {"mission": state.goal, "phase": state.phase})
    for part in parts(state):
        if part.tag not in _APART:
            element = SubElement(parent, part.tag)
            for line in part.lines:
                add(element, part.item, line.text, **line.facts)
    where = state.environment
    if where.branch or where.head:
        element = SubElement(parent, "environment")
        add_texts(element, {"branch": where.branch, "head": where.head})
        add_list(element, "not_committed", "file", [one.path for one in where.dirty])
