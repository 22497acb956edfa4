"""The Git hooks of a clone: where they are, who wrote them, and memctl's own script.

The user's hook is moved to a file beside ours, and our script calls it. It is not rewritten, since it may be a binary,
a link or a Python program, and may `exec` or `exit`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from memctl.errors import MemctlError
from memctl.git import git
from memctl.git.repository import Repository

HOOKS = ("pre-commit", "pre-merge-commit", "post-merge")
FORMER = ("post-commit", "post-checkout")  # of older versions; what they call does nothing any more
BACKUP = ".before-memctl"  # the end of the name to which the user's hook is moved

_SCRIPT = """\
#!/bin/sh
# memctl hook STAMP
# Written by `memctl install git`; `memctl install git --uninstall` takes it away. Changes do not belong here:
# the hook that was here before is NAME.before-memctl and runs first.
case $0 in */*) here=$(CDPATH= cd -- "${0%/*}" && pwd) ;; *) here=$PWD ;; esac
case ":$MEMCTL_HOOKS:" in *":$here/NAME:"*) exit 0 ;; esac # the hook that runs first has come back here
if [ -x "$here/NAME.before-memctl" ]; then
    MEMCTL_HOOKS="$MEMCTL_HOOKS:$here/NAME" "$here/NAME.before-memctl" "$@" || exit
fi
case $MEMCTL_HOOKS in *":$here/"*) exit 0 ;; esac # the hook that has called this one runs memctl

run() {
    for program in PROGRAMS; do
        command -v "$program" >/dev/null || continue
        "$program" -C "$folder" "$@"
        code=$?
        [ $code -ne 126 ] && [ $code -ne 127 ] || continue # it is there and does not start
        [ $code -eq 0 ] || exit $code
        return
    done
    echo "memctl was not found: this commit goes through without a check of the memory" >&2
    exit 0
}

for folder in FOLDERS; do
    [ -f "$folder/.memory/config.yaml" ] || continue # this branch has no memory there
BODY
done
exit 0
"""
_BODIES = {
    "pre-commit": """\
    [ ! -e "$(git rev-parse --git-path MERGE_HEAD)" ] || run render --staged # a merge is being concluded
    run check --staged""",
    "pre-merge-commit": """\
    run render --staged
    run check --staged""",
    # Git has made the tree of a merge before it runs pre-merge-commit: what that hook stages is not in the commit.
    "post-merge": """\
    [ "$1" != 0 ] || run render --merged""",
}
_MANUAL_LINES = {
    "pre-commit": """\
    [ ! -e "$(git rev-parse --git-path MERGE_HEAD)" ] || MEMCTL render --staged || exit
    MEMCTL check --staged || exit""",
    "pre-merge-commit": """\
    MEMCTL render --staged && MEMCTL check --staged || exit""",
    "post-merge": """\
    [ "$1" != 0 ] || MEMCTL render --merged""",
}
_CALL = re.compile(rb"^[^#\n]*\bmemctl\b[^\n]* (?:check --staged|render --merged|commit --batch)\b", re.MULTILINE)
_FOLDER_NOTE = "# The folder of this hook was made for it, and goes with it if nothing else is in there.\n"
_STAMP = re.compile(rb"^# memctl hook ([0-9a-f]{16})\n", re.MULTILINE)
_FOLDERS = re.compile(rb"^for folder in (.*?); do$", re.MULTILINE | re.DOTALL)
_FRAMEWORK = b"138fd403232d2ddd5efb44317e38bf03"  # the digest by which every version of pre-commit recognises its hook
# Hooks that act by the name of their file; husky 4 and overcommit look it up in another file.
_OWN_NAME = re.compile(
    rb"basename\W+(?:\$0|\$PROGRAM_NAME|sys\.argv\[0\]|__file__)|\$\{0##|husky\.sh|overcommit", re.IGNORECASE
)


class Hook(msgspec.Struct, frozen=True):
    """A hook's file, and who wrote it.

    `whose` is "nobody's" for a missing file, "ours" for memctl's script as it was installed, "ours, changed" for one
    that somebody edited, and "the user's" for any other. `data` is the content of the file, or of a link's target; a
    link is always the user's.
    """

    file: Path
    whose: Literal["nobody's", "ours", "ours, changed", "the user's"]
    data: bytes = b""

    @property
    def is_framework(self) -> bool:
        """Whether the hook is that of the pre-commit framework."""
        return self.whose == "the user's" and _FRAMEWORK in self.data

    @property
    def asks_for_its_name(self) -> bool:
        """Whether the hook's script reads its own file name, so that it would do something else under another name."""
        return b"\0" not in self.data and _OWN_NAME.search(self.data) is not None

    @property
    def memories(self) -> list[str]:
        """The folders whose memories a hook of ours checks, relative to the worktree's top."""
        match = _FOLDERS.search(self.data) if self.whose == "ours" else None
        return shlex.split(os.fsdecode(match[1])) if match else []

    @property
    def made_its_folder(self) -> bool:
        """Whether memctl made the hooks' folder for this hook, and deletes it with the hook if it is then empty."""
        return self.whose == "ours" and self.data.endswith(_FOLDER_NOTE.encode())


class HookChange(msgspec.Struct, frozen=True):
    """The changes to one hook's files. They are made in the order below; a change whose field is empty is left out.

    First the user's hook in `file` is moved to `keep`. Then `file` gets the text `text`, in place of the text `old`.
    Then the user's hook in `back` is moved back to `file`. Then the files in `deletes` are deleted. Then, with `prune`,
    the hooks' folder is deleted if it is empty.
    """

    file: Path
    keep: Path | None = None
    text: str | None = None
    old: str = ""
    back: Path | None = None
    deletes: tuple[Path, ...] = ()
    prune: bool = False


def folder(repository: Repository) -> Path:
    """Return the folder in which Git looks for the hooks of this clone, by `core.hooksPath`, with links resolved."""
    path = os.fsdecode(git.read(["rev-parse", "--git-path", "hooks"], repository.top)).removesuffix("\n")
    return repository.top / path


def is_private(repository: Repository, place: Path) -> bool:
    """Return whether a folder belongs to this clone alone: with links resolved, it is in the Git directory."""
    return Path(os.path.realpath(place)).is_relative_to(repository.common_dir)


def editable_folder(place: Path) -> Path:
    """Return the folder in which people write the hooks that Git runs from the folder `place`.

    That is `.husky` for `.husky/_`, which husky generates from version 9 on, and `place` for any other.
    """
    return place.parent if place.name == "_" and place.parent.name == ".husky" else place


def calls_memctl(file: Path) -> bool:
    """Return whether a hook's file calls memctl, as the lines of `manual_lines` do; comments do not count."""
    try:
        return _CALL.search(file.read_bytes()) is not None
    except OSError:
        return False


def inspect(file: Path) -> Hook:
    """Return the hook in a file, with who wrote it; raises MemctlError if the file is a folder."""
    try:
        mode = os.lstat(file).st_mode
    except FileNotFoundError:
        return Hook(file, "nobody's")
    if stat.S_ISDIR(mode):
        raise MemctlError(f"{file} is a folder, but Git expects a hook with this name", f"move {file} away first")
    data = file.read_bytes() if file.is_file() else b""
    stamp = _STAMP.search(data)
    if stamp is None or not stat.S_ISREG(mode):
        return Hook(file, "the user's", data)
    pristine = _digest(data[: stamp.start()] + data[stamp.end() :]).encode() == stamp[1]
    return Hook(file, "ours" if pristine else "ours, changed", data)


def is_ours_alone(repository: Repository, file: Path) -> bool:
    """Return whether a hook is memctl's, unchanged, in the clone's private folder, and calls no hook of the user's."""
    try:
        pristine = inspect(file).whose == "ours"
    except (OSError, MemctlError):
        return False
    return pristine and is_private(repository, file.parent) and not os.path.lexists(file.with_name(file.name + BACKUP))


def equal(one: Path, other: Path) -> bool:
    """Return whether two hook files have equal contents and modes, so that one can be deleted without loss.

    A link equals only itself.
    """
    first, second = os.lstat(one), os.lstat(other)
    if os.path.samestat(first, second):
        return True
    plain = stat.S_ISREG(first.st_mode) and first.st_mode == second.st_mode
    return plain and one.read_bytes() == other.read_bytes()


def script(name: str, memories: Sequence[str], program: str, made: bool) -> str:
    """Return the script of the hook `name`, such as pre-commit, that checks the memories in some folders.

    `memories` are folders relative to the worktree's top. `program` is the path of a memctl to use if none is on the
    PATH ("" for none). `made` says that the hooks' folder was created for the hook. The second line has a digest of all
    the other lines, which shows later whether somebody edited the script.
    """
    programs = ["memctl", *([program] if program else [])]
    values = {"NAME": name, "BODY": _BODIES[name], "FOLDERS": shlex.join(memories), "PROGRAMS": shlex.join(programs)}
    text = re.sub("|".join(values), lambda match: values[match[0]], _SCRIPT) + (_FOLDER_NOTE if made else "")
    head, _, rest = text.partition("# memctl hook STAMP\n")
    return f"{head}# memctl hook {_digest(os.fsencode(head + rest))}\n{rest}"


def manual_lines(name: str, memory: str) -> str:
    """Return the lines that a user can add to a hook of their own in place of our script.

    `name` is the hook's name, such as pre-commit, and `memory` the folder that contains the `.memory/`, relative to the
    worktree's top.
    """
    at_top = memory == "."
    values = {
        "CONFIG": ".memory/config.yaml" if at_top else shlex.quote(f"{memory}/.memory/config.yaml"),
        "MEMCTL": "memctl" if at_top else f"memctl -C {shlex.quote(memory)}",
    }
    lines = f"if [ -f CONFIG ] && command -v memctl >/dev/null; then\n{_MANUAL_LINES[name]}\nfi\n"
    return re.sub("|".join(values), lambda match: values[match[0]], lines)


def apply(change: HookChange) -> None:
    """Change the files of a hook. At every moment Git finds the old hook or the new one."""
    if change.keep:
        _move_aside(change.file, change.keep)
    if change.text is not None:
        _write(change.file, change.text)
    if change.back:
        os.replace(change.back, change.file)
    for file in change.deletes:
        file.unlink(missing_ok=True)
    if change.prune:
        with suppress(OSError):  # something else is in it
            change.file.parent.rmdir()


def _digest(rest: bytes) -> str:
    return hashlib.blake2b(rest, digest_size=8).hexdigest()


def _move_aside(file: Path, backup: Path) -> None:
    try:
        os.link(file, backup, follow_symlinks=False)  # a second name first, so that Git finds a hook all the while
    except FileExistsError:
        raise MemctlError(
            f"another program has just written {backup}, where memctl keeps your hook", "run the command again"
        ) from None
    except (OSError, NotImplementedError):  # a file system without such links
        os.rename(file, backup)


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.parent / f".memctl-{file.name}"
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o777)
    with open(descriptor, "wb") as stream:
        stream.write(os.fsencode(text))
    os.replace(temporary, file)
