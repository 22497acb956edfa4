"""Copy a text to the clipboard, by a program of the system."""

from __future__ import annotations

import shutil
import sys

from memctl.errors import MemctlError
from memctl.providers import program

# The last one is of Windows, and of Linux inside of Windows.
_PROGRAMS = ("wl-copy", "xclip -selection clipboard", "xsel --clipboard --input", "pbcopy", "clip.exe")


def programs() -> list[str]:
    """Return the commands that copy their standard input to the clipboard; raises MemctlError if none is installed."""
    if found := [line for line in _PROGRAMS if shutil.which(line.split()[0])]:
        return found
    hint = "use --out FILE" if sys.platform == "darwin" else "install wl-clipboard, xclip or xsel, or use --out FILE"
    raise MemctlError("no program for the clipboard was found", hint)


def copy(text: str) -> None:
    """Copy a text to the clipboard by the first program that can; raises MemctlError if none can."""
    for line in programs():
        encoding = "utf-16-le" if line == "clip.exe" else "utf-8"
        if program.feed(line.split(), text.encode(encoding, errors="replace")):
            return
    raise MemctlError("no program could write to the clipboard", "use --out FILE")
