"""What hosts show of a hook's output: how much of it, and how they count."""

from __future__ import annotations

# Of a hook's output Claude Code shows all up to 10,000 characters, else a preview of 2 kB (seen in version 2.1.329).
LIMIT = 9_500


def length(text: str) -> int:
    """Characters as JavaScript counts them, which hosts are written in: UTF-16 units, never fewer than Python's."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
