"""Git's lock files: finding the one that blocks a command, such as that of a killed git process.

Git makes `X.lock` beside a file X that it is about to replace, and deletes it at the end, unless it is killed by force.
Every later command that needs X then fails until somebody deletes the lock (`refs/heads/main.lock`, `HEAD.lock`,
`packed-refs.lock`, `config.lock`, `index.lock`).
"""

from __future__ import annotations

import re
import time
from pathlib import Path

# "Unable to create '/repo/.git/refs/heads/main.lock': File exists." (lockfile.c), in any language of Git's
_LOCK_FILE = r"[^\w/.](/[^'\"\n]{1,4096}?\.lock)\b"  # compiled when one is wanted: every hook imports this
_LOCK_FILE_WITH_QUOTE = r"[^\w/.](/[^\n]{1,4096}?\.lock)\b"  # in a folder such as "Bob's work"
_CONFIG_FILE = r"could not lock config file ([^\n]{1,4096}): "  # names the file that is locked (config.c)
_WORKTREE_FILES = ("index", "HEAD")
_CLONE_FILES = ("HEAD", "config", "packed-refs", "shallow")


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
    wanted = [git_dir / name for name in _WORKTREE_FILES]
    wanted += [common_dir / name for name in (*_CLONE_FILES, branch) if name]
    return [lock for file in dict.fromkeys(wanted) if (lock := file.with_name(f"{file.name}.lock")).exists()]


def describe(lock: Path) -> tuple[str, str]:
    """Return a message that says which lock file blocks a command and since when, and a hint how to remove the file."""
    try:
        age = time.time() - lock.stat().st_mtime
    except OSError:
        age = 0.0
    what = "the index" if lock.name == "index.lock" else lock.name.removesuffix(".lock")
    hint = f"if no git program is running any more, delete the lock: `rm '{lock}'`, then run `memctl commit`"
    return f"another git process has locked {what} for {age:.0f} s ({lock})", hint
