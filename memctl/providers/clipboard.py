"""Copy a text to the clipboard, by a program of the system."""

from __future__ import annotations

import os
import shutil
import sys

from memctl.errors import MemctlError
from memctl.providers import program as programs

# Each program with the environment variable that it needs ("" for none), and the encoding that it reads.
_PROGRAMS = (
    (("wl-copy",), "WAYLAND_DISPLAY", "utf-8"),
    (("xclip", "-selection", "clipboard"), "DISPLAY", "utf-8"),
    (("xsel", "--clipboard", "--input"), "DISPLAY", "utf-8"),
    (("pbcopy",), "", "utf-8"),
    (("clip.exe",), "", "utf-16-le"),  # Windows, and Linux inside of Windows
)


def program() -> tuple[tuple[str, ...], str]:
    """Return the command that copies its standard input to the clipboard, and the encoding that the command expects.

    Raises MemctlError if no such program is installed.
    """
    for command, variable, encoding in _PROGRAMS:
        if (not variable or os.environ.get(variable)) and shutil.which(command[0]):
            return command, encoding
    hint = "use --out FILE" if sys.platform == "darwin" else "install wl-clipboard, xclip or xsel, or use --out FILE"
    raise MemctlError("no program for the clipboard was found", hint)


def copy(text: str) -> None:
    """Copy a text to the clipboard; raises MemctlError if there is no clipboard, or if its program fails."""
    command, encoding = program()
    if not programs.feed(command, text.encode(encoding, errors="replace")):
        raise MemctlError(f"{command[0]} could not fill the clipboard", "use --out FILE")
