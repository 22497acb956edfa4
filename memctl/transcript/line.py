"""One line of a Claude Code transcript."""

from __future__ import annotations

import re
from typing import Any

# What the host adds to a prompt: reminders, and the output of commands that the user ran.
_ADDED = re.compile(r"<(/?)(system-reminder|local-command-[a-z]+|command-[a-z]+|task-notification)>")


def without_added(text: str) -> str:
    """Return a prompt without what the host has added: each of its tags, to the end tag that is the next of its name.

    It takes as long for a hundred thousand tags that nobody closes, as the output of a command may have them, as for
    others.
    """
    tags = list(_ADDED.finditer(text))
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


def context_of(usage: Any) -> int:
    """The tokens of a request by the usage that either interface reports, cached ones too; 0 if it says none."""
    if not isinstance(usage, dict):
        return 0
    if isinstance(usage.get("prompt_tokens"), int):
        return int(usage["prompt_tokens"])
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return sum(usage[name] for name in names if isinstance(usage.get(name), int))
