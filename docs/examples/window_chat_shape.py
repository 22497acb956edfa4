"""The same loop in the shape of OpenAI's chat completions, with a client of your own."""

import json
from collections.abc import Callable
from typing import Any

from memctl.window import Action, ContextWindowManager, WindowConfig

Message = dict[str, Any]


def chat(
    task: str, complete: Callable[[list[Message]], Message], tools: dict[str, Callable[..., str]], log: str
) -> str:
    """Work on a task until the model calls no more tools; its last words. Decisions go into `log`."""
    manager = ContextWindowManager("gpt-5", WindowConfig(max_context_tokens=64_000), audit=log)
    head: list[Message] = [{"role": "system", "content": "You work with tools."}, {"role": "user", "content": task}]
    messages = head
    while True:
        start = manager.on_turn_start(messages)
        messages = start.messages
        if start.action is Action.CROSS_WINDOW_SAVE:
            messages = [head[0], {"role": "user", "content": f"{task}\n\n{start.bootstrap}"}]
        answer = complete(messages)
        manager.on_turn_end(answer.pop("completion_tokens", 0))
        messages = [*messages, answer]
        if not answer.get("tool_calls"):
            manager.on_task_end(messages)
            return str(answer["content"])
        for call in answer["tool_calls"]:
            given = json.loads(call["function"]["arguments"])
            name = call["function"]["name"]
            shown = manager.on_tool_result(name, tools[name](**given), given)
            messages = [*messages, {"role": "tool", "tool_call_id": call["id"], "content": shown.text}]
