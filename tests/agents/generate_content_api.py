"""The Gemini API's generateContent, as Gemini CLI talks to it."""

from __future__ import annotations

import json
from typing import Any

from tests.agents.stand_in import EVENTS, JSON, NOT_HERE, Reply, StandIn, event

SUMMARY = "<state_snapshot>"  # in the instructions by which Gemini CLI asks for one, and for a better one


class GenerateContentAPI(StandIn):
    """Each answer is a list of parts.

    A request for a summary gets `summary`, anything else the agent asks beside a short text.
    """

    def reply(self, path: str, body: dict[str, Any]) -> Reply:
        if ":countTokens" in path:
            return Reply(json.dumps({"totalTokens": 1000}).encode())
        if "enerateContent" not in path:
            return NOT_HERE
        with self.lock:
            tokens, parts = self.answer(body)
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": tokens, "candidatesTokenCount": 20, "totalTokenCount": tokens + 20}
        message = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini"}
        return Reply(event(message), EVENTS) if "stream" in path else Reply(json.dumps(message).encode(), JSON)

    def answer(self, body: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
        if body.get("tools"):
            return self.next_answer(body, {"text": "Done."})
        is_summary = SUMMARY in all_text({"contents": body["contents"][-1:]})
        (self.summarised if is_summary else self.beside).append(body)
        return 1000, [{"text": self.summary if is_summary else "Work"}]


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    """A call of a tool."""
    return {"functionCall": {"name": tool, "args": arguments}}


def all_text(body: dict[str, Any]) -> str:
    """What a model is given: all messages and the results of calls."""
    parts = [part for one in body.get("contents") or [] for part in one.get("parts") or []]
    return "\n".join(part.get("text") or _result(part) for part in parts)


def _result(part: dict[str, Any]) -> str:
    output = part.get("functionResponse", {}).get("response", {}).get("output", "")
    return output if isinstance(output, str) else ""
