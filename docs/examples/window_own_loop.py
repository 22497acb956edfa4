"""An agent's own loop with memctl between it and its model: the example of docs/window.md, run by a test."""

from collections.abc import Callable
from typing import Any

from memctl.window import Action, ContextWindowManager

Messages = list[dict[str, Any]]
Model = Callable[[Messages], dict[str, Any]]  # -> {"content": [blocks], "usage": {"output_tokens": n}}


def run(task: str, model: Model, tools: dict[str, Callable[..., str]], config: Any = None, memory: Any = None) -> str:
    """Work on a task until the model calls no more tools; its last words."""
    manager = ContextWindowManager.from_config(config, "claude-sonnet-4-5", memory)
    messages: Messages = [{"role": "user", "content": task}]
    while True:
        start = manager.on_turn_start(messages)  # evicts and compresses as the window fills
        messages = start.messages
        if start.action is Action.CROSS_WINDOW_SAVE:  # nothing helped: a new window begins with what was saved
            messages = [{"role": "user", "content": f"{task}\n\n{start.bootstrap}"}]
        answer = model(messages)
        manager.on_turn_end(answer["usage"]["output_tokens"])
        messages = [*messages, {"role": "assistant", "content": answer["content"]}]
        calls = [block for block in answer["content"] if block["type"] == "tool_use"]
        if not calls:
            manager.on_task_end(messages)
            return "".join(block.get("text", "") for block in answer["content"])
        results = []
        for call in calls:
            output = tools[call["name"]](**call["input"])
            shown = manager.on_tool_result(call["name"], output, call["input"])  # whole where it fits
            results.append({"type": "tool_result", "tool_use_id": call["id"], "content": shown.text})
        messages = [*messages, {"role": "user", "content": results}]
