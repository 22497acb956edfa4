"""Git hooks in the worktree that a commit would run, and that an agent may have edited.

An agent may write records without asking the user, and each record is a commit, which runs hooks. So an agent that
edits `.husky/pre-commit` could get any program to run. Therefore an agent's commit waits while a hook's file differs
both from HEAD and from the content that a person's commit ran last. If Git has a hook for moves of refs, an agent's
pages of sessions, which memctl stores on a ref of its own, wait in the same way. Programs that an unchanged hook starts
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
from memctl.git import hooks, private_files, trees
from memctl.git.repository import Repository

_ACCEPTED = "accepted-hooks.json"  # blobs by path of hooks that differ from HEAD and that a person's commit ran
_REF_HOOKS = ("reference-transaction",)  # the hooks that Git runs when a ref moves
_PATH = re.compile(rb"[\w.@+/-]+")
_HOOK_BYTES = 256 * 1024  # bytes of a hook that are searched for names of files
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
    """Raised if an agent's commit would run a Git hook that differs from the one in HEAD."""


def refuse_move(repository: Repository, ref: str) -> None:
    """Raise EditedHook if moving `ref` for an agent would run an edited reference-transaction hook."""
    if edited := find_edited(repository, repository.branch()[1], _REF_HOOKS):
        raise EditedHook(
            f"the Git hook {edited}; changing {ref} would run it, and an agent may not run a hook that was edited",
            "commit the hook, or ask the user to record anything, such as with `memctl issue`: a person's commit"
            " accepts the hook as it is then",
        )


def find_edited(repository: Repository, head: str, names: Collection[str] = ()) -> str:
    """Return a phrase about the first edited hook that an agent's commit would run; "" if there is none.

    An example is ".husky/pre-commit differs from HEAD". `head` is the id of HEAD's commit, "" before the first one.
    `names` limits the check to the hooks with these names, such as "pre-commit"; without names all hooks are checked.
    """
    paths = list(dict.fromkeys(_hook_files(repository, names)))
    if not paths:
        return ""
    in_head, on_disk = _blob_ids(repository, head, paths)
    accepted = _accepted(repository)
    for path in paths:
        if on_disk[path] not in (in_head.get(path), accepted.get(path)):
            return f"{path} {'differs from' if path in in_head else 'is not in'} HEAD"
    return ""


def accept(repository: Repository, head: str) -> None:
    """Store the present contents of the worktree's hooks as accepted, because a person's commit runs these hooks now.

    `head` is the id of HEAD's commit. From then on agents' commits may run the hooks, even hooks that are in no commit,
    such as husky's own files.
    """
    paths = list(dict.fromkeys(_hook_files(repository)))
    in_head, on_disk = _blob_ids(repository, head, paths)
    differing = {path: blob for path, blob in on_disk.items() if in_head.get(path) != blob}
    if differing == _accepted(repository):
        return
    with suppress(OSError):  # the disk is full or read-only: an agent's commit waits for the next one of a person
        file = repository.shared / _ACCEPTED
        with open(private_files.open_file(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w") as stream:
            json.dump(differing, stream)


def _accepted(repository: Repository) -> dict[str, str]:
    try:
        accepted = json.loads((repository.shared / _ACCEPTED).read_bytes())
    except (OSError, ValueError):
        return {}
    return accepted if isinstance(accepted, dict) else {}


def _blob_ids(repository: Repository, head: str, paths: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    in_head = trees.blob_ids(repository, head, paths) if head and paths else {}
    return in_head, trees.worktree_blob_ids(repository, paths) if paths else {}


def _hook_files(repository: Repository, names: Collection[str] = ()) -> Iterator[str]:
    """Yield the paths of the worktree's files that decide what a commit's hooks do, the hooks first.

    They are the hooks (only those called one of `names`, if given), the files beside them, the settings of hook
    managers, and the files whose names any of these contains.
    """
    files = [file for file in repository.hooks_of_commit() if not names or file.name in names]
    files = [file for file in files if not hooks.is_ours_alone(repository, file)]
    if not files:
        return
    folder = repository.hooks_folder()
    texts = {file: _hook_text(file) for file in files}
    words = b"\n".join(texts.values())
    if _worktree_path(repository, folder):
        texts |= {file: _hook_text(file) for file in _files_below(repository, hooks.editable_folder(folder))}
    texts |= {
        file: _hook_text(file)
        for word, names in _CONFIGS.items()
        for file in (repository.top / name for name in names)
        if word in words and file.is_file()
    }
    for file, text in texts.items():
        mentioned = {os.fsdecode(name).lstrip("/") for name in _PATH.findall(text)}
        for candidate in (
            file,
            *(repository.top / name for name in mentioned),
            *(file.parent / name for name in mentioned),
        ):
            if (path := _worktree_path(repository, candidate)) and os.path.isfile(candidate):
                yield path


def _files_below(repository: Repository, folder: Path) -> Iterator[Path]:
    """With `core.hooksPath=.` the folder is the worktree's top, and its files are no hooks."""
    if _worktree_path(repository, folder):
        for base, _, names in os.walk(folder):
            yield from (Path(base, name) for name in sorted(names) if name != ".gitignore")


def _worktree_path(repository: Repository, file: Path) -> str:
    """Return the path of a file relative to the worktree's top, with links resolved.

    "" if the file is outside of the worktree, in Git's own folder, or the top itself.
    """
    try:
        real = Path(os.path.realpath(file))
    except (OSError, ValueError):
        return ""
    if not real.is_relative_to(repository.top) or real.is_relative_to(repository.common_dir):
        return ""
    path = real.relative_to(repository.top).as_posix()
    return "" if path == "." or path.startswith(".git/") else path


def _hook_text(file: Path) -> bytes:
    try:
        with open(file, "rb") as stream:
            return stream.read(_HOOK_BYTES)
    except OSError:
        return b""
