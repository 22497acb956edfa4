"""The values that the templates of the documents get as `page`, level by level; every text is safe in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from memctl.errors import MemctlError

Estimate = Callable[[str], float]  # from a Markdown text to its approximate number of tokens
CountTokens = Callable[[str, str], int]  # from a file's name and text to its number of tokens


class BrokenTemplate(MemctlError):
    """An error in a template of the project: its path below `.memory/`, the line (from 1), and the reason."""

    def __init__(self, prefix: str, path: str, line: int, why: str) -> None:
        super().__init__(f"{prefix}/{path}:{line}: {why}", "correct the template, or delete it to use memctl's own")
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

    `entry` is the entry of its page, and `state` says how far the work is ("40 %, 2 open issues"). `details` has the
    entries of its pages of details and of their headings, and `paths` the entries of its globs.
    """

    entry: ListEntry
    state: str
    details: tuple[ListEntry, ...]
    paths: tuple[ListEntry, ...]


class Level1(msgspec.Struct, frozen=True):
    """The content of the document of level 1, the executive summary.

    `decisions` are the key decisions, and `has_decisions` says whether any decision is in force, key decision or not.
    `more` is the text of the project's page below headings that are none of memctl's content fields.
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


class Level2(msgspec.Struct, frozen=True):
    """The content of the document of a section.

    `status_is_block` says that the status is Markdown that must begin on its own line, such as a list. `left_out`
    counts the open records for which the lists have no room. `more` is the text of the section's page below headings
    that are none of memctl's content fields.
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
    """The content of the document of a page of details.

    `beginning` is the page's text before its first heading, and `parts` are the page's headings with their texts.
    `left_out` counts the open records for which the lists have no room.
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
    """The headings of the pages of details, if they are too many for one list.

    `total` is the number of all headings. A page with more than `most` headings is listed without its headings.
    """

    total: int
    most: int


class Index(msgspec.Struct, frozen=True):
    """The content of the index of all documents.

    `loose` are pages of details without a section, and `outside` counts open records that belong to no page. `folded`
    says which headings are left out, None if all are listed.
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
