"""A checkpoint as Markdown, for people; what is read again is the JSON beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memctl.record.checkpoint import Checkpoint, Noted
from memctl.text.markdown import code, inline


def document(made: Checkpoint) -> str:
    """The page of a checkpoint."""
    where = f"{code(made.branch) if made.branch else 'no branch'}, {made.head[:10] or 'no commit yet'}"
    lines = [
        f"# {inline(made.workflow_id)}: window {made.window_id}, version {made.version}",
        "",
        f"**Task**: {inline(made.mission)}",
        "",
        *([f"**Phase**: {inline(made.phase)}", ""] if made.phase else []),
        f"**Saved**: {made.saved_at} by {inline(made.saved_by)} on {where}",
    ]
    for title, items in _sections(made):
        lines += ["", f"## {title}", "", *items]
    return "\n".join(lines) + "\n"


def _sections(made: Checkpoint) -> Iterator[tuple[str, list[str]]]:
    """The parts that there are, each with its lines."""
    files = [f"{code(one.path)}{' (deleted)' if one.deleted else ''}" for one in made.files_touched]
    metrics = made.context_metrics
    sizes = {"Shared context": metrics.scs_size, "Working set": metrics.aws_size}
    measured = [f"{name}: {size:,} tokens" for name, size in sizes.items() if size is not None]
    parts: list[tuple[str, Sequence[str]]] = [
        ("In progress", [f"[ ] {inline(item)}" for item in made.in_progress]),
        ("Planned, not begun", [f"[ ] {inline(item)}" for item in made.planned]),
        ("Done", [f"[x] {inline(item)}" for item in made.done]),
        ("Next actions", [inline(item) for item in made.next_actions]),
        ("Inputs", [inline(item) for item in made.inputs]),
        ("Expected outputs", [inline(item) for item in made.expected_outputs]),
        ("Constraints", [inline(item) for item in made.constraints]),
        ("Decisions", [*map(inline, made.decisions), *_noted(made.recorded_decisions)]),
        ("Open issues", [*map(inline, made.issues), *_noted(made.open_issues)]),
        ("Learnings", [*map(inline, made.lessons), *_noted(made.learnings)]),
        ("Summary", [inline(line) for line in made.summary]),
        ("Files touched, the latest first", files),
        ("Not committed", [code(path) for path in made.dirty_files]),
        ("Events since the checkpoint before", [inline(line) for line in made.event_stream_summary]),
        ("Metrics", [*measured, f"Events: {metrics.events}", f"Compressions: {metrics.compressions}"]),
    ]
    yield from ((title, [f"- {item}" for item in items]) for title, items in parts if items)


def _noted(records: Sequence[Noted]) -> list[str]:
    return [f"{inline(one.title)} [{one.id}]{f' ({inline(one.weight)})' if one.weight else ''}" for one in records]
