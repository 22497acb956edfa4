"""Reading a conversation from a file: a request's body or messages as JSON, messages line by line, or a transcript."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.window import transcript
from memctl.window.content import TokenCounter
from memctl.window.conversation import Conversation
from memctl.window.transcript import Transcript


class Opened(msgspec.Struct, frozen=True):
    """A conversation out of a file, and the transcript that it was read from, if it was one."""

    conversation: Conversation
    transcript: Transcript | None = None


def read(lines: Iterable[str], name: str, counter: TokenCounter) -> Opened:
    """The conversation that lines hold; `name` is what a complaint calls them.

    A transcript of Claude Code is read line by line, and only its last window is kept. Raises MemctlError.
    """
    rest = iter(lines)
    first = next((line for line in rest if line.strip()), "")
    given = _decoded(first)
    if isinstance(given, dict) and not {"messages", "input"} & set(given):
        if "role" not in given and "call_id" not in given:
            found = transcript.read(chain([first], rest))
            if not found.messages:
                raise MemctlError(
                    f"{name} has no messages", "give a transcript, a request's body or a list of messages"
                )
            return Opened(Conversation.parse(found.messages, counter, lines=found.lines), found)
        given = [given, *(_decoded(line) for line in rest if line.strip())]
    else:
        given = _decoded(first + "".join(rest))
    try:
        return Opened(Conversation.parse(given, counter))
    except MemctlError as error:
        raise MemctlError(f"{name}: {error.message}", error.hint) from None


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
