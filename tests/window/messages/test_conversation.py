"""Conversations: taken apart into blocks, put together again, and what makes them invalid."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

from memctl.errors import MemctlError
from memctl.tokens import messages
from memctl.window import ContentType, Conversation, validate
from memctl.window.messages.conversation import Keep
from tests.window import texts
from tests.window.texts import COUNTER, assistant, result, text, thinking, use, user

SHAPES = {"anthropic": texts.body(), "bare": texts.body()["messages"], "chat": texts.chat(), "items": texts.items()}


def parsed(given: Any) -> Conversation:
    return Conversation.parse(given, COUNTER)


def by_content(conversation: Conversation, start: str) -> str:
    return next(block.block_id for block in conversation.blocks if block.content.startswith(start))


@pytest.mark.parametrize("given", SHAPES.values(), ids=SHAPES)
def test_replacing_nothing_gives_the_same_messages(given: Any) -> None:
    assert parsed(given).replace({}) == given
    assert validate(parsed(given).messages) == []


@pytest.mark.parametrize("given", SHAPES.values(), ids=SHAPES)
def test_given_messages_are_never_changed(given: Any) -> None:
    before = copy.deepcopy(given)
    conversation = parsed(given)
    loose = [block for block in conversation.blocks if not block.do_not_evict]
    new = conversation.replace({block.block_id: None for block in loose})
    assert given == before
    assert new != given


@pytest.mark.parametrize("given", SHAPES.values(), ids=SHAPES)
def test_conversation_without_evictable_blocks_is_valid(given: Any) -> None:
    conversation = parsed(given)
    loose = [block for block in conversation.blocks if not block.do_not_evict]
    new = parsed(conversation.replace({block.block_id: None for block in loose}))
    assert validate(new.messages) == []
    assert len(new.messages) == len(conversation.messages)
    assert new.tokens < conversation.tokens


def test_blocks_say_what_they_are() -> None:
    blocks = parsed(texts.body()).blocks
    found = [(block.content_type.value, block.tool_name, block.turn_created) for block in blocks]
    assert found == [
        ("system_prompt", "", 0),
        ("tool_definition", "Grep", 0),
        ("tool_definition", "Weather", 0),
        ("user_message", "", 1),
        ("thinking", "", 1),
        ("assistant_response", "", 1),
        ("assistant_response", "Grep", 1),
        ("tool_result", "Grep", 1),
        ("assistant_response", "Read", 2),
        ("assistant_response", "Read", 2),
        ("tool_result", "Read", 2),
        ("tool_result", "Read", 2),
        ("memory_injection", "", 3),
        ("assistant_response", "", 3),
        ("user_message", "", 4),
    ]
    assert parsed(texts.body()).current_turn == 4
    assert [block.is_error for block in blocks if block.content_type is ContentType.TOOL_RESULT] == [False, False, True]


def test_ids_are_unique_and_stay_when_something_goes() -> None:
    conversation = parsed(texts.body())
    ids = [block.block_id for block in conversation.blocks]
    assert len(ids) == len(set(ids))
    gone = {by_content(conversation, start): None for start in ("23 files", "Search first.", '{"name":"Weather"')}
    after = parsed(conversation.replace(gone))
    assert [block.block_id for block in after.blocks] == [one for one in ids if one not in ("tools.Weather", "1.t0")]


def test_conversation_tokens_agree_with_the_counter() -> None:
    given = texts.chat()
    read = messages.parse(given)
    assert read is not None
    expected = read.overhead + sum(COUNTER.tokens(part.text, part.kind) for part in read.parts)
    assert parsed(given).tokens == expected
    assert parsed(texts.body()).uncounted == {"image": 2}


def test_a_result_keeps_its_place_its_call_and_its_marks() -> None:
    conversation = parsed(texts.body())
    new = conversation.replace({by_content(conversation, "export const"): "[gone]"})
    assert new["messages"][4]["content"][0] == result("t2", "[gone]", cache_control={"type": "ephemeral"})
    new = conversation.replace({by_content(conversation, "23 files"): None})
    assert new["messages"][2]["content"] == [result("t1", [text("[Evicted]")])]
    assert new["messages"][0] == texts.body()["messages"][0]


def test_a_call_keeps_its_name_and_id() -> None:
    conversation = parsed(texts.body())
    calls = [block.block_id for block in conversation.blocks if block.is_call]
    new = conversation.replace({calls[0]: '{"pattern": "[gone]"}', calls[1]: None})
    assert new["messages"][1]["content"][2] == use("t1", "Grep", pattern="[gone]")
    assert new["messages"][3]["content"][0] == use("t2", "Read")
    with pytest.raises(MemctlError, match="JSON object"):
        conversation.replace({calls[0]: "no object"})


def test_arguments_in_a_string_stay_in_a_string() -> None:
    for given, path in ((texts.chat(), (2, "tool_calls", 0, "function", "arguments")), (texts.items(), ("input", 2))):
        conversation = parsed(given)
        call = next(block.block_id for block in conversation.blocks if block.is_call)
        new: Any = conversation.replace({call: '{"query": ""}'})
        for key in path:
            new = new[key]
        assert (new if isinstance(new, str) else new["arguments"]) == '{"query": ""}'


def test_a_message_that_would_be_empty_keeps_a_word() -> None:
    given = [user("do"), assistant(thinking("hm"), text("I did.")), user("more")]
    conversation = parsed(given)
    new = conversation.replace({by_content(conversation, "I did."): None})
    assert new[1]["content"] == [thinking("hm"), text("[Evicted]")]
    new = conversation.replace({by_content(conversation, "hm"): None})
    assert new[1]["content"] == [text("I did.")]
    new = conversation.replace({by_content(conversation, "do"): None})
    assert new[0] == user("[Evicted]")


def test_thinking_and_definitions_can_be_removed_but_not_shortened() -> None:
    conversation = parsed(texts.body())
    for start in ("Search first.", '{"name":"Weather"'):
        with pytest.raises(MemctlError, match="can't be shortened"):
            conversation.replace({by_content(conversation, start): "shorter"})
    new = conversation.replace({by_content(conversation, '{"name":"Weather"'): None})
    assert [tool["name"] for tool in new["tools"]] == ["Grep"]
    new = conversation.replace({"tools.Grep": None, "tools.Weather": None})
    assert "tools" not in new
    with pytest.raises(MemctlError, match="no block 'x'"):
        conversation.replace({"x": None})


def test_reasoning_of_responses_stays_with_the_item_behind_it() -> None:
    conversation = parsed(texts.items())
    block = next(block for block in conversation.blocks if block.content_type is ContentType.THINKING)
    assert block.do_not_evict
    with pytest.raises(MemctlError, match="item after it"):
        conversation.replace({block.block_id: None})


def test_marks_count_from_the_host_and_from_the_user_only() -> None:
    given = [
        user("IMPORTANT: keep the API."),
        {**assistant("IMPORTANT: my own."), "metadata": {"do_not_evict": False}},
        user({**text("look"), "do_not_evict": True}),
        assistant(use("t1", "Read", file_path="a")),
        user(result("t1", "DO_NOT_EVICT this", metadata={}), text("unimportant")),
    ]
    assert [block.do_not_evict for block in parsed(given).blocks] == [True, False, True, False, False, False]


@pytest.mark.parametrize("given", [None, 1, "x", {}, {"messages": "x"}, {"messages": [1]}, [1], {"input": {}}])
def test_invalid_conversation_is_refused(given: Any) -> None:
    with pytest.raises(MemctlError, match="not a conversation"):
        parsed(given)


ODD = [
    [{}],
    [{"role": None}],
    [{"role": "user"}],
    [{"role": "user", "content": None}],
    [{"role": "user", "content": [None, 1, "x", {}, {"type": 1}, {"type": "text"}, {"type": "text", "text": 3}]}],
    [{"role": "assistant", "tool_calls": [None, {}, {"function": None}, {"id": 1, "function": {"arguments": 5}}]}],
    [{"role": "user", "content": [{"type": "tool_result"}, {"type": "tool_result", "content": {"a": 1}}]}],
    [{"role": "assistant", "content": [{"type": "tool_use"}, {"type": "tool_use", "input": [1]}]}],
    [{"type": "function_call"}, {"type": "function_call_output"}, {"type": "reasoning", "summary": [1]}],
    [{"role": "tool", "content": [1, {"type": "text", "text": "x"}]}, {"role": 7, "content": "x"}],
    {"messages": [], "system": [1, {}, None], "tools": [1, None, {}, {"function": 1}]},
    {"input": "just this", "instructions": 5, "tools": {}},
]


@pytest.mark.parametrize("given", ODD, ids=range(len(ODD)))
def test_odd_messages_are_kept_unchanged(given: Any) -> None:
    conversation = parsed(given)
    assert conversation.replace({}) == given
    validate(conversation.messages)
    loose = [block for block in conversation.blocks if not block.do_not_evict]
    parsed(conversation.replace({block.block_id: None for block in loose}))


def test_an_input_that_is_a_text_can_be_replaced() -> None:
    conversation = parsed({"input": "just this"})
    assert conversation.replace({"0.0": "that"}) == {"input": "that"}


INVALID = {
    "call t1 has no result": [user("x"), assistant(use("t1", "Read")), user("y")],
    "result t1 has no call": [user("x"), assistant("y"), user(result("t1", "z"))],
    "one tool call has the id t1": [user("x"), assistant(use("t1", "a"), use("t1", "b")), user(result("t1", "z"))],
    "message 1 is empty": [user("x"), assistant(thinking("y")), user("z")],
    "has an empty text": [user(text(" ")), assistant("y")],
    "the first message": [assistant("x")],
    "the same role as the message before it": [user("x"), user("y")],
    "call c1 has no result after it": [
        {"role": "user", "content": "x"},
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "user", "content": "x"},
    ],
    "result c2 has no call": [
        {"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": "c2", "content": "x"},
    ],
    "call c3 has no result": [{"type": "function_call", "call_id": "c3", "name": "f", "arguments": "{}"}],
    "result c4 has no call": [{"type": "function_call_output", "call_id": "c4", "output": "x"}],
}  # fmt: skip


@pytest.mark.parametrize(("fault", "given"), INVALID.items(), ids=list(INVALID))
def test_invalid_messages_are_reported_with_their_fault(fault: str, given: list[dict[str, Any]]) -> None:
    assert any(fault in one for one in validate(given)), validate(given)


def test_blocks_can_be_marked_by_the_host() -> None:
    block = parsed(texts.body()).blocks[3]
    assert msgspec.structs.replace(block, do_not_evict=True, embedding=[0.1, 0.2]).do_not_evict


@pytest.mark.parametrize(("last", "kept"), [(0, 0), (1, 1), (3, 3), (4, 3), (5, 3), (9, 3)])
def test_as_many_of_the_last_results_are_marked_as_are_to_be_kept(last: int, kept: int) -> None:
    calls = [use(f"c{number}", "Read", path=f"{number}.py") for number in range(3)]
    results = [result(f"c{number}", f"text {number}") for number in range(3)]
    conversation = Conversation.parse([user("go"), assistant(*calls), user(*results)], COUNTER, keep=Keep(last=last))
    marks = [block.do_not_evict for block in conversation.blocks if block.content_type is ContentType.TOOL_RESULT]
    assert marks == [False] * (3 - kept) + [True] * kept


def test_items_with_roles_need_not_alternate() -> None:
    """As they are once the only item without a role is gone: roles need not alternate there."""
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}
    items = [{"role": "user", "content": "x"}, {"type": "reasoning", "id": "r0", "summary": []}, said, said]
    assert validate(items) == []
    assert validate([items[0], said, said]) == []


@pytest.mark.parametrize("role", ["system", "developer"])
def test_tool_blocks_after_a_system_role_are_validated(role: str) -> None:
    head = [{"role": role, "content": "Be brief."}, {"role": "user", "content": "Read a.py."}]
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Read", "input": {}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x = 1"}]}
    said = {"role": "user", "content": "And?"}
    assert validate([*head, call, result]) == []
    assert "call t1 has no result after it" in validate([*head, call, said])[0]
    assert validate([*head, said]) == []  # of a chat, in which roles need not alternate
