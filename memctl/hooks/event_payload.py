"""What a host says of an event, on standard input, and what it is answered.

An event is a JSON object of which unknown fields are left aside; an answer is text for the model, in the form and of
the length that the host takes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType

from memctl.hooks.hosts import Host
from memctl.light_typing import Any, NamedTuple
from memctl.store.session_dir import key

COMPACTED = "compact"  # the source of a session that goes on after a compaction
NOTED = 7  # fields of a payload, of which none has a text of somebody's, that a note of an event keeps
MOST_BYTES = 64 * 1024 * 1024  # after a tool call the whole result is in it
NOTHING: Mapping[str, Any] = MappingProxyType({})
_SAID, _SAID_END = "<hook_context>", "</hook_context>"


class Payload(NamedTuple):
    """An event. All texts are as the host gives them, and untrusted; what it does not say is "".

    `agent` is set for a sub-agent's, and `agent_type` then; `source` says how a session starts (startup, resume, clear,
    compact), `trigger` whether a person (manual) or the host (auto) compacts; `prompt` is what the user asks, or what a
    sub-agent is asked; `answer` is what the agent said last where it stops. The agent `goes_on` where it stops after a
    hook has already kept it from that. `tool` is what is called, with its `arguments`.
    """

    event: str
    session: str
    transcript: str
    cwd: str
    agent: str
    source: str
    trigger: str
    prompt: str = ""
    agent_type: str = ""
    goes_on: bool = False
    answer: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = NOTHING

    @property
    def key(self) -> str:
        return key(self.session)


def parse(data: bytes) -> Payload:
    """Read an event; raises ValueError if it is none."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the event on standard input is not JSON: {error}") from None
    if not isinstance(values, dict) or not _text(values, "hook_event_name"):
        raise ValueError("the event on standard input is not a JSON object with a `hook_event_name`")
    arguments = values.get("tool_input")
    return Payload(
        event=_text(values, "hook_event_name"),
        session=_text(values, "session_id"),
        transcript=_text(values, "transcript_path"),
        cwd=_text(values, "cwd"),
        agent=_text(values, "agent_id"),
        source=_text(values, "source"),
        trigger=_text(values, "trigger"),
        prompt=_without_hook_context(_text(values, "prompt")),
        agent_type=_text(values, "agent_type"),
        goes_on=values.get("stop_hook_active") is True,
        answer=_text(values, "last_assistant_message") or _text(values, "prompt_response"),
        tool=_text(values, "tool_name"),
        arguments=arguments if isinstance(arguments, dict) else NOTHING,
    )


def _without_hook_context(prompt: str) -> str:
    """Return a prompt without the answers of hooks, which Gemini CLI puts before one that is given on its command line,
    with all `<` within them escaped."""
    if not prompt.startswith(_SAID):
        return prompt
    _, end, rest = prompt.partition(_SAID_END)
    return rest.lstrip() if end else prompt


def _text(values: dict[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) and "\0" not in value else ""


def render_answer(host: Host, event: str, text: str) -> str:
    """Return an answer as the host takes it."""
    text = _cut_to(text, host.most_bytes) if host.most_bytes else text
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})


def _cut_to(text: str, most: int) -> str:
    """Return a text of at most so many bytes, without lines before its last, which says what else was left out."""
    lines = text.rstrip("\n").split("\n")
    sizes = [len(line.encode(errors="surrogatepass")) + 1 for line in lines]
    room, kept = most - sizes[-1], list[str]()
    if sum(sizes) <= most:
        return text
    for line, size in zip(lines[:-1], sizes, strict=False):
        if size > room:
            break
        kept.append(line)
        room -= size
    return "\n".join([*kept, lines[-1], ""])
