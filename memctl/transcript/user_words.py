"""Tell what a user wrote in a prompt from what the agent's program wrote in the user's name.

Programs send notifications, reminders, the output of commands and messages of other agents as prompts of the user. Each
reader of a transcript, and of an event, asks `user_words` before it makes a prompt of a text, so that nothing behind it
has to know these forms. They were seen in transcripts of Claude Code 2.0.76 to 2.1.219, Codex 0.169.0 and Gemini CLI
0.61.0. A prompt that only mentions such a form stays as it is: programs write their elements at the beginning of a
line.
"""

from __future__ import annotations

from memctl.text.lazy_regex import lazy_regex
from memctl.text.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re

_TAG = lazy_regex(
    r"<(/?)((?:system|ide|command|local-command|bash)[-_][a-z_]+|(?:task|agent|teammate|cross-session)-(?:notification"
    r"|message)|[a-z-]+-(?:hook|monitor-event)|scheduled-task|subagent_notification|environment_context"
    r"|user_instructions|turn_aborted|session_context|hook_context)(?:[ \t][^<>\n]*)?>"
)
# A command that is a prompt: the message is before the name. In a command of the host itself, such as /clear, the name
# is first.
_COMMAND = lazy_regex(
    r"(?s)\s*<command-message>[^<]*</command-message>\s*<command-name>([^<]*)</command-name>"
    r"(?:\s*<command-args>(.*?)</command-args>)?"
)
# Lines that a program writes into a prompt, and texts that are from it as a whole.
_LINE = lazy_regex(
    r"(?m)^(?:\[Request interrupted by user[^\]\n]*\]|Full transcript available at: .*"
    r"|Read the output file to retrieve (?:the|its) (?:\w+ )?(?:result|output)\b.*)[ \t]*"
)
_WHOLE = lazy_regex(
    r"\s*(?:Operation stopped by hook: |Another Claude (?:session|instance) sent (?:you )?a message:"
    r"|\[SYSTEM NOTIFICATION|# AGENTS\.md instructions for |(?s:\{\"task_id\": ?\".*\"task_type\": ?\"\w+\"\}\s*\Z))"
)
# What Claude Code writes where the user refuses a call, how the user's own words begin in it, and what it adds behind.
_REFUSED = "The user doesn't want to "
_REASON = lazy_regex(r"(?:the user said|the following reason for the rejection):[ \t]*\n?")
_CLARIFIES = "The user wants to clarify these questions."  # the program's words for it, not the user's
_NOTE = "\n\nNote: The user's next message may contain a correction or preference."


def user_words(prompt: str) -> str:
    """Return the user's own words in a prompt, "" if a program wrote all of it.

    A command is returned as the user typed it, such as "/review 167". An element of a program reaches from a start tag
    at the beginning of a line to the next end tag of its name; one without an end tag is left as it is, unless the
    text begins with it and goes on in the next line. The time is linear in the length of the prompt.
    """
    if _WHOLE.match(prompt):
        return ""
    if command := _COMMAND.match(prompt):
        prompt = f"{command[1]} {(command[2] or '').strip()}".rstrip() + prompt[command.end() :]
    return _LINE.sub("", without_elements(prompt)).strip()


def without_elements(text: str) -> str:
    """Return a text without the elements of programs at the beginnings of its lines."""
    tags = list(_TAG.finditer(text)) if "<" in text else []
    next_end: dict[str, int] = {}
    ends = [0] * len(tags)
    for number in range(len(tags) - 1, -1, -1):
        is_end, name = tags[number].groups()
        if is_end:
            next_end[name] = tags[number].end()
        else:
            ends[number] = next_end.get(name, 0)
    texts, place = [], 0
    for tag, end in zip(tags, ends, strict=True):
        if tag[1] or tag.start() < place or not _begins_line(text, place, tag.start()):
            continue
        end = end or (len(text) if _is_cut_off(text, tag) else 0)
        if end:
            texts.append(text[place : tag.start()])
            place = end
    return "".join([*texts, text[place:]])


def _begins_line(text: str, place: int, start: int) -> bool:
    """Return whether only white space is before `start` in its line, or since the element that ended at `place`."""
    return not text[max(place, text.rfind("\n", 0, start) + 1) : start].strip()


def _is_cut_off(text: str, tag: re.Match[str]) -> bool:
    """Return whether an element without an end is a whole text, which the program has cut."""
    return not text[: tag.start()].strip() and text[tag.end() : tag.end() + 1] == "\n"


def words_of_refusal(result: str) -> str:
    """Return what the user said when they refused a tool call, from the call's result.

    The return value is "" if the user said nothing, or if `result` is not that of a refused call.
    """
    match = _REASON.search(result) if result.startswith(_REFUSED) else None
    words = result[match.end() :].partition(_NOTE)[0].strip() if match else ""
    return "" if words.startswith(_CLARIFIES) else words
