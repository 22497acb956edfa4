"""What a pack is made of, before it is known how much of it fits: notes, and parts of items that are taken whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from memctl.record.kinds import KINDS
from memctl.record.notices import FOREIGN_NOTICE, NOTICE
from memctl.text import headings, markdown
from memctl.text.lazy_regex import lazy_regex

PROPOSED = "proposed"  # the status of a decision that nobody has accepted yet

# Control characters but tab and line end, other ends of lines, marks of direction, invisible tags.
_STEERING = lazy_regex("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


class ItemField(msgspec.Struct, frozen=True):
    """A headed text of an item, or a list: `name` is the schema's, or "" for a heading of somebody's own."""

    name: str
    heading: str
    value: str | tuple[str, ...]


class Item(msgspec.Struct, frozen=True):
    """One item of a pack, which includes it whole or not at all.

    `kind` is a record's type, "page", "session" or "file". `key` distinguishes items with the same id. `facts` are
    pairs of name and value, in the order in which they are shown. `body` is Markdown, or the text of a file. A file has
    no title. Items of great `weight` come first: it is a record's importance, 10 if its severity is critical, 0 if it
    is only proposed or its code `has_changed` since it was written. `section` is the page that the item belongs to.
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
        """Whether it is a decision that nobody has accepted yet."""
        return ("status", PROPOSED) in self.facts

    def fields(self) -> list[ItemField]:
        """Return the body by its headings; text before the first heading has none."""
        if self.kind == "file":
            return [ItemField("content", "Content", self.body)] if self.body else []
        from memctl.record import content_fields  # most packs are Markdown, and ask for no fields

        kind = KINDS.get(self.kind)
        known = {field.heading.casefold(): field for field in kind.fields} if kind else {}
        found = []
        for part in headings.split(self.body):
            text = part.body.strip("\n")
            field = known.get(part.heading.casefold())
            if not text.strip():
                continue
            if field is None:
                found.append(ItemField("", part.heading, text))
            else:
                items = tuple(content_fields.parse_items(text)) if field.is_list else text
                found.append(ItemField(field.name, field.heading, items))
        return found


class PackPart(msgspec.Struct, frozen=True):
    """A part of a pack: its name for programs, its title for people, its items, most important first.

    Its items may take up to `limit` tokens, if that is not 0. Those of a part that `is_first` are taken before those of
    all others: whoever makes one keeps it small.
    """

    name: str
    title: str
    items: tuple[Item, ...] = ()
    limit: int = 0
    is_first: bool = False


class PackNote(msgspec.Struct, frozen=True):
    """A few lines of memctl's own about a pack, such as the task it is for.

    A small budget leaves all but the `essential` ones out; `of` is the key of an item without which it means nothing.
    """

    name: str
    title: str
    text: str
    essential: bool = False
    of: str = ""


NOTICED = PackNote("notice", "", NOTICE, essential=True)
FOREIGN = PackNote("notice", "", FOREIGN_NOTICE, essential=True)


class OmittedItem(msgspec.Struct, frozen=True):
    """Something that is not in a pack and could be: its id, its title, why if that is not plain.

    Of a record also its type, and the marker of the section that it belongs to.
    """

    id: str
    title: str
    why: str = ""
    kind: str = ""
    section: str = ""

    @property
    def line(self) -> str:
        """The title, and why, as one line."""
        return markdown.one_line(self.title) + (f" ({self.why})" if self.why else "")


REST = PackPart("more", "Also open")


class OmittedGroup(msgspec.Struct, frozen=True):
    """What is left out of one section or kind: those that are listed, how many more there are, and what lists them.

    `name` is what people call it and `element` what programs do; both are "" for things of no kind, or of several.
    """

    listed: tuple[OmittedItem, ...]
    more: int
    name: str = ""
    element: str = ""
    marker: str = ""
    command: str = ""


class PackDraft(msgspec.Struct, frozen=True):
    """Everything that a pack could hold: the items of its parts, then whatever else there is room for.

    `others` are things that come after all parts, each as a line of id and title by section (`sections` are titles of
    sections by marker). If `whole` is given it makes the items of `others`, one for each and in their order, as far as
    they are asked for: they go under `rest` while there is room. `lines` is the share of the budget that is kept for
    those lines, `least_lines` how many there are to be, be it with shorter titles.

    `opening` notes come first and `closing` ones last, where a model reads best; among them must be `NOTICED`, or
    `FOREIGN` where nobody trusts the clone. `title` and `root` say what the pack is, to people and to programs;
    `prefix` is a text before it, to the letter. `source` and `target` are the agents that it goes from and to, `made`
    is the time. Items of `leading` weight and more come before all parts, until a quarter of the pack is full
    (rules.md#quality). With `keeps_notes` no essential note gives way to an item.
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
    lines: float = 0.15
    least_lines: int = 0
    leading: int = 0
    made: str = ""
    source: str = ""
    target: str = ""
    keeps_notes: bool = False

    def items(self) -> list[Item]:
        return [item for part in self.parts for item in part.items]

    @property
    def foreign(self) -> PackDraft:
        """The same from a clone that is not trusted."""
        opening = tuple(FOREIGN if note == NOTICED else note for note in self.opening)
        return msgspec.structs.replace(self, opening=opening)


class Contents(msgspec.Struct, frozen=True):
    """What a pack holds in the end: texts of whole items by part, and a list of what is left out.

    `draft` has the title and the notes; its project is "" in a budget too small for its name. `sizes` are the tokens of
    all items by kind.
    """

    draft: PackDraft
    parts: Sequence[tuple[PackPart, Sequence[str]]]
    left_out: Sequence[OmittedGroup] = ()
    sizes: Mapping[str, int] = {}


def harmless(text: str) -> str:
    """Return a text without characters that steer a terminal, end lines in some readers or change the order of what is
    shown.

    They are replaced, one for one.
    """
    if text.replace("\n", "").replace("\t", "").isprintable():  # what steers is not; found out in half the time
        return text
    return _STEERING.sub("\N{REPLACEMENT CHARACTER}", text)
