"""Change the relative links and images in imported texts, so that they lead to the same files from a record's folder.

A link to a file outside of the repository can't be changed; a note names it.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, unquote

from memctl.store.memory import Memory
from memctl.text import markdown

_SAFE = "/:@!$&'*+,;=~"  # characters of a path that a link need not quote


class LinkRebase:
    """Changes the relative links in imported texts, so that they lead to the same files from a record's folder.

    `notes` has a line on each link that could not be changed although its file exists, such as a link out of the
    repository.
    """

    def __init__(self, memory: Memory) -> None:
        self._top = Path(os.path.realpath(memory.repository.top))
        self._records = f"{memory.prefix}/type/month"  # all records are this deep, which is all that counts here
        self.notes: list[str] = []

    def rebase(self, place: str, folder: Path, text: str) -> tuple[str, dict[str, str]]:
        """Return a text with its relative links changed to work from a record's folder, and a map of the changes.

        The map leads from each new target to the old one. `folder` is the folder of the text now. `place` is the text's
        name in notes, such as that of its file. A link to a file that does not exist, or that is outside of the
        repository, is not changed; `notes` gets a line on a link that leads outside.
        """
        changed: dict[str, str] = {}
        base = Path(os.path.realpath(folder))

        def rewrite(target: str) -> str:
            path, mark, anchor = target.partition("#")
            file = Path(os.path.normpath(base / unquote(path)))
            if not file.exists():
                return target
            if not file.is_relative_to(self._top):
                why = "leads out of this repository, so it does not work in the record"
                self.notes.append(f"{place}: the link to {target} {why}")
                return target
            way = posixpath.relpath(file.relative_to(self._top).as_posix(), self._records)
            new = quote(way, safe=_SAFE) + mark + anchor
            if changed.setdefault(new, target) != target:  # `restore` knows only one old target for a new one
                why = f"does not work in the record; write it as {changed[new]}"
                self.notes.append(f"{place}: the link to {target} {why}")
                return target
            return new

        return markdown.rewrite_links(text, rewrite), changed


def restore(text: str, changed: Mapping[str, str]) -> str:
    """Return a record's text with the links that it had before `LinkRebase.rebase` changed them.

    `changed` is the map of changes that `rebase` returned.
    """
    return markdown.rewrite_links(text, lambda target: changed.get(target, target)) if changed else text
