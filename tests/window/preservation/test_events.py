"""Which messages of the user are digests of ours, and which the user pasted."""

from __future__ import annotations

from typing import Any

import pytest

from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.transcript.events import ANSWER, DIGEST, PROMPT, Event
from memctl.window.compression.engine import CompressionEngine
from memctl.window.messages.content import ContentBlock, ContentType
from memctl.window.messages.conversation import Conversation
from memctl.window.preservation import essentials, events
from tests.window.talk import TASK, long_talk
from tests.window.texts import assistant, result, use, user

COUNTER = Counter(FAMILIES["gpt"])
PASTED = f"{events.HEAD}\n\nDecisions:\n- use a queue\n\nNow port the queue of the shop to Redis 7."
BEGINS = "[Summary of the conversation up to here is wrong] Port the queue of the shop to Redis 7."


def compacted(messages: list[dict[str, Any]]) -> Conversation:
    step = CompressionEngine(COUNTER).compact_conversation(Conversation.parse(messages, COUNTER))
    assert not step.result.refused
    return step.conversation


def texts_of(conversation: Conversation) -> str:
    return "\n".join(block.content for block in conversation.blocks)


@pytest.mark.parametrize("task", [PASTED, BEGINS])
def test_a_task_that_begins_like_a_digest_stays_the_task(task: str) -> None:
    talk = [{"role": "user", "content": task}, *long_talk(5).messages[1:]]
    conversation = Conversation.parse(talk, COUNTER)
    assert events.digests(conversation.blocks) == []
    assert essentials.of_blocks(conversation.blocks)[0] == essentials.Essential(essentials.TASK, task)
    once = compacted(talk)
    assert once.blocks[0].content == task
    assert len(events.digests(once.blocks)) == 1
    twice = compacted([*once.messages, *long_talk(5).messages[1:]])
    assert task in texts_of(twice)
    assert len(events.digests(twice.blocks)) == 1


@pytest.mark.parametrize("said", [PASTED, BEGINS])
@pytest.mark.parametrize("is_last", [True, False])
def test_digest_pasted_by_a_user_counts_as_a_user_message(said: str, is_last: bool) -> None:
    more = [] if is_last else [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Go on then."}]
    talk = [*long_talk(4).messages, {"role": "assistant", "content": "Done so far."}]
    talk += [{"role": "user", "content": said}, *more, *long_talk(4).messages[1:]]
    once = compacted(talk)
    again = compacted([*once.messages, *long_talk(4).messages[1:]])
    for conversation in (once, again):
        found = texts_of(conversation)
        assert TASK in found
        assert "the queue of the shop to Redis 7." in found
        assert len(events.digests(conversation.blocks)) == 1
        said_on = events.of_blocks(conversation.blocks)
        assert any("Redis 7" in text for text in (*said_on.prompts, *said_on.said))


def test_what_a_user_wants_after_a_digest_is_a_decision() -> None:
    want = Event(PROMPT, "I want to keep the amounts in cents")
    done = [Event(ANSWER, "Done.")]
    assert events.of_known([want, *done]).decisions == []
    found = events.of_known([Event(DIGEST, f"{events.HEAD}\n\n## {events.STATE}\n- half done"), want, *done])
    assert [decision.text for decision in found.decisions] == [want.text]


def test_digest_worded_by_any_model_is_recognized() -> None:
    text = f"{events.head_by('a] model' + chr(10) + 'of mine')}\n\nDecisions:\n- use a queue"
    assert events.is_digest(text)
    assert not events.is_digest(BEGINS)
    talk = [{"role": "user", "content": [{"type": "text", "text": part} for part in (TASK, text)]}]
    assert [block.content for block in events.digests(Conversation.parse(talk, COUNTER).blocks)] == [text]


def test_a_file_of_a_call_that_did_nothing_is_not_a_file_at_work() -> None:
    given = [
        user("Look at the pool."),
        assistant(use("t1", "Read", file_path="src/gone.py"), use("t2", "Edit", file_path="src/refused.py")),
        user(result("t1", "No such file", is_error=True), result("t2", "String not found", is_error=True)),
        assistant(use("t3", "Bash", command="sed -i s/a/b/ src/kept.py"), use("t4", "Read", file_path="src/pool.py")),
        user(result("t3", "done"), result("t4", "pool = 25")),
        assistant(use("t5", "Write", file_path="src/waits.py", content="x")),
    ]
    found = events.of_blocks(Conversation.parse(given, COUNTER).blocks)
    assert list(found.files) == ["src/kept.py", "src/pool.py"]


@pytest.mark.parametrize(
    "text",
    [
        "[Evicted: assistant_response from turn 3. It said: We decided to use Redis for the queue. Rerun if harmless.]",
        "[Evicted: assistant_response from turn 3. It said: We decided to use Redis for the queue.]",
        "[Shortened, L2_one_line] We decided to use Redis for the queue.",
    ],
)
def test_decision_in_a_placeholder_excludes_the_placeholder_words(text: str) -> None:
    block = ContentBlock("1.0", ContentType.ASSISTANT_RESPONSE, text, 30, 3)
    (found,) = events.of_blocks([block]).decisions
    assert found.text == "We decided to use Redis for the queue"
    assert "Evicted" not in found.reason


def test_placeholder_without_quoted_text_yields_an_empty_event() -> None:
    block = ContentBlock("1.0", ContentType.ASSISTANT_RESPONSE, "[Evicted: assistant_response from turn 3.]", 30, 3)
    assert [event.text for event in events.events_of([block])] == [""]
