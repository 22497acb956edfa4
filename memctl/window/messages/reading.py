"""Reads a conversation from a file: a request or messages as JSON, messages line by line, or a transcript."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import chain
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.transcript import window
from memctl.transcript.messages import decode_json
from memctl.window.messages.content import TokenCounter
from memctl.window.messages.conversation import Conversation


class FileContent(msgspec.Struct, frozen=True):
    """What a file contains before its tokens are counted: its messages, and the transcript if the file is one.

    `given` has the messages, as a list or as the body of a request.
    """

    name: str
    given: Any
    transcript: window.Window | None = None

    @property
    def model(self) -> str:
        """The name of the model that is given in the file, "" if there is none."""
        if self.transcript:
            return self.transcript.model
        model = self.given.get("model") if isinstance(self.given, dict) else ""
        return model if isinstance(model, str) else ""

    def parse(self, counter: TokenCounter) -> Conversation:
        """Return the file's conversation, with its tokens counted; raises MemctlError if it has none that is valid."""
        lines = self.transcript.lines if self.transcript else ()
        try:
            return Conversation.parse(self.given, counter, lines=lines, source=os.path.basename(self.name))
        except MemctlError as error:
            raise MemctlError(f"{self.name}: {error.message}", error.hint) from None


def load(lines: Iterable[str], name: str, *, whole: bool = False) -> FileContent:
    """Return what a file with a conversation contains, read from its lines.

    Of a transcript only what is in the window at its end is read, as the last compaction left it; with `whole` all
    messages of the session are read. `name` is the file's name for error messages. Raises MemctlError for a transcript
    without messages.
    """
    rest = iter(lines)
    first = next((line for line in rest if line.strip()), "")
    value = decode_json(first)
    if isinstance(value, dict) and not {"messages", "input", "role", "call_id"} & set(value):
        transcript = window.read(chain([first], rest), whole=whole)
        if not transcript.messages:
            raise MemctlError(f"{name} has no messages", "give a transcript, a request's body or a list of messages")
        return FileContent(name, transcript.messages, transcript)
    if not isinstance(value, dict) or {"messages", "input"} & set(value):
        return FileContent(name, decode_json(first + "".join(rest)))
    return FileContent(name, [value, *(decode_json(line) for line in rest if line.strip())])
