"""Read what summaries are made from: transcripts of sessions, and the user's language model if one is set up."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memctl.cli import output
from memctl.cli.command import flag_option, text_option
from memctl.cli.text_input import name_of, open_source
from memctl.errors import MemctlError
from memctl.session.summary import SessionSummary
from memctl.store.memory import Memory
from memctl.transcript import claude_code, reader
from memctl.transcript.events import Session, join_sessions

if TYPE_CHECKING:
    from memctl.providers.provider import Provider
    from memctl.session.grades import Dimension, Reply

transcripts = text_option(
    "--transcript",
    "-t",
    "sources",
    metavar="FILE",
    help="A transcript of the session (- for standard input). Repeatable.",
)
no_llm = flag_option("--no-llm", help="Do not use a language model, even if one is set up.")


def own_name(session: Session, source: str) -> str:
    """Return the id of the session that a transcript has, or else the name of the transcript's file without suffix.

    `source` is the file. The result is "" if the transcript has no id and comes from standard input (`-`).
    """
    return session.id or ("" if source == "-" else Path(source).stem)


def read(sources: tuple[str, ...]) -> Session:
    """Return several transcripts as one session; raises MemctlError if one can't be read.

    `sources` are their files, `-` for standard input. For Claude Code the transcripts of sub-agents, which are in a
    folder beside the session's transcript, are added. A transcript that is given twice, or as a copy, counts once.
    """
    return join_sessions(_read_all(sources))


def read_parts(sources: tuple[str, ...]) -> list[Session]:
    """Return the sessions in several transcripts, the earliest first; transcripts that overlap in time are one session.

    `sources` are their files, `-` for standard input. Transcripts of sub-agents are added, and copies count once.
    Raises MemctlError if a transcript can't be read.
    """
    sessions: list[Session] = []
    for session in sorted(_read_all(sources), key=lambda session: session.started):
        if sessions and not sessions[-1].ended <= session.started:
            sessions[-1] = join_sessions([sessions[-1], session])
        else:
            sessions.append(session)
    return sessions


def _read_all(sources: tuple[str, ...]) -> list[Session]:
    sessions: list[Session] = []
    for source in dict.fromkeys(sources):
        with open_source(source) as stream:
            session = reader.read(stream.read())
        if not session.events:
            hint = "give a transcript of Claude Code, Codex or Gemini CLI, messages as JSON, or text"
            raise MemctlError(f"{name_of(source)} is not a transcript", hint)
        sessions += [part for part in (session, *_of_sub_agents(source, sources)) if part not in sessions]
    return sessions


def _of_sub_agents(source: str, named: tuple[str, ...]) -> Iterator[Session]:
    for path in claude_code.sub_agent_transcripts(source):
        if any(os.path.realpath(path) == os.path.realpath(other) for other in named):
            continue
        with suppress(OSError):
            session = reader.read(Path(path).read_bytes())
            if session.events:
                yield session


def with_prose(memory: Memory, summary: SessionSummary, session: Session, *, no_llm: bool) -> SessionSummary:
    """Return a summary to which the user's language model has added prose, if the user has set one up.

    If the model fails, a warning is printed, and the summary is returned unchanged, as it is if `no_llm` is True.
    """
    if no_llm:
        return summary
    from memctl.session import prose

    try:
        provider = provider_of(memory)
        return prose.add_prose(summary, session, provider) if provider and session.events else summary
    except MemctlError as error:
        output.note(f"warning: the summary has no prose, because the language model failed: {error.with_hint}")
        return summary


def provider_of(memory: Memory) -> Provider | None:
    """Return the language model that the user has set up, or None; raises MemctlError if it can't be used."""
    from memctl.providers import choice

    return choice.user_provider(memory.environ, memory.repository.settings(), is_allowed=memory.config.llm.use)


def provider_if_any(memory: Memory | None, *, no_llm: bool = False) -> Provider | None:
    """Return the language model that the user has set up; None if there is none, or if `no_llm` is True.

    If the model can't be used, a warning is printed and the result is None. Without a memory, only environment
    variables can set up a model.
    """
    from memctl.providers import choice

    if no_llm:
        return None
    try:
        return choice.user_provider(os.environ, {}) if memory is None else provider_of(memory)
    except MemctlError as error:
        output.note(f"warning: no language model is used: {error.with_hint}")
        return None


def judge_replies(
    memory: Memory, made: list[Reply], session: Session | None, text: str
) -> tuple[list[Reply], Dimension | None]:
    """Let the user's language model judge the summary `text`; returns a reply to each probe, and a grade.

    A reply says whether the summary answers a probe, which is a question about the session. `made` are the replies that
    a comparison of words gave; those of the model replace them, except for probes about files.

    The grade says how well the summary follows the user's instructions, which are in `session`; it is None if `session`
    is None. If no model is set up, or if it fails, `made` is returned unchanged, and the grade is None; a failure is
    also printed as a warning.
    """
    from memctl.session import grades

    try:
        judge = provider_of(memory)
        if judge is None:
            return made, None
        judged = grades.judged_replies(made, text, judge)
        return judged, grades.instructions(session, text, judge) if session is not None else None
    except MemctlError as error:
        output.note(f"warning: the language model failed, so only exact facts count as answers: {error.with_hint}")
        return made, None
