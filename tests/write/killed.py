"""Run memctl and end the process, as kill -9 does, at the n-th step that touches the disk or starts git.

    python -m tests.write.killed N ARGUMENTS…

A step is a rename, a deletion, a flush or the start of a process, and the moment after each of them.
With 0 nothing is killed, and the last word on stderr is how many steps there were.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from memctl.cli.main import main

_left = int(sys.argv[1])


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


class _Popen(subprocess.Popen[bytes]):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _step()
        super().__init__(*args, **kwargs)

    def communicate(self, *args: Any, **kwargs: Any) -> Any:
        result = super().communicate(*args, **kwargs)
        _step()
        return result


for name in ("replace", "unlink", "fsync", "ftruncate"):
    setattr(os, name, _watched(getattr(os, name)))
subprocess.Popen = _Popen  # type: ignore[misc]
code = main(sys.argv[2:])
if sys.argv[1] == "0":
    print(-_left, file=sys.stderr)
sys.exit(code)
