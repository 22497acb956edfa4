"""The draft of a pack, from which as much is taken as fits: notes, and parts with items that are included whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from memctl.record.kinds import KINDS
from memctl.record.notices import FOREIGN_NOTICE, NOTICE
from memctl.text import headings, markdown
from memctl.text.lazy_regex import lazy_regex

FIRST, SECOND = 1, 2  # ranks of parts; those of rank 0 come later
PROPOSED = "proposed"  # the status of a decision that nobody has accepted yet

# Control characters except tab and line feed, other line ends, direction marks, and invisible tag characters.
_STEERING = lazy_regex("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


class ItemField(msgspec.Struct, frozen=True):
    """A text or list under a heading of an item.

    `name` is the name of the record's content field that has this heading; it is "" for any other heading.
    """

    name: str
    heading: str
    value: str | tuple[str, ...]


class Item(msgspec.Struct, frozen=True):
    """An item of a pack, which includes it whole or not at all.

    - `kind` is a record's type, "page", "session", "checkpoint" or "file".
    - `key` distinguishes items with the same id.
    - `facts` are pairs of name and value, in the order shown.
    - `body` is Markdown or, for a file, the text of the file. The title of a file is "".
    - `has_changed` says that the code to which the item refers has changed since the item was written.
    - `section` is the marker of the page that the item belongs to.
    - `weight` orders items, the greatest first. It is a record's importance, but 10 for an issue of critical severity,
      and 0 for a record that is only proposed or `has_changed`.
    """

    kind: str
    id: str
    title: str
    body: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    key: str = ""
    weight: int = 0
    has_changed: bool = False
    section: str = ""

    @property
    def is_proposed(self) -> bool:
        """Whether the item is a decision that nobody has accepted yet."""
        return ("status", PROPOSED) in self.facts

    def fields(self) -> list[ItemField]:
        """Return the body's texts and lists by heading; text before the first heading has the heading ""."""
        if self.kind == "file":
            return [ItemField("content", "Content", self.body)] if self.body else []
        from memctl.record import content_fields  # not needed for Markdown, the format of most packs

        kind = KINDS.get(self.kind)
        known = {field.heading.casefold(): field for field in kind.fields} if kind else {}
        fields = []
        for part in headings.split(self.body):
            text = part.body.strip("\n")
            field = known.get(part.heading.casefold())
            if not text.strip():
                continue
            if field is None:
                fields.append(ItemField("", part.heading, text))
            else:
                items = tuple(content_fields.parse_items(text)) if field.is_list else text
                fields.append(ItemField(field.name, field.heading, items))
        return fields


class PackPart(msgspec.Struct, frozen=True):
    """A part of a pack: its name for programs, its title for people, and its items, the most important first.

    - `limit` is the largest number of tokens for its items, 0 for no limit.
    - `rank` is FIRST, SECOND or 0: items of parts with the rank FIRST get room before all others, by the rules of
      `fair_share`, then items of parts with the rank SECOND.
    - `shortest_first` (of the rank FIRST): short items get room before long ones.
    - `counted` (of the rank FIRST): a larger budget includes fewer whole items of the part only where a leading item
      (`PackDraft.leading`) has become whole.
    """

    name: str
    title: str
    items: tuple[Item, ...] = ()
    limit: int = 0
    rank: int = 0
    shortest_first: bool = False
    counted: bool = False


class PackNote(msgspec.Struct, frozen=True):
    """A note that memctl adds to a pack, such as the task of the pack: a name, a title, and a few lines of text.

    In a small budget only `essential` notes stay. `of` is the key of the item that the note is about ("" for none). A
    note about an item is left out of a pack that leaves out the item.
    """

    name: str
    title: str
    text: str
    essential: bool = False
    of: str = ""


NOTICED = PackNote("notice", "", NOTICE, essential=True)
FOREIGN = PackNote("notice", "", FOREIGN_NOTICE, essential=True)


class OmittedItem(msgspec.Struct, frozen=True):
    """An item that a pack leaves out: its id, its title and the reason (`why`), "" if there was just no room.

    For a record, `kind` is its type and `section` the marker of its section; for any other item `kind` is "".
    """

    id: str
    title: str
    why: str = ""
    kind: str = ""
    section: str = ""

    @property
    def line(self) -> str:
        """The title and the reason on one line."""
        return markdown.one_line(self.title) + (f" ({self.why})" if self.why else "")


REST = PackPart("more", "Also open")


class OmittedGroup(msgspec.Struct, frozen=True):
    """A group of items that a pack leaves out: those of one section, or of one kind of record.

    - `listed` are the items that the pack lists, and `more` is the number of the others.
    - `name` is the group's name for people, and `element` its name for programs ("" if the items have no common section
      or kind).
    - `marker` is the section's marker, "" for a group of one kind.
    - `command` is a command that lists the whole group, such as "memctl list --open --type issue", "" if there is none.
    - `noun` is the noun for one of the items, such as "issue".
    """

    listed: tuple[OmittedItem, ...]
    more: int
    name: str = ""
    element: str = ""
    marker: str = ""
    command: str = ""
    noun: str = "item"


class PackDraft(msgspec.Struct, frozen=True):
    """Everything that a pack may contain: notes, items in parts, and other items while there is room.

    - `parts` have the items that are taken first. `reserve` is the number of tokens that are kept for items of the rank
      SECOND, but at most a third of the budget is kept.
    - `others` come after all parts, each as a line with id and title, grouped by section; `sections` are the titles of
      sections by marker. `lines` is the share of the budget for these lines (0 to 1). At least `least_lines` lines are
      listed even if they need more than this share; their titles are then shortened.
    - `whole` yields the items of `others`, in the same order; those that fit are included whole, in the part `rest`.
    - `opening` notes come first and `closing` notes last, where models pay most attention. `opening` must contain
      the notice on the memory's texts: NOTICED, or FOREIGN for a clone that is not trusted. With `keeps_notes` no
      essential note is left out.
    - `title` names the pack for people and `root` for programs. `prefix` is a text before the pack, unchanged.
    - `source` and `target` are the agents that the pack goes from and to; `made` is the time in UTC
      ("2025-11-04T14:32:00Z").
    - Items with a weight of at least `leading` come before all parts, until a quarter of the pack is full
      (rules.md#quality).
    """

    project: str
    parts: tuple[PackPart, ...]
    title: str = "Memory of {project}"
    root: str = "workflow_context"  # rules.md#formats
    prefix: str = ""
    opening: tuple[PackNote, ...] = ()
    closing: tuple[PackNote, ...] = ()
    others: tuple[OmittedItem, ...] = ()
    whole: Callable[[], Iterator[Item]] | None = None
    rest: PackPart = REST
    sections: Mapping[str, str] = {}
    reserve: int = 0
    lines: float = 0.15
    least_lines: int = 0
    leading: int = 0
    made: str = ""
    source: str = ""
    target: str = ""
    keeps_notes: bool = False

    def items(self) -> list[Item]:
        """Return the items of all parts."""
        return [item for part in self.parts for item in part.items]

    @property
    def foreign(self) -> PackDraft:
        """This draft with the notice for a clone that is not trusted (FOREIGN) in place of the usual one (NOTICED)."""
        opening = tuple(FOREIGN if note == NOTICED else note for note in self.opening)
        return msgspec.structs.replace(self, opening=opening)


class Frame(NamedTuple):
    """Everything in a pack except the items: a draft, perhaps with fewer notes.

    `has_titles` says whether items that are too large for the pack are named by title. `has_parts` says whether the
    pack shows any items.
    """

    draft: PackDraft
    has_titles: bool = True
    has_parts: bool = True


def frames(draft: PackDraft) -> Iterator[Frame]:
    """Yield the frames of a draft, from the frame with all notes to the frame with the fewest."""
    essential, last = (tuple(note for note in notes if note.essential) for notes in (draft.opening, draft.closing))
    noticed = tuple(note for note in draft.opening if note in (NOTICED, FOREIGN))
    less = partial(msgspec.structs.replace, draft)
    yield Frame(draft)
    yield Frame(less(opening=essential))
    yield Frame(less(opening=essential, closing=last))
    if draft.keeps_notes:
        return
    for has_titles in (True, False):
        for project in (draft.project, ""):
            yield Frame(less(project=project, opening=noticed, closing=()), has_titles)
    for project in (draft.project, ""):
        yield Frame(less(project=project, opening=(), closing=()), has_titles=False, has_parts=False)


class Contents(msgspec.Struct, frozen=True):
    """The final content of a pack, which a format writes: its parts, and groups of the items that are left out.

    `parts` are pairs of a part and the texts of its items, in the format. `draft` has the title and the notes; its
    `project` is "" if the budget is too small for the project's name. `sizes` are the tokens of the included items by
    kind.
    """

    draft: PackDraft
    parts: Sequence[tuple[PackPart, Sequence[str]]]
    left_out: Sequence[OmittedGroup] = ()
    sizes: Mapping[str, int] = {}


def sanitize(text: str) -> str:
    """Return a text in which U+FFFD (the replacement character) stands for each character that could harm its display.

    These are characters that control a terminal, end lines in some readers, or change the order of the shown text.
    """
    if text.replace("\n", "").replace("\t", "").isprintable():  # twice as fast as the pattern, and true for most texts
        return text
    return _STEERING.sub("\N{REPLACEMENT CHARACTER}", text)
