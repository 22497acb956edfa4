"""One line of a Claude Code transcript, and what its usage and prompts mean.

Hooks read lines after every tool call, so this module imports nothing that takes time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_SYNTHETIC = "<synthetic>"  # the model of messages that the program writes itself, such as errors of the API
_INPUT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
# What the host adds to a prompt: reminders, and the output of commands that the user ran.
_HOST_TAG = re.compile(r"<(/?)(system-reminder|local-command-[a-z]+|command-[a-z]+|task-notification)>")


class Line:
    """A line of a Claude Code transcript: its JSON object, and properties for the fields that readers use.

    `number` is its number in the file, from 1, and `is_sidechain` says whether it is a sub-agent's, which has a window
    of its own. `role` is "user" or "assistant" for a line with a message, "" for any other, synthetic answers included.
    A field of another type than expected is read as if it were absent.
    """

    __slots__ = ("fields", "is_sidechain", "message", "number", "role")

    def __init__(self, fields: dict[str, Any], number: int = 0) -> None:
        kind: Any = fields.get("type")
        message = fields.get("message")
        self.fields = fields
        self.number = number
        self.is_sidechain = bool(fields.get("isSidechain"))
        self.message: dict[str, Any] = {}
        self.role = ""
        if isinstance(message, dict):
            self.message = message
            if kind in ("assistant", "user") and message.get("model") != _SYNTHETIC:
                self.role = kind

    @property
    def uuid(self) -> str:
        return text_in(self.fields, "uuid")

    @property
    def agent(self) -> str:
        """The name of the sub-agent whose line it is, "" for the main agent's."""
        return (text_in(self.fields, "agentId") or "sub-agent") if self.is_sidechain else ""

    @property
    def is_boundary(self) -> bool:
        """Whether the context was compacted here."""
        return self.fields.get("subtype") == "compact_boundary"

    @property
    def is_summary(self) -> bool:
        """Whether this is the prompt that sums up what a compaction took away."""
        return bool(self.fields.get("isCompactSummary"))

    @property
    def compaction(self) -> dict[str, Any]:
        """What the host says of a compaction: `trigger`, `preTokens`, `postTokens`, as far as it does."""
        found = self.fields.get("compactMetadata")
        return found if isinstance(found, dict) else {}

    @property
    def answer(self) -> str:
        """The id of the answer that the line is a part of: an answer has a line for each of its blocks."""
        return text_in(self.message, "id") if self.role == "assistant" else ""

    @property
    def model(self) -> str:
        return text_in(self.message, "model")

    @property
    def context(self) -> int:
        """The tokens of the request that the line answers, 0 for a line that is no answer or has no usage."""
        return context_tokens(self.message.get("usage")) if self.role == "assistant" else 0


def text_in(fields: Mapping[str, Any], key: str) -> str:
    """Return a field that should be a text, "" if it is none."""
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def context_tokens(usage: Any) -> int:
    """Return the tokens of a request by the usage that either interface reports, cached ones too; 0 without one."""
    if not isinstance(usage, dict):
        return 0
    if isinstance(usage.get("prompt_tokens"), int):
        return int(usage["prompt_tokens"])
    return sum(usage[name] for name in _INPUT if isinstance(usage.get(name), int))


def without_host_tags(text: str) -> str:
    """Return a prompt without what the host has added: each of its tags, to the end tag that is the next of its name.

    It takes as long for a hundred thousand tags that nobody closes, as the output of a command may have them, as for
    others.
    """
    tags = list(_HOST_TAG.finditer(text))
    following: dict[str, re.Match[str]] = {}
    ends = [0] * len(tags)
    for number in range(len(tags) - 1, -1, -1):
        is_end, name = tags[number].groups()
        if not is_end and (after := following.get(name)) and after[1]:
            ends[number] = after.end()
        following[name] = tags[number]
    kept, place = [], 0
    for tag, end in zip(tags, ends, strict=True):
        if end and tag.start() >= place:
            kept.append(text[place : tag.start()])
            place = end
    return "".join([*kept, text[place:]])
