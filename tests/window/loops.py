"""An agent's loop at a task of many files, with a manager between it and its model, and what came of it.

Each file takes five calls: a search, a reading, an edit, a test run, a look at the state. Every so often a result is as
large as it is to be. What is counted is what the model was sent.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import msgspec

from memctl.window import Action, ContextWindowManager, Conversation, Decision, TokenCounter, validate

TASK = "Migrate all REST calls of the user service from axios to fetch. Keep the error handling. Never touch legacy/."
ANTHROPIC, CHAT = "anthropic", "chat"


class Sent(msgspec.Struct):
    """A result on its way: its tokens, what the manager made of it, and whether the model was sent the whole of it."""

    tool: str
    arguments: dict[str, Any]
    output: str
    tokens: int
    text: str
    is_whole: bool = False


class Outcome(msgspec.Struct):
    """What came of a loop: its results, faults of the messages, times of turns in seconds, windows it took."""

    sent: list[Sent]
    faults: list[str]
    seconds: list[float]
    most: int = 0
    windows: int = 1
    messages: list[dict[str, Any]] = []

    def share_whole(self, fits: int) -> float:
        """Of the results of at most `fits` tokens, the share that reached the model whole."""
        own = [one for one in self.sent if one.tokens <= fits]
        return sum(one.is_whole for one in own) / max(len(own), 1)


def text_of(number: int, tokens: int) -> str:
    """A file of about so many tokens, in which no line is like another."""
    head = f"export async function load{number}"
    rows = (
        f"{head}_{row}(id{row}: string) {{ return axios.get(`/v1/{number}/{row}/${{id{row}}}`); }}"
        for row in range(max(tokens // 42, 1))
    )
    return "\n".join(rows)


def steps(large: int, every: int) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Calls with their outputs, for ever; each `every`th file is one of `large` tokens."""
    number = 0
    while True:
        number += 1
        path = f"src/services/part{number}.ts"
        yield "grep", {"pattern": "axios", "path": path}, f"{path}:3: import axios\n{path}:9: axios.get(url{number})"
        yield "read", {"file_path": path}, text_of(number, large if number % every == 0 else 600)
        yield "edit", {"file_path": path, "old_string": "axios", "new_string": "fetch"}, f"{path} was changed"
        yield (
            "bash",
            {"command": f"npm test -- part{number}"},
            f"Tests: {number} passed, {number} total\nTime: 2.{number} s",
        )
        yield (
            "bash",
            {"command": "git status --short"},
            "\n".join(f" M src/services/part{n}.ts" for n in range(1, number + 1))[-600:],
        )


class Loop:
    """Runs a manager over a loop of so many turns; `large` results come with each `every`th file."""

    def __init__(self, manager: ContextWindowManager, counter: TokenCounter, shape: str = ANTHROPIC, *,
                 large: int = 9_000, every: int = 3) -> None:  # fmt: skip
        self.manager, self.counter, self.shape = manager, counter, shape
        self._steps = steps(large, every)
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": TASK}]
        if shape == CHAT:
            self.messages.insert(0, {"role": "system", "content": "You migrate code."})
        self._fresh: list[Sent] = []
        self._number = 0
        self.outcome = Outcome([], [], [])

    def run(self, turns: int, *, check_every: int = 1) -> Outcome:
        for number in range(turns):
            tool, arguments, output = next(self._steps)
            self.turn(tool, arguments, output, is_checked=number % check_every == 0)
        self.start(is_checked=True)
        self.outcome.messages = self.messages
        return self.outcome

    def turn(self, tool: str, arguments: dict[str, Any], output: str, *, is_checked: bool = True) -> Sent:
        """A request, its answer with one call, and the result of that."""
        begun = time.process_time()
        self.start(is_checked=is_checked)
        self.manager.on_turn_end(60)
        self._number += 1
        shown = self.manager.on_tool_result(tool, output, arguments)
        self.outcome.seconds.append(time.process_time() - begun)
        self.messages = [*self.messages, *self._called(tool, arguments, shown.text)]
        made = Sent(tool, arguments, output, self.counter.tokens(output, "log"), shown.text)
        self._fresh.append(made)
        self.outcome.sent.append(made)
        return made

    def start(self, *, is_checked: bool) -> None:
        """What is before a request; the model is sent what is given back."""
        start = self.manager.on_turn_start(self.messages)
        self.messages = start.messages
        if start.action is Action.CROSS_WINDOW_SAVE:
            self.outcome.windows += 1
            text = f"{TASK}\n\n{start.bootstrap}"
            self.messages = [*self.messages[: self.shape == CHAT], {"role": "user", "content": text}]
        if is_checked:
            self.outcome.faults += validate(self.messages)
            self.outcome.most = max(self.outcome.most, Conversation.parse(self.messages, self.counter).tokens)
        for one in self._fresh:
            one.is_whole = any(one.output in text for text in self._last_texts())
        self._fresh = []

    def _last_texts(self) -> list[str]:
        content = self.messages[-1]["content"]
        return [content] if isinstance(content, str) else [str(part.get("content", "")) for part in content]

    def _called(self, tool: str, arguments: dict[str, Any], text: str) -> list[dict[str, Any]]:
        call = f"c{self._number}"
        if self.shape == CHAT:
            function = {"name": tool, "arguments": json.dumps(arguments)}
            return [
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": call, "type": "function", "function": function}],
                },
                {"role": "tool", "tool_call_id": call, "content": text},
            ]
        return [
            {"role": "assistant", "content": [{"type": "tool_use", "id": call, "name": tool, "input": arguments}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": text}]},
        ]


def steps_in(decisions: list[Decision]) -> list[Decision]:
    """The steps that were made to free tokens."""
    return [one for one in decisions if "wanted" in one.details or getattr(one, "wanted", None) is not None]
