"""What the templates of the documents are given as `page`: for each level its contents, every text safe in Markdown."""

from __future__ import annotations

import msgspec


class Entry(msgspec.Struct, frozen=True):
    """A record or page in a list: id or marker, title, where it leads, and what is said of it."""

    id: str
    title: str
    link: str
    note: str = ""


class Part(msgspec.Struct, frozen=True):
    """A headed text."""

    title: str
    text: str


class Summary(msgspec.Struct, frozen=True):
    """A section in a list: its page, how far it is, what is open, its details."""

    entry: Entry
    state: str
    details: tuple[Entry, ...]
    paths: tuple[Entry, ...]


class Level1(msgspec.Struct, frozen=True):
    title: str
    goal: str
    status: str
    percentage: int | None
    priorities: tuple[str, ...]
    blockers: tuple[Entry, ...]
    decisions: tuple[Entry, ...]
    sections: tuple[Summary, ...]
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
    decisions: tuple[Entry, ...]
    issues: tuple[Entry, ...]
    tasks: tuple[Entry, ...]
    left_out: int
    details: tuple[Entry, ...]
    files: Entry | None
    more: str


class Level3(msgspec.Struct, frozen=True):
    number: str
    title: str
    section: Entry | None
    beginning: str
    parts: tuple[Part, ...]
    decisions: tuple[Entry, ...]
    issues: tuple[Entry, ...]
    learnings: tuple[Entry, ...]
    left_out: int
    files: tuple[Entry, ...]


class Index(msgspec.Struct, frozen=True):
    title: str
    goal: str
    percentage: int | None
    executive: str
    sections: tuple[Summary, ...]
    loose: tuple[Entry, ...]
    outside: int
    shortcuts: tuple[Entry, ...]
