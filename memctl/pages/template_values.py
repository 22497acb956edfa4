"""The values that the templates of documents get as `page`. Every text in them can be put into Markdown as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from memctl.errors import MemctlError

Estimate = Callable[[str], float]  # from a Markdown text to its approximate number of tokens
CountTokens = Callable[[str, str], int]  # from a file's name and text to its number of tokens


class BrokenTemplate(MemctlError):
    """An error in a template of the project: its path below `.memory/`, the line (from 1), and the reason."""

    def __init__(self, prefix: str, path: str, line: int, why: str) -> None:
        hint = "correct the template, or delete it: memctl then uses its own"
        super().__init__(f"{prefix}/{path}:{line}: {why}", hint)
        self.path = path
        self.line = line
        self.why = why


class ListEntry(msgspec.Struct, frozen=True):
    """A record or page in a list: its id or marker, its title, the link's target, and a note (any Markdown)."""

    id: str
    title: str
    link: str
    note: str = ""


class HeadedText(msgspec.Struct, frozen=True):
    """A heading's title, and the text below it."""

    title: str
    text: str


class SectionSummary(msgspec.Struct, frozen=True):
    """A section in a list of sections.

    `entry` is the section itself, and `state` says how far the work is ("40 %, 2 open issues"). `details` has an entry
    for each of its pages of details and for their headings, and `paths` an entry for each of its globs.
    """

    entry: ListEntry
    state: str
    details: tuple[ListEntry, ...]
    paths: tuple[ListEntry, ...]


class Level1(msgspec.Struct, frozen=True):
    """The content of the executive summary (level 1).

    - `decisions`: the key decisions; `has_decisions`: whether there is any accepted decision, key decision or not.
    - `more`: the text of the project's page below headings that memctl does not know.
    - `updated`, `agent`: in format 1 the time of the latest page or record that it shows, and who wrote it.
    - `is_numbered`: whether the priorities have numbers, as in format 1; formatters do not agree on numbers.
    """

    title: str
    goal: str
    status: str
    percentage: int | None
    priorities: tuple[str, ...]
    blockers: tuple[ListEntry, ...]
    decisions: tuple[ListEntry, ...]
    has_decisions: bool  # whether any decision is in force, be it a key decision or not
    sections: tuple[SectionSummary, ...]
    more: str
    updated: str
    agent: str
    is_numbered: bool


class Level2(msgspec.Struct, frozen=True):
    """The content of the document of a section (level 2).

    - `status_is_block`: whether the status must begin on its own line, because it is Markdown such as a list.
    - `left_out`: how many open records are not in the lists, because there is no room for them.
    - `more`: the text of the section's page below headings that memctl does not know.
    """

    number: str
    title: str
    overview: str
    status: str
    status_is_block: bool  # whether the status is Markdown that must begin its own line, such as a list
    percentage: int | None
    next_actions: tuple[str, ...]
    decisions: Iterable[ListEntry]
    issues: Iterable[ListEntry]
    tasks: Iterable[ListEntry]
    left_out: int
    details: tuple[ListEntry, ...]
    files: ListEntry | None
    more: str


class Level3(msgspec.Struct, frozen=True):
    """The content of the document of a page of details (level 3).

    - `beginning`: the page's text before its first heading; `parts`: its headings, each with the text below it.
    - `left_out`: how many open records are not in the lists, because there is no room for them.
    """

    number: str
    title: str
    section: ListEntry | None
    beginning: str
    parts: tuple[HeadedText, ...]
    decisions: Iterable[ListEntry]
    issues: Iterable[ListEntry]
    learnings: Iterable[ListEntry]
    left_out: int
    files: tuple[ListEntry, ...]


class FoldedHeadings(msgspec.Struct, frozen=True):
    """What the index leaves out if the pages of details have too many headings for one list.

    `total` is the number of all headings. The headings of a page that has more than `most` are left out.
    """

    total: int
    most: int


class Index(msgspec.Struct, frozen=True):
    """The content of the index of all documents.

    - `executive`: the link to the executive summary.
    - `loose`: the pages of details that belong to no section.
    - `outside`: the number of open records that belong to no page.
    - `folded`: which headings are left out, None if all are listed.
    """

    title: str
    goal: str
    percentage: int | None
    executive: str
    sections: tuple[SectionSummary, ...]
    loose: tuple[ListEntry, ...]
    outside: int
    shortcuts: tuple[ListEntry, ...]
    folded: FoldedHeadings | None
    tags: tuple[ListEntry, ...]  # each links to the page that most records with the tag belong to
