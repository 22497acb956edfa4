"""Requests to a model: what text stands in their messages, in the shapes of Anthropic's and OpenAI's interfaces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.tokens.families import kind_of_text
from memctl.transcript.messages import CALL, OTHER, RESULT, Block, blocks_of, elements, encode_json, messages_of

# Measured against 450 request-to-request figures of Claude models: what a tool call costs beside its text.
PER_TOOL_CALL = 75
# A request of one message has 7 tokens beside its text, with o200k models (3 for the answer to come, 4 a message) and
# with Claude's (7, or 6 from 4.8 on). That each further message adds 4 is OpenAI's rule; for Claude it is taken over.
PER_REQUEST, PER_MESSAGE = 3, 4


class Part(msgspec.Struct, frozen=True):
    """A piece of text in a request: the message it stands in (0: before the first), whose, what and of what kind."""

    message: int
    role: str
    what: str
    kind: str
    text: str


class Conversation(msgspec.Struct, frozen=True):
    """A request's text by its parts, and what of it is not text and so is not counted, by what it is."""

    model: str
    parts: list[Part]
    messages: int
    tool_calls: int
    uncounted: dict[str, int]

    @property
    def overhead(self) -> int:
        """Tokens beside those of the text."""
        return PER_REQUEST + PER_MESSAGE * self.messages + PER_TOOL_CALL * self.tool_calls


def parse(given: Any) -> Conversation | None:
    """Return the text of a request's body or of a list of messages; None if it is neither."""
    try:
        held = messages_of(given)
    except MemctlError:
        return None
    body = given if isinstance(given, dict) else {}
    reader = PartReader()
    for name in ("system", "instructions"):
        reader.read(0, "system", body.get(name) or "")
    if body.get("tools"):
        reader.add(0, "system", "tools", "json", encode_json(body["tools"], "tools"))
    for number, message in enumerate(held, start=1):
        for element in elements(message):
            reader.take(number, element.blocks)
    return Conversation(str(body.get("model") or ""), reader.parts, len(held), reader.tool_calls, reader.uncounted)


class PartReader:
    """Gathers the text of contents as they come."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.tool_calls = 0
        self.uncounted: dict[str, int] = {}

    def add(self, number: int, role: str, what: str, kind: str, text: str) -> None:
        if text:
            self.parts.append(Part(number, role, what, kind, text))

    def read(self, number: int, role: str, content: Any) -> None:
        """Take a content: a text, or a list of blocks."""
        self.take(number, blocks_of(role, content))

    def take(self, number: int, blocks: Iterable[Block]) -> None:
        """Take blocks of the message with a number."""
        for block in blocks:
            if block.type == OTHER:
                self.uncounted[block.name] = self.uncounted.get(block.name, 0) + 1
            elif block.type == CALL:
                self.tool_calls += 1
                self.add(number, block.role, block.type, "json", f"{block.name} {block.text}".strip())
            else:
                self.add(number, block.role, block.type, kind_in_messages(block.text, block.type), block.text)


def kind_in_messages(text: str, what: str) -> str:
    """Return the kind of a text of a message, which is a TEXT or a RESULT.

    What looks like prose is how people chat, or how tools report.
    """
    kind = kind_of_text("", text)
    if kind != "prose":
        return kind
    return "log" if what == RESULT else "chat"
