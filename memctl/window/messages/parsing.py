"""The blocks of messages and where each stands, in the shapes of Anthropic's and OpenAI's interfaces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record.argument_checks import encodable
from memctl.tokens.families import is_pack
from memctl.transcript import messages as blocks
from memctl.transcript.line import without_added
from memctl.transcript.messages import CALL, OTHER, RESULT, TEXT, Block
from memctl.window.messages.content import ContentBlock, ContentType, TokenCounter, count, count_call

THINKING = "thinking"
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
_RESULTS = ("tool_result", "function_call_output")
SYSTEM = ("system", "developer")
_OF_ITEMS = ("input_text", "output_text", "input_image", "input_file")
# What keeps a block from eviction (rules.md#window-eviction), if the user says it: a tool's output is untrusted.
_MARKER = re.compile(r"\b(?:DO_NOT_EVICT|IMPORTANT)\b")


class BlockPlace(msgspec.Struct, frozen=True):
    """Where a block stands: the index of its message, -1 for the request's frame; the path below that; what it is."""

    message: int
    path: tuple[str | int, ...]
    what: str


class Element(msgspec.Struct, frozen=True):
    """A part of a message that stands or falls as one: its path in the message, and what is in it."""

    path: tuple[str | int, ...]
    what: str
    found: list[Block]
    given: Any


def elements(message: Mapping[str, Any]) -> Iterator[Element]:
    """The elements of a message, or of an item of OpenAI's responses; what is unknown is OTHER."""
    content, role = message.get("content"), message.get("role")
    blocks.check(content)
    blocks.check(message.get("tool_calls"))
    if role is None or role in ("tool", "function"):
        yield _element((), message, list(blocks.of_message(dict(message))), RESULT if role else "")
        return
    if isinstance(content, str) and content:
        yield Element(("content",), TEXT, list(blocks.of_content(str(role), content)), message)
    for index, part in enumerate(content if isinstance(content, list) else ()):
        yield _element(("content", index), part, list(blocks.of_content(str(role), [part])))
    calls = message.get("tool_calls")
    for index, call in enumerate(calls if isinstance(calls, list) else ()):
        found = [b for b in blocks.of_message({"role": role, "tool_calls": [call]}) if b.what == CALL]
        yield _element(("tool_calls", index), call, found)


def elements_of(index: int, message: Mapping[str, Any]) -> list[Element]:
    """The elements of the message at an index; raises MemctlError, which names it, for what is no JSON."""
    try:
        return list(elements(message))
    except MemctlError as error:
        raise MemctlError(f"message {index}: {error.message}", error.hint, USAGE) from None
    except RecursionError:
        raise MemctlError(f"message {index} is nested too deep", exit_code=USAGE) from None


def _element(path: tuple[str | int, ...], given: Any, found: list[Block], what: str = "") -> Element:
    type_ = given.get("type") if isinstance(given, dict) else None
    if type_ in _THOUGHTS:
        return Element(path, THINKING, [], given)
    if type_ in _RESULTS or what == RESULT:
        return Element(path, RESULT, found, given)
    kind = found[0].what if found else OTHER
    return Element(path, kind if isinstance(given, dict) else OTHER, found, given)


def uncounted(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The types of content in messages that no text stands for, one by one."""
    for message in messages:
        for element in elements(message):
            if element.what != THINKING:
                yield from (block.name for block in element.found if block.what == OTHER)


def is_answer(message: Mapping[str, Any]) -> bool:
    """Whether a message, or item, comes from the model."""
    role, type_ = message.get("role"), message.get("type")
    return role == "assistant" or (role is None and type_ not in _RESULTS)


def is_items(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these are items of OpenAI's responses: not all have a role, or what is in them is typed as there.

    An item without a role may be evicted or compacted away: what is left are items still.
    """
    return any("role" not in message or _has_part_of_items(message.get("content")) for message in messages)


def _has_part_of_items(content: Any) -> bool:
    parts = content if isinstance(content, list) else ()
    return any(isinstance(part, dict) and part.get("type") in _OF_ITEMS for part in parts)


class BlockReader:
    """Gathers blocks as the messages come."""

    def __init__(self, counter: TokenCounter, lines: Sequence[Sequence[int]] = ()) -> None:
        self._counter = counter
        self._lines = lines
        self._blocks: list[ContentBlock] = []
        self._places: dict[str, BlockPlace] = {}
        self._calls: dict[str, ContentBlock] = {}
        self.answers = 0
        self._was_answer = False

    def finished(self) -> tuple[tuple[ContentBlock, ...], dict[str, BlockPlace]]:
        """All blocks in their order, and their places."""
        return tuple(self._blocks), self._places

    def read_frame(self, body: Mapping[str, Any]) -> None:
        """What a request has beside its messages: the system prompt and the definitions of tools."""
        for name in ("system", "instructions"):
            given = body.get(name)
            blocks.check(given, name)
            if isinstance(given, str) and given:
                self._add(name, ContentType.SYSTEM_PROMPT, encodable(given), BlockPlace(-1, (name,), TEXT))
            for index, part in enumerate(given if isinstance(given, list) else ()):
                if text := _texts(list(blocks.of_content("system", [part]))):
                    self._add(f"{name}.{index}", ContentType.SYSTEM_PROMPT, text, BlockPlace(-1, (name, index), TEXT))
        tools = body.get("tools")
        blocks.check(tools, "tools")
        for index, tool in enumerate(tools if isinstance(tools, list) else ()):
            place = BlockPlace(-1, ("tools", index), "tool")
            text, name = blocks.encoded(tool), _tool_name(tool)
            block_id = f"tools.{name}" if name and f"tools.{name}" not in self._places else f"tools.{index}"
            self._add(block_id, ContentType.TOOL_DEFINITION, text, place, tool_name=name)

    def read_message(self, index: int, message: Mapping[str, Any]) -> None:
        """The blocks of one message."""
        is_of_model = is_answer(message)
        self.answers += is_of_model and not self._was_answer
        self._was_answer = is_of_model
        thoughts = 0
        for number, element in enumerate(elements_of(index, message)):
            place = BlockPlace(index, element.path, element.what)
            fields: dict[str, Any] = {"message": index}
            if _is_marked(message) or _is_marked(element.given):
                fields["do_not_evict"] = True
            own = self._lines[index] if index < len(self._lines) else ()
            if line := own[number] if number < len(own) else 0:
                fields["metadata"] = {"line": line}
            # Thinking has numbers of its own: when it goes, the ids of what stands behind it stay what they are.
            is_thought = element.what == THINKING
            block_id = f"{index}.t{thoughts}" if is_thought else f"{index}.{number - thoughts}"
            thoughts += is_thought
            self._take(block_id, str(message.get("role") or ""), element, place, fields)

    def _take(self, block_id: str, role: str, element: Element, place: BlockPlace, fields: dict[str, Any]) -> None:
        if element.what == THINKING:
            if not element.path:  # an item of its own, to which the item behind it is bound
                fields["do_not_evict"] = True
            self._add(block_id, ContentType.THINKING, _thought(element.given), place, **fields)
        elif element.what == CALL:
            call = element.found[0]
            fields |= {"tool_name": call.name or "unknown", "call_id": call.call}
            self._add(block_id, ContentType.ASSISTANT_RESPONSE, call.text, place, **fields)
            if call.call:
                self._calls[call.call] = self._blocks[-1]
        elif element.what == RESULT:
            self._take_result(block_id, element, place, fields)
        elif text := _texts(element.found):
            type_ = type_of(role, text)
            if type_ is ContentType.USER_MESSAGE and _MARKER.search(text):
                fields["do_not_evict"] = True
            self._add(block_id, type_, text, place, **fields)

    def _take_result(self, block_id: str, element: Element, place: BlockPlace, fields: dict[str, Any]) -> None:
        first = element.found[0] if element.found else Block(RESULT, "user")
        call = self._calls.get(first.call)
        others = [block.name for block in element.found if block.what == OTHER]
        if others:
            fields["metadata"] = {**fields.get("metadata", {}), "uncounted": others}
        fields |= {
            "tool_name": call.tool_name if call else encodable(str(element.given.get("name") or "")),
            "call_id": first.call,
            "is_error": first.is_error,
            "turn": call.turn_created if call else self.answers,
        }
        tokens = sum(count(b.text, ContentType.TOOL_RESULT, self._counter) for b in element.found if b.what == RESULT)
        self._add(block_id, ContentType.TOOL_RESULT, _texts(element.found), place, tokens=tokens, **fields)

    def _add(
        self,
        block_id: str,
        type_: ContentType,
        text: str,
        place: BlockPlace,
        *,
        tokens: int | None = None,
        turn: int | None = None,
        **fields: Any,
    ) -> None:
        if turn is None:
            turn = 0 if place.message < 0 else self.answers if self._was_answer else self.answers + 1
        if tokens is None and place.what == CALL:
            tokens = count_call(fields["tool_name"], text, self._counter)
        elif tokens is None:
            tokens = count(text, type_, self._counter)
        self._blocks.append(ContentBlock(block_id, type_, text, tokens, turn, **fields))
        self._places[block_id] = place


def type_of(role: str, text: str) -> ContentType:
    """The type of a text in a message of a role: what hosts and memctl put into prompts is a memory injection."""
    if role in SYSTEM:
        return ContentType.SYSTEM_PROMPT
    if role == "assistant":
        return ContentType.ASSISTANT_RESPONSE
    if is_pack(text) or not without_added(text).strip():
        return ContentType.MEMORY_INJECTION
    return ContentType.USER_MESSAGE


def _is_marked(given: Any) -> bool:
    """Whether the host marks a message or block: by `do_not_evict`, there or in its `metadata`."""
    if not isinstance(given, Mapping):
        return False
    metadata = given.get("metadata")
    return given.get("do_not_evict") is True or (isinstance(metadata, dict) and metadata.get("do_not_evict") is True)


def _texts(found: list[Block]) -> str:
    return "\n".join(block.text for block in found if block.what != OTHER and block.text)


def _thought(given: Mapping[str, Any]) -> str:
    text = given.get("thinking")
    if isinstance(text, str):
        return encodable(text)
    summary = given.get("summary")
    parts = [part.get("text") for part in summary if isinstance(part, dict)] if isinstance(summary, list) else []
    return "\n".join(encodable(part) for part in parts if isinstance(part, str))


def _tool_name(tool: Any) -> str:
    if not isinstance(tool, dict):
        return ""
    function = tool.get("function")
    name = tool.get("name") or (function.get("name") if isinstance(function, dict) else "")
    return encodable(name) if isinstance(name, str) else ""
