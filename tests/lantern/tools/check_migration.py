"""Refuse migrations that the release before would not survive (DEC-2025-10-21-001)."""

from __future__ import annotations

import re
import sys
from pathlib import Path

FIRST_CHECKED = 22  # those before ran when there was no rule yet
_CONTRACT = re.compile(r"^-- contract: \S+", re.MULTILINE)
_REFUSED = re.compile(r"\b(DROP\s+(?:TABLE|COLUMN|VIEW|CONSTRAINT)|RENAME\s+(?:TO|COLUMN))\b", re.IGNORECASE)


def problems(path: Path) -> list[str]:
    """What is wrong with a migration; one that says `-- contract: <release>` may take away what that one left."""
    text = path.read_text(encoding="utf-8")
    if int(path.name[:4]) < FIRST_CHECKED or _CONTRACT.search(text):
        return []
    lines = enumerate((line.partition("--")[0] for line in text.splitlines()), 1)
    return [f"{path}:{number}: {match[1].upper()}" for number, line in lines if (match := _REFUSED.search(line))]


if __name__ == "__main__":
    found = [problem for path in sorted(Path("migrations").glob("*.sql")) for problem in problems(path)]
    sys.exit("\n".join(found) or None)
