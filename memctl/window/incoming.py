"""A result of a tool on its way into the window: whole if the window holds it, else an outline that says how to get the
rest.

A result goes in whole as long as the raw window has room for it beside what can never go: what is older goes for it
before the next request. A call that is made again gets the whole, if any window of this size holds it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from memctl.window.messages.conversation import Conversation

_RESERVE = 0.03  # of the window: what placeholders and the last calls take; what does not fit then is shortened late
_FILES = ("file_path", "path", "filename", "notebook_path")
_COMMANDS = ("command", "cmd")
_LOOKS = re.compile(r"read|view|cat|open|file", re.IGNORECASE)


class Room(msgspec.Struct):
    """The room for results until the next request, in tokens: the window without the answer's, what of it can never go,
    and what new results take."""

    window: int
    frame: int = 0
    taken: int = 0

    @classmethod
    def beside(cls, conversation: Conversation, window: int) -> Room:
        """The room beside a conversation; what was read may go, so that it is not counted."""
        return cls(window, conversation.overhead + sum(b.token_count for b in conversation.blocks if b.is_fixed))

    def holds(self, tokens: int, *, is_again: bool = False) -> bool:
        """Whether a result of so many tokens reaches the model whole; a call made again has the reserve."""
        reserve = 0 if is_again else int(_RESERVE * self.window)
        return tokens <= self.window - self.frame - self.taken - reserve

    def ever_holds(self, tokens: int) -> bool:
        """Whether a window of this size holds a result if nothing new is beside it."""
        return tokens <= self.window - self.frame


def key_of(tool: str, arguments: Mapping[str, Any] | None) -> str:
    """What tells whether a call is the same as an earlier one."""
    try:
        return f"{tool} {msgspec.json.encode(arguments or {}, order='sorted', enc_hook=str).decode()}"
    except (TypeError, ValueError, RecursionError, UnicodeError):
        return f"{tool} {arguments!r}"


def rest(tool: str, arguments: Mapping[str, Any] | None, output: str, tokens: int, room: int, *, fits: bool) -> str:
    """How to get the rest of a result: a call for a range of it, and whether the same call again gives the whole."""
    lines = output.count("\n") + 1
    most = max(int(lines * min(room / max(tokens, 1), 1) * 0.8), 1)
    part = _range(tool, arguments or {}, min(most, lines))
    if fits:
        return f"call it again for the whole, all {lines:,} lines, or for a range: {part}"
    return f"its {tokens:,} tokens are more than the window holds; call it for a range: {part}"


def _range(tool: str, arguments: Mapping[str, Any], lines: int) -> str:
    """A call that gives the first lines of what a call gave."""
    command = next((str(arguments[name]) for name in _COMMANDS if arguments.get(name)), "")
    if command:
        shown = command if len(command) <= 80 else "…"
        return f"{tool}: {shown} | sed -n '1,{lines}p'"
    path = next((name for name in _FILES if arguments.get(name)), "")
    if path and _LOOKS.search(tool):
        return f"{tool} with {path}={arguments[path]!r}, offset=1, limit={lines}"
    return f"{tool} for less of it, such as {lines:,} of the {'entries' if lines > 1 else 'parts'}"
