"""Measuring: a command and its baseline turn by turn, so that whatever else the machine does hits both."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

import msgspec

from bench.world import World


class Step(msgspec.Struct, frozen=True):
    """What is timed: commands run one after the other, and what has to be done before them, untimed.

    `codes` are the exit codes that count as success; `stdin` is the file that the commands read, if any.
    """

    commands: Callable[[], Sequence[Sequence[str]]]
    where: Path
    before: Callable[[], None] = lambda: None
    codes: tuple[int, ...] = (0,)
    stdin: Path | None = None


def step(
    where: Path,
    *commands: Sequence[str],
    before: Callable[[], None] = lambda: None,
    codes: tuple[int, ...] = (0,),
    stdin: Path | None = None,
) -> Step:
    """A step whose commands are the same each time."""
    return Step(lambda: commands, where, before, codes, stdin)


def compare(
    world: World, steps: Mapping[str, Step], repetitions: int, *, warm_up: int = 1, cpu: bool = False
) -> dict[str, float]:
    """The median milliseconds of each step, of the processors if `cpu`; every round runs all of them once, in turning
    order."""
    samples: dict[str, list[float]] = {name: [] for name in steps}
    names = list(steps)
    for turn in range(warm_up + repetitions):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            taken = _timed(world, steps[name], _cpu if cpu else time.perf_counter)
            if turn >= warm_up:
                samples[name].append(taken)
    return {name: median(values) for name, values in samples.items()}


def _cpu() -> float:
    """Return the seconds that processes which ended have taken of the processors."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _timed(world: World, step: Step, clock: Callable[[], float]) -> float:
    step.before()
    commands = step.commands()
    started = clock()
    for command in commands:
        with open(step.stdin or os.devnull, "rb") as stdin:
            process = subprocess.run(
                command,
                cwd=step.where,
                env=world.environment,
                stdin=stdin,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                check=False,
            )
        if process.returncode not in step.codes:
            raise RuntimeError(f"{' '.join(command)}: exit {process.returncode}\n{process.stderr.decode()}")
    return (clock() - started) * 1000
