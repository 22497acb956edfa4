"""The example as a repository: the code of a small shop with its history, and the memory in `.memory.example/`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from memctl.errors import MemctlError
from memctl.git import git, trust
from memctl.git.repository import open_repository
from memctl.store.place import FOLDER

# What last changed when: the memory says so of its sources. Everything else of the shop is in the first commit.
_HISTORY = (
    ("2025-09-19T10:00:00Z", "catalogue", ("src/lantern/catalogue", "migrations/0011_normalised_skus.sql")),
    ("2025-10-10T09:00:00Z", "carts", ("src/lantern/checkout/cart_store.py", "migrations/0017_carts.sql", "tools")),
    ("2025-10-17T16:00:00Z", "payments", ("src/lantern/payments", "migrations/0021_payment_event.sql")),
    ("2025-11-03T17:00:00Z", "checkout", ("src/lantern/checkout/orders.py", "tests/load")),
    ("2025-11-04T10:00:00Z", "restore", ("deploy/backup", "docs")),
)
_FIRST, _LAST = "2025-09-05T09:00:00Z", "2025-11-04T14:00:00Z"
# The example is the same everywhere: nothing of the user's settings, hooks or templates has a say in its commits.
_SETTINGS = {
    "user.name": "Mira",
    "user.email": "mira@lantern.example",
    "commit.gpgsign": "false",
    "core.hooksPath": "",
    "core.autocrlf": "false",
}


def build(folder: Path) -> None:
    """Make the repository in a folder that is not there yet, or is empty. Raises MemctlError for any other."""
    refuse_used(folder)
    shop, memory = _sources()
    ours = shutil.ignore_patterns("__pycache__", "conftest.py")
    shutil.copytree(shop, folder, ignore=ours, dirs_exist_ok=True)
    git.write(["init", "--quiet", "--initial-branch=main", "--template="], folder)
    later = [f":!{path}" for _, _, paths in _HISTORY for path in paths]
    _commit(folder, _FIRST, "service", (".", *later))
    for moment, subject, paths in _HISTORY:
        _commit(folder, moment, subject, paths)
    shutil.copytree(memory, folder / FOLDER)
    _commit(folder, _LAST, "memory", (FOLDER,))
    trust.grant(open_repository(folder))


def refuse_used(folder: Path) -> None:
    """Raise MemctlError for a folder that has anything in it."""
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise MemctlError(f"{folder} is there already", "name a folder that is not, such as `memctl demo lantern`")


def _commit(folder: Path, moment: str, subject: str, paths: tuple[str, ...]) -> None:
    settings = [word for key, value in _SETTINGS.items() for word in ("-c", f"{key}={value}")]
    dates = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
    git.write([*settings, "add", "--force", "--", *paths], folder)
    git.write([*settings, "commit", "--quiet", "--message", subject], folder, extra=dates)


def _sources() -> tuple[Path, Path]:
    """Return the folders of the shop and its memory: inside the installed package, or beside it in a checkout."""
    package = Path(sys.modules["memctl"].__path__[0])
    installed = package / "example"
    if installed.is_dir():
        return installed / "shop", installed / "memory"
    return package.parent / "tests" / "lantern", package.parent / ".memory.example"
