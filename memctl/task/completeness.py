"""What is missing in a checkpoint for somebody to go on from it who knows nothing else.

It has to say mission, inputs, outputs and constraints, and to hide nothing (rules.md#parallel-work). Without a goal it
is useless, without a current step doubtful (rules.md#checkpoints).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from memctl.record.checkpoint import Checkpoint
from memctl.record.required_text import is_said

_WHY = {
    "mission": "what it is all for (--task)",
    "inputs": "what is needed for it (--input)",
    "outputs": "what is to come out (--expect)",
    "constraints": "what binds, or none (--constraint)",
}


class Missing(msgspec.Struct, frozen=True):
    """Something that a checkpoint does not say, and whether without it nobody can go on."""

    what: str
    why: str
    essential: bool = False


def missing(checkpoint: Checkpoint) -> list[Missing]:
    """All that is missing; nothing means that it can be resumed from the checkpoint alone, or that it is finished."""
    if checkpoint.next_actions and checkpoint.is_finished:
        return []
    ahead = (*checkpoint.next_actions, *checkpoint.in_progress, *checkpoint.planned)
    # The files worked on are inputs, too.
    given = (*checkpoint.inputs, *(one.path for one in checkpoint.files_touched if not one.deleted))
    found = []
    if not is_said(checkpoint.mission):
        found.append(Missing("mission", _WHY["mission"], essential=True))
    if not any(map(is_said, ahead)):
        found.append(
            Missing(
                "next_actions", "what comes next (--next); nothing is planned or in progress either", essential=True
            )
        )
    elif not any(map(is_said, ahead[: len(checkpoint.next_actions) + len(checkpoint.in_progress)])):
        found.append(Missing("in_progress", "where to begin (--doing, --next): there are only plans"))
    for name, values in (
        ("inputs", given),
        ("outputs", checkpoint.expected_outputs),
        ("constraints", checkpoint.constraints),
    ):
        if not any(map(is_said, values)):
            found.append(Missing(name, _WHY[name]))
    return [*found, *_hidden(checkpoint)]


def _hidden(checkpoint: Checkpoint) -> Iterator[Missing]:
    from memctl.policy.parallel import hidden_reference  # its patterns take 10 ms, and a hook needs none of them

    said = {
        "mission": (checkpoint.mission,),
        "inputs": checkpoint.inputs,
        "outputs": checkpoint.expected_outputs,
        "constraints": checkpoint.constraints,
        "next_actions": checkpoint.next_actions,
    }
    for name, texts in said.items():
        for text in texts:
            if words := hidden_reference(text):
                yield Missing(name, f"what {words!r} refers to")
