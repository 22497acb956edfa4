"""Resume a task from a checkpoint: what speaks against it, and the text from which an agent goes on. Writes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from memctl.record.checkpoint import Checkpoint, Version
from memctl.record.required_text import is_meaningful
from memctl.record.snapshot import Snapshot
from memctl.record.task_state import TaskState
from memctl.store.memory import Memory
from memctl.task import environment, resume_text, versions
from memctl.task.environment import EnvironmentDrift
from memctl.task.resume_text import ResumeText
from memctl.text.actions import DELETED
from memctl.text.fit import LIMIT
from memctl.text.lazy_regex import lazy_regex

_WHY = {
    "goal": "what the work is for (--task)",
    "inputs": "what the work needs (--input)",
    "success_criteria": "what the result must be (--expect)",
    "constraints": "what constrains the work, or none (--constraint)",
}


class StateGap(msgspec.Struct, frozen=True):
    """A field that a state of a task lacks, and why it is needed; `essential` if nobody can go on without it."""

    what: str
    why: str
    essential: bool = False

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


def missing_fields(state: TaskState) -> list[StateGap]:
    """Return the fields that a state lacks for somebody to resume the task from the state alone; [] if it is finished.

    A state has to say its purpose, inputs, outcome and constraints, and must not refer to what only its author knows
    (rules.md#parallel-work). A state is useless without a goal or anything to do next, and doubtful without a current
    step (rules.md#checkpoints).
    """
    if state.next_actions and state.is_finished:
        return []
    begun = (*state.next_actions, *state.in_progress, *state.claimed, *state.said[-1:])
    found = [] if is_meaningful(state.goal) else [StateGap("goal", _WHY["goal"], essential=True)]
    if not any(map(is_meaningful, (*begun, *state.planned))):
        why = "what comes next (--next); nothing is planned or in progress either"
        found.append(StateGap("next_actions", why, essential=True))
    elif not any(map(is_meaningful, begun)):
        found.append(StateGap("in_progress", "where to begin (--doing, --next): there are only plans"))
    # The files worked on are inputs, too.
    inputs = (*state.inputs, *(one.path for one in state.files if one.action != DELETED))
    needed = {"inputs": inputs, "success_criteria": state.success_criteria, "constraints": state.constraints}
    found += [StateGap(name, _WHY[name]) for name, texts in needed.items() if not any(map(is_meaningful, texts))]
    return [*found, *_hidden(state)]


def _hidden(state: TaskState) -> Iterator[StateGap]:
    for name in ("goal", "inputs", "success_criteria", "constraints", "next_actions"):
        value = getattr(state, name)
        for text in (value,) if isinstance(value, str) else value:
            if words := hidden_reference(text):
                yield StateGap(name, f"what {words!r} refers to")


_HIDDEN = lazy_regex(
    r"\b(?:as (?:we )?(?:discussed|agreed|mentioned|said)(?: (?:above|before|earlier|previously))?|"
    r"see (?:the )?previous (?:message|conversation|chat)|"
    r"(?:from|in) (?:our|the) (?:last|previous|earlier) (?:conversation|chat|session|message)|"
    r"you already know|like last time|same as before)\b",
    re.IGNORECASE,
)


def hidden_reference(text: str) -> str:
    """Return the words, such as "as discussed", by which a text refers to an earlier conversation; "" for none."""
    match = _HIDDEN.search(text)
    return match[0] if match else ""


class Resumption(msgspec.Struct, frozen=True):
    """A checkpoint to resume from, with what its reader has to know first: gaps, drift, and other versions.

    `missing` are fields that the state lacks, and `drift` what has changed since the checkpoint was saved. `newer` is a
    later version, which makes the checkpoint stale. `twins` are the ids of other checkpoints with an equal version,
    which other clones saved at once. `text` is the text to resume from.
    """

    checkpoint: Checkpoint
    missing: list[StateGap]
    drift: list[EnvironmentDrift]
    newer: Version | None
    twins: list[str]
    text: ResumeText
    withheld: int = 0  # files and records of it that are kept from the reader

    def obstacles(self, *, allow_stale: bool = False, strict: bool = False) -> list[str]:
        """Return the reasons why the checkpoint can't be resumed; [] if it can.

        With `allow_stale` it is no obstacle that the checkpoint is not the newest, or has twins. With `strict` every
        missing field is an obstacle, and not only the fields without which nobody can go on.
        """
        found = []
        if self.newer is not None and not allow_stale:
            found.append(f"stale: {self.newer.id} is newer")
        if self.twins and not allow_stale:
            found.append(f"{', '.join(self.twins)} was saved at the same time, and neither is newer")
        found += [f"{one.what} is missing: {one.why}" for one in self.missing if one.essential or strict]
        return found


def prepare(memory: Memory, snapshot: Snapshot, reference: str, workflow: str) -> Resumption:
    """Return a checkpoint with all that decides whether to resume from it, and the text to resume from.

    The checkpoint is the one that `reference` names; if `reference` is "", it is the newest of the workflow, and only
    then are its twins looked for: checkpoints that other clones saved with the same version. Raises MemctlError if
    there is no such checkpoint, or if it can't be read.
    """
    saved, withheld = versions.readable(snapshot, versions.find(memory, snapshot, reference, workflow))
    twins = [] if reference else versions.read(snapshot, workflow).twins
    known = versions.all_versions(memory, snapshot, saved.workflow_id)
    drift = [*environment.drift(memory, snapshot, saved)]
    return Resumption(
        checkpoint=saved,
        missing=missing_fields(saved),
        drift=drift,
        newer=max(filter(saved.number.is_behind, known), default=None),
        twins=[one for one in twins if one != saved.checkpoint_id],
        text=text(memory, saved, drift),
        withheld=withheld,
    )


def text(memory: Memory, saved: Checkpoint, drift: Iterable[EnvironmentDrift], limit: int = LIMIT) -> ResumeText:
    """Return the text from which a checkpoint is resumed, at most `limit` characters long.

    `drift` is how the environment has changed since the checkpoint. The text also names references to earlier
    conversations; it does not name missing fields, because commands print those.
    """
    lines = [one.line for one in drift], [str(one) for one in _hidden(saved)]
    return resume_text.write(saved, *lines, is_trusted=memory.is_trusted, limit=limit)
