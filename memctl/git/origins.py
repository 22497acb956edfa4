"""Where things come from: which commit brought a file or a line, and what whoever made that commit could know.

Two clones can give one name to two things. Whoever referred to it meant the one that stood in the history of the commit
with the reference: the other was made elsewhere, and came only by a merge.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

import msgspec


class Origin(msgspec.Struct, frozen=True):
    """What a commit brought: a file, or with a `line` (1-based, as the file is now) that line of it.

    `path` is below `.memory/`. Of a file the commit is meant that first had it with `mark` in its text: two sides of
    a merge may each have added a file of that path.
    """

    path: str
    line: int = 0
    mark: str = ""


class History(Protocol):
    """Questions about the commits that a memory was made by."""

    def added(self, origins: Collection[Origin]) -> Mapping[Origin, int]:
        """When each was written, in Unix seconds; what is in no commit is left out."""

    def knew(self, writers: Collection[Origin], things: Collection[Origin]) -> Mapping[Origin, frozenset[Origin]]:
        """Which of some things were in the history of the commit that brought each writer, or in that commit itself.

        What is in no commit yet was written with all of them in view.
        """

    def ever(self, folder: str) -> Collection[str]:
        """Every path below a folder of the memory that its history ever had."""
