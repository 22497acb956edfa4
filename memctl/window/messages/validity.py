"""Finds faults in messages for which the interface of a model would refuse them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from memctl.transcript import messages as shapes


def validate(given: Any) -> list[str]:
    """Return the faults of messages, a sentence for each; [] if they can be sent to a model.

    `given` is a list of messages or the body of a request. Raises MemctlError if it is neither.

    Each call of a tool needs a result after it, and each result needs a call before it. In Anthropic's interface the
    result must be in the next message; in OpenAI's chat it must come before any message that is no result; in OpenAI's
    responses it may come anywhere later. Ids are unique. No message and no text is empty. In Anthropic's shape the
    first message is the user's, and roles alternate: Anthropic itself accepts two messages of one role in a row, but
    other providers of its models do not.
    """
    messages = shapes.messages_of(given)
    read = [(message, shapes.elements_at(index, message)) for index, message in enumerate(messages)]
    faults = [*_empty(read), *_twice(read)]
    if shapes.is_items(messages):
        return [*faults, *_unpaired(read, lambda message: False)]
    if _is_chat(read):
        return [*faults, *_unpaired(read, lambda message: message.get("role") != "tool")]
    return [*faults, *_unpaired(read, lambda message: True), *_roles(messages)]


Read = Sequence[tuple[Mapping[str, Any], list[shapes.Element]]]


def _is_chat(read: Read) -> bool:
    if any(message.get("role") == "tool" or message.get("tool_calls") for message, _ in read):
        return True
    calls = any(_ids(parts, shapes.CALL) or _ids(parts, shapes.RESULT) for _, parts in read)
    return not calls and any(message.get("role") in shapes.SYSTEM_ROLES for message, _ in read)


def _ids(parts: Sequence[shapes.Element], what: str) -> list[str]:
    return [part.blocks[0].call_id for part in parts if part.type == what and part.blocks]


def _empty(read: Read) -> Iterator[str]:
    for number, (message, parts) in enumerate(read):
        is_last_answer = number == len(read) - 1 and message.get("role") == "assistant"
        is_result = message.get("role", "tool") in ("tool", "function")
        if not (is_last_answer or is_result or any(part.type != shapes.THINKING for part in parts)):
            yield f"message {number} is empty"
        for part in parts:
            if part.type == shapes.TEXT and not part.blocks[0].text.strip():
                yield f"message {number} has an empty text"


def _twice(read: Read) -> Iterator[str]:
    for what in (shapes.CALL, shapes.RESULT):
        ids = [id_ for _, parts in read for id_ in _ids(parts, what) if id_]
        yield from (f"more than one {what} has the id {id_}" for id_ in sorted(set(ids)) if ids.count(id_) > 1)


def _unpaired(read: Read, is_end: Callable[[Mapping[str, Any]], bool]) -> Iterator[str]:
    """Yield calls without their results, which come before the end of the next message that `is_end`; and results
    without their calls."""
    waiting: dict[str, int] = {}  # calls, and the numbers of their messages
    for number, (message, parts) in enumerate([*read, ({}, [])]):
        for call_id in _ids(parts, shapes.RESULT):
            if waiting.pop(call_id, None) is None:
                yield f"message {number}: result {call_id} has no call before it"
        if is_end(message) or number == len(read):
            yield from (f"message {place}: call {call_id} has no result after it" for call_id, place in waiting.items())
            waiting = {}
        waiting |= dict.fromkeys(_ids(parts, shapes.CALL), number)


def _roles(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    roles = [str(message.get("role")) for message in messages if message.get("role") not in shapes.SYSTEM_ROLES]
    if roles and roles[0] != "user":
        yield "the role of the first message is not user"
    for number, (before, now) in enumerate(pairwise(roles), start=1):
        if before == now:
            yield f"message {number} has the same role as the message before it"
