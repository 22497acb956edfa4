"""Parse a host's event from JSON, and write the answer in the host's form.

Unknown fields of an event are ignored. An answer is text for the model, within the length that the host allows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from types import MappingProxyType

from memctl.hooks.hosts import Host
from memctl.store.session_dir import key
from memctl.text.light_typing import Any, NamedTuple
from memctl.transcript.user_words import user_words

COMPACTED = "compact"  # the `source` of a session that continues after a compaction
QUEUED_FIELDS = 7  # first fields of a payload, which have no texts of people or models, and which a queued job keeps
MOST_BYTES = 64 * 1024 * 1024  # of an event, which has the whole result of a tool call
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Payload(NamedTuple):
    """The data of one event, as a host sends it. All texts are untrusted; a text that the host does not send is "".

    - `event`: the host's name of the event; `session`: the session's id.
    - `transcript`: the path of the session's transcript; `cwd`: the session's folder.
    - `agent`, `agent_type`: the id and kind of the sub-agent in which the event happened; "" for the main agent.
    - `source`: how a session starts (startup, resume, clear, compact).
    - `trigger`: who compacts the context: a person (manual) or the host (auto).
    - `prompt`: the user's own words to the agent or sub-agent (`user_words`).
    - `answer`: the agent's last message, when it stops.
    - `continues`: when the agent stops, whether a hook has made it continue before.
    - `tool`, `arguments`: the name and the arguments of the tool that is called.
    - `error`: what a tool call that failed says, if the host has an event of its own for it.
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
    continues: bool = False
    answer: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = NOTHING
    error: str = ""

    @property
    def key(self) -> str:
        """The name of the folder that memctl keeps for the session, made from the session's id."""
        return key(self.session)


def parse(data: bytes) -> Payload:
    """Parse an event from JSON; raises ValueError if it is not a JSON object with an event's name."""
    try:
        values = _decoded(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the event of the agent's program on standard input is not JSON: {error}") from None
    if not isinstance(values, dict) or not _text(values, "hook_event_name"):
        raise ValueError(
            "the event of the agent's program on standard input is not a JSON object with a `hook_event_name`"
        )
    arguments = values.get("tool_input")
    return Payload(
        event=_text(values, "hook_event_name"),
        session=_text(values, "session_id"),
        transcript=os.path.expanduser(_text(values, "transcript_path")),
        cwd=_text(values, "cwd"),
        agent=_text(values, "agent_id"),
        source=_text(values, "source"),
        trigger=_text(values, "trigger"),
        prompt=user_words(_text(values, "prompt")),
        agent_type=_text(values, "agent_type"),
        continues=values.get("stop_hook_active") is True,
        answer=_text(values, "last_assistant_message") or _text(values, "prompt_response"),
        tool=_text(values, "tool_name"),
        arguments=arguments if isinstance(arguments, dict) else NOTHING,
        error=_text(values, "error"),
    )


def _decoded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except UnicodeDecodeError:  # one byte of a pasted text is no reason to answer nothing
        return json.loads(data.decode(errors="replace"))


def _text(values: dict[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) and "\0" not in value else ""


def render_answer(host: Host, event: str, text: str) -> str:
    """Return the answer to an event, as JSON that the host understands.

    `event` is the host's name of the event, and `text` what the model is to get. A text that is longer than the host
    passes on (`Host.most_bytes`, in bytes) is cut.
    """
    text = _cut_to(text, host.most_bytes) if host.most_bytes else text
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})


def _cut_to(text: str, most: int) -> str:
    """Cut a text to `most` bytes by removing lines before its last line, which says what is left out."""
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
