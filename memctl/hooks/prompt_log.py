"""What a user asks and an agent answers, out of the events of a host of whose transcripts only tool calls are read: it
tells the session's task, and what was decided in the last words of a turn."""

from __future__ import annotations

from memctl.hooks import session_state
from memctl.record.required_text import LONGEST_LINE, is_said
from memctl.store.session_dir import SessionDir
from memctl.text.characters import redacted_line
from memctl.text.credentials import redact

_LONGEST_ANSWER = 4_000  # characters from its end, where decisions and next steps stand
_ANSWER_LOOKED_AT = 8 * _LONGEST_ANSWER  # a credential is known by its beginning, which may stand before these
_LOOKED_AT = 8 * LONGEST_LINE  # characters: somebody waits for a hook, and what is pasted may be long


def note(folder: SessionDir, prompt: str) -> None:
    """Keep what was asked last, and as the session's task what was asked first. Without credentials."""
    asked = line(prompt)
    if is_said(asked):
        state = session_state.read(folder) or session_state.SessionState()
        session_state.changed(folder, intent=state.intent or asked, prompt=asked)


def note_answer(folder: SessionDir, answer: str) -> None:
    """Keep the last words of a turn, with their lines. Without credentials."""
    said = redact(answer[-_ANSWER_LOOKED_AT:])[-_LONGEST_ANSWER:]
    state = session_state.read(folder) or session_state.SessionState()
    if said not in state.answers:
        session_state.changed(folder, answers=(*state.answers, said)[-session_state.MOST_ANSWERS :])


def line(text: str) -> str:
    """A text as a line of a checkpoint: without credentials, and cut where it is too long for one."""
    made = redacted_line(text[:_LOOKED_AT])
    return made if len(made) <= LONGEST_LINE else f"{made[: LONGEST_LINE - 2]} …"
