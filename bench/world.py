"""Where benchmarks run: an environment that reads nothing of the user's, and the two programs under measure."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

NOW = "2025-11-04T14:32:00Z"  # the records' dates end here, so that every run packs and ranks the same ones
PYTHON = sys.executable
MEMCTL = str(Path(sys.executable).parent / "memctl")


class World(msgspec.Struct, frozen=True):
    """A temporary folder, and the environment in which everything runs."""

    folder: Path
    environment: dict[str, str]

    def run(self, command: Sequence[str], where: Path | None = None, given: str = "") -> str:
        """Run a command to its end and return its output; raises RuntimeError with what it said if it fails."""
        process = subprocess.run(
            command,
            cwd=where or self.folder,
            env=self.environment,
            input=given,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",  # a path of a real history may be no UTF-8
            check=False,
        )
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)}: exit code {process.returncode}\n{process.stdout}{process.stderr}")
        return process.stdout

    def git(self, where: Path, *arguments: str) -> str:
        return self.run(["git", *arguments], where)


def make(folder: Path) -> World:
    """A world in `folder`: a home of its own, one identity, no settings of the machine."""
    home = folder / "home"
    home.mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TEMPLATE_DIR": "",
        "MEMCTL_NOW": NOW,
        "MEMCTL_AGENT": "bench",
    }
    for role in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{role}_NAME": "Ada", f"GIT_{role}_EMAIL": "ada@example.org"}
    return World(folder, environment)
