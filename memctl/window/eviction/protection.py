"""What must never be evicted, and why (rules.md#window-eviction)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from memctl.window.messages.content import ContentBlock, ContentType

ALWAYS = ("system_prompt",)  # `protected_types` by default
_OF_MODEL = (ContentType.ASSISTANT_RESPONSE, ContentType.THINKING, ContentType.TOOL_RESULT)


def turn_of(blocks: Sequence[ContentBlock]) -> int:
    """The turn of the request that is to be made next, by the blocks: one after the model's last, or the user's."""
    of_model = [block.turn_created + 1 for block in blocks if block.content_type in _OF_MODEL]
    of_user = [block.turn_created for block in blocks if block.content_type not in _OF_MODEL]
    return max([1, *of_model, *of_user])


def protected(blocks: Sequence[ContentBlock], current_turn: int, types: Collection[str] = ALWAYS) -> dict[str, str]:
    """The ids of the blocks that have to stay, each with the reason.

    These are the protected types, what is marked, definitions of tools that are in use, the first message of the user
    (the task) and the last one, the last answer of the model, and the results that it has not answered yet. A
    conversation counts turns so that a result of the turn before the current one is one of those.
    """
    turns = [block.turn_created for block in blocks if block.content_type is ContentType.USER_MESSAGE]
    used = {block.tool_name for block in blocks if block.is_call or block.content_type is ContentType.TOOL_RESULT}
    found: dict[str, str] = {}
    for block in blocks:
        type_ = block.content_type
        is_last = block.turn_created >= current_turn - 1
        if type_.value in types:
            found[block.block_id] = f"{type_.value} is a protected type"
        elif block.do_not_evict:
            found[block.block_id] = "it is marked to stay"
        elif type_ is ContentType.TOOL_DEFINITION and (block.tool_name in used or not block.tool_name):
            found[block.block_id] = "the tool is in use"
        elif type_ is ContentType.USER_MESSAGE and block.turn_created == min(turns):
            found[block.block_id] = "it is the original task"
        elif type_ is ContentType.USER_MESSAGE and block.turn_created == max(turns):
            found[block.block_id] = "it is the user's current message"
        elif type_ is ContentType.TOOL_RESULT and is_last:
            found[block.block_id] = "the model has not answered it yet"
        elif type_ in _OF_MODEL and is_last:
            found[block.block_id] = "it is the last answer"
    return found


def fixed(blocks: Sequence[ContentBlock]) -> list[ContentBlock]:
    """The blocks that no management takes out of a window: its frame, what is marked, and what the user said."""
    kinds = (ContentType.SYSTEM_PROMPT, ContentType.TOOL_DEFINITION, ContentType.USER_MESSAGE)
    return [block for block in blocks if block.do_not_evict or block.content_type in kinds]
