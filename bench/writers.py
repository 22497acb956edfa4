"""Many writers at once in one clone: nothing may be lost, and nothing may come twice."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from statistics import median

import msgspec

from bench.world import MEMCTL, World

_WRITERS = 16


class _Round(msgspec.Struct):
    seconds: float
    commits: int
    ids: set[str]
    errors: list[str]


def at_once(world: World, folder: Path, rounds: int) -> bool:
    """Let 16 processes record a decision at the same moment, several times; whether all of them did."""
    done = [_round(world, folder) for _ in range(rounds)]
    errors = [error for one in done for error in one.errors]
    commits, found = sum(one.commits for one in done), {identifier for one in done for identifier in one.ids}
    wanted = _WRITERS * rounds
    dirty = world.git(folder, "status", "--porcelain")
    is_good = commits == wanted and len(found) == wanted and not errors and not dirty
    print(f"\n{_WRITERS} writers at once in one clone, {rounds} times")
    print(f"  {commits} commits, {len(found)} different ids, {len(errors)} errors, wanted {wanted}, {wanted} and 0")
    print(f"  all {_WRITERS} are through after {median(one.seconds for one in done) * 1000:,.0f} ms")
    for line in [*errors, *dirty.splitlines()][:10]:
        print(f"  {line}")
    print(f"  {'ok' if is_good else 'FAILED'}", flush=True)
    return is_good


def _round(world: World, folder: Path) -> _Round:
    before = _commits(world, folder)
    started = time.perf_counter()
    processes = [
        subprocess.Popen(
            (MEMCTL, "decide", f"Writer {number} has its say", "--rationale", "All of them must be heard."),
            cwd=folder,
            env=world.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(_WRITERS)
    ]
    outputs = [(process.communicate(), process.returncode) for process in processes]
    seconds = time.perf_counter() - started
    errors = [err.strip() or f"exit code {code}" for (_, err), code in outputs if code or err.strip()]
    found = {out.split()[0] for (out, _), _ in outputs if out.strip()}
    return _Round(seconds, _commits(world, folder) - before, found, errors)


def _commits(world: World, folder: Path) -> int:
    return int(world.git(folder, "rev-list", "--count", "HEAD"))
