"""The state of a task: its goal, its progress, and everything that the next worker must know.

It is what a checkpoint saves, what the hooks keep of a session, and what a handoff passes on. rules.md#checkpoints
lists what it contains.

A step of a task is planned, in progress, claimed or done. It is done if there is evidence: a task list, a commit, a
check that passed, or a command. If only a sentence says so, it is claimed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final, Literal

import msgspec

from memctl.record.required_text import MOST_LINES, Line, Lines, Mission, ShortText

Status = Literal["planned", "in_progress", "claimed", "done"]
PLANNED: Final = "planned"
IN_PROGRESS: Final = "in_progress"
CLAIMED: Final = "claimed"
DONE: Final = "done"
PROGRESS: tuple[Status, ...] = (PLANNED, IN_PROGRESS, CLAIMED, DONE)
# How the weight of a record that blocks work begins; the ids in a reference to a blocker of all work, and in one that
# only counts what the state leaves out because it is about other tasks.
BLOCKS, EVERYBODY, ELSEWHERE = "blocks", "everybody", "elsewhere"
_NOTHING = ("none", "nothing")
_ENDS = " \t\n.,;:`'\""


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """A step of a task and its status; if the step is claimed or done, also the time, the author and the evidence.

    For example Step("Port a.ts", "done", "2025-11-04T14:32:00Z", "claude", "commit 1a2b3c4d5e").
    """

    text: Line
    status: Status = PLANNED
    at: ShortText = ""
    by: ShortText = ""
    evidence: ShortText = ""

    @property
    def status_text(self) -> str:
        """The status in words, such as "in progress" for "in_progress"."""
        return self.status.replace("_", " ")


class RecordReference(msgspec.Struct, frozen=True):
    """A record as it was when the state of a task was saved: its id, its title, and its severity or importance."""

    id: Line
    title: Line
    weight: ShortText = ""  # its severity or importance, or what it blocks


class TouchedFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that the task read or changed; `action` is created, modified, deleted or read ("" if unknown).

    The path of a file outside of the repository begins with `/`, or with `~/` for the home folder.
    """

    path: Annotated[str, msgspec.Meta(min_length=1)]
    action: ShortText = ""


class Environment(msgspec.Struct, frozen=True):
    """The branch and HEAD of the worktree, and its uncommitted files, when the state of a task was saved.

    The branch is "" if HEAD is detached, and HEAD is "" before the first commit. `dirty` are the uncommitted files
    without those of the memory, which memctl commits itself. `under_way` names an operation of Git that is not
    finished, such as a merge or a rebase, "" for none.
    """

    branch: str = ""
    head: Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{40}|[0-9a-f]{64})?$")] = ""
    dirty: tuple[TouchedFile, ...] = ()
    under_way: str = ""


class TaskState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a task: its goal, steps, decisions, files, and whatever else the next worker must know.

    - `window_id` is the number of the context window in which the state was saved, from 1. `version` is the number of
      the version, from 1, and 0 if the state was never saved.
    - `task_id` is the task's id in an agent's program.
    - `earlier_goals` are former tasks of the same work, and `said` are statements of the user; in both lists the latest
      comes last.
    - `constraints` are rules that the work must follow.
    - `phases` are the workflow's phases; the last is the current one.
    - `issues`, `lessons` and `summary` are the agent's own words, and `records` refers to records of the memory.
    - `files` are the files that the task touched, the latest first.
    """

    window_id: Annotated[int, msgspec.Meta(ge=1)] = 1
    version: Annotated[int, msgspec.Meta(ge=0)] = 0
    saved_at: str = ""
    saved_by: ShortText = ""
    session: ShortText = ""
    task_id: ShortText = ""
    section: ShortText = ""
    goal: Mission = ""
    earlier_goals: Lines = ()
    success_criteria: Lines = ()
    constraints: Lines = ()
    inputs: Lines = ()
    phases: Lines = ()
    steps: Annotated[tuple[Step, ...], msgspec.Meta(max_length=MOST_LINES)] = ()
    next_actions: Lines = ()
    said: Lines = ()
    decisions: Lines = ()
    issues: Lines = ()
    errors: Lines = ()
    blockers: Lines = ()
    lessons: Lines = ()
    summary: Lines = ()
    records: tuple[RecordReference, ...] = ()
    files: tuple[TouchedFile, ...] = ()
    environment: Environment = Environment()

    @property
    def phase(self) -> str:
        """The current phase of the workflow, such as "building"; "" if it has no name."""
        return self.phases[-1] if self.phases else ""

    @property
    def planned(self) -> tuple[str, ...]:
        """The texts of the steps that are planned."""
        return self.having(PLANNED)

    @property
    def in_progress(self) -> tuple[str, ...]:
        """The texts of the steps that are in progress."""
        return self.having(IN_PROGRESS)

    @property
    def claimed(self) -> tuple[str, ...]:
        """The texts of the steps that are claimed: said to be done, without evidence."""
        return self.having(CLAIMED)

    @property
    def done(self) -> tuple[str, ...]:
        """The texts of the steps that are done, with evidence."""
        return self.having(DONE)

    def having(self, *statuses: str) -> tuple[str, ...]:
        """Return the texts of the steps whose status is one of `statuses`."""
        return tuple(step.text for step in self.steps if step.status in statuses)

    @property
    def completion(self) -> int | None:
        """The share of the task's steps that are done, in percent, rounded down.

        It is None if the task has no steps, or if all steps are done but a next action shows that the task goes on.
        """
        if not self.steps or (len(self.done) == len(self.steps) and not self.is_finished):
            return None
        return 100 * len(self.done) // len(self.steps)

    @property
    def is_finished(self) -> bool:
        """Whether the task is finished: it has steps, all of them are done, and nothing is named as a next action.

        "none" and "nothing" do not count as next actions.
        """
        return bool(self.done) and not self.ahead

    @property
    def ahead(self) -> tuple[str, ...]:
        """What is left to do, each text once: steps in progress, next actions, then claimed and planned steps.

        "none" and "nothing" are not among them.
        """
        texts = (*self.in_progress, *self.next_actions, *self.claimed, *self.planned)
        by_key = {key(text): text for text in reversed(texts)}  # of equal texts the first
        return tuple(text for text in dict.fromkeys(texts) if text == by_key[key(text)] and key(text) not in _NOTHING)


def key(item: str) -> str:
    """Return a key for finding equal steps or lines: the text in lower case, without punctuation at its ends."""
    return " ".join(item.split()).casefold().strip(_ENDS)


def steps(**texts: Iterable[str]) -> tuple[Step, ...]:
    """Return the steps of a task, made from texts; each keyword is a status and has the texts of its steps.

    For example `done=["Port a.ts"]` makes one step that is done. If a text is given for several statuses, it makes one
    step with the most advanced of these.
    """
    result: dict[str, Step] = {}
    for status in PROGRESS[::-1]:
        for text in texts.get(status, ()):
            result.setdefault(key(text), Step(text, status))
    return tuple(result.values())


def conflicting(all_steps: Iterable[Step]) -> list[str]:
    """Return the texts of the steps that a list has more than once with different statuses."""
    statuses: dict[str, set[str]] = {}
    for step in all_steps:
        statuses.setdefault(key(step.text), set()).add(step.status)
    return [text for text, some in statuses.items() if len(some) > 1]
