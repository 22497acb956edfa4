"""What the templates of the documents are given as `page`: for each level its contents, every text safe in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from memctl.errors import MemctlError

Estimate = Callable[[str], float]  # about how many tokens a Markdown text has
CountTokens = Callable[[str, str], int]  # how many tokens a file has, by its name and text


class BrokenTemplate(MemctlError):
    """A template that is at fault: `path` below `.memory/`, `line`, and `why`."""

    def __init__(self, prefix: str, path: str, line: int, why: str) -> None:
        super().__init__(f"{prefix}/{path}:{line}: {why}", "correct the template, or delete it to use memctl's own")
        self.path = path
        self.line = line
        self.why = why


class ListEntry(msgspec.Struct, frozen=True):
    """A record or page in a list: its id or marker, its title, the target of its link, and a remark."""

    id: str
    title: str
    link: str
    note: str = ""


class HeadedText(msgspec.Struct, frozen=True):
    """A text below a heading."""

    title: str
    text: str


class SectionSummary(msgspec.Struct, frozen=True):
    """A section in a list: its page, its progress, its open records, its details."""

    entry: ListEntry
    state: str
    details: tuple[ListEntry, ...]
    paths: tuple[ListEntry, ...]


class Level1(msgspec.Struct, frozen=True):
    title: str
    goal: str
    status: str
    percentage: int | None
    priorities: tuple[str, ...]
    blockers: tuple[ListEntry, ...]
    decisions: tuple[ListEntry, ...]
    has_decisions: bool  # whether any is in force, key or not
    sections: tuple[SectionSummary, ...]
    more: str
    updated: str
    agent: str


class Level2(msgspec.Struct, frozen=True):
    number: str
    title: str
    overview: str
    status: str
    status_is_block: bool  # whether it must begin a line of its own
    percentage: int | None
    next_actions: tuple[str, ...]
    decisions: Sequence[ListEntry]
    issues: Sequence[ListEntry]
    tasks: Sequence[ListEntry]
    left_out: int
    details: tuple[ListEntry, ...]
    files: ListEntry | None
    more: str


class Level3(msgspec.Struct, frozen=True):
    number: str
    title: str
    section: ListEntry | None
    beginning: str
    parts: tuple[HeadedText, ...]
    decisions: Sequence[ListEntry]
    issues: Sequence[ListEntry]
    learnings: Sequence[ListEntry]
    left_out: int
    files: tuple[ListEntry, ...]


class Index(msgspec.Struct, frozen=True):
    title: str
    goal: str
    percentage: int | None
    executive: str
    sections: tuple[SectionSummary, ...]
    loose: tuple[ListEntry, ...]
    outside: int
    shortcuts: tuple[ListEntry, ...]
    tags: tuple[ListEntry, ...]  # each with the page that most of its records belong to
