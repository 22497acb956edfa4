"""`session`: what sessions of work came to, from their transcripts and from Git."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from memctl.cli import opening, session_text
from memctl.cli.command import Command, Group, how, writing
from memctl.errors import USAGE, MemctlError
from memctl.lifecycle import door
from memctl.sessions import gathering, proposals, reading, running
from memctl.sessions import writing as session_writing
from memctl.sessions.events import Session, joined
from memctl.sessions.running import Running
from memctl.store.memory import Memory


@click.group("session", cls=Group)
def session_command() -> None:
    """Sum up sessions of work: decisions, files, errors, and where they stopped."""


def read_transcripts(sources: tuple[str, ...]) -> Session:
    """The session that some transcripts tell of, `-` for standard input; raises MemctlError if one can't be read."""
    import sys

    found = []
    for source in sources:
        try:
            data = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        except OSError as error:
            raise MemctlError(f"{source} can't be read: {error.strerror}", exit_code=USAGE) from None
        found.append(reading.read(data))
        if not found[-1].events:
            hint = "it is to be Claude Code's JSON Lines, messages as JSON, or text"
            raise MemctlError(f"{source} is no transcript: nothing in it can be read", hint)
    return joined(found)


def name_of(memory: Memory, given: str, session: Session, source: str) -> tuple[str, Running | None]:
    """The name of a session to be summed up, and what was noted when it began, if it is under way.

    As given; else MEMCTL_SESSION's, if that was started; else the transcript's own, or its file's.
    """
    named = given or memory.session
    known = running.find(memory, named) if named else None
    if given or known:
        return running.name(named), known
    own = session.id or ("" if source == "-" else Path(source).stem)
    return running.name_like(own or memory.session), None


_transcripts = click.option(
    "--transcript", "-t", "sources", multiple=True, metavar="FILE", help="A transcript (- for stdin). Repeatable."
)


@session_command.command(
    "summarize",
    cls=Command,
    examples=(
        ("memctl session summarize --transcript session.jsonl", "Write .memory/sessions/ID.md, or merge into it."),
        ("memctl session summarize -t main.jsonl -t agent-1.jsonl --review", "Show which records are proposed."),
        ("memctl session summarize -t chat.txt --id design --accept 1,3", "Make the records 1 and 3, in one commit."),
    ),
)
@_transcripts
@click.option("--id", "given", default="", metavar="NAME", help="The session's name. [default: the transcript's own]")
@click.option("--review", is_flag=True, help="Show the records that are proposed, and write nothing.")
@click.option(
    "--accept",
    is_flag=False,
    flag_value="all",
    default="",
    metavar="[N,…]",
    help="Make the proposed records too: these by their numbers in --review, or all.",
)
@writing
@click.pass_context
def summarize_command(
    ctx: click.Context, /, sources: tuple[str, ...], given: str, review: bool, accept: str, **flags: Any
) -> None:
    """Write down what a session came to: its intent, files, decisions, state, errors.

    A later summary of the same session is merged into the page: the intent stays, files are merged by path, decisions
    are appended, the state is replaced. Transcripts are Claude Code's JSON Lines, messages as JSON, or text.
    """
    if not sources:
        raise MemctlError("a transcript is missing", "`memctl session summarize --transcript FILE`", USAGE)
    memory = opening.memory(ctx)
    session = read_transcripts(sources)
    identifier, known = name_of(memory, given, session, sources[0])
    summary = gathering.gather(memory, session, identifier, known)
    proposed = proposals.propose(summary, opening.snapshot(memory, None).records)
    if review:
        session_text.review(proposed, as_json=flags["as_json"])
        return
    accepted = session_text.chosen(proposed, accept)
    result = door.carry_out(
        memory, lambda sequence: session_writing.plan(memory, sequence, summary, accepted), how(flags)
    )
    session_text.summarized(memory, result, summary, len(proposed) - len(accepted), flags)
