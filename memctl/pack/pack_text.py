"""Write a pack of a draft: what of it is whole, what has a title, and which notes; each item is written once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from importlib import import_module
from itertools import zip_longest

import msgspec

from memctl.pack import left_out
from memctl.pack.draft import (
    FIRST,
    FOREIGN,
    NOTICED,
    SECOND,
    Contents,
    Item,
    OmittedItem,
    PackDraft,
    PackNote,
    PackPart,
)
from memctl.text.model_text import visible

CountTokens = Callable[[str], int]

# The formats and the modules that write them: each has the functions `NAME_item` for an item and `NAME_pack` for a
# pack.
FORMATS = {"markdown": "markdown", "xml": "xml", "yaml": "short", "tokens": "short", "event": "xml"}
TOO_LARGE = "too large"
LEAD = PackPart("critical", "Most important")
_PROPOSED = PackPart("proposed", "Proposed, not accepted yet")
_CHECK = PackPart("check", "Check before use")  # records whose code is gone
_LEAD_SHARE = 0.3  # of the items' tokens, which is a quarter of the pack with its frame; rules.md#quality
_NO_WEIGHT = 100  # more than the weight of any item
# Names and title of the notes with titles of items that are not whole, at the beginning and at the end.
TITLES, MORE_TITLES = ("titles", "Only by title"), ("more_titles", "Only by title")
_URGENT = 9  # weight from which no pack may lose an item's title
_AT_FIRST = 5  # titles at the beginning, lest what is whole begins late
_SAMPLE = 60  # titles from which the tokens of a title are estimated


class Taken(msgspec.Struct):
    """What a pack has: items that are whole, items by title before all others, and which notes.

    The first `settled` items in `whole` give way only when all others have. `has_list` says whether the pack says what
    it leaves out.
    """

    whole: list[Item] = []
    titles: list[Item] = []
    settled: int = 0
    has_essential: bool = True
    has_others: bool = False
    has_project: bool = True
    has_notices: bool = True
    has_list: bool = True

    @property
    def titled(self) -> list[Item]:
        """The items that stand by title before all others, since they are not whole."""
        keys = {item.key for item in self.whole}
        return [item for item in self.titles if item.key not in keys]

    def give_way(self, *, keeps_notes: bool) -> bool:
        """Give up the last thing in the order of rank; return False if there is nothing any more."""
        if len(self.whole) > self.settled or (self.whole and not self.has_notes(keeps_notes)):
            self.whole.pop()
        elif self.has_others:
            self.has_others = False
        elif self.has_notes(keeps_notes):
            self.has_essential = False
        elif self.titles:
            self.titles.pop()
        elif keeps_notes:
            return False
        elif self.has_project:
            self.has_project = False
        elif self.has_list:
            self.has_notices = self.has_list = False
        else:
            return False
        return True

    def has_notes(self, keeps_notes: bool) -> bool:
        """Return whether the pack has notes that may give way."""
        return self.has_others or (self.has_essential and not keeps_notes)


class Left(msgspec.Struct, frozen=True):
    """What a pack leaves out: each item, the lines that may name them, and the number of items by section and kind.

    `lines` and `totals` are without the items that have a title before all others.
    """

    items: list[OmittedItem]
    lines: list[OmittedItem]
    totals: Counter[tuple[str, str]]


class PackText:
    """Writes packs of a draft in one format; each of its items is written and counted once.

    `same` maps the key of an item to an earlier one with the same text. `built` are the items of
    `draft.others` that were built so far.
    """

    def __init__(self, draft: PackDraft, form: str, budget: int, count: CountTokens) -> None:
        module = import_module(f"memctl.pack.formats.{FORMATS[form]}")  # loads no other format
        self._write_item: Callable[[Item], str] = getattr(module, f"{form}_item")
        self._write_pack: Callable[[Contents], str] = getattr(module, f"{form}_pack")
        self.draft, self.count, self._form, self._budget = draft, count, form, budget
        self._part_of = {item.key: part for part in draft.parts for item in part.items}
        self._texts: dict[str, str] = {}
        self._costs: dict[str, int] = {}
        self.same: dict[str, Item] = {}
        self._first_of: dict[tuple[str, str, str], Item] = {}
        self._whole = draft.whole() if draft.whole else iter(())
        self.built: list[Item] = []
        for item in draft.items():
            self._compare(item)

    def text(self, taken: Taken, left: Left, lines: int, form: left_out.Form = left_out.FORMS[0]) -> str:
        """Return the text of a pack with `lines` lines of what is left out, in a form."""
        draft, whole = self.draft, taken.whole
        first, last = self._title_notes(taken.titled)
        opening = [note for note in draft.opening if self._has_note(note, taken)]
        closing = [note for note in draft.closing if self._has_note(note, taken)]
        sizes = Counter[str]()
        for item in whole if self._form == "event" else ():  # it says how large its parts are
            sizes[item.kind] += self.cost(item)
        contents = Contents(
            msgspec.structs.replace(
                draft,
                project=draft.project if taken.has_project else "",
                opening=(*opening, *first),
                closing=(*last, *closing),
            ),
            [(part, [self._write(item) for item in items]) for part, items in self._shown(whole) if items],
            left_out.groups(left.lines, left.totals, lines, form, draft.sections) if taken.has_list else (),
            sizes,
        )
        text = visible(self._write_pack(contents))
        return f"{draft.prefix}\n\n{text}" if draft.prefix else text

    def parts(self, whole: Sequence[Item]) -> dict[str, list[str]]:
        """Return the ids of a pack's items by the name of their part, with empty parts of the draft."""
        parts: dict[str, list[str]] = {}
        for part, items in self._by_part(whole):
            if items or part is not self.draft.rest:
                parts.setdefault(part.name, []).extend(item.id for item in items)
        return parts

    def frame_cost(self, parts: Sequence[PackPart], items: Sequence[Item]) -> int:
        """Return the tokens of a pack without items: its notices, the headings of `parts`, and how much is left out.

        Titles of `items` may stand before all others.
        """
        left = [*map(left_out.omit, self.draft.items()), *self.draft.others]
        counted = left_out.counted(len(left), of_records=all(each.kind for each in left))
        lead = [LEAD] if any(map(self.is_leading, items)) else []
        titles = [PackNote(*note, "") for note in (TITLES, MORE_TITLES)] if items else []
        opening = (*filter(is_notice, self.draft.opening), *titles[:1])
        frame = msgspec.structs.replace(self.draft, opening=opening, closing=tuple(titles[1:]))
        empty = Contents(frame, [(part, [""]) for part in (*lead, *parts)], [counted] if left else [])
        return self.count(visible(self._write_pack(empty)) + self.draft.prefix)

    def _has_note(self, note: PackNote, taken: Taken) -> bool:
        if is_notice(note):
            return taken.has_notices
        if note.of and not any(item.key == note.of for item in taken.whole):
            return False
        return taken.has_essential if is_kept(self.draft, note) else taken.has_others

    def _title_notes(self, items: Sequence[Item]) -> tuple[list[PackNote], list[PackNote]]:
        """Return notes with titles of items that are not whole: urgent ones for the beginning, others for the end."""
        first = [item for item in items if self.is_leading(item) or self.is_urgent(item) or self.is_too_large(item)][
            :_AT_FIRST
        ]
        rest = [f"- {left_out.name(item)}" for item in items if item not in first]
        named = [PackNote(*TITLES, "; ".join(map(left_out.name, first)), essential=True)] if first else []
        return named, [PackNote(*MORE_TITLES, "\n".join(rest), essential=True)] if rest else []

    def _shown(self, whole: Sequence[Item]) -> list[tuple[PackPart, list[Item]]]:
        """Return the parts that a reader sees: the front of the pack, those of the draft, proposals, what to check."""
        # A draft without `whole` has excerpts, which keep the order of their relevance.
        apart = {item.key: _CHECK for item in whole if item.is_doubtful}
        apart = {item.key: _PROPOSED for item in whole if self.draft.whole and item.is_proposed} | apart
        leading = self._leading([item for item in whole if item.key not in apart])
        apart |= {item.key: LEAD for item in leading}
        within = self._by_part([item for item in whole if item.key not in apart])
        ends = [(part, [item for item in whole if apart.get(item.key) is part]) for part in (_PROPOSED, _CHECK)]
        return [(LEAD, leading), *within, *ends]

    def _leading(self, whole: Sequence[Item]) -> list[Item]:
        """Return the items with the greatest weights, up to about a quarter of the pack."""
        leading: list[Item] = []
        size = sum(map(self.cost, whole))
        for item in sorted(filter(self.is_leading, self._in_order(whole)), key=lambda item: -item.weight):
            if sum(map(self.cost, leading)) >= _LEAD_SHARE * size:
                break
            leading.append(item)
        return leading

    def _in_order(self, whole: Sequence[Item]) -> list[Item]:
        """Sort items: those of the rank SECOND first, then the others of parts, then the rest."""
        order = [item.key for item in (*self.of_rank(SECOND), *self.ordered)]
        places = {key: place for place, key in enumerate(order)}
        return sorted(whole, key=lambda item: places.get(item.key, len(places)))

    def _by_part(self, whole: Sequence[Item]) -> list[tuple[PackPart, list[Item]]]:
        """Return items by their part, in the order of the draft; items without a part are in `draft.rest`."""
        keys = {item.key for item in whole}
        parts = [(part, [item for item in part.items if item.key in keys]) for part in self.draft.parts]
        own = [(part, items) for part, items in parts if part.name != self.draft.rest.name]
        taken = {item.key for _, items in own for item in items}
        return [*own, (self.draft.rest, [item for item in whole if item.key not in taken])]

    def left(self, taken: Taken) -> Left:
        """Return what a pack leaves out: first the items of parts that did not fit, then the others."""
        keys = {item.key for item in taken.whole}
        titled = taken.titled
        items = {item.key: item for item in (*titled, *self.draft.items()) if item.key not in keys}
        found = [(item, left_out.omit(item)) for item in items.values()]
        found += [(i, each) for each, i in zip(self.draft.others, self.built, strict=False) if i.key not in keys]
        unbuilt = self.draft.others[len(self.built) :]
        left = [*(self._with_reason(item, each) for item, each in found), *unbuilt]
        shown = [self._as_first(item, each) for item, each in zip((item for item, _ in found), left, strict=False)]
        others = [*shown, *unbuilt][len(titled) :]
        return Left(left, left_out.merge_repeats(others), Counter((each.section, each.kind) for each in others))

    def _as_first(self, item: Item, left: OmittedItem) -> OmittedItem:
        """Return an omitted item under the title of the first item with its text, as a list shows it."""
        first = self.same.get(item.key)
        return msgspec.structs.replace(left, title=first.title, why="") if first else left

    def _with_reason(self, item: Item, left: OmittedItem) -> OmittedItem:
        """Return an omitted item, with the reason if another has its text, or if it is too large for the budget."""
        if (first := self.same.get(item.key)) is not None:
            return msgspec.structs.replace(left, why=f"same text as {first.id}")
        is_large = item.key in self._costs and self.is_too_large(item)
        return msgspec.structs.replace(left, why=TOO_LARGE) if is_large else left

    def _compare(self, item: Item) -> None:
        """Note whether an earlier item has the same title and text; versions in titles tell items apart."""
        # Only records of these kinds are merged if they have one text.
        if item.kind in ("decision", "issue", "learning") and item.body.strip():
            first = self._first_of.setdefault((item.kind, item.title, item.body), item)
            if first is not item:
                self.same[item.key] = first

    def _write(self, item: Item) -> str:
        if item.key not in self._texts:
            self._texts[item.key] = visible(self._write_item(item))
        return self._texts[item.key]

    def cost(self, item: Item) -> int:
        if item.key not in self._costs:
            self._costs[item.key] = self.count(self._write(item))
        return self._costs[item.key]

    def part_of(self, item: Item) -> PackPart:
        """Return the part of an item, that of the rest if no part of the draft has it."""
        return self._part_of.get(item.key, self.draft.rest)

    def of_rank(self, rank: int) -> list[Item]:
        parts = (part for part in self.draft.parts if part.rank == rank)
        return [item for part in parts for item in part.items if item.key not in self.same]

    @cached_property
    def ordered(self) -> list[Item]:
        """The items of all parts without those of the rank SECOND, in the order in which they are taken.

        Leading items come first, by weight, then one item from each part in turn.
        """
        turns = zip_longest(*(part.items for part in self.draft.parts if part.rank != SECOND))
        items = [item for turn in turns for item in turn if item is not None and item.key not in self.same]
        return sorted(items, key=lambda item: (-item.weight if self.is_leading(item) else 0, item.is_doubtful))

    def further(self) -> Iterator[Item]:
        """Yield the items that follow all parts; each is built once, when it is first needed."""
        yield from self.built[:]
        for item in self._whole:
            self.built.append(item)
            self._compare(item)
            yield item

    @cached_property
    def titles(self) -> left_out.TitleCost:
        """The tokens of titles, by a sample of this draft's."""
        sample = [*map(left_out.omit, self.of_rank(FIRST)), *self.draft.others[:_SAMPLE]][:_SAMPLE]
        sample = sample or [*map(left_out.omit, self.draft.items()[:_SAMPLE])]
        lines = [left_out.shorten(each, left_out.TITLE).line for each in sample]
        size = sum(len(line.encode(errors="replace")) for line in lines)
        ids = self.count("".join(f"- {each.id} \n" for each in sample))
        both = self.count("".join(f"- {each.id} {line}\n" for each, line in zip(sample, lines, strict=True)))
        return left_out.TitleCost(ids / max(len(sample), 1), max(0, both - ids) / max(size, 1))

    def title_cost(self, item: Item) -> int:
        return self.titles.of(left_out.name(item).removeprefix(item.id))

    @cached_property
    def notes_costs(self) -> tuple[int, int]:
        """The tokens of the essential notes without the notices, and of the others."""

        def cost(*, essential: bool) -> int:
            opening, closing = (
                tuple(
                    note
                    for note in notes
                    if not note.of and not is_notice(note) and is_kept(self.draft, note) == essential
                )
                for notes in (self.draft.opening, self.draft.closing)
            )
            if not (opening or closing):
                return 0
            notes = msgspec.structs.replace(self.draft, project="", opening=opening, closing=closing)
            return self.count(visible(self._write_pack(Contents(notes, ()))))

        return cost(essential=True), cost(essential=False)

    def note_cost(self, item: Item) -> int:
        """Return the tokens of the closing notes that a pack has only with an item."""
        notes = (note for note in self.draft.closing if note.of == item.key)
        return sum(self.count(f"## {note.title}\n\n{note.text}\n") for note in notes)

    def is_too_large(self, item: Item) -> bool:
        return self.cost(item) > self._largest

    @cached_property
    def _largest(self) -> int:
        """The most tokens of an item."""
        return self._budget - self.count("\n".join(note.text for note in self.draft.opening if is_notice(note)))

    def is_leading(self, item: Item) -> bool:
        return item.weight >= (self.draft.leading or _NO_WEIGHT)

    def is_urgent(self, item: Item) -> bool:
        return item.weight >= _URGENT or item.is_recent


def is_notice(note: PackNote) -> bool:
    """Return whether a note says that the texts of the memory are no instructions."""
    return note in (NOTICED, FOREIGN)


def is_kept(draft: PackDraft, note: PackNote) -> bool:
    """Return whether a note stays while there is room for any item: an essential one, or one at the end."""
    return note.essential or note in draft.closing
