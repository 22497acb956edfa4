"""Finding a memory: the nearest `.memory/` in a folder or above it, within the worktree."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from memctl.errors import USAGE, MemctlError
from memctl.git.repository import find_top, open_repository
from memctl.text.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.git.status import StatusProcess

FOLDER = ".memory"
CONFIG = "config.yaml"
BATCH = "batch"  # the file by which a memctl before `commits: later` marked an open batch of changes
DOCUMENTS = "docs"  # the folder of the rendered documents
JOBS = "undone"  # the folder of the jobs that hooks left (`store.job_queue`), beside the folders of sessions
LAST = "last"  # the file with the id of the last record that was recorded in the worktree
STEPS = "intents"  # the folder of two-phase steps (`write.ownership_transaction`)
MOVE = "move.json"  # the file of a move of the worktree to another commit (`write.checkout_log`)
RESTORE = (
    f"Git has the memory's files: `git restore :/{FOLDER}` brings them back, or in a sparse checkout `git "
    f"sparse-checkout add {FOLDER}`"
)


def find(start: Path) -> tuple[Path, Path]:
    """Return the worktree's top and the folder of the memory at or above `start`; raises MemctlError if none."""
    start = Path(os.path.realpath(start))
    if not start.is_dir():
        raise MemctlError(f"{start} is not a folder", exit_code=USAGE)
    top = find_top(start)
    for folder in (start, *start.parents):
        candidate = folder / FOLDER
        refuse_link(candidate)
        refuse_repository(candidate)
        if (candidate / CONFIG).is_file():
            return top, candidate
        if candidate.is_dir():
            refuse_foreign(candidate)
        if folder == top:
            break
    raise MemctlError(f"there is no memory in {top}", _hint(top), kind="no-memory")


def _hint(top: Path) -> str:
    """Return what to do about a worktree without a memory; raises MemctlError if it can have none."""
    from memctl.git import index  # somebody may have deleted the folder

    open_repository(top)
    if index.is_tracked(top, f"{FOLDER}/{CONFIG}"):
        return RESTORE
    if above := next((folder for folder in top.parents if (folder / FOLDER / CONFIG).is_file()), None):
        return (
            f"{top} is a repository of its own, such as a submodule, inside of {above}, which has a memory: `memctl -C"
            f" {shlex.quote(str(above))} …` uses that, and `memctl init` creates another one here"
        )
    return "`memctl init` creates one"


def refuse_repository(folder: Path) -> None:
    """Raise MemctlError if a `.memory/` is a submodule or another Git repository of its own."""
    if (folder / ".git").exists():
        raise MemctlError(
            f"{folder} is a Git repository of its own, such as a submodule",
            "memctl keeps a memory in the repository of its project: make it an ordinary folder there",
        )


def ask(start: Path, *, settings: bool = False) -> StatusProcess:
    """Start a `git status` of the files of the memory at or above `start`, and return the running process.

    With `settings` it also prints those of memctl's settings that `git.traced_settings` reads. Raises MemctlError if
    there is no memory. This function needs few modules, so that Git runs while Python imports the others.
    """
    from memctl.git.status import StatusProcess  # most hooks don't need it

    top, memory = find(start)
    return StatusProcess(open_repository(top), memory.relative_to(top).as_posix(), settings=settings)


def refuse_link(folder: Path) -> None:
    """Raise MemctlError if a `.memory/` is a symbolic link."""
    if folder.is_symlink():
        raise MemctlError(
            f"{folder} is a symbolic link", "memctl does not follow links: replace the link with a folder"
        )


def refuse_foreign(folder: Path) -> None:
    """Raise MemctlError if the `.memory/` folder belongs to another tool."""
    for name in ("memory.db", "config.json"):
        if (folder / name).exists() and not (folder / CONFIG).exists():
            raise MemctlError(
                f"{folder} belongs to another tool, since it has the file {name}",
                "memctl does not change the folder of another tool; move it away first",
            )
