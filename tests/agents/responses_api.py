"""The Responses API, as Codex talks to it."""

from __future__ import annotations

import json
from typing import Any

from tests.agents.stand_in import EVENTS, NOT_HERE, Reply, StandIn, event, text_of

SUMMARY = "CONTEXT CHECKPOINT COMPACTION"  # in the instructions by which Codex asks for one


class ResponsesAPI(StandIn):
    """Each answer is a list of output items. A request for a summary gets `summary`."""

    def reply(self, path: str, body: dict[str, Any]) -> Reply:
        if not path.endswith("/responses"):
            return NOT_HERE
        with self.lock:
            if SUMMARY in all_text({"input": body["input"][-1:]}):
                self.summarised.append(body)
                tokens, items = 1000, [says(self.summary)]
            else:
                tokens, items = self.next_answer(body, says("Done."))
            name = f"resp_{self.next_number():04}"
        usage = {"input_tokens": tokens, "output_tokens": 20, "total_tokens": tokens + 20}
        sent = [
            {"type": "response.created", "response": {"id": name}},
            *({"type": "response.output_item.done", "output_index": i, "item": item} for i, item in enumerate(items)),
            {"type": "response.completed", "response": {"id": name, "usage": usage}},
        ]
        return Reply(b"".join(event(one, one["type"]) for one in sent), EVENTS)


def says(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text}]
    return {"type": "message", "role": "assistant", "id": "msg_1", "content": content}


def shell(number: int, command: str) -> dict[str, Any]:
    """A call of the shell."""
    arguments = json.dumps({"cmd": command})
    return {"type": "function_call", "call_id": f"call_{number}", "name": "exec_command", "arguments": arguments}


def patch(number: int, *lines: str) -> dict[str, Any]:
    """A change of files, in the form of Codex's own."""
    text = "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])
    return {"type": "custom_tool_call", "call_id": f"call_{number}", "name": "apply_patch", "input": text}


def all_text(body: dict[str, Any]) -> str:
    """What a model is given: the instructions, all messages and the results of calls."""
    items = body.get("input") or []
    return "\n".join(
        [str(body.get("instructions") or ""), *(text_of(one.get("content")) for one in items), *_results(items)]
    )


def _results(items: list[dict[str, Any]]) -> list[str]:
    return [text_of(one.get("output")) for one in items]
