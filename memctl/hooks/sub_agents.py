"""Give a sub-agent that starts what the memory has about its prompt, since it knows nothing of earlier decisions.

Codex sends a sub-agent's prompt as an event. Claude Code (seen with 2.1.330) sends only the kind of the sub-agent; its
prompt is read from the transcript, in the main agent's call that starts it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from memctl.hooks import recall
from memctl.hooks.event_payload import Payload
from memctl.store.session_dir import SessionDir, key
from memctl.transcript.line import main_lines_backwards

if TYPE_CHECKING:
    from memctl.store.memory import Memory

_TOOLS = ("Agent", "Task")  # tools by which Claude Code starts a sub-agent: the current one and an older one
_USUAL = "general-purpose"  # the kind of sub-agent if a call names none
_REACH = 1024 * 1024  # last bytes of a transcript that are searched for the call
_MARK = "agent-"
_LOOKS, _PAUSE = 10, 0.05  # how often the transcript is searched, and the seconds between


def context(open_memory: Callable[[], Memory], payload: Payload, folder: SessionDir, model: str) -> str:
    """Return what the memory has about the prompt of a sub-agent that starts, as text for its model.

    A sub-agent gets such a text once: for a later prompt of the same sub-agent the result is "". `open_memory` opens
    the memory, `payload` is the event, and `folder` memctl's folder for the session. Tokens are those of `model`.
    """
    if not folder.create_marker(f"{_MARK}{key(payload.agent)}"):
        return ""
    return recall.for_sub_agent(open_memory, payload.prompt or _prompt(payload, folder), model)


def _prompt(payload: Payload, folder: SessionDir) -> str:
    """Return the prompt of a sub-agent from the main agent's call, "" if it can't be found.

    If one answer starts several sub-agents, each gets the first call that no other has taken, because the transcript
    does not say which call is whose.
    """
    for _ in range(_LOOKS):
        calls = list(_calls(payload.transcript))[::-1]
        calls = [call for call in calls if call["input"].get("subagent_type", _USUAL) == payload.agent_type] or calls
        call = next((call for call in calls if folder.create_marker(f"{_MARK}{key(str(call.get('id')))}")), None)
        if call is not None:
            break
        time.sleep(_PAUSE)  # the host may not have written the transcript yet
    else:
        call = calls[-1] if calls else None
    return str(call["input"]["prompt"]) if call else ""


def _calls(transcript: str) -> Iterator[dict[str, Any]]:
    """Yield the calls that start sub-agents in the last answer with such calls, the last call first."""
    answer = None
    for line in main_lines_backwards(transcript, _REACH, tuple(b'"%s"' % name.encode() for name in _TOOLS)):
        content = line.message.get("content") if line.role == "assistant" else None
        blocks = [block for block in content[::-1] if _starts_sub_agent(block)] if isinstance(content, list) else []
        if blocks:
            if answer not in (None, line.answer):
                return
            answer = line.answer
            yield from blocks


def _starts_sub_agent(block: Any) -> bool:
    """Return whether a block of an answer is a call that starts a sub-agent."""
    if not isinstance(block, dict) or block.get("type") != "tool_use" or block.get("name") not in _TOOLS:
        return False
    value = block.get("input")
    return isinstance(value, dict) and isinstance(value.get("prompt"), str)
