"""Parse lists of messages, in the shapes of Anthropic's messages, OpenAI's chat completions and OpenAI's responses.

A conversation is a request's body or a bare list of messages. A message consists of elements, each of which can be
removed or replaced as one. An element consists of blocks: its texts, its tool call, or the texts of a tool's result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.text.characters import encodable
from memctl.text.lazy_regex import lazy_regex
from memctl.transcript.line import text_in

TEXT, CALL, RESULT, THINKING, OTHER = "text", "tool call", "tool result", "thinking", "other"
SYSTEM_ROLES = ("system", "developer")
_TEXT_TYPES = ("text", "input_text", "output_text")
_CALL_TYPES = ("tool_use", "function_call")
_RESULT_TYPES = ("tool_result", "function_call_output")
_THINKING_TYPES = ("thinking", "redacted_thinking", "reasoning")
_ITEM_PARTS = ("input_text", "output_text", "input_image", "input_file")
_JSON = (dict, list, str, int, float, type(None))
_FLATTEN = "give a value with fewer dicts and lists inside of each other"

_SURROGATE, _HALF = lazy_regex(r"\\u[dD][89a-fA-F]"), lazy_regex("[\ud800-\udfff]")

Path = tuple[str | int, ...]


class Block(msgspec.Struct, frozen=True):
    """A piece of a message: its `type`, the role of its message, and its text.

    - TEXT: a text.
    - CALL: a tool call, with the `name` of the tool, its `arguments` as they came, and the id of the call in `call_id`.
    - RESULT: the result of a tool call, with the call's id in `call_id`. `is_error` says that the call failed.
    - OTHER: anything else, such as an image. `name` is the type of this content, and `arguments` the content itself.
    """

    type: str
    role: str
    text: str = ""
    name: str = ""
    arguments: Any = None
    call_id: str = ""
    is_error: bool = False


class Element(msgspec.Struct, frozen=True):
    """A part of a message that can be removed or replaced as one: its path in the message, its type and its blocks.

    The path is ("content", 2) for the third part of a message's content, and () for the whole message if it is one
    element, as an item of OpenAI's responses is. The type is that of a block, or THINKING. `given` is the part as it
    came.
    """

    path: Path
    type: str
    blocks: list[Block]
    given: Any

    @property
    def text(self) -> str:
        """The texts of the element, joined by newlines."""
        if self.type == THINKING:
            return _thinking_text(self.given)
        return "\n".join(block.text for block in self.blocks if block.type != OTHER and block.text)


def body_key(value: Any) -> str | None:
    """Return the key under which a request's body has its messages: `messages` or `input`.

    The result is None if `value` is itself a list of messages. Raises MemctlError if it is neither such a list nor a
    body.
    """
    if _are_messages(value):
        return None
    for key in ("messages", "input") if isinstance(value, dict) else ():
        held = value.get(key)
        if _are_messages(held) or (key == "input" and isinstance(held, str)):
            return key
    raise MemctlError(
        "the given messages are not a conversation",
        "give a list of messages, or a request's body with `messages` or `input`",
    )


def messages_of(body: Any) -> list[dict[str, Any]]:
    """Return the messages in `body`, unchanged: a list of messages, or the body of a request to a model's API.

    The messages of a request's body are those under `messages` or `input`. If the `input` is a text, it becomes one
    message of the user. Raises MemctlError if `body` is neither a list of messages nor a request's body.
    """
    key = body_key(body)
    held = body if key is None else body[key]
    return [{"role": "user", "content": held}] if isinstance(held, str) else list(held)


def _are_messages(held: Any) -> bool:
    if not isinstance(held, list | tuple):
        return False
    for index, message in enumerate(held):
        check_json(message, f"message {index}")
    return all(isinstance(message, dict) for message in held)


def elements_at(index: int, message: Mapping[str, Any]) -> list[Element]:
    """Return the elements of a message: the parts that can be removed or replaced one by one.

    `index` is the message's index in its conversation, which errors name. Raises MemctlError if the message has a value
    that is not JSON, or is nested too deep.
    """
    try:
        return list(elements(message, f"message {index}"))
    except RecursionError:
        raise MemctlError(f"message {index} is nested too deep", _FLATTEN, USAGE) from None


def elements(message: Mapping[str, Any], where: str = "message") -> Iterator[Element]:
    """Yield the elements of a message, or of an item of OpenAI's responses: its parts that can be removed one by one.

    A part that is not known is of the type OTHER. Raises MemctlError for a value that is not JSON, such as an object of
    a client's library; `where` names the message in the error.
    """
    content, calls, role = message.get("content"), message.get("tool_calls"), message.get("role")
    check_json(content, where)
    check_json(calls, where)
    if role is None:
        yield _element((), message, Block(TEXT, "assistant"), where)
        return
    if role in ("tool", "function"):
        around = Block(RESULT, role, call_id=text_in(message, "tool_call_id"))
        yield Element((), RESULT, list(blocks_of(role, content or "", around, where)) or [around], message)
        return
    role = str(role)
    if isinstance(content, str) and content:
        yield Element(("content",), TEXT, list(blocks_of(role, content)), message)
    for index, part in enumerate(content if isinstance(content, list) else ()):
        yield _element(("content", index), part, Block(TEXT, role), f"{where}, content {index}")
    for index, call in enumerate(calls if isinstance(calls, list) else ()):
        place = f"{where}, tool_calls {index}"
        check_json(call, place)
        fields = call if isinstance(call, dict) else {}
        block = _call(fields.get("function"), text_in(fields, "id"), place)
        yield Element(("tool_calls", index), CALL if fields else OTHER, [block], call)


def _element(path: Path, value: Any, around: Block, where: str) -> Element:
    blocks = list(_blocks(value, around, where))
    name = value.get("type") if isinstance(value, Mapping) else None
    if name in _THINKING_TYPES:
        return Element(path, THINKING, blocks, value)
    if name in _RESULT_TYPES:
        return Element(path, RESULT, blocks, value)
    return Element(path, blocks[0].type if blocks else OTHER, blocks, value)


def blocks_of(role: str, content: Any, around: Block | None = None, where: str = "content") -> Iterator[Block]:
    """Yield the blocks of a message's content, which is a text or a list of parts.

    `role` is the message's role. If the content is the result of a tool call, `around` is a block of the type RESULT
    with the call's id; the blocks of texts then get its type, call id and error flag. Without `around` a text becomes a
    block of the type TEXT. `where` names the content in errors.
    """
    around = around or Block(TEXT, role)
    if isinstance(content, str):
        yield Block(around.type, role, encodable(content), call_id=around.call_id, is_error=around.is_error)
        return
    check_json(content, where)
    for part in content if isinstance(content, list) else ():
        yield from _blocks(part, around, where)


def _blocks(part: Any, around: Block, where: str) -> Iterator[Block]:
    check_json(part, where)
    fields = part if isinstance(part, dict) else {}
    name, role = fields.get("type"), around.role
    if name in _TEXT_TYPES:
        yield from blocks_of(role, str(fields.get("text") or ""), around)
    elif name in _CALL_TYPES:
        yield _call(fields, text_in(fields, "call_id") or text_in(fields, "id"), where)
    elif name == "tool_result":
        is_error = fields.get("is_error") is True
        result = Block(RESULT, role, call_id=text_in(fields, "tool_use_id"), is_error=is_error)
        yield from blocks_of(role, fields.get("content") or "", result, where)
    elif name == "function_call_output":
        result = Block(RESULT, "tool", call_id=text_in(fields, "call_id"))
        yield from blocks_of("tool", fields.get("output") or "", result, where)
    else:
        kind = name if isinstance(name, str) else "unknown content"
        yield Block(OTHER, role, name=kind, arguments=part, call_id=around.call_id, is_error=around.is_error)


def _call(function: Any, call_id: str, where: str) -> Block:
    check_json(function, where)
    fields = function if isinstance(function, dict) else {}
    arguments = fields.get("input", fields.get("arguments", ""))
    text = encodable(arguments) if isinstance(arguments, str) else encode_json(arguments, where)
    return Block(CALL, "assistant", text, encodable(str(fields.get("name", ""))), arguments, call_id)


def _thinking_text(fields: Mapping[str, Any]) -> str:
    if isinstance(text := fields.get("thinking"), str):
        return encodable(text)
    summary = fields.get("summary")
    parts = [part.get("text") for part in summary if isinstance(part, dict)] if isinstance(summary, list) else []
    return "\n".join(encodable(part) for part in parts if isinstance(part, str))


def is_answer(message: Mapping[str, Any]) -> bool:
    """Return whether a message, or an item of OpenAI's responses, comes from the model."""
    role = message.get("role")
    return role == "assistant" or (role is None and message.get("type") not in _RESULT_TYPES)


def is_items(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether messages are items of OpenAI's responses, and not messages of another interface.

    They are items if one has no role, or if one has content of a type that only items have.
    """
    return any("role" not in message or _has_item_part(message.get("content")) for message in messages)


def _has_item_part(content: Any) -> bool:
    parts = content if isinstance(content, list) else ()
    return any(isinstance(part, dict) and part.get("type") in _ITEM_PARTS for part in parts)


def check_json(value: object, where: str = "") -> None:
    """Raise MemctlError for a value that is not JSON: a tuple, bytes, or an object of a client's library.

    `where` names the value's place in the error, "" if that is not known.
    """
    if not isinstance(value, _JSON):
        what = f"{where}: " if where else ""
        hint = "give dicts, lists and texts; model_dump() makes them of the objects of a client's library"
        raise MemctlError(f"{what}{type(value).__name__} is not JSON", hint, USAGE)


def encode_json(value: Any, where: str) -> str:
    """Return a value as JSON text that UTF-8 can encode.

    Raises MemctlError if the value can't be JSON or is nested too deep; `where` names the value in the error.
    """
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        import json

        return encodable(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))
    except RecursionError:
        raise MemctlError(f"{where} is nested too deep", _FLATTEN, USAGE) from None
    except TypeError as error:
        raise MemctlError(f"{where} is not JSON: {error}", "give dicts, lists and texts", USAGE) from None


def decode_json(text: str | bytes) -> Any:
    """Return the value of a JSON text, or None if the text is not valid JSON.

    Half of a surrogate pair, as programs write it when they cut a text, is read as U+FFFD. In bytes, whatever is not
    valid UTF-8 is read as U+FFFD, too.
    """
    try:
        return msgspec.json.decode(text)
    except UnicodeError:
        data = text.encode(errors="replace") if isinstance(text, str) else text
        return decode_json(data.decode(errors="replace"))
    except msgspec.DecodeError:
        return _with_half_pairs(text if isinstance(text, str) else text.decode(errors="replace"))
    except RecursionError:
        return None


def _with_half_pairs(text: str) -> Any:
    """Return the value of a JSON text with escapes of surrogates that have no other half; None for any other text."""
    if not _SURROGATE.search(text):
        return None
    import json

    try:
        return msgspec.json.decode(_HALF.sub("\ufffd", json.dumps(json.loads(text), ensure_ascii=False)))
    except (ValueError, RecursionError, msgspec.DecodeError):
        return None


def json_lines(text: str) -> Iterator[tuple[int, Any]]:
    """Yield the number (from 1) and the value of each line of JSON Lines that is not blank.

    The value of a line that is not valid JSON is None.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, decode_json(line)
