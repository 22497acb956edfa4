"""Git's lock files: finding the one that blocks a command, such as that of a killed git process.

Git makes `X.lock` beside a file X that it is about to replace, and deletes it at the end, unless it is killed by force.
Every later command that needs X then fails until somebody deletes the lock (`refs/heads/main.lock`, `HEAD.lock`,
`packed-refs.lock`, `config.lock`, `index.lock`).
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path

from memctl.errors import MemctlError

# "Unable to create '/repo/.git/refs/heads/main.lock': File exists." (lockfile.c), in any language of Git's
_LOCK_FILE = r"[^\w/.](/[^'\"\n]{1,4096}?\.lock)\b"  # compiled when one is wanted: every hook imports this
_LOCK_FILE_WITH_QUOTE = r"[^\w/.](/[^\n]{1,4096}?\.lock)\b"  # in a folder such as "Bob's work"
_CONFIG_FILE = r"could not lock config file ([^\n]{1,4096}): "  # names the file that is locked (config.c)


def parse(stderr: str, top: Path) -> Path | None:
    """Return the lock file that made a Git command fail; None if the command's error output `stderr` names none.

    `top` is the worktree's root, to which some of Git's messages are relative.
    """
    if match := re.search(_LOCK_FILE, stderr) or re.search(_LOCK_FILE_WITH_QUOTE, stderr):
        return Path(match[1])
    if match := re.search(_CONFIG_FILE, stderr):
        return top / f"{match[1]}.lock"
    return None


def existing(git_dir: Path, common_dir: Path, branch: str) -> list[Path]:
    """Return the existing lock files that would prevent a commit.

    `git_dir` is the worktree's own Git directory, `common_dir` the one that all worktrees share, and `branch` HEAD's
    branch (refs/heads/…), "" for none.
    """
    wanted = [git_dir / name for name in ("index", "HEAD")]
    wanted += [common_dir / name for name in ("HEAD", "config", "packed-refs", "shallow", branch) if name]
    return [lock for file in dict.fromkeys(wanted) if (lock := file.with_name(f"{file.name}.lock")).exists()]


class LockHeld(MemctlError):
    """Raised if a Git process keeps the file `lock` longer than memctl waits."""

    def __init__(self, lock: Path) -> None:
        super().__init__(*describe(lock))


def describe(lock: Path) -> tuple[str, str]:
    """Return a message that says which lock file blocks a command and since when, and a hint what to do.

    The hint names the command that deletes the file only if no Git process is seen that may still need it.
    """
    try:
        age = time.time() - lock.stat().st_mtime
    except OSError:
        age = 0.0
    what = "the index" if lock.name == "index.lock" else lock.name.removesuffix(".lock")
    message = f"another git process has locked {what} for {age:.0f} s ({lock})"
    running = _running_git(lock)
    if running is None:
        hint = "wait until that git process ends, such as a `git commit` whose message is open in an editor"
        return message, f"{hint}, then run `memctl commit`"
    if running:
        hint = f"git is still running here (process {', '.join(running)}), perhaps with an editor open for a message"
        return message, f"{hint}: let it end, then run `memctl commit`"
    hint = f"no git program runs here any more, so a killed one left the lock: delete it by `rm '{lock}'`"
    return message, f"{hint}, then run `memctl commit`"


def _running_git(lock: Path) -> list[str] | None:
    """Return the ids of Git processes at work in the worktree or Git directory of a lock; None if this is unknown.

    They are found in /proc, which Linux has. Git works in the folder at the top of the worktree, or in one below.
    """
    if not os.path.isdir("/proc/self"):
        return None
    folder = next((above for above in lock.parents if (above / "HEAD").exists()), lock.parent)
    roots = {os.path.realpath(folder.parent if folder.name == ".git" else folder)}
    with suppress(OSError):  # the Git directory of a linked worktree names its worktree's file .git
        roots.add(os.path.realpath(Path((folder / "gitdir").read_text().strip()).parent))
    return sorted(name for name in os.listdir("/proc") if name.isdecimal() and _is_git_in(Path("/proc", name), roots))


def folder_of_calling_git() -> Path | None:
    """Return the folder in which the Git works that called this process, such as by a hook; None if this is unknown.

    It is the top of the worktree, to which the variables are relative that Git sets. Only Linux has /proc.
    """
    process = os.getppid()
    with suppress(OSError, ValueError, IndexError):
        while process > 1:
            folder = Path(f"/proc/{process}")
            if (folder / "comm").read_text().strip() == "git":
                return Path(os.readlink(folder / "cwd"))
            process = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    return None


def _is_git_in(process: Path, roots: set[str]) -> bool:
    """Git's daemons, which watch files or keep passwords, hold no locks, nor do the Git processes of this memctl."""
    try:
        parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
        if not (process / "comm").read_text().startswith("git") or parent == str(os.getpid()):
            return False
        place = os.readlink(process / "cwd")
        is_daemon = b"daemon" in (process / "cmdline").read_bytes()
    except OSError:  # it has ended, or belongs to somebody else
        return False
    return not is_daemon and any(place == root or place.startswith(root + "/") for root in roots)
