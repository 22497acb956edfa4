"""Measuring: a command and its baseline turn by turn, so that whatever else the machine does hits both."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

import msgspec

from bench.world import World


class Step(msgspec.Struct, frozen=True):
    """What is timed: commands run one after the other, and what has to be done before them, untimed.

    `codes` are the exit codes that count as success.
    """

    commands: Callable[[], Sequence[Sequence[str]]]
    where: Path
    before: Callable[[], None] = lambda: None
    codes: tuple[int, ...] = (0,)


def step(
    where: Path,
    *commands: Sequence[str],
    before: Callable[[], None] = lambda: None,
    codes: tuple[int, ...] = (0,),
) -> Step:
    """A step whose commands are the same each time."""
    return Step(lambda: commands, where, before, codes)


def compare(world: World, steps: Mapping[str, Step], repetitions: int, *, warm_up: int = 1) -> dict[str, float]:
    """The median milliseconds of each step; every round runs all of them once, in turning order."""
    samples: dict[str, list[float]] = {name: [] for name in steps}
    names = list(steps)
    for turn in range(warm_up + repetitions):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            taken = _timed(world, steps[name])
            if turn >= warm_up:
                samples[name].append(taken)
    return {name: median(values) for name, values in samples.items()}


def _timed(world: World, step: Step) -> float:
    step.before()
    commands = step.commands()
    started = time.perf_counter()
    for command in commands:
        process = subprocess.run(
            command,
            cwd=step.where,
            env=world.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        if process.returncode not in step.codes:
            raise RuntimeError(f"{' '.join(command)}: exit {process.returncode}\n{process.stderr.decode()}")
    return (time.perf_counter() - started) * 1000
