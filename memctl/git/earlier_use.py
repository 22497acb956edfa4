"""Signs that memctl was used in a clone before it asked for trust: installed hooks, and commits made there."""

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from memctl.git.repository import Repository

# How reflog entries of commits begin that memctl made in this clone; pulled, picked or amended commits have others.
_COMMIT_ENTRIES = ("commit: docs(memory)", "commit (initial): docs(memory)")
_IMPORT_ENTRY = "fast-import"  # a whole reflog entry: it does not contain the commit's subject
_MOST_BYTES = 8 * 1024 * 1024  # of one reflog, from its end
_MOST_COMMITS = 200  # of each kind, the latest ones, that are looked at
_LAG = 60  # seconds at most between a commit's date and the move of its ref, which normally takes less than one


class _Import(NamedTuple):
    """A reflog entry of a `git fast-import`: the ref's commits before and after, who moved it, and when (Unix)."""

    before: str
    after: str
    who: str
    seconds: int


def was_in_use(repository: Repository) -> bool:
    """Return whether memctl was installed in this clone by `memctl install`, or made a commit in it."""
    installed = repository.shared / "installed"
    if '[merge "memctl-record"]' in repository.own_config() or (installed.is_dir() and any(installed.iterdir())):
        return True
    made: list[str] = []
    imported: list[_Import] = []
    for line in _reflogs(repository):
        head, _, entry = line.partition("\t")
        fields = head.split(" ", 2)
        if len(fields) < 3:  # the first line of a long reflog may be cut
            continue
        before, after, identity = fields
        if entry.startswith(_COMMIT_ENTRIES):
            made.append(after)
        elif entry == _IMPORT_ENTRY:
            who, _, time = identity.rpartition("> ")
            seconds = time.partition(" ")[0]
            if seconds.isdecimal():
                imported.append(_Import(before, after, f"{who}>", int(seconds)))
    return _has_operation(repository, list(dict.fromkeys(made))[-_MOST_COMMITS:]) or _has_own_import(
        repository, list(dict.fromkeys(imported))[-_MOST_COMMITS:]
    )


def _has_operation(repository: Repository, made: list[str]) -> bool:
    """Return whether the message of one of some commits names an operation of memctl's.

    A subject with memctl's prefix is not enough: people and agents write it, too, when they commit an edit with Git.
    """
    if not made:
        return False
    from memctl.git import message

    texts = [(found.data or b"").decode(errors="replace") for found in repository.objects.read(made) if found]
    return any(message.parse(text.partition("\n\n")[2]).ops for text in texts)


def _has_own_import(repository: Repository, imported: list[_Import]) -> bool:
    """Return whether memctl made one of some imported commits in this clone.

    Such a commit's parent is the former tip of its ref, its committer is the one who moved the ref, and both have the
    same time. These are checked since `git filter-repo` and bridges to other systems also move refs by fast-import,
    with commits of other people, and anybody can write our user's name into a commit.
    """
    if not imported:
        return False
    from memctl.git import message

    commits = repository.objects.read([checkout.after for checkout in imported])
    for checkout, commit in zip(imported, commits, strict=True):
        if commit is None or commit.kind != "commit":
            continue
        head, _, text = (commit.data or b"").decode(errors="replace").partition("\n\n")
        lines = head.split("\n")
        parents = [line.removeprefix("parent ") for line in lines if line.startswith("parent ")]
        is_next = parents == [checkout.before] if checkout.before.strip("0") else not parents
        made = next((line for line in lines if line.startswith(f"committer {checkout.who} ")), "").split(" ")
        is_of_then = len(made) > 2 and made[-2].isdecimal() and abs(int(made[-2]) - checkout.seconds) <= _LAG
        if is_next and is_of_then and message.parse(text).ops:
            return True
    return False


def _reflogs(repository: Repository) -> Iterator[str]:
    """Yield the lines of the reflogs of HEAD, in all worktrees, and of the branches."""
    logs = repository.common_dir / "logs"
    heads = [logs / "HEAD", *sorted((repository.common_dir / "worktrees").glob("*/logs/HEAD"))]
    for file in (*heads, *sorted((logs / "refs" / "heads").rglob("*"))):
        with suppress(OSError), open(file, "rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - _MOST_BYTES))
            yield from stream.read().decode(errors="replace").splitlines()
