"""What a user wrote in a prompt is told from what the agent's program wrote, in every place that makes a prompt."""

from __future__ import annotations

import itertools
import json
import time

import pytest

from memctl.hooks.event_payload import parse
from memctl.transcript import reader
from memctl.transcript.events import PROMPT
from memctl.transcript.user_words import user_words, words_of_refusal
from tests.transcript.claude import Transcript

PROMPT_COMMAND = "<command-message>review</command-message>\n<command-name>/review</command-name>"
NOTIFICATION = (
    "<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n<result>Use Redis, not `<task-id>`."
    "</result>\n</task-notification>"
)
FROM_PROGRAMS = [
    NOTIFICATION,
    f"{NOTIFICATION}\nRead the output file to retrieve the result: /tmp/claude/tasks/b1.output",
    f"{NOTIFICATION}\nFull transcript available at: /tmp/claude/tasks/b1.output",
    '{"task_id":"bcb7520","tool_use_id":"t1","description":"Run {all} tests","task_type":"local_bash"}',
    "<bash-input>git switch main</bash-input>",
    "<bash-stdout></bash-stdout><bash-stderr>fatal: no such branch</bash-stderr>",
    "<command-name>/clear</command-name>\n            <command-message>clear</command-message>\n"
    "            <command-args></command-args>",
    "<local-command-stdout>Bye!</local-command-stdout>",
    "<system-reminder>\nThe task list is empty.\n</system-reminder>",
    '<teammate-message teammate_id="reviewer" color="pink">\nUse Kafka.\n</teammate-message>',
    'Another Claude session sent a message:\n<teammate-message teammate_id="a">\nx\n</teammate-message>\n\nThis came',
    '<teammate-message teammate_id="pd">\n{"type":"idle_notification"}\n',
    '<ci-monitor-event>CI check "test" failed.\nPlease fix it.</ci-monitor-event>',
    "[Request interrupted by user for tool use]",
    "Operation stopped by hook: Another session is active",
    "<environment_context>\n  <cwd>/shop</cwd>\n</environment_context>",
    "# AGENTS.md instructions for /shop\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>",
    "<session_context>Linux</session_context>",
]
OF_USERS = [
    "Why does <task-notification> appear in my prompts?",
    "Leave out `<system-reminder>a</system-reminder>` in the parser",
    "<task-notification> is in no list: add it",
    "Read the output file to retrieve the names of the tests",
    '{"task_id": 5} is what the queue holds: parse it',
    "<text-input>Amount</text-input> has no label",
    "The operation was stopped by hook: why?",
]


@pytest.mark.parametrize("text", FROM_PROGRAMS)
def test_what_a_program_wrote_is_no_prompt_in_an_event_a_transcript_or_messages(text: str) -> None:
    made = Transcript()
    made.prompt(text)
    made.add("queue-operation", operation="enqueue", content=text)
    made.add("queue-operation", operation="remove")
    messages = json.dumps([{"role": "user", "content": text}])
    rollout = [
        {"type": "session_meta", "payload": {"id": "c1"}},
        {
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]},
        },
    ]
    for data in (made.text, messages, "\n".join(map(json.dumps, rollout)) + "\n"):
        assert reader.read(data.encode()).count(PROMPT) == 0
    assert parse(json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": text}).encode()).prompt == ""


@pytest.mark.parametrize("text", OF_USERS)
def test_a_prompt_that_mentions_a_mark_stays_a_prompt(text: str) -> None:
    made = Transcript()
    made.prompt(text)
    assert [event.text for event in reader.read(made.text.encode()).events] == [text]
    assert parse(json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": text}).encode()).prompt == text


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a\n<system-reminder>b</system-reminder> c", "a\n c"),
        ("<command-name>a</command-name><command-args>b\n</command-args>c", "c"),
        (f"{PROMPT_COMMAND}<command-args>- <b> is\n slow </command-args>", "/review - <b> is\n slow"),
        (PROMPT_COMMAND, "/review"),
        (f"{PROMPT_COMMAND}<command-args> </command-args>", "/review"),
        (f"{PROMPT_COMMAND}<command-args></command-args>\n<command-args>b</command-args>", "/review"),
        ("<command-name>/model</command-name><command-message>m</command-message><command-args>o</command-args>", ""),
        ("<system-reminder>a <system-reminder>b</system-reminder>", ""),
        ("a</system-reminder>b", "a</system-reminder>b"),
        ("[Request interrupted by user]\nuse Redis instead", "use Redis instead"),
        ("<hook_context>x &lt;b></hook_context>\n\nAdd VAT", "Add VAT"),
    ],
)
def test_the_users_words_beside_those_of_a_program_stay(text: str, rest: str) -> None:
    assert user_words(text) == rest


def test_the_note_behind_a_refusal_is_not_the_users() -> None:
    said = "no I meant more generally"
    result = (
        "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"
        f"{said}\n\nNote: The user's next message may contain a correction or preference. Pay close attention \u2014 if"
    )
    assert words_of_refusal(result) == said


def test_unclosed_tags_are_read_quickly() -> None:
    names = map("".join, itertools.product("abcdefghijklmnopqrstuvwxyz", repeat=3))
    text = "\n".join(f"<command-{name}>" for name in names)
    begun = time.process_time()
    assert user_words(f"x\n{text}") == f"x\n{text}"
    assert time.process_time() - begun < 2


def test_unclosed_arguments_of_a_command_are_read_quickly() -> None:
    text = f"{PROMPT_COMMAND}<command-args>a" + " " * 400_000
    begun = time.process_time()
    assert user_words(text).startswith("/review")
    assert time.process_time() - begun < 2
