"""Run memctl and end the process, as kill -9 does, at the n-th step that touches the disk or starts git.

    python -m tests.write.killed N ARGUMENTS…

A step is a rename, a link, a deletion, a flush or the start of a process, and the moment after each of them.
With 0 nothing is killed, and the last word on stderr is how many steps there were.

Without arguments it is a server, which `run` asks: it has imported memctl, and forks for each run. So a run is a
process of its own that really dies, and costs no start of Python.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import memctl
from memctl.cli.main import main
from memctl.git import git

_left = 0


def run(step: int, repo: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """What comes of memctl in a repository, in the environment that there is now, when it is killed at a step."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps([step, ["-C", str(repo), *args], dict(os.environ)]) + "\n")
    server.stdin.flush()
    return subprocess.CompletedProcess(args, *json.loads(server.stdout.readline()))


@functools.cache
def _server() -> subprocess.Popen[str]:
    """The server of this process; it ends with it."""
    command = [sys.executable, "-m", "tests.write.killed"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=Path(__file__).parents[2], **pipes)


def _serve() -> None:
    for package in ("cli", "git", "record", "store", "sync", "team", "write"):
        for module in pkgutil.iter_modules([f"{memctl.__path__[0]}/{package}"]):
            import_module(f"memctl.{package}.{module.name}")
    gc.freeze()
    for line in sys.stdin:
        step, args, env = json.loads(line)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = os.fork()
            if child == 0:
                _become(out.fileno(), err.fileno(), env)
                _run(step, args)
            _, status = os.waitpid(child, 0)
            said = [os.pread(file.fileno(), 1 << 20, 0).decode(errors="replace") for file in (out, err)]
        print(json.dumps([os.waitstatus_to_exitcode(status), *said]), flush=True)


def _become(out: int, err: int, env: dict[str, str]) -> None:
    """Be like a process that was just started, with nothing to read."""
    os.environ.clear()
    os.environ.update(env)
    for number, file in enumerate((os.open(os.devnull, os.O_RDONLY), out, err)):
        os.dup2(file, number)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - they stay open
        for number, mode in ((0, "r"), (1, "w"), (2, "w"))
    )


def _run(step: int, args: Sequence[str]) -> NoReturn:
    global _left
    _left = step
    for name in ("replace", "link", "unlink", "fsync", "ftruncate"):
        setattr(os, name, _watched(getattr(os, name)))
    git.Process = _Process  # type: ignore[misc]
    try:
        code = main(list(args))
        if step == 0:
            print(-_left, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 70
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def _step() -> None:
    global _left
    _left -= 1
    if _left == 0:
        os.kill(os.getpid(), signal.SIGKILL)


def _watched(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        _step()
        result = function(*args, **kwargs)
        _step()
        return result

    return call


class _Process(git.Process):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _step()
        super().__init__(*args, **kwargs)

    def communicate(self, *args: Any, **kwargs: Any) -> Any:
        result = super().communicate(*args, **kwargs)
        _step()
        return result


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _run(int(sys.argv[1]), sys.argv[2:])
    _serve()
