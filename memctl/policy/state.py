"""The description file of the policies: what can't be measured in any context and has to be said.

YAML or JSON, all keys optional:

    threshold: 2000                   # SCS_THRESHOLD; else scs_threshold in config.yaml
    remaining_budget: 60000           # tokens left in the window
    delta_payload: 400                # tokens that the branches will bring back, together
    unresolved_dependencies: [the schema comes first]
    pending_escalations: [security review of the login]    # high risk: security, legacy, network
    deferred_compressions: 1          # triggers that fired and were put off
    event_schema: true                # structured events are defined for all communication
    resumable: true                   # an agent can resume from its event
    phase_boundary: false
    batches_since_compression: 2
    aws_before: 6500                  # tokens of the working set when the last batch began
    events: 12                        # in the event stream
    scs_history: [1500, 1700, 1650]   # tokens after each of the last batches
    next_phase_scs: 300               # tokens that the next phase will add to the shared slice
    parallel_denials: 0               # in a row
    unresolved_details: []            # what a compression would have to drop although it is needed
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from memctl.errors import MemctlError
from memctl.record.errors import describe
from memctl.record.frontmatter import read_yaml

Tokens = Annotated[int, msgspec.Meta(ge=0)]
Number = Annotated[int, msgspec.Meta(ge=0)]


class ContextState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the description file says; None is what it does not say."""

    threshold: Annotated[int, msgspec.Meta(ge=1)] | None = None
    remaining_budget: Tokens | None = None
    delta_payload: Tokens | None = None
    unresolved_dependencies: list[str] = []
    pending_escalations: list[str] = []
    deferred_compressions: Number = 0
    event_schema: bool | None = None
    resumable: bool | None = None
    phase_boundary: bool = False
    batches_since_compression: Number = 0
    aws_before: Tokens | None = None
    events: Number | None = None
    scs_history: list[Tokens] = []
    next_phase_scs: Tokens | None = None
    parallel_denials: Number = 0
    unresolved_details: list[str] = []


def parse(text: str, name: str) -> ContextState:
    """Read a description; raises MemctlError that names the key, and for YAML the line."""
    try:
        if text.lstrip().startswith("{"):
            return msgspec.json.decode(text, type=ContextState)
        return msgspec.convert(read_yaml(text, name, _HINT), ContextState)
    except msgspec.ValidationError as error:
        raise MemctlError(f"{name}: {describe(error)}", _HINT) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise MemctlError(f"{name} is no JSON: {error}", _HINT) from None


_HINT = f"its keys are {', '.join(ContextState.__struct_fields__)}"
