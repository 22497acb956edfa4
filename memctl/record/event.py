"""Workflow events: what happened in a workflow, such as a handoff or a compression of the context.

Each event can be understood without the others. Sizes are in tokens, ratios in percent. rules.md#events says where the
types and fields of events come from.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from memctl.record.required_text import Line, Lines, Mission, ShortText, is_meaningful, placeholder_fault

TRANSITIONS = ("phase_boundary", "compression", "escalation", "checkpoint")
PHASES = ("phase_complete", "phase_start")
AGENT_HANDOFF = "agent_handoff"  # the event by which a coordinator learns of a handoff; rules.md#handoffs
TYPES = (*TRANSITIONS, *PHASES, AGENT_HANDOFF)
Type = Literal[
    "phase_boundary", "compression", "escalation", "checkpoint", "phase_complete", "phase_start", "agent_handoff"
]
Tokens = Annotated[int, msgspec.Meta(ge=0)]
Percent = Annotated[float, msgspec.Meta(ge=0, le=100)]


class ContextSizes(msgspec.Struct, frozen=True, omit_defaults=True):
    """The size of a context window's content; a size that was not measured is None.

    `aws_size` is the size of everything in the window, and `scs_size` that of the shared slice, both in tokens.
    `context_debt_ratio` is the part of the content that is repeated or superseded, in percent.
    """

    scs_size: Tokens | None = None
    aws_size: Tokens | None = None
    context_debt_ratio: Percent | None = None


NOT_MEASURED = ContextSizes()


class WorkflowEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event of a workflow: what happened, when, by which agents, and the sizes of the context before and after it.

    `sequence` is the number of the event among all events of this clone, from 1. Fields without a value are empty.
    """

    event_id: Line
    sequence: Annotated[int, msgspec.Meta(ge=1)]
    timestamp: Line
    event_type: Type
    workflow_id: Line
    source_agent: ShortText = ""
    target_agent: ShortText = ""
    session: ShortText = ""
    phase: ShortText = ""
    action_taken: ShortText = ""
    mission: Mission = ""
    critical_decisions: Lines = ()
    constraints: Lines = ()
    inputs: Lines = ()
    expected_outputs: Lines = ()
    deliverables: Lines = ()
    before_state: ContextSizes = NOT_MEASURED
    after_state: ContextSizes = NOT_MEASURED
    checkpoint_id: ShortText = ""

    @property
    def compression_ratio(self) -> float | None:
        """The percentage by which the event made the window's content smaller; None if the sizes were not measured."""
        before, after = self.before_state.aws_size, self.after_state.aws_size
        return None if not before or after is None else round((before - after) / before * 100, 1)

    @property
    def about(self) -> str:
        """What happened, in one text: the first of these fields that is not empty.

        The fields are `action_taken`, `mission` and `deliverables`.
        """
        return self.action_taken or self.mission or "; ".join(self.deliverables)

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield every text of the event that is not empty, each with the name of its field first."""
        for name in ("target_agent", "phase", "action_taken", "mission"):
            if value := getattr(self, name):
                yield name, value
        for name in ("critical_decisions", "constraints", "inputs", "expected_outputs", "deliverables"):
            yield from ((name, value) for value in getattr(self, name))


_REQUIRED = {
    "phase_boundary": ("action_taken",),
    "compression": ("action_taken",),
    "escalation": ("action_taken", "target_agent"),
    "checkpoint": ("action_taken",),
    AGENT_HANDOFF: ("action_taken", "target_agent"),
    "phase_complete": ("phase", "deliverables"),
    # An agent that knows nothing else must be able to begin with this event alone.
    "phase_start": ("phase", "target_agent", "mission", "inputs", "expected_outputs", "constraints"),
}


def problems(event: WorkflowEvent) -> list[tuple[str, str]]:
    """Return the errors of an event, such as a missing field that its type requires, as pairs of field and message."""
    faults = [(name, "is required") for name in _REQUIRED[event.event_type] if not getattr(event, name)]
    faults += [(name, placeholder_fault(text)) for name, text in event.texts() if not is_meaningful(text)]
    if event.event_type == "compression":
        before, after = event.before_state.aws_size, event.after_state.aws_size
        if before is None or after is None:
            faults.append(("aws_size", "is required before and after a compression"))
        elif after >= before:  # strictly smaller; rules.md#compression-triggers
            faults.append(("aws_size", f"must be smaller after a compression than before, but {after:,} >= {before:,}"))
    return faults
