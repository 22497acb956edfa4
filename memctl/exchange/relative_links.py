"""Relative links and images of imported texts: made to lead from a record to where they led before, or named.

What lies in the repository is linked to from the record's own folder; what lies elsewhere can't be, and is named.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, unquote

from memctl.store.memory import Memory
from memctl.text import markdown

_SAFE = "/:@!$&'*+,;=~"  # of a path, beside letters and digits, what stays as it is in a link


class LinkRebase:
    """Rewrites the relative links of texts on their way into records, and notes those that can't lead anywhere."""

    def __init__(self, memory: Memory) -> None:
        self._top = Path(os.path.realpath(memory.repository.top))
        self._records = f"{memory.prefix}/type/month"  # where a record is: as deep, whatever its type and month
        self.notes: list[str] = []

    def rebase(self, place: str, folder: Path, text: str) -> tuple[str, dict[str, str]]:
        """Return a text of a folder with its links as they are from a record, and the links that changed: what they
        were.

        `place` names the text in a note. A link that leads nowhere where it comes from stays as it is.
        """
        changed: dict[str, str] = {}
        base = Path(os.path.realpath(folder))

        def rewrite(target: str) -> str:
            path, mark, anchor = target.partition("#")
            file = Path(os.path.normpath(base / unquote(path)))
            if not file.exists():
                return target
            if not file.is_relative_to(self._top):
                self.notes.append(f"{place}: {target} is not in this repository: the record's link to it leads nowhere")
                return target
            way = posixpath.relpath(file.relative_to(self._top).as_posix(), self._records)
            new = quote(way, safe=_SAFE) + mark + anchor
            if changed.setdefault(new, target) != target:  # of two ways to write one link, one can be restored
                self.notes.append(f"{place}: {target} leads nowhere from the record; write it as {changed[new]}")
                return target
            return new

        return markdown.rewrite_links(text, rewrite), changed


def restore(text: str, changed: Mapping[str, str]) -> str:
    """Return a record's text with the links as they were before `rebase`."""
    return markdown.rewrite_links(text, lambda target: changed.get(target, target)) if changed else text
