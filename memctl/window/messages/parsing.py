"""The blocks of a window out of messages, counted, and where each stands in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from memctl.text.characters import encodable
from memctl.tokens.families import is_pack
from memctl.tokens.messages import image_tokens
from memctl.transcript.line import without_host_tags
from memctl.transcript.messages import (
    CALL,
    OTHER,
    RESULT,
    SYSTEM_ROLES,
    TEXT,
    THINKING,
    Block,
    Element,
    Path,
    blocks_of,
    check_json,
    elements,
    elements_at,
    encode_json,
    is_answer,
)
from memctl.window.messages.content import ContentBlock, ContentType, TokenCounter, count, count_call

# What keeps a block from eviction (rules.md#window-eviction), if the user says it: a tool's output is untrusted.
_MARKER = re.compile(r"\b(?:DO_NOT_EVICT|IMPORTANT)\b")


class BlockPlace(msgspec.Struct, frozen=True):
    """Where a block stands: the index of its message, -1 for the request's frame; the path below that; the type of its
    element."""

    message: int
    path: Path
    type: str


def uncounted(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the types of content in messages that no text stands for and whose size is not known, one by one."""
    for message in messages:
        for element in elements(message):
            if element.type != THINKING:
                others = (block for block in element.blocks if block.type == OTHER)
                yield from (block.name for block in others if image_tokens(block.arguments) is None)


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
            check_json(given, name)
            if isinstance(given, str) and given:
                self._add(name, ContentType.SYSTEM_PROMPT, encodable(given), BlockPlace(-1, (name,), TEXT))
            for index, part in enumerate(given if isinstance(given, list) else ()):
                texts = [block.text for block in blocks_of("system", [part], where=f"{name} {index}") if block.text]
                if text := "\n".join(texts):
                    self._add(f"{name}.{index}", ContentType.SYSTEM_PROMPT, text, BlockPlace(-1, (name, index), TEXT))
        tools = body.get("tools")
        check_json(tools, "tools")
        for index, tool in enumerate(tools if isinstance(tools, list) else ()):
            place = BlockPlace(-1, ("tools", index), "tool")
            text, name = encode_json(tool, f"tools {index}"), _tool_name(tool)
            block_id = f"tools.{name}" if name and f"tools.{name}" not in self._places else f"tools.{index}"
            self._add(block_id, ContentType.TOOL_DEFINITION, text, place, tool_name=name)

    def read_message(self, index: int, message: Mapping[str, Any]) -> None:
        """The blocks of one message."""
        is_of_model = is_answer(message)
        self.answers += is_of_model and not self._was_answer
        self._was_answer = is_of_model
        thoughts = 0
        for number, element in enumerate(elements_at(index, message)):
            place = BlockPlace(index, element.path, element.type)
            fields: dict[str, Any] = {"message": index}
            if _is_marked(message) or _is_marked(element.given):
                fields["do_not_evict"] = True
            own = self._lines[index] if index < len(self._lines) else ()
            if line := own[number] if number < len(own) else 0:
                fields["metadata"] = {"line": line}
            # Thinking has numbers of its own: when it goes, the ids of what stands behind it stay what they are.
            is_thought = element.type == THINKING
            block_id = f"{index}.t{thoughts}" if is_thought else f"{index}.{number - thoughts}"
            thoughts += is_thought
            self._take(block_id, str(message.get("role") or ""), element, place, fields)

    def _take(self, block_id: str, role: str, element: Element, place: BlockPlace, fields: dict[str, Any]) -> None:
        if element.type == THINKING:
            if not element.path:  # an item of its own, to which the item behind it is bound
                fields["do_not_evict"] = True
            self._add(block_id, ContentType.THINKING, element.text, place, **fields)
        elif element.type == CALL:
            call = element.blocks[0]
            fields |= {"tool_name": call.name or "unknown", "call_id": call.call_id}
            self._add(block_id, ContentType.ASSISTANT_RESPONSE, call.text, place, **fields)
            if call.call_id:
                self._calls[call.call_id] = self._blocks[-1]
        elif element.type == RESULT:
            self._take_result(block_id, element, place, fields)
        elif element.type == OTHER and (tokens := image_tokens(element.given)):
            type_ = ContentType.ASSISTANT_RESPONSE if role == "assistant" else ContentType.USER_MESSAGE
            fields |= {"do_not_evict": True, "metadata": {**fields.get("metadata", {}), "uncounted": ["image"]}}
            self._add(block_id, type_, "", place, tokens=tokens, **fields)
        elif text := element.text:
            type_ = type_of(role, text)
            if type_ is ContentType.USER_MESSAGE and _MARKER.search(text):
                fields["do_not_evict"] = True
            self._add(block_id, type_, text, place, **fields)

    def _take_result(self, block_id: str, element: Element, place: BlockPlace, fields: dict[str, Any]) -> None:
        first = element.blocks[0] if element.blocks else Block(RESULT, "user")
        call = self._calls.get(first.call_id)
        others = [block for block in element.blocks if block.type == OTHER]
        if others:
            names = [block.name for block in others]
            fields["metadata"] = {**fields.get("metadata", {}), "uncounted": names}
        fields |= {
            "tool_name": call.tool_name if call else encodable(str(element.given.get("name") or "")),
            "call_id": first.call_id,
            "is_error": first.is_error,
            "turn": call.turn_created if call else self.answers,
        }
        tokens = sum(count(b.text, ContentType.TOOL_RESULT, self._counter) for b in element.blocks if b.type == RESULT)
        tokens += sum(image_tokens(block.arguments) or 0 for block in others)
        self._add(block_id, ContentType.TOOL_RESULT, element.text, place, tokens=tokens, **fields)

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
        if tokens is None and place.type == CALL:
            tokens = count_call(fields["tool_name"], text, self._counter)
        elif tokens is None:
            tokens = count(text, type_, self._counter)
        self._blocks.append(ContentBlock(block_id, type_, text, tokens, turn, **fields))
        self._places[block_id] = place


def type_of(role: str, text: str) -> ContentType:
    """The type of a text in a message of a role: what hosts and memctl put into prompts is a memory injection."""
    if role in SYSTEM_ROLES:
        return ContentType.SYSTEM_PROMPT
    if role == "assistant":
        return ContentType.ASSISTANT_RESPONSE
    if is_pack(text) or not without_host_tags(text).strip():
        return ContentType.MEMORY_INJECTION
    return ContentType.USER_MESSAGE


def _is_marked(given: Any) -> bool:
    """Whether the host marks a message or block: by `do_not_evict`, there or in its `metadata`."""
    if not isinstance(given, Mapping):
        return False
    metadata = given.get("metadata")
    return given.get("do_not_evict") is True or (isinstance(metadata, dict) and metadata.get("do_not_evict") is True)


def _tool_name(tool: Any) -> str:
    if not isinstance(tool, dict):
        return ""
    function = tool.get("function")
    name = tool.get("name") or (function.get("name") if isinstance(function, dict) else "")
    return encodable(name) if isinstance(name, str) else ""
