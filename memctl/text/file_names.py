"""Names of files that can be checked out on every system."""

from __future__ import annotations

import re

# Windows takes these for devices, with any extension and in any case, and Git for Windows then refuses to check out the
# whole repository: learn.microsoft.com/windows/win32/fileio/naming-a-file.
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$) *(?:[.:].*)?", re.IGNORECASE | re.DOTALL)


def portable(name: str) -> str:
    """Return a name that Windows has for files, too: `nul` and `com1.txt` become `x-nul` and `x-com1.txt`.

    Dots and blanks at the end, which Windows drops, are removed.
    """
    name = name.rstrip(". ")
    return f"x-{name}" if _DEVICE.fullmatch(name) else name
