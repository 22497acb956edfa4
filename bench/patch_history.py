"""`python -m bench.patch_history SOURCE TARGET`: make a Git history of the patches that a Debian source package has.

Many a package carries dozens of commits of its upstream project in `debian/patches`, each with subject, date and
difference. SOURCE is the folder of a package unpacked without its patches (`dpkg-source --skip-patches -x`). The tree
is committed, then every patch that applies, in the order of `series`. Dates only grow: a patch older than the one
before it is committed a minute after that.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
from email.utils import parsedate_to_datetime
from pathlib import Path

_NUMBER = re.compile(r"^(?:\[[^\]]*\]\s*)+")  # [PATCH 3/9]
_HEAD = re.compile(r"^(?:diff |Index: |--- )", re.MULTILINE)
_FIELD = re.compile(r"^(Subject|Description|Date|Last-Update): *(.*(?:\n[ \t]+\S.*)?)", re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.patch_history", description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    options = parser.parse_args()
    print(f"{make(options.source, options.target):,} patches are commits in {options.target}")


def make(source: Path, target: Path) -> int:
    """Make the history; returns how many patches became commits."""
    folder = source / "debian" / "patches"
    names = [line.split()[0] for line in (folder / "series").read_text().splitlines() if line.split("#")[0].split()]
    patches = [(folder / name, *_subject_and_moment((folder / name).read_text(errors="replace"))) for name in names]
    shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("debian", ".git", ".pc", ".memory"))
    _git(target, "init", "-q", "-b", "main")
    moment = min((moment for *_, moment in patches if moment), default=0) - 86_400
    _commit(target, "The release", moment)
    made = 0
    for patch, subject, dated in patches:
        moment = max(moment + 60, dated)
        applied = _git(target, "apply", "--index", "--whitespace=nowarn", "-C1", str(patch), code=None)
        if applied == 0 and subject:
            _commit(target, subject, moment)
            made += 1
        elif applied == 0:
            _commit(target, patch.name, moment)
    return made


def _subject_and_moment(text: str) -> tuple[str, int]:
    """What the head of a patch says: its subject ("" if it has none) and when it was made, in Unix seconds."""
    start = _HEAD.search(text)
    head = text[: start.start()] if start else ""
    fields = {match[1]: " ".join(match[2].split()) for match in reversed(list(_FIELD.finditer(head)))}
    subject = _NUMBER.sub("", fields.get("Subject") or fields.get("Description") or "")
    try:
        return subject, int(parsedate_to_datetime(fields.get("Date", "")).timestamp())
    except ValueError:
        return subject, 0


def _commit(folder: Path, subject: str, moment: int) -> None:
    _git(folder, "add", "-A", "-f")
    _git(folder, "commit", "-q", "--allow-empty", "-m", subject, moment=max(moment, 0))


def _git(folder: Path, *args: str, code: int | None = 0, moment: int = 0) -> int:
    date = f"{moment} +0000"
    person = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_AUTHOR_DATE": date}
    own = {name.replace("AUTHOR", "COMMITTER"): value for name, value in person.items()}
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    process = subprocess.run(
        ["git", "-c", "core.autocrlf=false", "-c", "gc.auto=0", *args],
        cwd=folder, env={**os.environ, **person, **own, **quiet}, capture_output=True, check=False,
    )  # fmt: skip
    if code is not None and process.returncode != code:
        raise RuntimeError(f"git {' '.join(args)}: {process.stderr.decode(errors='replace')}")
    return process.returncode


if __name__ == "__main__":
    main()
