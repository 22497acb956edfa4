"""The state of a task: its goal, its progress, and what whoever continues it has to know.

It is one value everywhere: in a checkpoint, in the hooks' state of a session, in the files of a window's manager, and
as the core of a handoff. rules.md#checkpoints lists what it contains.

A step is planned, in progress, claimed or done (rules.md#checkpoints). It is done if there is evidence: a task list, a
commit, a check that passed, or a command. If only a sentence says so, it is claimed.
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
BLOCKS, EVERYBODY = "blocks", "everybody"  # what a record stands in the way of, if not of some work alone
_NOTHING = ("none", "nothing")
_ENDS = " \t\n.,;:`'\""


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """A step of a task: how far it is, and for a claimed or done one when that came up, by whom, and by what evidence.

    For example Step("Port a.ts", "done", "2025-11-04T14:32:00Z", "claude", "commit 1a2b3c4d5e").
    """

    text: Line
    status: Status = PLANNED
    at: ShortText = ""
    by: ShortText = ""
    evidence: ShortText = ""

    @property
    def how_far(self) -> str:
        """The status in words."""
        return self.status.replace("_", " ")


class RecordReference(msgspec.Struct, frozen=True):
    """A record of the memory at the time of the state: enough to identify it."""

    id: Line
    title: Line
    weight: ShortText = ""  # its severity or importance, or what it blocks


class TouchedFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that the work read or changed: created, modified, deleted or read, "" if unknown.

    A file outside of the repository and below the home folder is named from there (`~/.claude/plans/pool.md`).
    """

    path: Annotated[str, msgspec.Meta(min_length=1)]
    action: ShortText = ""


class Environment(msgspec.Struct, frozen=True):
    """The worktree: the branch ("" if HEAD is detached), HEAD ("" before the first commit), and what differs from HEAD.

    The memory's own files are left out, since memctl commits them itself. `under_way` is a merge, a rebase, ….
    """

    branch: str = ""
    head: Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{40}|[0-9a-f]{64})?$")] = ""
    dirty: tuple[TouchedFile, ...] = ()
    under_way: str = ""


class TaskState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a task, saved in a context window `window_id` (from 1) as `version` (from 1, 0 if it never was).

    `task_id` names the task where a program does; `earlier_goals` are tasks of the same work that came before, the
    latest last. `said` is what the user said, the latest last; `constraints` what of it binds. `next_actions` replace
    those of before. `issues`, `lessons` and `summary` are the agent's own words, `records` what the memory has.
    `files` are those that this work touched, the latest first. `phases` are those of the workflow, the last is now.
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
        """The phase that the workflow is in, "" if none was named."""
        return self.phases[-1] if self.phases else ""

    @property
    def planned(self) -> tuple[str, ...]:
        return self.having(PLANNED)

    @property
    def in_progress(self) -> tuple[str, ...]:
        return self.having(IN_PROGRESS)

    @property
    def claimed(self) -> tuple[str, ...]:
        return self.having(CLAIMED)

    @property
    def done(self) -> tuple[str, ...]:
        return self.having(DONE)

    def having(self, *statuses: str) -> tuple[str, ...]:
        """Return the texts of the steps with one of some statuses."""
        return tuple(step.text for step in self.steps if step.status in statuses)

    @property
    def completion(self) -> int | None:
        """The share of the steps that are done, in percent and rounded down; None without steps, and where all are done
        and something else comes next: that is not 100 %."""
        if not self.steps or (len(self.done) == len(self.steps) and not self.is_finished):
            return None
        return 100 * len(self.done) // len(self.steps)

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to do: every step is done, and no next action but "none" is named."""
        ahead = (*self.having(PLANNED, IN_PROGRESS, CLAIMED), *self.next_actions)
        return bool(self.done) and all(key(item) in _NOTHING for item in ahead)

    def records_of(self, prefix: str) -> list[RecordReference]:
        """Return the records whose ids begin with a prefix, such as "DEC"."""
        return [one for one in self.records if one.id.startswith(prefix)]

    @property
    def blocking(self) -> list[RecordReference]:
        """The records of the memory that block the work."""
        return [one for one in self.records if one.id == EVERYBODY or one.weight.startswith(BLOCKS)]


# The fields that are lists of texts.
LISTS = (
    "earlier_goals", "success_criteria", "constraints", "inputs", "phases", "next_actions", "said", "decisions",
    "issues", "errors", "blockers", "lessons", "summary",
)  # fmt: skip


def key(item: str) -> str:
    """Return what makes two steps or lines the same: their words, without case and final punctuation."""
    return " ".join(item.split()).casefold().strip(_ENDS)


def steps(
    *,
    done: Iterable[str] = (),
    claimed: Iterable[str] = (),
    in_progress: Iterable[str] = (),
    planned: Iterable[str] = (),
) -> tuple[Step, ...]:
    """Return steps by their status, each once: of a step that is given twice the most advanced status counts."""
    found: dict[str, Step] = {}
    for status, texts in zip(PROGRESS[::-1], (done, claimed, in_progress, planned), strict=True):
        for text in texts:
            found.setdefault(key(text), Step(text, status))
    return tuple(found.values())


def conflicting(given: Iterable[Step]) -> list[str]:
    """Return the steps that are given with more than one status."""
    statuses: dict[str, set[str]] = {}
    for step in given:
        statuses.setdefault(key(step.text), set()).add(step.status)
    return [text for text, some in statuses.items() if len(some) > 1]
