"""The showcase as a repository: the shop in `tests/lantern/`, the memory in `.memory.example/`, every date fixed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.world import WORLD

ROOT = Path(__file__).parents[1]
SHOP = ROOT / "tests" / "lantern"
MEMORY = ROOT / ".memory.example"
MARKERS = ("§3.1", "§3.2", "§3.3", "§3.4", "§3.5")
NOW = "2025-11-04T14:00:00Z"
# When which of the shop's files last changed, which the page of sources says of each; the rest came first.
_HISTORY = (
    ("2025-09-19T10:00:00Z", "catalogue", ("src/lantern/catalogue", "migrations/0011_normalised_skus.sql")),
    ("2025-10-10T09:00:00Z", "carts", ("src/lantern/checkout/cart_store.py", "migrations/0017_carts.sql", "tools")),
    ("2025-10-17T16:00:00Z", "payments", ("src/lantern/payments", "migrations/0021_payment_event.sql")),
    ("2025-11-03T17:00:00Z", "checkout", ("src/lantern/checkout/orders.py", "tests/load")),
    ("2025-11-04T10:00:00Z", "restore", ("deploy/backup", "docs")),
)


def build(folder: Path) -> None:
    """Make the repository in a folder that is not there yet."""
    shutil.copytree(SHOP, folder, ignore=shutil.ignore_patterns("__pycache__", "conftest.py"))
    _run(folder, "git", "init", "-q", "-b", "main")
    later = [f":!{path}" for _, _, paths in _HISTORY for path in paths]
    _commit(folder, "2025-09-05T09:00:00Z", "service", (".", *later))
    for moment, subject, paths in _HISTORY:
        _commit(folder, moment, subject, paths)
    shutil.copytree(MEMORY, folder / ".memory")
    _commit(folder, NOW, "memory", (".memory",))


def regenerate_example() -> None:
    """Write the rendered pages of `.memory.example/` anew, and the stamps of the pages whose files have changed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "shop"
        build(folder)
        _run(folder, sys.executable, "-m", "memctl", "review", *MARKERS)
        _run(folder, sys.executable, "-m", "memctl", "render", "--force")
        for part in ("details", "docs"):
            shutil.rmtree(MEMORY / part)
            shutil.copytree(folder / ".memory" / part, MEMORY / part)
        shutil.copy(folder / ".memory" / ".gitattributes", MEMORY)


def _commit(folder: Path, moment: str, subject: str, paths: tuple[str, ...]) -> None:
    _run(folder, "git", "add", "--", *paths)
    dates = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
    _run(folder, "git", "commit", "-qm", subject, env=dates)


def _run(folder: Path, *command: str, env: dict[str, str] | None = None) -> None:
    world = {"HOME": str(folder.parent), "PATH": os.environ["PATH"], **WORLD}
    own = {"MEMCTL_NOW": NOW, "MEMCTL_AGENT": "mira", **(env or {})}
    subprocess.run(command, cwd=folder, env={**world, **own}, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    regenerate_example()
