"""The blocks of a context window: pieces of one type of content each, such as a user's message or a tool's result."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Protocol, runtime_checkable

import msgspec

from memctl.record import argument_checks
from memctl.tokens import messages
from memctl.transcript.messages import RESULT, TEXT, Path

# How a text begins that takes the place of a longer one: of an evicted block, of an older answer, of a result.
EVICTED, SHORTENED, SUMMED_UP = "[Evicted: ", "[Shortened, ", "[Summary of a result of "


# Arguments by their names in common agents' tools: a command line, and the path of a file.
COMMAND_ARGUMENTS, PATH_ARGUMENTS = ("command", "cmd"), ("file_path", "notebook_path", "path", "filename")
# The arguments that say most about a call; the most telling is first.
_TELLING_ARGUMENTS = (*COMMAND_ARGUMENTS, "pattern", "query", "url", *PATH_ARGUMENTS, "prompt", "id")


class ContentType(Enum):
    """What a block of a context window contains (rules.md#window-eviction)."""

    SYSTEM_PROMPT = "system_prompt"
    TOOL_DEFINITION = "tool_definition"
    USER_MESSAGE = "user_message"
    ASSISTANT_RESPONSE = "assistant_response"
    THINKING = "thinking"
    TOOL_RESULT = "tool_result"
    MEMORY_INJECTION = "memory_injection"


class ContentBlock(msgspec.Struct, frozen=True):
    """One piece of a context window, such as a message, a tool's call or a tool's result.

    `block_id` is unique in its conversation, and does not change when other blocks are evicted. `token_count` is in
    tokens of the model whose counter made it. `turn_created` is the turn in which the block came into the window: a
    turn is one request to a model with its answer and the results of the calls in it. The first turn is 1; the system
    prompt and the definitions of tools have the turn 0. `last_referenced_turn` is the last turn that referred to the
    block, 0 if none is known.

    A tool call is an ASSISTANT_RESPONSE with a `call_id`; its content is its arguments as JSON. Its TOOL_RESULT has the
    same `call_id`. `message` is the index of the block's message, -1 for a part of the request outside of its messages,
    such as the system prompt; `path` leads to the block in its message, or in the request.

    The host may set `priority_score` (0 to 1), `do_not_evict` and `embedding`. `metadata` may have `reference_count`
    (how many turns refer to the block), `newest_share` (the fraction of the names in the block's text, such as paths,
    that no newer block has), `line` (of the transcript), `uncounted` (types of content that have no text, such as
    images), and whatever the host adds.
    """

    block_id: str
    content_type: ContentType
    content: str
    token_count: int
    turn_created: int
    last_referenced_turn: int = 0
    priority_score: float = 0.5
    embedding: list[float] | None = None
    do_not_evict: bool = False
    metadata: Mapping[str, Any] = {}
    tool_name: str = ""
    call_id: str = ""
    message: int = -1
    is_error: bool = False
    path: Path = ()

    @property
    def is_call(self) -> bool:
        """Whether the block is a call of a tool; a call's result is a block of its own."""
        return self.content_type is ContentType.ASSISTANT_RESPONSE and bool(self.tool_name)

    @property
    def is_paired(self) -> bool:
        """Whether the block is a call of a tool or a tool's result.

        Of such a pair, a model's interface accepts neither without the other.
        """
        return self.is_call or self.content_type is ContentType.TOOL_RESULT

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of a tool's call, by name; {} if the block's content can't be decoded as a JSON object."""
        try:
            return msgspec.json.decode(self.content, type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError):
            return {}

    @property
    def main_argument(self) -> str:
        """The argument that says most about a tool's call, such as its command or path; "" if no argument is a text."""
        texts = {name: text for name, text in self.arguments.items() if isinstance(text, str) and text.strip()}
        return next((texts[name] for name in (*_TELLING_ARGUMENTS, *texts) if name in texts), "")

    @property
    def is_fixed(self) -> bool:
        """Whether the block always stays in the window.

        Such blocks are system prompts, definitions of tools, user's messages, and all blocks with `do_not_evict`.
        """
        return self.do_not_evict or self.content_type in _FIXED


_FIXED = (ContentType.SYSTEM_PROMPT, ContentType.TOOL_DEFINITION, ContentType.USER_MESSAGE)


def check_blocks(given: object) -> None:
    """Raise MemctlError unless `given` is a list or tuple of ContentBlock."""
    hint = "get the blocks of messages with Conversation.parse(messages, counter).blocks"
    argument_checks.instance(given, (list, tuple), "blocks", "a list of ContentBlock", hint)
    for block in given if isinstance(given, list | tuple) else ():
        argument_checks.instance(block, ContentBlock, "a block", "a ContentBlock", hint)


@runtime_checkable
class TokenCounter(Protocol):
    """A counter of tokens: `memctl.tokens.count.Counter`, or any object with an equal method `tokens`."""

    def tokens(self, text: str, kind: str = ...) -> int:
        """Return the number of tokens of a text.

        `kind` says what the text is, such as "json", "markdown" or "log", because texts of different kinds have
        different numbers of characters in a token.
        """


def count(text: str, content_type: ContentType, counter: TokenCounter) -> int:
    """Return the number of tokens that a text has as the content of a block of type `content_type`.

    For a call of a tool use `count_call`, which also counts the tool's name and what surrounds the call.
    """
    if not text:
        return 0
    what = RESULT if content_type is ContentType.TOOL_RESULT else TEXT
    kind = "json" if content_type is ContentType.TOOL_DEFINITION else messages.kind_in_messages(text, what)
    return counter.tokens(text, kind)


def count_call(name: str, arguments: str, counter: TokenCounter) -> int:
    """Return the number of tokens of a tool's call, with the tool's name and what surrounds it in a message.

    `arguments` are the arguments of the call, as JSON.
    """
    return messages.count_call(name, arguments, counter.tokens)


def recount(block: ContentBlock, text: str, counter: TokenCounter) -> int:
    """Return the number of tokens that a block would have if `text` were its content."""
    if block.is_call:
        return count_call(block.tool_name, text, counter)
    return count(text, block.content_type, counter)


_LONGEST_FILE, _SESSION = 24, 8  # characters of a file's name that is given whole, and of a longer one's beginning


def place_of(block: ContentBlock) -> str:
    """Return where a block is in the transcript that it was read from, such as "line 97 of 53ea19c1*.jsonl".

    The name of a file of Claude Code is long, and its beginning is enough to find it. The result is "" for a block that
    is not from a transcript.
    """
    line, name = block.metadata.get("line"), block.metadata.get("source", "")
    if len(name) > _LONGEST_FILE:
        name = f"{name[:_SESSION]}*{name[name.rfind('.') :] if '.' in name else ''}"
    return f"line {line} of {name if name not in ('', '-') else 'the transcript'}" if line else ""
