"""Input for summaries: transcripts, and the user's language model if one is set up."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memctl.cli import output
from memctl.cli.text_input import name_of
from memctl.errors import USAGE, MemctlError
from memctl.session.summary import SessionSummary
from memctl.store.memory import Memory
from memctl.transcript import claude_code, reader
from memctl.transcript.events import Session, join_sessions

if TYPE_CHECKING:
    from memctl.providers.provider import Provider
    from memctl.session.grades import Dimension, Reply

transcripts = click.option(
    "--transcript", "-t", "sources", multiple=True, metavar="FILE", help="A transcript (- for stdin). Repeatable."
)
no_llm = click.option("--no-llm", is_flag=True, help="Do not use a language model, even if one is set up.")


def own_name(session: Session, source: str) -> str:
    """Return the session id in a transcript, or else the name of the file `source` without suffix.

    It is "" if the transcript has no id and is from standard input (`-`).
    """
    return session.id or ("" if source == "-" else Path(source).stem)


def read(sources: tuple[str, ...]) -> Session:
    """Return one session from several transcripts (`-` is standard input); raises MemctlError if one can't be read.

    Transcripts of sub-agents beside a transcript of Claude Code are added. A transcript that is given twice, or as a
    copy, counts once.
    """
    return join_sessions(_read_all(sources))


def read_parts(sources: tuple[str, ...]) -> list[Session]:
    """Return the sessions of several transcripts, earliest first; transcripts that overlap in time are one session.

    Raises MemctlError if a transcript can't be read. Those of sub-agents are added, and copies count once.
    """
    found: list[Session] = []
    for one in sorted(_read_all(sources), key=lambda session: session.started):
        if found and not found[-1].ended <= one.started:
            found[-1] = join_sessions([found[-1], one])
        else:
            found.append(one)
    return found


def _read_all(sources: tuple[str, ...]) -> list[Session]:
    """Return the transcripts with those of sub-agents, each once."""
    import sys

    found: list[Session] = []
    for source in dict.fromkeys(sources):
        try:
            data = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        except OSError as error:
            raise MemctlError(f"{name_of(source)} can't be read: {error.strerror}", exit_code=USAGE) from None
        session = reader.read(data)
        if not session.events:
            hint = "give a transcript of Claude Code, Codex or Gemini CLI, messages as JSON, or text"
            raise MemctlError(f"{name_of(source)} is not a transcript", hint)
        found += [one for one in (session, *_of_sub_agents(source, sources)) if one not in found]
    return found


def _of_sub_agents(source: str, named: tuple[str, ...]) -> Iterator[Session]:
    """Yield the transcripts of a session's sub-agents, except unreadable ones and those that are named as arguments."""
    for path in claude_code.sub_agent_transcripts(source):
        if any(os.path.realpath(path) == os.path.realpath(other) for other in named):
            continue
        with suppress(OSError):
            session = reader.read(Path(path).read_bytes())
            if session.events:
                yield session


def with_prose(memory: Memory, summary: SessionSummary, session: Session, *, no_llm: bool) -> SessionSummary:
    """Return a summary with the prose of the user's language model, if there is one; prints a warning if that fails."""
    if no_llm:
        return summary
    from memctl.session import prose

    try:
        provider = provider_of(memory)
        return prose.add_prose(summary, session, provider) if provider and session.events else summary
    except MemctlError as error:
        output.note(f"warning: the language model wrote no prose: {error.with_hint}")
        return summary


def provider_of(memory: Memory) -> Provider | None:
    """Return the language model that the user has set up; None without one. Raises MemctlError if it can't be used."""
    from memctl.providers import choice

    return choice.user_provider(memory.environ, memory.repository.settings(), is_allowed=memory.config.llm.use)


def provider_if_any(memory: Memory | None, *, no_llm: bool = False) -> Provider | None:
    """Return the user's language model, also without a memory, where only environment variables can set one up.

    Returns None without one, and prints a warning if it can't be used.
    """
    import os

    from memctl.providers import choice

    if no_llm:
        return None
    try:
        return choice.user_provider(os.environ, {}) if memory is None else provider_of(memory)
    except MemctlError as error:
        output.note(f"warning: no language model: {error.with_hint}")
        return None


def judge_replies(
    memory: Memory, made: list[Reply], session: Session | None, text: str
) -> tuple[list[Reply], Dimension | None]:
    """Return a summary's replies to probes with verdicts, and a grade of how well it follows the user's instructions.

    The user's language model judges both. `made` are the replies without verdicts, `text` is the summary, and `session`
    has the instructions. If no model is set up, or if it fails, the replies are returned unchanged, and for a failure a
    warning is printed. The grade is None if no model has judged, or if `session` is None.
    """
    from memctl.session import grades

    try:
        judge = provider_of(memory)
        if judge is None:
            return made, None
        found = grades.judged_replies(made, text, judge)
        return found, grades.instructions(session, text, judge) if session is not None else None
    except MemctlError as error:
        output.note(f"warning: the language model judged no answers: {error.with_hint}")
        return made, None
