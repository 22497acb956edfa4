"""The parts that the state of a task has in every form: what they are called, and their lines, what matters most first.

`forms` writes them as Markdown and XML, `resume_text` as the text with which work goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from memctl.record.checkpoint import Checkpoint
from memctl.record.task_state import RecordReference, TaskState
from memctl.text.markdown import one_line

# Of what is read or changed next after a compaction, the last 30 files touched had all (70 of 279 sessions).
FILES = 40
_SURE = 3  # lines of each part that come before the rest of any: no part takes all the room


class Line(NamedTuple):
    """A line of a part: its text, and facts of it by their names, which XML has as attributes."""

    text: str
    facts: Mapping[str, str] = {}

    @property
    def whole(self) -> str:
        """The text with its facts: `Port a.ts (commit 1a2b3c4, …)`, `Adopt PostgreSQL [DEC-…, importance 9]`."""
        facts = ", ".join(map(one_line, self.facts.values()))
        return f"{one_line(self.text)} {f'[{facts}]' if 'id' in self.facts else f'({facts})'}" if facts else self.text


class Part(NamedTuple):
    """A part: its title, the elements of the XML, its lines, of which the first `sure` are the last to go (those at the
    end if it is `from_end`), and how a line is marked in Markdown."""

    title: str
    tag: str
    item: str
    lines: Sequence[Line]
    from_end: bool = False
    sure: int = _SURE
    mark: str = ""


def parts(state: TaskState) -> list[Part]:
    """Return the parts of a state that have lines, the most important first: what is good to know comes last."""
    blocking = state.blocking
    issues = (one for one in state.records_of("ISS") if one not in blocking)
    events = state.event_stream_summary if isinstance(state, Checkpoint) else ()
    files = [Line(one.path, {"action": one.action} if one.action else {}) for one in state.files]
    found = [
        Part("Constraints", "active_constraints", "constraint", _plain(state.constraints)),
        Part("Done when", "expected_outputs", "output", _plain(state.success_criteria)),
        _of_steps("In progress, begun and not finished", state, "in_progress"),
        _of_steps("Claimed, done by word alone; check before you rely on it", state, "claimed", from_end=True),
        Part("Next", "next_actions", "action", _plain(state.next_actions)),
        _of_steps("Planned, not begun", state, "planned"),
        Part("The user said, the latest last", "user_messages", "message", _plain(state.said), from_end=True),
        Part("Open errors", "open_errors", "error", _plain(state.errors), from_end=True),
        Part("Blockers", "blockers", "blocker", [*_plain(state.blockers), *_noted(blocking)]),
        Part(
            "Decisions",
            "critical_decisions",
            "decision",
            [*_plain(state.decisions), *_noted(state.records_of("DEC"))],
            from_end=True,
        ),
        Part("Files of this work, the latest first", "files_touched", "file", files, sure=FILES),
        Part("Open issues", "open_issues", "issue", [*_plain(state.issues), *_noted(issues)]),
        _of_steps("Done, the latest last", state, "done", from_end=True),
        Part("Inputs", "required_inputs", "input", _plain(state.inputs)),
        Part("Tasks before, finished", "earlier_missions", "mission", _plain(state.earlier_goals), from_end=True),
        Part(
            "Learned",
            "learnings",
            "learning",
            [*_plain(state.lessons), *_noted(state.records_of("LRN"))],
            from_end=True,
        ),
        Part("What came of the last turns", "summary", "line", _plain(state.summary), from_end=True),
        Part("Since the checkpoint before", "event_stream_summary", "event", _plain(events)),
    ]
    return [part for part in found if part.lines]


def _plain(texts: Iterable[str]) -> list[Line]:
    return [Line(text) for text in texts]


def _of_steps(title: str, state: TaskState, status: str, *, from_end: bool = False) -> Part:
    lines = [
        Line(
            step.text, {name: value for name in ("evidence", "at", "by") if (value := getattr(step, name)) and step.at}
        )
        for step in state.steps
        if step.status == status
    ]
    return Part(title, status, "step", lines, from_end, mark="[x] " if status == "done" else "[ ] ")


def _noted(records: Iterable[RecordReference]) -> list[Line]:
    return [Line(one.title, {"id": one.id, "weight": one.weight} if one.weight else {"id": one.id}) for one in records]
