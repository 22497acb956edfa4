"""Git hooks in the worktree that a commit would run, and that agents may have edited.

An agent may record without asking, and each record is a commit: whoever can edit `.husky/pre-commit` could have it run.
So a commit for an agent waits while such a file differs both from HEAD and from what it was when a person's commit last
ran it. The same holds for moving a ref of session pages if that runs a hook. Programs that an unchanged hook starts
(tests, linters) are not checked.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from memctl.errors import MemctlError
from memctl.git import hooks, private, trees
from memctl.git.repository import Repository

_ACCEPTED = "accepted-hooks.json"  # blobs by path of hooks that differ from HEAD and that a person's commit ran
_OF_REFS = ("reference-transaction",)  # the hooks that Git runs when a ref moves
_PATH = re.compile(rb"[\w.@+/-]+")
_READ = 256 * 1024  # bytes of a hook that are searched for names of files
# Settings that hook managers read at the worktree's top; their hooks do not name them.
_CONFIGS = {
    b"pre-commit": (".pre-commit-config.yaml",),
    b"lefthook": tuple(
        f"{dot}lefthook{local}.{ending}"
        for dot in ("", ".")
        for local in ("", "-local")
        for ending in ("yml", "yaml", "toml", "json")
    ),
    b"overcommit": (".overcommit.yml", ".local-overcommit.yml"),
    b"husky": (".huskyrc", ".huskyrc.json", ".huskyrc.js"),
}


class EditedHook(MemctlError):
    """Raised if a step of an agent's session would run a hook that somebody has edited."""


def refuse_move(repository: Repository, ref: str) -> None:
    """Raise EditedHook if moving `ref` for an agent would run a reference-transaction hook that was edited."""
    if edited := find_edited(repository, repository.branch()[1], _OF_REFS):
        raise EditedHook(
            f"{edited}, and moving {ref} would run it: no edited Git hook runs for an agent",
            "commit the hook; or the user's next write with memctl accepts it",
        )


def find_edited(repository: Repository, head: str, names: Collection[str] = ()) -> str:
    """Return the first edited hook that a commit on `head` would run, such as ".husky/pre-commit differs from HEAD".

    "" if there is none. `head` is "" before the first commit. With `names` only hooks with one of these names are
    checked. Git is started only if hooks are in the worktree or name files in it.
    """
    paths = list(dict.fromkeys(_run_from_worktree(repository, names)))
    if not paths:
        return ""
    known, there = _blobs(repository, head, paths)
    accepted = _accepted(repository)
    for path in paths:
        if there[path] not in (known.get(path), accepted.get(path)):
            return f"{path} {'differs from' if path in known else 'is not in'} HEAD"
    return ""


def accept(repository: Repository, head: str) -> None:
    """Store the present contents of the worktree's hooks as accepted, since a person's commit on `head` runs them.

    From then on agents' commits may run these hooks, even those that are in no commit, such as husky's own files.
    """
    paths = list(dict.fromkeys(_run_from_worktree(repository)))
    known, there = _blobs(repository, head, paths)
    unlike = {path: blob for path, blob in there.items() if known.get(path) != blob}
    if unlike == _accepted(repository):
        return
    with suppress(OSError):  # the disk is full or read-only: an agent's commit waits for the next one of a person
        file = repository.shared / _ACCEPTED
        with open(private.open_file(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w") as stream:
            json.dump(unlike, stream)


def _accepted(repository: Repository) -> dict[str, str]:
    try:
        found = json.loads((repository.shared / _ACCEPTED).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _blobs(repository: Repository, head: str, paths: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the blobs of some files by path: at `head`, as far as they are there, and on the disk."""
    known = trees.blobs_of(repository, head, paths) if head and paths else {}
    return known, trees.blobs_on_disk(repository, paths) if paths else {}


def _run_from_worktree(repository: Repository, names: Collection[str] = ()) -> Iterator[str]:
    """Yield the files of the worktree that are a hook (of some names, if any are given), lie beside one, configure one
    or are named in one of these, the hooks themselves first."""
    found = [file for file in repository.hooks_of_commit() if not names or file.name in names]
    found = [file for file in found if not hooks.is_ours_alone(repository, file)]
    if not found:
        return
    folder = repository.hooks_folder()
    texts = {file: _text(file) for file in found}
    words = b"\n".join(texts.values())
    if _inside(repository, folder):
        texts |= {file: _text(file) for file in _below(repository, hooks.editable_folder(folder))}
    texts |= {
        file: _text(file)
        for word, names in _CONFIGS.items()
        for file in (repository.top / name for name in names)
        if word in words and file.is_file()
    }
    for file, text in texts.items():
        named = {os.fsdecode(name).lstrip("/") for name in _PATH.findall(text)}
        for candidate in (file, *(repository.top / name for name in named), *(file.parent / name for name in named)):
            if (path := _inside(repository, candidate)) and os.path.isfile(candidate):
                yield path


def _below(repository: Repository, folder: Path) -> Iterator[Path]:
    """Yield the files in a folder of hooks; none for the worktree's top, which somebody may have made that folder."""
    if _inside(repository, folder):
        for base, _, names in os.walk(folder):
            yield from (Path(base, name) for name in sorted(names) if name != ".gitignore")


def _inside(repository: Repository, file: Path) -> str:
    """Return the path below the worktree's top of what a file is, links followed; "" of one that lies elsewhere, in
    Git's own folder, or is the top."""
    try:
        real = Path(os.path.realpath(file))
    except (OSError, ValueError):
        return ""
    if not real.is_relative_to(repository.top) or real.is_relative_to(repository.common_dir):
        return ""
    path = real.relative_to(repository.top).as_posix()
    return "" if path == "." or path.startswith(".git/") else path


def _text(file: Path) -> bytes:
    try:
        with open(file, "rb") as stream:
            return stream.read(_READ)
    except OSError:
        return b""
