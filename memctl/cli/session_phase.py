"""`session phase`: the results of a phase of work, for the next phase."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from memctl.cli import material, memory_access, output
from memctl.cli.command import command, json_option
from memctl.errors import USAGE, MemctlError
from memctl.session import active, collect, phases


@command(
    "phase",
    ("memctl session phase research -t session.jsonl", "The problem, findings, files and constraints."),
    ("memctl session phase planning -t session.jsonl --json", "Signatures, types, contracts and data models."),
)
@click.argument("phase", type=click.Choice(phases.PHASES))
@material.transcripts
@json_option
@click.pass_context
def phase_command(ctx: click.Context, /, phase: str, sources: tuple[str, ...], **flags: Any) -> None:
    """Print the results of a phase in the form that the next phase takes.

    Research: problem statement, key findings, relevant files and constraints, in at most 1,000 words. Planning:
    function signatures, type definitions, API contracts and data models, in at most 2,000 words. All of it is taken
    from the transcript; nothing is written.
    """
    if not sources:
        raise MemctlError("a transcript is missing", f"`memctl session phase {phase} --transcript FILE`", USAGE)
    memory = memory_access.memory(ctx)
    session = material.read(sources)
    summary = collect.gather(memory, session, active.name_like(material.own_name(session, sources[0])) or "session")
    sections = phases.form(phase, summary, session)
    if flags["as_json"]:
        output.json(
            "phase", {"phase": phase, "sections": msgspec.to_builtins(sections), "turns": summary.metrics.turns}
        )
        return
    output.text(phases.render(phase, sections), newline=False)
