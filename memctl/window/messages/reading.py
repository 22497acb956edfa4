"""Reading a conversation from a file: a request's body or messages as JSON, messages line by line, or a transcript."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.transcript import window
from memctl.transcript.messages import decode_json
from memctl.transcript.window import Window
from memctl.window.messages.content import TokenCounter
from memctl.window.messages.conversation import Conversation


class Opened(msgspec.Struct, frozen=True):
    """A conversation out of a file, and the transcript that it was read from, if it was one."""

    conversation: Conversation
    transcript: Window | None = None


class Loaded(msgspec.Struct, frozen=True):
    """What a file holds, before anything is counted: the messages as they are, or the transcript they came from."""

    name: str
    given: Any
    transcript: Window | None = None

    @property
    def model(self) -> str:
        """The model that the file names, "" if it names none."""
        if self.transcript:
            return self.transcript.model
        model = self.given.get("model") if isinstance(self.given, dict) else ""
        return model if isinstance(model, str) else ""

    def opened(self, counter: TokenCounter) -> Opened:
        """Return the conversation, counted; raises MemctlError if there is none in the file."""
        lines = self.transcript.lines if self.transcript else ()
        try:
            return Opened(Conversation.parse(self.given, counter, lines=lines), self.transcript)
        except MemctlError as error:
            raise MemctlError(f"{self.name}: {error.message}", error.hint) from None


def read(lines: Iterable[str], name: str, counter: TokenCounter) -> Opened:
    """Return the conversation that lines hold; `name` is what a complaint calls them. Raises MemctlError."""
    return load(lines, name).opened(counter)


def load(lines: Iterable[str], name: str, *, whole: bool = False) -> Loaded:
    """Return what lines hold. Of a transcript only the last window is kept, unless it is to be read `whole`.

    Raises MemctlError for a transcript without messages.
    """
    rest = iter(lines)
    first = next((line for line in rest if line.strip()), "")
    given = decode_json(first)
    if isinstance(given, dict) and not {"messages", "input", "role", "call_id"} & set(given):
        found = window.read(chain([first], rest), whole=whole)
        if not found.messages:
            raise MemctlError(f"{name} has no messages", "give a transcript, a request's body or a list of messages")
        return Loaded(name, found.messages, found)
    if not isinstance(given, dict) or {"messages", "input"} & set(given):
        return Loaded(name, decode_json(first + "".join(rest)))
    return Loaded(name, [given, *(decode_json(line) for line in rest if line.strip())])
