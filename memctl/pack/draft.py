"""The draft of a pack: all items (records and pages), grouped by heading, and sentences about them.

A pack takes as much of its draft as fits into the budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from memctl.record.kinds import KINDS
from memctl.record.notices import FOREIGN_NOTICE, NOTICE
from memctl.text import headings, markdown

FIRST, SECOND = 1, 2  # ranks of parts; those of rank 0 come later
PROPOSED = "proposed"  # the status of a decision that nobody has accepted yet


class ItemField(msgspec.Struct, frozen=True):
    """A piece of an item's body: a heading, and the text or list below it.

    If the item is a record and the heading is one that memctl gives to such records, `name` is the name of this content
    field, such as "next_actions" for "Next actions". For any other heading `name` is "".
    """

    name: str
    heading: str
    value: str | tuple[str, ...]


class Item(msgspec.Struct, frozen=True):
    """An item of a pack, such as a record, a page or a file; a pack includes it whole or not at all.

    - `kind` is a record's type, "page", "session", "checkpoint" or "file".
    - `id` is what readers see, such as a record's id or a page's marker. `key` identifies the item, and is a record's
      path, since two records may have the same `id` until one is renumbered.
    - `facts` are pairs of a name and a value, such as ("status", "open"), in the order in which they are shown.
    - `body` is Markdown or, for a file, the text of the file. The title of a file is "".
    - `is_doubtful` says that the code to which the item refers is gone, so that it may be outdated.
    - `section` is the marker of the page that the item belongs to. `is_recent` says that it was recorded today.
    - `weight` orders items, the greatest first. It is a record's importance, or 10 for an issue of critical severity. A
      record that is only proposed, or doubtful, has the weight 0.
    """

    kind: str
    id: str
    title: str
    body: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    key: str = ""
    weight: int = 0
    is_doubtful: bool = False
    section: str = ""
    is_recent: bool = False

    @property
    def is_proposed(self) -> bool:
        """Whether the item is a decision that nobody has accepted yet."""
        return ("status", PROPOSED) in self.facts

    def fields(self) -> list[ItemField]:
        """Return the texts and lists of the body, each with its heading, "" for a text before the first heading."""
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

    - `limit` is the largest number of tokens for the part's items, 0 for no limit.
    - `rank` says which items get room first: those of parts with the rank 1, then those with 2, then those with 0.
    - `shortest_first` says that short items of the part get room before long ones. It matters only for the rank 1.
    - `counted` says that a larger budget must not reduce the number of the part's items that are whole. Only items at
      the front of the pack (`PackDraft.leading`) may take their room. It matters only for the rank 1.
    """

    name: str
    title: str
    items: tuple[Item, ...] = ()
    limit: int = 0
    rank: int = 0
    shortest_first: bool = False
    counted: bool = False


class PackNote(msgspec.Struct, frozen=True):
    """A note that memctl adds to a pack, such as on the task of the pack: a name, a title, and a few lines of text.

    In a small budget only `essential` notes stay. `of` is the key of the item that the note is about, "" for none. The
    note is left out if its item is.
    """

    name: str
    title: str
    text: str
    essential: bool = False
    of: str = ""


NOTICED = PackNote("notice", "", NOTICE, essential=True)
FOREIGN = PackNote("notice", "", FOREIGN_NOTICE, essential=True)


class OmittedItem(msgspec.Struct, frozen=True):
    """An item that a pack leaves out: its id, its title and the reason (`why`), which is "" if there was just no room.

    For a record, `kind` is its type and `section` the marker of its section. For any other item `kind` is "".
    """

    id: str
    title: str
    why: str = ""
    kind: str = ""
    section: str = ""

    @property
    def number(self) -> int:
        """How many items of one title it stands for."""
        return 1

    @property
    def line(self) -> str:
        """The title and, in parentheses, the reason, on one line."""
        return markdown.one_line(self.title) + (f" ({self.why})" if self.why else "")


class OmittedItems(OmittedItem, frozen=True):
    """Several omitted items of one title, under the id of the first."""

    number: int = 1


REST = PackPart("more", "Also open")


class OmittedGroup(msgspec.Struct, frozen=True):
    """A group of items that a pack leaves out, mostly the records of one section or of one type.

    - `listed` are the items whose titles the pack lists, and `more` is the number of the other items of the group.
    - `name` is the group's name for people, and `element` its name for programs. Both are "" if the group is neither a
      section nor a record type.
    - `marker` is the section's marker, "" if the group is not a section.
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
    """Everything that a pack may contain; the budget decides how much of it the pack includes.

    - `project` is the project's name, `title` the pack's title for people, and `root` the name of its outermost XML
      element. `prefix` is a text to put before the pack.
    - `parts` have the items that get room first, in the order that `PackPart.rank` says. `reserve` is the number of
      tokens that the parts with the rank 1 leave to those with the rank 2, at most a third of the budget.
    - Items with a weight of at least `leading` come before all parts, until about a quarter of the pack is full; with 0
      no item does.
    - `others` are items without texts that come after the parts. `whole` is a function that yields the same items with
      their texts, or None; those for which there is room are included whole, as the part `rest` of the pack.
    - A list names items that are left out, each on a line with id and title, grouped by section. `sections` maps the
      markers of sections to titles. `lines` is the share of the budget for the list (0 to 1), and `all_named` the share
      for a list that names all. It has at least `least_lines` lines, with shorter titles if there is little room.
    - `opening` notes come first and `closing` notes last, where models pay most attention. One of the opening notes
      must be the notice that the memory's texts are no instructions. `keeps_notes` says that no essential note may be
      left out.
    - `source` and `target` are the agents between which the pack goes, and `made` is its time, such as
      "2025-11-04T14:32:00Z"; each may be "".
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
    all_named: float = 0.3
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
        """This draft, with the notice for a clone that is not trusted instead of the usual notice."""
        opening = tuple(FOREIGN if note == NOTICED else note for note in self.opening)
        return msgspec.structs.replace(self, opening=opening)


class Contents(msgspec.Struct, frozen=True):
    """What a pack finally contains, as the function that writes the pack's format gets it.

    - `draft` has the title and the notes. Its `project` is "" if the budget is too small for the project's name.
    - `parts` are pairs of a part and the texts of its items, already written in the format.
    - `left_out` are groups of the items that the pack leaves out.
    - `sizes` maps kinds of items, such as "issue", to the tokens of the included items of this kind.
    """

    draft: PackDraft
    parts: Sequence[tuple[PackPart, Sequence[str]]]
    left_out: Sequence[OmittedGroup] = ()
    sizes: Mapping[str, int] = {}
