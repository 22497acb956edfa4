"""When a sub-agent starts: what bears on its prompt. It searches most of all, and knows nothing of what was decided.

Codex sends a sub-agent's prompt as an event with the sub-agent's name. Claude Code says only which kind of sub-agent
starts; the call by which the main agent started it stands in the transcript by then (seen with 2.1.330).
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

_TOOLS = ("Agent", "Task")  # by which Claude Code starts one: now, and before
_USUAL = "general-purpose"  # the kind of a call that names none
_REACH = 1024 * 1024  # bytes from the end of a transcript in which its call is looked for
_TAKEN = "agent-"
_LOOKS, _PAUSE = 10, 0.05  # how often the transcript is looked at, and the seconds between


def context(opened: Callable[[], Memory], payload: Payload, folder: SessionDir) -> str:
    """Return the text for a sub-agent that starts, "" if it was given it before: it may be asked more than once."""
    if not folder.create_marker(f"{_TAKEN}{key(payload.agent)}"):
        return ""
    return recall.for_sub_agent(opened, payload.prompt or _prompt(payload, folder))


def _prompt(payload: Payload, folder: SessionDir) -> str:
    """Return what the main agent asks of a sub-agent, "" if that can't be found.

    Of several that one answer starts at once the first is the one whose call no other has taken; which is whose is said
    nowhere.
    """
    for _ in range(_LOOKS):
        calls = list(_calls(payload.transcript))[::-1]
        calls = [one for one in calls if one["input"].get("subagent_type", _USUAL) == payload.agent_type] or calls
        call = next((one for one in calls if folder.create_marker(f"{_TAKEN}{key(str(one.get('id')))}")), None)
        if call is not None:
            break
        time.sleep(_PAUSE)  # the host writes its transcript beside
    else:
        call = calls[-1] if calls else None
    return str(call["input"]["prompt"]) if call else ""


def _calls(transcript: str) -> Iterator[dict[str, Any]]:
    """Yield the calls by which the last answer that has any starts sub-agents, the last one first."""
    answer = None
    for line in main_lines_backwards(transcript, _REACH, tuple(b'"%s"' % name.encode() for name in _TOOLS)):
        content = line.message.get("content") if line.role == "assistant" else None
        found = [block for block in content[::-1] if _starts(block)] if isinstance(content, list) else []
        if found:
            if answer not in (None, line.answer):
                return
            answer = line.answer
            yield from found


def _starts(block: Any) -> bool:
    """Return whether a block of an answer is a call that starts a sub-agent."""
    if not isinstance(block, dict) or block.get("type") != "tool_use" or block.get("name") not in _TOOLS:
        return False
    value = block.get("input")
    return isinstance(value, dict) and isinstance(value.get("prompt"), str)
