"""The blocks of messages: text, tool calls and their results, in the shapes of Anthropic's and OpenAI's interfaces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record.argument_checks import encodable

TEXT, CALL, RESULT, OTHER = "text", "tool call", "tool result", "other"
_TEXTS = ("text", "input_text", "output_text")
_JSON = (dict, list, str, int, float, type(None))


class Block(msgspec.Struct, frozen=True):
    """A block: what it is (TEXT, CALL, RESULT or OTHER), in whose message, and its text, which is encodable.

    A CALL has the `name` of the tool and its `arguments` as they came; `call` is the id by which a RESULT names its
    call, and `is_error` what the result says of itself. Of OTHER only the `name` of its type is known.
    """

    what: str
    role: str
    text: str = ""
    name: str = ""
    arguments: Any = None
    call: str = ""
    is_error: bool = False


def of_message(message: dict[str, Any]) -> Iterator[Block]:
    """The blocks of a message of either interface, or of an item of OpenAI's responses.

    Raises MemctlError for content that is no JSON, such as the objects of a client's library.
    """
    if "role" not in message:
        yield from _of_block("assistant", message, Block(TEXT, ""))
        return
    role = str(message["role"])
    around = Block(RESULT if role == "tool" else TEXT, role, call=_identifier(message, "tool_call_id"))
    yield from of_content(role, message.get("content") or "", around)
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        check(call)
        given = call if isinstance(call, dict) else {}
        yield _call(given.get("function"), _identifier(given, "id"))


def of_content(role: str, content: Any, around: Block | None = None) -> Iterator[Block]:
    """The blocks of a content, which is a text or a list of blocks; texts in it are what `around` is."""
    around = around or Block(TEXT, role)
    if isinstance(content, str):
        yield Block(around.what, role, encodable(content), call=around.call, is_error=around.is_error)
    check(content)
    for block in content if isinstance(content, list) else ():
        yield from _of_block(role, block, around)


def _of_block(role: str, block: Any, around: Block) -> Iterator[Block]:
    check(block)
    name = block.get("type") if isinstance(block, dict) else None
    if name in _TEXTS:
        yield from of_content(role, str(block.get("text") or ""), around)
    elif name in ("tool_use", "function_call"):
        yield _call(block, _identifier(block, "call_id") or _identifier(block, "id"))
    elif name == "tool_result":
        is_error = block.get("is_error") is True
        result = Block(RESULT, role, call=_identifier(block, "tool_use_id"), is_error=is_error)
        yield from of_content(role, block.get("content") or "", result)
    elif name == "function_call_output":
        result = Block(RESULT, "tool", call=_identifier(block, "call_id"))
        yield from of_content("tool", block.get("output") or "", result)
    else:
        yield Block(OTHER, role, name=name if isinstance(name, str) else "unknown content")


def _call(call: Any, identifier: str) -> Block:
    check(call)
    given = call if isinstance(call, dict) else {}
    arguments = given.get("input", given.get("arguments", ""))
    text = encodable(arguments) if isinstance(arguments, str) else encoded(arguments)
    return Block(CALL, "assistant", text, encodable(str(given.get("name", ""))), arguments, identifier)


def check(given: object, where: str = "") -> None:
    """Raise MemctlError for what is no JSON: a tuple, bytes, or an object of a client's library."""
    if not isinstance(given, _JSON):
        what = f"{where}: " if where else ""
        hint = "give dicts, lists and texts; objects of a client's library have model_dump()"
        raise MemctlError(f"{what}{type(given).__name__} is no JSON", hint, USAGE)


def encoded(given: Any) -> str:
    """Something as JSON that can be written as UTF-8; raises MemctlError for what is none, or is nested too deep."""
    try:
        return msgspec.json.encode(given).decode()
    except UnicodeEncodeError:
        import json

        return encodable(json.dumps(given, ensure_ascii=False, separators=(",", ":"), default=str))
    except RecursionError:
        raise MemctlError("it is nested too deep", exit_code=USAGE) from None
    except TypeError as error:
        raise MemctlError(f"it is no JSON: {error}", "give dicts, lists and texts", USAGE) from None


def _identifier(block: dict[str, Any], key: str) -> str:
    value = block.get(key)
    return value if isinstance(value, str) else ""


def lines(text: str) -> Iterator[tuple[int, Any]]:
    """The documents of JSON Lines with their line numbers; None for a line that is not JSON."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, msgspec.json.decode(line)
            except (msgspec.DecodeError, RecursionError):
                yield number, None
