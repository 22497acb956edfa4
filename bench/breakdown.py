"""Where the time of one command goes: Python's imports, and each git process that it starts."""

from __future__ import annotations

import datetime
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from bench.world import MEMCTL, PYTHON, World

_REPETITIONS = 7


class _Call(msgspec.Struct):
    arguments: str
    begun: float
    ended: float


def explain(world: World, folder: Path, name: str, arguments: Sequence[str]) -> None:
    """Print what a command spends its time on, in ms; Git's own trace tells of its processes."""
    runs = [_traced(world, folder, arguments) for _ in range(_REPETITIONS)]
    whole = median(taken for taken, _ in runs)
    imports = median(_imports(world, folder, arguments) for _ in range(3))
    print(f"\nWhere the time goes: memctl {name}")
    print(f"  {whole:7.1f}  the whole command, traced")
    print(f"  {imports:7.1f}  of it imports (with -X importtime, which itself takes time)")
    for position, call in enumerate(runs[0][1]):
        same = [calls[position] for _, calls in runs if position < len(calls)]
        spent = median(one.ended - one.begun for one in same) * 1000
        begun = median(one.begun - calls[0].begun for one, (_, calls) in zip(same, runs, strict=False)) * 1000
        print(f"  {spent:7.1f}  {call.arguments}  (begun at {begun:.0f})")


def _traced(world: World, folder: Path, arguments: Sequence[str]) -> tuple[float, list[_Call]]:
    trace = world.folder / "trace.json"
    trace.unlink(missing_ok=True)
    environment = {**world.environment, "GIT_TRACE2_EVENT": str(trace)}
    started = time.perf_counter()
    subprocess.run((MEMCTL, *arguments), cwd=folder, env=environment, check=True, capture_output=True)
    return (time.perf_counter() - started) * 1000, _calls(trace)


def _calls(trace: Path) -> list[_Call]:
    """The git processes in a trace, in the order in which they began; those that Git itself started left aside."""
    calls: dict[str, _Call] = {}
    for line in trace.read_bytes().splitlines():
        event: dict[str, Any] = msgspec.json.decode(line)
        process = event["sid"]
        moment = datetime.datetime.fromisoformat(event["time"].replace("Z", "+00:00")).timestamp()
        if event["event"] == "start" and "/" not in process:
            calls[process] = _Call(" ".join(event["argv"])[:70], moment - event["t_abs"], moment)
        elif event["event"] == "atexit" and process in calls:
            calls[process].ended = moment
    return sorted(calls.values(), key=lambda call: call.begun)


def _imports(world: World, folder: Path, arguments: Sequence[str]) -> float:
    """The sum of what all modules took to import, in ms."""
    command = (PYTHON, "-X", "importtime", MEMCTL, *arguments)
    process = subprocess.run(
        command, cwd=folder, env=world.environment, check=True, capture_output=True, encoding="utf-8"
    )
    fields = [
        line.split(":", 1)[1].split("|") for line in process.stderr.splitlines() if line.startswith("import time:")
    ]
    return sum(int(own) for own, *_ in fields if own.strip().isdigit()) / 1000
