"""The least that reading a memory costs any program in Python: `python baselines.py read|parse|tracked FOLDER`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

_RECORDS = ("decisions", "issues", "states", "learnings")


def read(folder: str) -> None:
    """Read all files of a memory."""
    for _ in _texts(folder):
        pass


def parse(folder: str) -> None:
    """Read all records, and parse their front matter with YAML's C loader."""
    import yaml

    for name in _RECORDS:
        for text in _texts(os.path.join(folder, name)):
            yaml.load(text[4 : text.index("\n---\n", 4)], Loader=yaml.CSafeLoader)


def tracked(folder: str) -> None:
    """Read all files that Git tracks."""
    import subprocess

    names = subprocess.run(["git", "ls-files", "-z"], cwd=folder, capture_output=True, check=True).stdout
    for name in names.split(b"\0"):
        if name:
            with open(os.path.join(os.fsencode(folder), name), "rb") as file:
                file.read()


def _texts(folder: str) -> Iterator[str]:
    for base, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(base, name), encoding="utf-8") as file:
                yield file.read()


if __name__ == "__main__":
    {"read": read, "parse": parse, "tracked": tracked}[sys.argv[1]](sys.argv[2])
