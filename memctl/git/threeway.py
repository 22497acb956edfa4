"""Three-way merges: Git's own of texts, and the like of lists and of the order of names."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from memctl.git import git

T = TypeVar("T")
Preference = Literal["", "ours", "theirs"]  # whose lines stand where both sides changed the same; "" for markers

_NAMES = ("ours", "base", "theirs")
# Whatever the user prefers elsewhere, the same two versions always give the same text.
_COMMAND = ("-c", "merge.conflictStyle=merge", "merge-file", "-p", *(f"-L{name}" for name in _NAMES))
_FAILED = 128  # from here on the exit code of `git merge-file` is no count of conflicts (git-merge-file(1))


def texts(base: str, ours: str, theirs: str, *, prefer: Preference = "") -> tuple[str, int]:
    """Merge two texts line by line: the result, with markers around what conflicts, and the number of conflicts.

    If one side is preferred, its lines stand instead of each conflict, and there is none.
    Bytes that are not UTF-8 stand in the texts as `surrogateescape` gives them. Raises GitFailed for what Git takes
    for binary.
    """
    with tempfile.TemporaryDirectory(prefix="memctl-") as name:
        folder = Path(name)
        for version, text in zip(_NAMES, (ours, base, theirs), strict=True):
            (folder / version).write_bytes(text.encode(errors="surrogateescape"))
        process = git.start([*_COMMAND, *([f"--{prefer}"] if prefer else []), *_NAMES], folder)
        out, err = process.communicate()
    if process.returncode < 0 or process.returncode >= _FAILED:
        raise git.GitFailed(["merge-file"], process.returncode, err.decode(errors="replace"))
    return out.decode(errors="surrogateescape"), process.returncode


def lists(base: Sequence[T], ours: Sequence[T], theirs: Sequence[T], key: Callable[[T], Hashable]) -> list[T]:
    """What either list added, without what either removed: in the order of `ours`, then what is only in `theirs`.

    Two items are the same if their keys are.
    """
    before, one = ({key(item) for item in side} for side in (base, ours))
    other = {key(item): item for item in reversed(theirs)}
    kept = [item for item in ours if key(item) in other or key(item) not in before]
    added = {key(item): item for item in theirs if key(item) not in before | one}
    return [*kept, *added.values()]


def names(base: list[str], ours: list[str], theirs: list[str], order: Sequence[str]) -> list[str]:
    """The names of both sides, each once: in the order of `ours`, unless only `theirs` moved some.

    A name of the other side alone goes behind the one before it there; two that would stand in one place stand as in
    `base` or as `order` has them. The name "", of what precedes all names, stays first.
    """
    first, second = (theirs, ours) if _moved(base, theirs) and not _moved(base, ours) else (ours, theirs)
    found = list(first)
    for index, name in enumerate(second):
        if name in found:
            continue
        place = found.index(second[index - 1]) + 1 if index else 0
        while place < len(found) and found[place] not in second and not _precedes(name, found[place], base, order):
            place += 1
        found.insert(place, name)
    return found


def _moved(base: list[str], side: list[str]) -> bool:
    return [name for name in base if name in side] != [name for name in side if name in base]


def _precedes(name: str, other: str, *orders: Sequence[str]) -> bool:
    known = next((order for order in orders if name in order and other in order), ())
    return not name or (bool(known) and known.index(name) < known.index(other))
