"""What stands in the place of an evicted block: what was there, what it said, and how to get it back.

S4, "Eviction Safety: Placeholder Messages", promises them and its code makes none. This is its example:

    [Evicted: tool_result from turn 7 (search_files "axios").
    Finding: 23 files reference axios in user-service/src/.
    Full result in session memory if needed.]

A placeholder has at most 50 tokens, and always fewer than what it replaces. It stands where the block stood, so that
what came out of a tool is still read as the output of a tool.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from memctl.tokens.families import is_pack
from memctl.window.content import ContentBlock, ContentType, TokenCounter, recount
from memctl.window.findings import finding

START = "[Evicted: "
_LONG = 200  # characters of an argument that are too many to keep
_LABEL = 60  # characters of what a call was asked
# What a call is asked, by the names that common agents' tools have for it; the most telling first.
_ASKED = ("file_path", "notebook_path", "path", "pattern", "query", "url", "command", "cmd", "prompt", "name", "id")
_READS = re.compile(r"read|view|cat|open", re.IGNORECASE)
_LOOKS = re.compile(r"read|view|cat|open|grep|glob|search|find|list|ls|fetch|get|query|show|status|log", re.IGNORECASE)


class Evicted(msgspec.Struct, frozen=True):
    """What a placeholder is made for: the block, its call if it is a result, where the host keeps it ("": nowhere), and
    what newer block says nearly the same ("": none).
    """

    block: ContentBlock
    call: ContentBlock | None = None
    kept_at: str = ""
    same_as: str = ""


def is_placeholder(block: ContentBlock, most: int) -> bool:
    """Whether a block was evicted before: by its form, and by its size, since anybody can write the form."""
    text = block.content
    return text.startswith(START) and text.endswith("]") and text.count("]") == 1 and block.token_count <= most


def placeholder(evicted: Evicted, most: int, counter: TokenCounter) -> str | None:
    """The text for the place of a block, of at most `most` tokens; None if none is small enough to be worth it."""
    block = evicted.block
    most = min(most, block.token_count - 1)
    label = _label(evicted.call)
    said = f"Same as {evicted.same_as}." if evicted.same_as else f"Finding: {_finding(evicted)}"
    said = "" if said == "Finding: " else said
    what = f"{START}{block.content_type.value} from turn {block.turn_created}"
    head = f"{what} ({label})." if label else f"{what}."
    back = _back(evicted)
    for start, shown, end in ((head, said, back), (head, "", back), (f"{what}.", "", back), (f"{what}.", "", "")):
        if text := _fitted(block, start, shown, end, most, counter):
            return text
    return None


def shortened(call: ContentBlock, counter: TokenCounter) -> str | None:
    """The arguments of a call without their long texts, as JSON; None if there are none, or if it saves nothing."""
    try:
        given = msgspec.json.decode(call.content, type=dict[str, Any])
    except msgspec.MsgspecError:
        return None
    text = msgspec.json.encode(_short(given)).decode()
    return text if recount(call, text, counter) < call.token_count else None


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _LONG else f"{START}{len(value):,} characters]"
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    return [_short(item) for item in value] if isinstance(value, list) else value


def _fitted(block: ContentBlock, head: str, said: str, back: str, most: int, counter: TokenCounter) -> str:
    """The three parts as one text, what it says cut until it fits; "" if they do not fit without much of it."""
    words = said.split()
    whole = len(words)
    while True:
        shown = " ".join(words) + ("…" if 0 < len(words) < whole else _stop(words))
        text = " ".join(part for part in (head, shown, back) if part) + "]"
        over = recount(block, text, counter) - most
        if over <= 0:
            return text
        if len(words) <= 3:  # "Finding:" and a word or two say nothing
            return ""
        del words[-max(1, min(over // 2, len(words) - 3)) :]


def _stop(words: list[str]) -> str:
    return "." if words and words[-1][-1] not in ".!?:;…" else ""


def _label(call: ContentBlock | None) -> str:
    """What was called and what it was asked."""
    if call is None:
        return ""
    asked = next((value for name in _ASKED if isinstance(value := _arguments(call).get(name), str) and value), "")
    asked = " ".join(asked.split()).replace("[", "(").replace("]", ")")
    asked = asked if len(asked) <= _LABEL else asked[: _LABEL - 1] + "…"
    return f'{call.tool_name} "{asked}"' if asked else call.tool_name


def _arguments(call: ContentBlock) -> Mapping[str, Any]:
    try:
        return msgspec.json.decode(call.content, type=dict[str, Any])
    except msgspec.MsgspecError:
        return {}


def _finding(evicted: Evicted) -> str:
    block, call = evicted.block, evicted.call
    others = block.metadata.get("uncounted", ())
    more = f" ({len(others)} {others[0]} too)" if others else ""
    if call is not None and _READS.search(call.tool_name) and not block.is_error and "\n" in block.content:
        return f"{block.content.count(chr(10)) + 1:,} lines.{more}"
    return finding(block.content, is_error=block.is_error) + more


def _back(evicted: Evicted) -> str:
    """How to get it back."""
    block, call = evicted.block, evicted.call
    if evicted.kept_at:
        return f"Whole: {evicted.kept_at}"
    if line := block.metadata.get("line"):
        return f"Whole: line {line} of the transcript."
    if block.content_type is ContentType.MEMORY_INJECTION and is_pack(block.content):
        return "`memctl rehydrate` prints it anew."
    if call is None:
        return ""
    if _LOOKS.search(call.tool_name):
        return "Call it again if needed."
    return "Run it again only if that is harmless."
