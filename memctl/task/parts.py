"""The parts of a task's state, such as its constraints or open errors: where each is stored, and how it is shown.

All parts are in the table PARTS. Three modules follow it: `progress` when it merges states, `formats` when it writes a
state as Markdown or XML, and `resume` when it writes the text from which work is resumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from memctl.record.task_state import BLOCKS, CLAIMED, DONE, ELSEWHERE, EVERYBODY, IN_PROGRESS, PLANNED, TaskState
from memctl.text.markdown import one_line

# Of what is read or changed next after a compaction, the last 30 files touched had all (70 of 279 sessions).
FILES = 40
_SURE = 3  # lines of each part that come before the rest of any: no part takes all the room


class Line(NamedTuple):
    """One line of a part of a task's state: its text, and facts about it by name, such as `evidence` or `id`.

    In XML the facts are written as attributes.
    """

    text: str
    facts: Mapping[str, str] = {}

    @property
    def whole(self) -> str:
        """The text of the line with its facts: `Port a.ts (commit 1a2b3c4)`, `Use MySQL [DEC-…, importance 9]`."""
        facts = ", ".join(map(one_line, self.facts.values()))
        return f"{one_line(self.text)} {f'[{facts}]' if 'id' in self.facts else f'({facts})'}" if facts else self.text


class Part(NamedTuple):
    """A part of a task's state, such as its constraints: its title, where its lines are stored, and the lines.

    - `tag`, `item`: the names of the XML elements of the whole part and of one of its lines.
    - `field`: the attribute of the state that has the lines. If `item` is "step", the lines are instead the steps that
      have `tag` as their status.
    - `ids`: the beginning of record ids, such as "DEC". Titles of the state's records with such ids are lines, too.
    - `sure`: how many lines of this part are written before any part gets more lines. It matters in a text that has no
      room for all lines.
    - `from_end`: the most important lines are the last ones, so the `sure` lines are counted from the end.
    - `grows`: when a state is changed, new lines are added to the present lines; otherwise they replace them.
    - `open_until_none`: when a state is changed, "none" as the only new line empties the part.
    """

    title: str
    tag: str = ""
    item: str = ""
    field: str = ""
    ids: str = ""
    from_end: bool = False
    grows: bool = False
    open_until_none: bool = False
    sure: int = _SURE
    lines: Sequence[Line] = ()

    @property
    def mark(self) -> str:
        """The mark before each line in Markdown: a ticked or an empty box for steps, else ""."""
        return ("[x] " if self.tag == DONE else "[ ] ") if self.item == "step" else ""


# The most important first: what is good to know comes last. The parts without a tag are of a text from which a task is
# resumed, and not of the state.
PARTS = (
    Part("Missing, ask for it", field="missing"),
    Part("Constraints", "active_constraints", "constraint", "constraints"),
    Part("Done when", "expected_outputs", "output", "success_criteria"),
    Part("In progress, begun and not finished", IN_PROGRESS, "step"),
    Part("Claimed, done by word alone; check before you rely on it", CLAIMED, "step", from_end=True),
    Part("Next", "next_actions", "action", "next_actions"),
    Part("Planned, not begun", PLANNED, "step"),
    Part("The user said, the latest last", "user_messages", "message", "said", from_end=True, grows=True),
    Part("Open errors", "open_errors", "error", "errors", from_end=True, open_until_none=True),
    Part("Blockers", "blockers", "blocker", "blockers", open_until_none=True),
    Part("Drift, what has changed around the work", field="drift"),
    Part("Decisions", "critical_decisions", "decision", "decisions", "DEC", from_end=True, grows=True),
    Part("Files of this work, the latest first", "files_touched", "file", sure=FILES),
    Part("Open issues", "open_issues", "issue", "issues", "ISS", open_until_none=True),
    Part("Done, the latest last", DONE, "step", from_end=True),
    Part("Inputs", "required_inputs", "input", "inputs"),
    Part("Earlier tasks, finished", "earlier_missions", "mission", "earlier_goals", from_end=True, grows=True),
    Part("Learned", "learnings", "learning", "lessons", "LRN", from_end=True, grows=True),
    Part("Results of the last turns", "summary", "line", "summary", from_end=True),
    Part("Since the previous checkpoint", "event_stream_summary", "event", "event_stream_summary"),
    Part("The user said before that", field="said_before", from_end=True),
    Part("", field="phases", grows=True),  # shown in the head of a text
)
# The parts that are lists of texts of a state, by field.
LISTS = {part.field: part for part in PARTS if part.field in TaskState.__struct_fields__}


def parts(state: TaskState, **more: Sequence[str]) -> list[Part]:
    """Return the parts of a state that have a title and lines, the most important first.

    `more` has further lines that are not in the state, by the `field` of their part, such as `drift=["…"]`.
    """
    known = (
        part._replace(lines=[*_lines(state, part), *map(Line, more.get(part.field, ()))])
        for part in PARTS
        if part.title
    )
    return [part for part in known if part.lines]


def _lines(state: TaskState, part: Part) -> Iterator[Line]:
    if part.item == "step":
        for step in state.steps:
            if step.status == part.tag:
                facts = {name: getattr(step, name) for name in ("evidence", "at", "by")} if step.at else {}
                yield Line(step.text, {name: fact for name, fact in facts.items() if fact})
    elif part.item == "file":
        yield from (Line(file.path, {"action": file.action} if file.action else {}) for file in state.files)
    yield from map(Line, getattr(state, part.field, ()))
    for record in state.records:
        if record.id == ELSEWHERE:
            if part.tag == record.weight:
                yield Line(record.title)
            continue
        is_blocking = record.id == EVERYBODY or record.weight.startswith(BLOCKS)
        if part.tag == "blockers" if is_blocking else part.ids and record.id.startswith(part.ids):
            yield Line(record.title, {"id": record.id, "weight": record.weight} if record.weight else {"id": record.id})
