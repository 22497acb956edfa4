"""Replaces texts in a conversation so that interfaces of models still accept it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.transcript.messages import TEXT, THINKING, Path, elements, is_items
from memctl.window.messages.content import ContentBlock, ContentType

GONE = "[Evicted]"  # where a text has to be

Edit = tuple[ContentBlock, str | None]


def rewrite(given: Any, key: str | None, edits: Sequence[Edit]) -> Any:
    """Return a conversation with the texts of some blocks replaced; `given` is not changed.

    An edit is a pair of a block and its new text; None removes the block's text. If `given` is the body
    of a request, `key` is the name of its field with the messages. If `given` is a list of messages, `key` is None.
    """
    messages = given if key is None else given[key]
    of_message: dict[int, list[Edit]] = {}
    for edit in edits:
        of_message.setdefault(edit[0].message, []).append(edit)
    frame = of_message.pop(-1, [])
    new: Any
    if isinstance(messages, str):
        new = next((text or GONE for edits in of_message.values() for _, text in edits), messages)
    else:
        new = [_message(old, of_message[n]) if n in of_message else old for n, old in enumerate(messages)]
    return new if key is None else {**_frame(given, frame), key: new}


def _frame(body: Mapping[str, Any], edits: Sequence[Edit]) -> dict[str, Any]:
    new = dict(body)
    for name in ("system", "instructions", "tools"):
        own = {block.path[1:]: text for block, text in edits if block.path[0] == name}
        if () in own:
            new[name] = own[()]
        elif own:
            new[name] = [
                part if text is None else {**part, "text": text}
                for index, part in enumerate(body[name])
                if (text := own.get((index,))) is not None or (index,) not in own
            ]
        if own and not new[name]:
            del new[name]
    if "tools" in body and "tools" not in new:
        new.pop("tool_choice", None)
        new.pop("parallel_tool_calls", None)
    return new


def _message(given: Mapping[str, Any], edits: Sequence[Edit]) -> dict[str, Any]:
    new = dict(given)
    own = {edit[0].path: edit for edit in edits}
    if () in own:
        return _replaced(given, *own[()])
    if ("content",) in own:
        new["content"] = own["content",][1] or GONE
    for key in ("content", "tool_calls"):
        if any(path[0] == key and len(path) > 1 for path in own):
            new[key] = list(_parts(given[key], key, own))
    if isinstance(new.get("content"), list) and all(element.type == THINKING for element in elements(new)):
        texts = (element.given for element in elements(given) if element.type == TEXT)  # as these are called
        types = (text["type"] for text in texts if isinstance(text, dict) and isinstance(text.get("type"), str))
        new["content"] = [*new["content"], {"type": next(types, "text"), "text": GONE}]
    return new


def _parts(given: list[Any], key: str, own: Mapping[Path, Edit]) -> Any:
    for index, part in enumerate(given):
        block, text = own.get((key, index), (None, None))
        if block is None:
            yield part
        elif text is not None or block.is_paired:
            yield _replaced(part, block, text)


def _replaced(part: Any, block: ContentBlock, text: str | None) -> dict[str, Any]:
    """Calls and results keep their element as long as there is the other of the pair."""
    if block.is_call:
        return _call(part, text)
    if block.content_type is ContentType.TOOL_RESULT:
        key = "output" if part.get("type") == "function_call_output" else "content"
        return {**part, key: _result(part.get(key), text or GONE)}
    if block.content_type is ContentType.THINKING or not isinstance(part, dict):
        raise MemctlError(
            "a reasoning item of OpenAI's Responses API belongs to the item after it, and can't be removed"
        )
    return {**part, "text": text or GONE}


def _call(part: Mapping[str, Any], text: str | None) -> dict[str, Any]:
    try:
        arguments = msgspec.json.decode(text or "{}", type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        raise MemctlError("the arguments of a call must be a JSON object") from None
    held = part.get("function")
    if isinstance(held, dict):
        return {**part, "function": {**held, "arguments": text or "{}"}}
    key = "input" if "input" in part else "arguments"
    is_text = isinstance(part.get(key, ""), str)
    return {**part, key: (text or "{}") if is_text else arguments}


def with_text(messages: Sequence[Mapping[str, Any]], text: str) -> list[Any]:
    """Return the messages with a text of the user added to the end.

    The text is added to the last message if that is the user's, else as a new message; to items of OpenAI's responses
    it is always added as a new one.
    """
    last = messages[-1] if messages else {}
    if is_items(messages):
        part = {"type": "input_text", "text": text}
        return [*messages, {"type": "message", "role": "user", "content": [part]}]
    if last.get("role") != "user":
        return [*messages, {"role": "user", "content": text}]
    content = last["content"]
    held = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    return [*messages[:-1], {**last, "content": [*held, {"type": "text", "text": text}]}]


def _result(content: Any, text: str) -> Any:
    if not isinstance(content, list):
        return text
    texts = [part for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)]
    first = {"type": "text", **(texts[0] if texts else {})}
    return [{**first, "text": text}]
