"""The state of a task as Markdown for people and as XML for agents; what is read again is its JSON.

The elements of the XML are those of rules.md#checkpoints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element, SubElement

from memctl.record.checkpoint import Checkpoint
from memctl.record.task_state import PROGRESS, Noted, Step, TaskState
from memctl.text.markdown import code, inline
from memctl.text.xml import add, add_list, add_texts, indented


def markdown(state: TaskState) -> str:
    """A state as a page."""
    where = f"{code(state.environment.branch) if state.environment.branch else 'no branch'}"
    where += f", {state.environment.head[:10] or 'no commit yet'}"
    name = f"{inline(state.workflow_id)}: " if isinstance(state, Checkpoint) else ""
    percent = f", {state.completion} % of {len(state.steps)} steps done" if state.steps else ""
    lines = [
        f"# {name}window {state.window_id}, version {state.version}",
        "",
        f"**Task**: {inline(state.goal)}",
        "",
        *([f"**Phase**: {inline(state.phase)}", ""] if state.phase else []),
        f"**Saved**: {state.saved_at} by {inline(state.saved_by)} on {where}{percent}",
    ]
    for title, items in _sections(state):
        lines += ["", f"## {title}", "", *(f"- {item}" for item in items)]
    return "\n".join(lines) + "\n"


def _sections(state: TaskState) -> Iterator[tuple[str, Sequence[str]]]:
    """The parts that there are, each with its lines."""
    blocking = state.blocking
    issues = [one for one in state.noted("ISS") if one not in blocking]
    by_status = {status: [step for step in state.steps if step.status == status] for status in PROGRESS}
    parts: list[tuple[str, Sequence[str]]] = [
        ("In progress", [f"[ ] {inline(step.text)}" for step in by_status["in_progress"]]),
        ("Claimed, by word alone", [f"[ ] {_step(step)}" for step in by_status["claimed"]]),
        ("Planned, not begun", [f"[ ] {inline(step.text)}" for step in by_status["planned"]]),
        ("Next actions", [*map(inline, state.next_actions)]),
        ("Done", [f"[x] {_step(step)}" for step in by_status["done"]]),
        ("Tasks before", [*map(inline, state.earlier_goals)]),
        ("Constraints", [*map(inline, state.constraints)]),
        ("Success criteria", [*map(inline, state.success_criteria)]),
        ("Inputs", [*map(inline, state.inputs)]),
        ("The user said", [*map(inline, state.said)]),
        ("Open errors", [*map(inline, state.errors)]),
        ("Blockers", [*map(inline, state.blockers), *map(_noted, blocking)]),
        (
            "Open issues",
            [*map(inline, state.issues), *map(_noted, issues)],
        ),
        ("Decisions", [*map(inline, state.decisions), *map(_noted, state.noted("DEC"))]),
        ("Learnings", [*map(inline, state.lessons), *map(_noted, state.noted("LRN"))]),
        ("Summary", [*map(inline, state.summary)]),
        (
            "Files, the latest first",
            [f"{code(one.path)}{f' ({one.action})' if one.action else ''}" for one in state.files],
        ),
        ("Not committed", [code(one.path) for one in state.environment.dirty]),
    ]
    if isinstance(state, Checkpoint):
        metrics = state.context_metrics
        sizes = {"Shared context": metrics.scs_size, "Working set": metrics.aws_size}
        measured = [f"{name}: {size:,} tokens" for name, size in sizes.items() if size is not None]
        parts += [
            ("Events since the checkpoint before", [*map(inline, state.event_stream_summary)]),
            ("Metrics", [*measured, f"Events: {metrics.events}", f"Compressions: {metrics.compressions}"]),
        ]
    yield from ((title, items) for title, items in parts if items)


def _step(step: Step) -> str:
    """A step with what shows that it is done: `Port a.ts (commit 1a2b3c4d5e, 2025-11-04T14:32:00Z, claude)`."""
    how = ", ".join(filter(None, (step.evidence, step.at, step.by)))
    return inline(f"{step.text} ({how})" if how else step.text)


def _noted(one: Noted) -> str:
    return f"{inline(one.title)} [{one.id}]{f' ({inline(one.weight)})' if one.weight else ''}"


def xml(saved: Checkpoint) -> str:
    """A checkpoint as a `workflow_checkpoint`."""
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
    """Add the elements of a state. Phases are four lists: what is planned or claimed must not be taken for done."""
    add_texts(parent, {"mission": state.goal, "phase": state.phase})
    for status in reversed(PROGRESS):
        steps = SubElement(parent, status)
        for step in (step for step in state.steps if step.status == status):
            how = {name: value for name in ("at", "by", "evidence") if (value := getattr(step, name))}
            add(steps, "step", step.text, **how)
    for name, tag, texts, prefix in (
        ("critical_decisions", "decision", state.decisions, "DEC"),
        ("open_issues", "issue", state.issues, "ISS"),
        ("learnings", "learning", state.lessons, "LRN"),
    ):
        element = SubElement(parent, name)
        for text in texts:
            add(element, tag, text)
        for one in state.noted(prefix):
            add(element, tag, one.title, id=one.id)
    for name, tag, texts in (
        ("earlier_missions", "mission", state.earlier_goals),
        ("user_messages", "message", state.said),
        ("open_errors", "error", state.errors),
        ("blockers", "blocker", state.blockers),
        ("summary", "line", state.summary),
        ("active_constraints", "constraint", state.constraints),
        ("required_inputs", "input", state.inputs),
        ("expected_outputs", "output", state.success_criteria),
    ):
        add_list(parent, name, tag, texts)
    files = SubElement(parent, "files_touched")
    for file in state.files:
        add(files, "file", file.path, **({"action": file.action} if file.action else {}))
