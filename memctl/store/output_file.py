"""Writing a file that the user named (`--out FILE`, `--svg FILE`), but not through a link that the repository contains.

A foreign repository can contain a symbolic link with a name that users often choose, such as `context.md -> ~/.bashrc`,
and a record whose text is a shell command. So links in a worktree are refused if Git tracks them, or if they lead out
of the worktree. Git's own files are refused, too, since Git's settings can name programs to run.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from memctl.errors import MemctlError
from memctl.git import git
from memctl.git.repository import find_top
from memctl.store import agent_env, files

_MOST_LINKS = 40  # that Linux follows on the way to one file, path_resolution(7)


def write(file: Path, text: str) -> None:
    """Write `text` to a file atomically; a device or pipe is opened and written to. Raises MemctlError."""
    refuse(file)
    try:
        if file.exists() and not file.is_file():
            file.write_bytes(text.encode())
        else:
            files.replace(Path(os.path.realpath(file)), text)
    except OSError as error:
        raise MemctlError(f"{file} can't be written: {error.strerror}") from None


def refuse(file: Path) -> None:
    """Raise MemctlError if `write` would refuse a file, or could not write it; nothing is written.

    A caller that does something that can't be undone, such as deleting, calls this before.
    """
    refuse_place(file)
    folder = Path(os.path.realpath(file)).parent
    if not folder.is_dir():
        raise MemctlError(f"{file} can't be written: there is no folder {folder}")
    if not os.access(folder if file.is_file() or not file.exists() else file, os.W_OK):
        raise MemctlError(f"{file} can't be written: {os.strerror(errno.EACCES)}")


def refuse_place(file: Path) -> None:
    """Raise MemctlError if a file or folder is at a place where memctl does not write, as `write` does."""
    refuse_outside(file)
    for link in _links(file):
        _refuse_link(file, link)
    _refuse_gits_own(file)


def refuse_outside(file: Path) -> None:
    """Raise MemctlError if an agent wants to write outside of the worktree in which it runs; a pipe is allowed."""
    if agent_env.may_write_outside(os.environ) or (file.exists() and not file.is_file() and not file.is_dir()):
        return
    try:
        top = find_top(Path())
    except MemctlError:
        return  # there is no repository that could have told the agent to
    if not Path(os.path.realpath(file)).is_relative_to(top):
        raise MemctlError(
            f"{file} is not written: it is outside of this repository, where agents, and programs without a terminal,"
            " may not write",
            "give a file in the repository, or run the command yourself; a script can set MEMCTL_AGENT to its name",
        )


def _links(file: Path) -> Iterator[Path]:
    absolute = file.absolute()
    current, rest = Path(absolute.anchor), list(absolute.parts[1:])
    number = 0
    while rest:
        part = rest.pop(0)
        step = current.parent if part == ".." else current / part
        if not step.is_symlink():
            current = step
            continue
        number += 1
        if number > _MOST_LINKS:
            raise MemctlError(f"{file} can't be written: {os.strerror(errno.ELOOP)}")
        yield step
        target = Path(os.readlink(step))
        current = Path(target.anchor) if target.is_absolute() else current
        rest = [*target.parts[target.is_absolute() :], *rest]


def _refuse_link(file: Path, link: Path) -> None:
    try:
        top = find_top(link.parent)
    except MemctlError:
        return  # it is in no worktree, so no repository brought it
    target = Path(os.path.realpath(link))
    if not target.is_relative_to(top):
        why = f"leads out of the worktree, to {target}"
    elif git.read(["ls-files", "-z", "--", link.relative_to(top).as_posix()], top):
        why = f"is tracked by Git, and leads to {target}"
    else:
        return
    raise MemctlError(f"{file} is not written: the symbolic link {link} {why}", "give the path of the file itself")


def _refuse_gits_own(file: Path) -> None:
    target = Path(os.path.realpath(file))
    for place in (target, *target.parents):
        if place.name.casefold() == ".git" or all((place / name).exists() for name in ("HEAD", "objects", "refs")):
            raise MemctlError(
                f"{file} is not written: {place} is a folder of Git's own files", "give a path outside of Git's folder"
            )
        if (place / ".git").exists():
            return  # a worktree, which may lie in a bare repository
