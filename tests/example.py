"""The showcase: the shop in `tests/lantern/`, the memory in `.memory.example/`, every date fixed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from memctl.write.setup import build_example
from tests.world import WORLD

ROOT = Path(__file__).parents[1]
SHOP = ROOT / "tests" / "lantern"
MEMORY = ROOT / ".memory.example"
MARKERS = ("§3.1", "§3.2", "§3.3", "§3.4", "§3.5")
NOW = "2025-11-04T14:00:00Z"


def regenerate_example() -> None:
    """Write the rendered pages of `.memory.example/` anew, and the stamps of the pages whose files have changed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "shop"
        build_example(folder)
        _memctl(folder, "review", *MARKERS)
        _memctl(folder, "render", "--force")
        for part in ("details", "docs"):
            shutil.rmtree(MEMORY / part)
            shutil.copytree(folder / ".memory" / part, MEMORY / part)
        shutil.copy(folder / ".memory" / ".gitattributes", MEMORY)


def _memctl(folder: Path, *args: str) -> None:
    world = {"HOME": str(folder.parent), "PATH": os.environ["PATH"], **WORLD}
    own = {"MEMCTL_NOW": NOW, "MEMCTL_AGENT": "mira"}
    command = [sys.executable, "-m", "memctl", *args]
    subprocess.run(command, cwd=folder, env={**world, **own}, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    regenerate_example()
