"""A loop that leaves its window: an agent that knows only its messages ports a project, window by window.

Each window is a process of its own; from one to the next nothing passes but the repository with its memory, from which
the text comes that a window begins with. Rules take the place of the model: they choose each call by the messages that
they are sent, and by nothing else, so that a step which the text loses is done twice, or not at all. The tools are
real: files are read and written, Python compiles them, Git commits them. In the first case the host refuses requests
long before the manager expects it; in the second the agent's own answers fill the window.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench import repositories
from bench.world import PYTHON, World
from memctl.store.memory import open_memory
from memctl.window import Action, ContextWindowManager, Conversation, CrossWindowStateManager, validate

TASK = (
    "Port the modules in src/ from old_client to new_client, one after the other, each with its check. "
    "Never touch src/vendor/."
)
_FILES, _ROWS = 12, 40
# What happens, the manager's window, the most tokens that the host takes, and the words of the agent's answers.
_CASES = (("the host refuses", 14_000, 9_000, 250), ("answers fill the window", 12_000, 12_000, 2_300))
_MOST_WINDOWS, _MOST_REQUESTS = 24, 80  # of a window: beyond them the agent goes round in circles
_STEP = re.compile(r"^- port (src/\S+\.py)$", re.MULTILINE)
_HEADING = re.compile(r"^[A-Z][A-Z ]+.*:$", re.MULTILINE)


class _Call(NamedTuple):
    """A call of a tool with its result, as the messages have them."""

    tool: str
    given: dict[str, Any]
    result: str


def table(world: World) -> bool:
    """Run both cases and print a row for each; return whether every file was ported exactly once."""
    print(f"\nA loop that leaves its window: {_FILES} files to port, each window a process")
    print(
        "  case                      windows  requests  ported  edited twice  read again  faults  goal kept  finished"
    )
    found = [_case(world, number) for number in range(len(_CASES))]
    return all(found)


def _case(world: World, number: int) -> bool:
    code = {f"src/part{n:02}.py": _module(n) for n in range(_FILES)}
    folder = repositories.with_files(world, f"loop-{number}", {**code, "src/vendor/part.py": _module(99)})
    outcomes: list[dict[str, Any]] = []
    while not (outcomes and outcomes[-1]["finished"]) and len(outcomes) < _MOST_WINDOWS:
        command = [PYTHON, "-m", "bench.window_loop", str(folder), str(number)]
        done = subprocess.run(
            command, env=world.environment | {"PYTHONPATH": os.getcwd()}, capture_output=True, check=True
        )
        outcomes.append(json.loads(done.stdout))
    edits, reads = Counter[str](), Counter[str]()
    for one in outcomes:
        edits.update(one["edits"])
        reads.update(one["reads"])
    ported = sum("old_client" not in (folder / path).read_text() for path in code)
    faults = [fault for one in outcomes for fault in one["faults"]]
    is_kept = all("Never touch src/vendor/" in one["begins"] for one in outcomes)
    is_untouched = (folder / "src/vendor/part.py").read_text() == _module(99)
    twice, again = (sum(counts.values()) - len(counts) for counts in (edits, reads))
    print(
        f"  {_CASES[number][0]:<24} {len(outcomes):>8} {sum(one['requests'] for one in outcomes):>9}"
        f" {ported:>4} of {_FILES} {twice:>10} {again:>11} {len(faults):>7} {'yes' if is_kept else 'no':>10}"
        f" {'yes' if outcomes[-1]['finished'] else 'no':>9}",
        flush=True,
    )
    is_whole = ported == _FILES and is_untouched and is_kept and outcomes[-1]["finished"]
    return is_whole and not twice and not faults and len(outcomes) > 2


def _module(number: int) -> str:
    """Return a module of about a thousand tokens that uses the old client."""
    rows = (
        f"def load_{number}_{row}(key):\n    return old_client.get('/v1/{number}/{row}', key, retries={row % 7})\n"
        for row in range(_ROWS)
    )
    return "import old_client\n\n\n" + "\n\n".join(rows)


def main(folder: Path, number: int) -> dict[str, Any]:
    """Run one window to its end, and return what happened in it."""
    _, tokens, host_limit, words = _CASES[number]
    memory = open_memory(folder, os.environ)
    manager = ContextWindowManager.from_config({"max_context_tokens": tokens}, "claude-sonnet-4-5", memory)
    begins = f"{TASK}\n\n{CrossWindowStateManager(memory).bootstrap_prompt()}".strip()
    messages: list[dict[str, Any]] = [{"role": "user", "content": begins}]
    done: dict[str, Any] = {"begins": begins, "requests": 0, "edits": [], "reads": [], "faults": [], "finished": False}
    while True:
        start = manager.on_turn_start(messages)
        messages = start.messages
        if start.action is Action.CROSS_WINDOW_SAVE:
            return done
        done["faults"] += validate(messages)
        if Conversation.parse(messages, manager.counter).tokens > host_limit:
            manager.on_overflow(messages)
            return done
        done["requests"] += 1
        if done["requests"] > _MOST_REQUESTS:
            return {**done, "faults": [*done["faults"], "the agent goes round in circles"]}
        chosen = _choose(messages)
        if chosen is None:
            manager.on_task_end([*messages, {"role": "assistant", "content": "All modules are ported."}])
            return {**done, "finished": True}
        tool, given, about = chosen
        text = _answer_text(about, words) if tool == "Edit" else ""
        manager.on_turn_end(manager.counter.tokens(text) + 60)
        shown = manager.on_tool_result(tool, _run(folder, tool, given, done), given)
        use = {"type": "tool_use", "id": f"c{done['requests']}", "name": tool, "input": given}
        result = {"type": "tool_result", "tool_use_id": use["id"], "content": shown.text}
        texts = [{"type": "text", "text": text}] if text else []
        messages = [*messages, {"role": "assistant", "content": [*texts, use]}, {"role": "user", "content": [result]}]


def _choose(messages: list[dict[str, Any]]) -> tuple[str, dict[str, Any], str] | None:
    """Return the next call, with the module that it is about; None if the messages say that all is done."""
    calls = list(_calls(messages))
    lists = [number for number, call in enumerate(calls) if call.tool == "TodoWrite"]
    if lists:
        steps = {one["content"]: one["status"] == "completed" for one in calls[lists[-1]].given["todos"]}
    else:
        steps = _steps_in_text(str(messages[0]["content"]))
        if steps:  # a new window: the list is written down again
            return "TodoWrite", _todos(steps), ""
    if not steps:
        listing = next((call.result for call in calls if call.tool == "Bash"), "")
        if not listing:
            return "Bash", {"command": "ls src/*.py"}, ""
        return "TodoWrite", _todos(dict.fromkeys((f"port {path}" for path in listing.split()), False)), ""
    step = next((one for one, is_done in steps.items() if not is_done), "")
    if not step:
        return None
    path = step.removeprefix("port ")
    own = [
        call
        for call in calls[lists[-1] :]
        if path in (call.given.get("file_path"), call.given.get("command", "")[-len(path) :])
    ]
    if any(call.tool == "Bash" for call in own):
        return "TodoWrite", _todos({**steps, step: True}), ""
    text = next((call.result for call in reversed(own) if call.tool == "Read"), "")
    if not text.startswith("import "):  # not read yet, or taken out since
        return "Read", {"file_path": path}, ""
    if "old_client" in text and not any(call.tool == "Edit" for call in own):
        return "Edit", {"file_path": path, "old_string": "old_client", "new_string": "new_client"}, path
    return "Bash", {"command": f"python -m py_compile {path}"}, ""


def _calls(messages: list[dict[str, Any]]) -> Iterator[_Call]:
    begun: dict[str, dict[str, Any]] = {}
    for message in messages:
        for part in message["content"] if isinstance(message["content"], list) else ():
            if part["type"] == "tool_use":
                begun[part["id"]] = part
            elif part["type"] == "tool_result":
                call, content = begun[part["tool_use_id"]], part["content"]
                text = content if isinstance(content, str) else "\n".join(one["text"] for one in content)
                yield _Call(call["name"], call["input"], text)


def _steps_in_text(text: str) -> dict[str, bool]:
    """Return the steps in the text that a window begins with, each with whether it is done."""
    parts = zip(["", *_HEADING.findall(text)], _HEADING.split(text), strict=True)
    return {f"port {path}": name.startswith("DONE") for name, part in parts for path in _STEP.findall(part)}


def _todos(steps: dict[str, bool]) -> dict[str, Any]:
    first = next((one for one, is_done in steps.items() if not is_done), "")
    status = {
        one: "completed" if is_done else "in_progress" if one == first else "pending" for one, is_done in steps.items()
    }
    return {"todos": [{"content": one, "status": status[one], "activeForm": one} for one in sorted(steps)]}


def _answer_text(path: str, words: int) -> str:
    """Return what the agent says of a module: a decision, and what it saw there."""
    seen = " ".join(f"{path[4:-3]}_{n}" for n in range(words))
    return f"Decision: {path} keeps its retries, because callers rely on them.\n\nIt has {seen}."


def _run(folder: Path, tool: str, given: dict[str, Any], done: dict[str, Any]) -> str:
    """Run a tool on the project, and return what it prints."""
    if tool == "TodoWrite":
        return "The list was changed."
    if tool == "Bash":
        command = given["command"].replace("python", PYTHON, 1)
        ran = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=False)
        return str(ran.stdout + ran.stderr) or f"exit code {ran.returncode}"
    file = folder / given["file_path"]
    text: str = file.read_text()
    if tool == "Read":
        done["reads"].append(given["file_path"])
        return text
    done["edits"].append(given["file_path"])
    if given["old_string"] not in text:
        return "Error: old_string was not found"
    file.write_text(text.replace(given["old_string"], given["new_string"]))
    return f"{given['file_path']} was changed"


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]))))
