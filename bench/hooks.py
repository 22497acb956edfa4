"""Hooks of agents: what an event costs, and how fast a long transcript is read.

A host waits for each hook, and one comes after every tool call. The baseline is what starting Python costs alone; for
reading, `json.loads` of the same lines, which is the least that anything in Python does that looks at them all.
"""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from bench import measure, pages, repositories, table
from bench.measure import Step
from bench.table import Row
from bench.world import MEMCTL, PYTHON, World

_NEW_MB = 10
_EVENTS = {
    "after a tool call": ("PostToolUse", ""),
    "an event that is not ours": ("Notification", ""),
    "start of a session": ("SessionStart", "startup"),
    "end of an answer, one turn new": ("Stop", ""),
    "before a compaction, one turn new": ("PreCompact", ""),
    "start after a compaction": ("SessionStart", "compact"),
    "end of a session, one turn new": ("SessionEnd", ""),
}
_GOAL_MS = 150
_UNDONE = ".git/memctl/hooks/.memory/undone"
_TURN = 6_000  # bytes; in real sessions a turn has about two calls, and tool results are 68 % of the characters
_READING = """\
import resource, sys, time
from memctl.transcript.claude_code import read_parts
started = time.perf_counter()
events = sum(len(part.session.events) for part in read_parts(sys.argv[1], {}))
print(time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, events)
"""


def live(here: World, count: int, repetitions: int, data: str) -> None:
    """What a host waits for most often, in a memory that has been worked with; with texts of real issues, if given.

    Each event is of a new session, so that what is recorded about a file is said.
    """
    where = repositories.with_memory(here, count, _texts(data))
    file, number = here.folder / "live.jsonl", iter(range(10**6))
    code, known = "src/not_recorded.py", next(iter(pages.code()))
    _write(file, 200_000, where)
    sample = json.loads(here.run([MEMCTL, "list", "--type", "decision", "--limit", "1", "--json"], where))
    title = sample["data"]["records"][0]["title"]

    def event(name: str, **more: object) -> Step:
        """An event of a session that has just begun."""
        given = here.folder / f"live-{next(number)}.json"

        def write() -> None:
            values = {"session_id": f"live-{next(number)}", "transcript_path": str(file), "cwd": str(where), **more}
            given.write_text(json.dumps({**values, "hook_event_name": name}))

        return measure.step(where, [MEMCTL, "hook", "claude-code"], before=write, stdin=given)

    for name in ("SessionStart", "Stop", "SessionEnd"):  # a session that ended has left its page
        given = here.folder / "before.json"
        values = {"session_id": "before", "transcript_path": str(file), "cwd": str(where), "source": "startup"}
        given.write_text(json.dumps({**values, "hook_event_name": name}))
        here.run(["sh", "-c", f"{shlex.quote(MEMCTL)} hook claude-code <{given}"], where)
    prompts = {"nothing bears on": "Rename the zebra variable twice", "something bears on": f"What about {title}?"}
    bare, least = "python -c pass", "python -c 'import click, yaml, sqlite3'"
    steps = {
        bare: measure.step(where, [PYTHON, "-c", "pass"]),
        least: measure.step(where, [PYTHON, "-c", "import click, yaml, sqlite3"]),
        "after a tool call": event("PostToolUse"),
        "after a tool call that reads a file": event("PostToolUse", tool_name="Read", tool_input={"file_path": code}),
        "after a tool call of the shell": event("PostToolUse", tool_name="Bash", tool_input={"command": f"cat {code}"}),
        "after a read of a file with records": event("PostToolUse", tool_name="Read", tool_input={"file_path": known}),
        "after such an edit": event("PostToolUse", tool_name="Edit", tool_input={"file_path": known}),
        "after such a command": event(
            "PostToolUse",
            tool_name="Bash",
            tool_input={"command": f"cd src && cat ../{known} | grep -n x > /tmp/found"},
        ),
        "after such a patch": event(
            "PostToolUse",
            tool_name="apply_patch",
            tool_input={"command": f"*** Begin Patch\n*** Update File: {known}\n*** End Patch"},
        ),
        "before a tool call": event("PreToolUse", tool_name="Edit", tool_input={"file_path": code}),
        **{f"a prompt that {what}": event("UserPromptSubmit", prompt=prompt) for what, prompt in prompts.items()},
        "start of a session": event("SessionStart", source="startup"),
    }
    is_of_tool = {name: "prompt" not in name and "start" not in name for name in steps}
    tools = {name: one for name, one in steps.items() if is_of_tool[name]}
    waited = {name: one for name, one in steps.items() if not is_of_tool[name] or name in (bare, least)}
    texts = " with texts of real issues" if data else ""
    about = f"`memctl hook claude-code`, live data, {count:,} records{texts}"
    found = measure.compare(here, tools, repetitions, warm_up=2, cpu=True)  # one process; Git helps with the others
    rows = [Row(name, found[name], found[bare], 3.0) for name in tools if name not in (bare, least)]
    table.show(f"{about}, time of the processors", bare, rows)
    found = measure.compare(here, waited, repetitions, warm_up=2)
    table.show(about, bare, [Row(name, found[name], found[bare], 8.0) for name in waited if "prompt" in name])
    table.show(about, least, [Row(name, found[name], found[least], 3.0) for name in waited if "start of" in name])


def _texts(data: str) -> list[tuple[str, str]]:
    """Titles and texts of the issues in a folder of data, if it has any (`beads-issues*.jsonl`)."""
    files = sorted(Path(data).glob("beads-issues*.jsonl")) if data else []
    issues = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    return [(" ".join(one["title"].split())[:100], one.get("description") or one["title"]) for one in issues]


def tables(here: World, repetitions: int, megabytes: int) -> None:
    """Both tables: events, and reading so many megabytes."""
    where = repositories.with_memory(here, 1_000)
    file = here.folder / "session.jsonl"
    _write(file, 200_000, where)
    steps = {"python -c pass": measure.step(where, [PYTHON, "-c", "pass"])}
    for number, (name, (event, source)) in enumerate(_EVENTS.items()):
        given = here.folder / f"event-{number}.json"
        values = {"session_id": f"bench-{number}", "transcript_path": str(file), "cwd": str(where), "trigger": "auto"}
        values |= {"hook_event_name": event, "source": source}
        line = f"{shlex.quote(MEMCTL)} hook claude-code <{shlex.quote(str(given))}"
        steps[name] = measure.step(
            where, ["sh", "-c", line], before=_with_new_event(given, values, _growing(file, where))
        )
    steps |= _much_new(here, where)
    found = measure.compare(here, steps, repetitions)
    baseline = found.pop("python -c pass")
    waited = [name for name in found if not name.startswith("the same")]  # nobody waits for what is done behind
    rows = [Row(name, ms, baseline, goal_ms=_GOAL_MS if name in waited else None) for name, ms in found.items()]
    table.show("`memctl hook claude-code`, a memory of 1,000 records", "python -c pass", rows)
    _reading(here, megabytes)


def _much_new(here: World, where: Path) -> dict[str, Step]:
    """Before a compaction with many megabytes new: what the host waits for, and until all of it is done."""
    file = here.folder / "long.jsonl"
    values = {"transcript_path": str(file), "cwd": str(where), "trigger": "auto", "hook_event_name": "PreCompact"}
    steps = {}
    for number, (name, rest) in enumerate(
        {
            f"before a compaction, {_NEW_MB} MB new": "",
            "the same, until its commit is made": f'; while [ "$(ls {_UNDONE})" ]; do sleep .005; done',
        }.items()
    ):
        given = here.folder / f"long-{number}.json"
        line = f"{shlex.quote(MEMCTL)} hook claude-code <{shlex.quote(str(given))}{rest}"
        grow = _growing(file, where, _NEW_MB * 1_000_000)
        steps[name] = measure.step(
            where, ["sh", "-c", line], before=_with_new_event(given, {**values, "session_id": f"long-{number}"}, grow)
        )
    return steps


def _reading(here: World, megabytes: int) -> None:
    """How fast a transcript is read from its beginning, and how much memory that takes."""
    print("\nReading a transcript of Claude Code\n  baseline: json.loads of the same lines")
    print("  size       ms  MB/s  baseline ms  ratio  memory MB")
    for size in (megabytes // 10, megabytes):
        file = here.folder / f"{size}.jsonl"
        _write(file, size * 1_000_000, here.folder)
        taken, memory, _ = map(float, here.run([PYTHON, "-c", _READING, str(file)]).split())
        started = time.perf_counter()
        with open(file, "rb") as stream:
            for line in stream:
                json.loads(line)
        baseline = time.perf_counter() - started
        cells = f"{taken * 1000:>8,.0f} {size / taken:>5,.0f} {baseline * 1000:>12,.0f} {taken / baseline:>5.2f}x"
        print(f"  {size:>4} MB {cells} {memory:>10,.0f}", flush=True)
        os.unlink(file)


def _write(file: Path, size: int, cwd: Path) -> None:
    with open(file, "w", encoding="utf-8") as stream:
        number = 0
        while stream.tell() < size:
            stream.write(_turn(number, cwd))
            number += 1


def _with_new_event(given: Path, values: dict[str, str], before: Callable[[], None]) -> Callable[[], None]:
    """Do something, then write an event with a time: one of the same bytes counts once in ten seconds."""

    def write() -> None:
        before()
        given.write_text(json.dumps({**values, "time": str(time.time_ns())}))

    return write


def _growing(file: Path, cwd: Path, size: int = 1) -> Callable[[], None]:
    """Wait until no event before is being worked on, and write so many bytes more, in whole turns."""

    def grow() -> None:
        place = cwd / _UNDONE
        while place.exists() and any(place.iterdir()):
            time.sleep(0.005)
        with open(file, "a", encoding="utf-8") as stream:
            end = stream.tell() + size
            while stream.tell() < end:
                stream.write(_turn(time.time_ns(), cwd))

    return grow


def _turn(number: int, cwd: Path) -> str:
    """A prompt, a call of a tool with its result, and an answer, as Claude Code writes them, now."""
    moment = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}.000Z"
    common = {"sessionId": "bench", "cwd": str(cwd), "timestamp": moment, "isSidechain": False, "gitBranch": "main"}
    usage = {"input_tokens": 4, "cache_read_input_tokens": 20_000, "output_tokens": 50}
    call = {
        "type": "tool_use",
        "id": f"t{number}",
        "name": "Read",
        "input": {"file_path": f"{cwd}/src/{number % 99}.py"},
    }
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"def f{number}(x): ...\n" * (_TURN // 25)}
    answer = {"id": f"a{number}", "role": "assistant", "model": "claude-opus-4-5", "usage": usage}
    lines = [
        {"type": "user", "message": {"role": "user", "content": f"Look at number {number}, and say what is wrong."}},
        {"type": "assistant", "message": {**answer, "content": [call]}},
        {"type": "user", "message": {"role": "user", "content": [result]}},
        {"type": "assistant", "message": {**answer, "content": [{"type": "text", "text": "It counts from one."}]}},
    ]
    return "".join(
        json.dumps({**common, "uuid": f"{number}-{i}", **line}, separators=(",", ":")) + "\n"
        for i, line in enumerate(lines)
    )
