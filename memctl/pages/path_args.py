"""Paths that a person gives: what they may mean below the worktree's top, and what to say if they mean nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from memctl.errors import USAGE, MemctlError
from memctl.pages import repository_paths
from memctl.record import ids
from memctl.store.place import FOLDER

_NEAR = 3  # names to suggest
_SHOWN = 12  # files that a marker may mean


def readings(top: Path, folder: Path, text: str) -> list[str]:
    """What a path given by a person may mean, below the worktree's top: as seen from a folder, and from the top."""
    found = []
    for start in (os.path.realpath(folder), str(top)):
        place, name = os.path.split(os.path.normpath(os.path.join(start, text)))
        path = Path(os.path.relpath(os.path.join(os.path.realpath(place), name), top)).as_posix()
        if path != ".." and not path.startswith("../"):
            found.append(path)
    return list(dict.fromkeys(found))


def inside(names: Iterable[str], path: str) -> list[str]:
    """The files below a folder ("." for all)."""
    return sorted(name for name in names if path == "." or name.startswith(path + "/"))


def file_named(names: frozenset[str], top: Path, folder: Path, text: str) -> str:
    """The one file that a person names, by a path as seen from `folder` or from `top`, or by a §4 marker.

    Raises MemctlError if it is none of `names`, may be several, or is a folder.
    """
    if text.startswith("§4."):
        found = list(repository_paths.resolve(names, text[3:]))
    else:
        ways = readings(top, folder, text)
        found = [path for path in ways if path in names][:1] or [f"{path}/" for path in ways if inside(names, path)]
    if len(found) == 1 and not found[0].endswith("/"):
        return found[0]
    if len(found) > 1 and text.startswith("§4."):
        shown = [f"  §4.{path}" for path in found[:_SHOWN]]
        raise MemctlError("\n".join([f"{text} may be any of these:", *shown]), "give more of the path", USAGE)
    if found:
        raise MemctlError(f"{text} is a folder", f"give a file in it, such as {inside(names, found[0][:-1])[0]}", USAGE)
    for path in readings(top, folder, text):
        refuse_memory(path)
    raise unknown(names, text)


def refuse_memory(path: str) -> None:
    """Raise MemctlError if a path leads into a memory, whose files explain themselves."""
    if FOLDER in path.split("/"):
        identifier = ids.id_in_path(path)
        raise MemctlError(
            f"{path} belongs to the memory itself", f"`memctl log{f' {identifier}' if identifier else ''}` tells why"
        )


def unknown(names: Iterable[str], text: str) -> MemctlError:
    """The complaint about a path that is nothing, with the files whose names are like it."""
    from difflib import get_close_matches

    by_name: dict[str, list[str]] = {}
    for path in sorted(names):
        by_name.setdefault(path.rpartition("/")[2], []).append(path)
    alike = get_close_matches(text.rstrip("/").rpartition("/")[2], by_name, n=_NEAR)
    near = get_close_matches(text, [path for name in alike for path in by_name[name]], n=_NEAR, cutoff=0)
    hint = f"did you mean {' or '.join(near)}?" if near else "give a path as seen from here, or from the worktree's top"
    return MemctlError(f"Git knows no file {text!r}", hint, USAGE)
