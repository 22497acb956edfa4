"""Fill a budget of tokens with whole items, the most important first, and list what is left out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from importlib import import_module
from itertools import chain, zip_longest

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.pack import fair_share, omissions
from memctl.pack.draft import (
    FIRST,
    FOREIGN,
    NOTICED,
    SECOND,
    Contents,
    Frame,
    Item,
    OmittedItem,
    PackDraft,
    PackNote,
    PackPart,
    frames,
)
from memctl.text.fit import most_within
from memctl.text.model_text import visible
from memctl.text.phrases import quantity

CountTokens = Callable[[str], int]

# The formats and the modules that write them: each has the functions `NAME_item` for an item and `NAME_pack` for a
# pack.
FORMATS = {"markdown": "markdown", "xml": "xml", "yaml": "short", "tokens": "short", "event": "xml"}
AUTO = "auto"
_MICRO, _STANDARD = 500, 2_000  # tokens below which YAML and XML are chosen; rules.md#formats
_NOTES_SHARE = 0.06  # of the budget that non-essential notes may take while items are left out
_ALL_NAMED = 0.3  # of the budget for the list of what is left out, if that names all of it
_LINE = 8  # least tokens of a line in the list of what is left out
_ITEM = 25  # least tokens of an item, with its id, title and facts
_SAMPLE = 20  # lines from which the tokens of one line are estimated
_MISSES = 50  # successive items without room, after which no further item is tried
_WIDTHS = (0, 60, 45, 36)  # characters of titles in the list, tried in turn until it has room; 0 for whole titles
_LEAD_SHARE = 0.3  # of the items' tokens, which is a quarter of the pack with its frame; rules.md#quality
_NO_WEIGHT = 100  # more than the weight of any item
_LEAD = PackPart("critical", "Most important")
_PROPOSED = PackPart("proposed", "Proposed, not accepted yet")
_CHECK = PackPart("check", "Check before use")  # records whose code is gone
TOO_LARGE = "too large"
_NAMED = 3  # titles of items that are too large for the budget, or leading and without room, at the beginning
# Names and title of the notes with titles of items that are not whole, at the beginning and at the end.
_TITLES, _MORE_TITLES = ("titles", "Only by title"), ("more_titles", "Only by title")
_TITLES_SHARE = 0.2  # of the budget for the titles of items of the rank FIRST that are not whole
_LEADING_TITLES = 200  # tokens that those of leading items may have in a pack of less than 1,000, too
_ESSENTIAL_SHARE = 0.2  # of the budget that is chosen for essential notes
# Tokens from which on items of the rank SECOND have room to themselves, and up to which share. In less, one or two of
# the most important records fill the pack.
_WORK_FROM, _WORK_SHARE = 600, 1 / 3
_BETWEEN = 2  # tokens that separate an item from the next one


class Pack(msgspec.Struct, frozen=True):
    """A finished pack: its text, its size and budget in tokens, and its format.

    `format` is the name of the format, such as "markdown". `parts` maps the name of each part of the pack to the ids of
    the items in it, and `left_out` has the items that the pack does not include.
    """

    text: str
    tokens: int
    budget: int
    format: str
    parts: dict[str, list[str]]
    left_out: list[OmittedItem]

    def included(self) -> list[str]:
        """Return the ids of all items in the pack."""
        return [identifier for part in self.parts.values() for identifier in part]


def format_for(size: int, *, inter_agent: bool) -> str:
    """Return the name of the format for a pack of `size` tokens.

    A small pack is "yaml" and a larger one "xml". The largest packs are "event" if the pack goes from one agent to
    another (`inter_agent`), and otherwise "tokens". The limits are in rules.md#formats.
    """
    if size < _MICRO:
        return "yaml"
    if size < _STANDARD:
        return "xml"
    return "event" if inter_agent else "tokens"


def fill(draft: PackDraft, form: str, budget: int, count: CountTokens, *, inter_agent: bool = False) -> Pack:
    """Build a pack from as much of a draft as fits into `budget` tokens, as `count` counts them.

    `form` is the pack's format: "markdown", "xml", "yaml", "tokens", "event" or "auto". With "auto" the function
    `format_for` chooses the format by the size of the draft, or by the budget if that is smaller. `inter_agent` says
    that the pack goes from one agent to another, which only matters for "auto".

    Raises MemctlError if the budget is too small even for a pack without any item.
    """
    if form == AUTO:
        notes = sum(count(note.text) for note in (*draft.opening, *draft.closing))
        items = sum(count(f"{item.id} {item.title}\n{item.body}") for item in draft.items())
        form = format_for(min(notes + items, budget), inter_agent=inter_agent)
    builder = _PackBuilder(draft, form, budget, count)
    best: tuple[Frame, list[Item]] | None = None
    tried = list(frames(draft))
    for frame in tried:
        if best and not frame.has_titles:
            break  # a larger pack must not lose the titles of a smaller one to the text of a lesser item
        if builder.cost(frame, []) > budget:
            continue
        chosen = builder.choose(frame)
        if chosen or best is None:
            best = frame, chosen
        if chosen and not builder.is_wordy(frame, chosen):
            break
    if best is None:
        needed = builder.cost(tried[-1], [])
        message = f"a budget of {quantity(budget, 'token')} is too small for the format {form}"
        raise MemctlError(message, f"give a budget of at least {needed} tokens", USAGE)
    return builder.pack(*best)


class _PackBuilder:
    """Builds a pack from a draft, in one format and within one budget of tokens."""

    def __init__(self, draft: PackDraft, form: str, budget: int, count: CountTokens) -> None:
        self.draft = draft
        module = import_module(f"memctl.pack.formats.{FORMATS[form]}")  # loads no other format
        self._item: Callable[[Item], str] = getattr(module, f"{form}_item")
        self._pack: Callable[[Contents], str] = getattr(module, f"{form}_pack")
        self._form, self._budget, self._count = form, budget, count
        self._texts: dict[str, str] = {}
        self._costs: dict[str, int] = {}
        self._parts = {item.key: part for part in draft.parts for item in part.items}
        for item in draft.items():
            self._write(item)
        notices = "\n".join(note.text for note in draft.opening if note in (NOTICED, FOREIGN))
        self._largest = budget - count(notices)  # the most tokens of an item
        self._whole = draft.whole() if draft.whole else iter(())
        self._built: list[Item] = []  # the items of `draft.others` that were built so far
        # The last result of `left_out`, its numbers by section and kind, and the last result of `_most_lines`.
        self._left_out_cache: tuple[frozenset[str] | None, list[OmittedItem]] = None, []
        self._lines_cache: tuple[tuple[frozenset[str], int] | None, list[OmittedItem]] = None, []
        self._totals: Counter[tuple[str, str]] = Counter()
        self._most_lines_cache: tuple[tuple[int, list[str]] | None, tuple[int, int]] = None, (0, 0)
        self._named: list[Item] = []  # items whose titles come before all others
        self._first, self._named = self._fair_choice()

    def _write(self, item: Item) -> None:
        text = visible(self._item(item))
        self._texts[item.key], self._costs[item.key] = text, self._count(text)

    def cost(self, frame: Frame, chosen: list[Item], listed: int = 0, width: int = 0) -> int:
        """Return the tokens of the pack with these items; the parameters are those of `text`."""
        return self._count(self.text(frame, chosen, listed, width))

    def is_wordy(self, frame: Frame, chosen: list[Item]) -> bool:
        """Return whether non-essential notes take more than their share while items are left out."""
        opening = tuple(note for note in frame.draft.opening if note.essential)
        if not self.left_out(chosen) or opening == frame.draft.opening:
            return False
        sparing = frame._replace(draft=msgspec.structs.replace(frame.draft, opening=opening))
        return self.cost(frame, []) - self.cost(sparing, []) > _NOTES_SHARE * self._budget

    def _fair_choice(self) -> tuple[list[Item], list[Item]]:
        """Return the items of rank FIRST that are whole in any frame, and the items that are named if not whole."""
        items = [item for item in self._ordered_items if self._parts[item.key].rank == FIRST]
        if not items:
            return [], [item for item in self._ordered_items if self._costs[item.key] > self._largest][:_NAMED]
        later = [item for item in self.draft.items() if self._parts[item.key].rank == SECOND and self._is_leading(item)]
        by_key = {item.key: item for item in (*items, *later)}
        ordered = fair_share.in_turn([self._candidate(item) for item in items])
        named_only = [self._candidate(item) for item in later]
        alone, room = self._rooms(items)
        leading = sum(candidate.title for candidate in (*ordered, *named_only) if candidate.lead)
        for_titles = max(_TITLES_SHARE * self._budget, min(leading, _LEADING_TITLES, alone))
        choice = fair_share.choose(ordered, named_only, room, alone, for_titles)
        return [by_key[key] for key in choice.whole], [by_key[key] for key in choice.titled]

    def _candidate(self, item: Item) -> fair_share.Candidate:
        part, has_text = self._parts[item.key], bool(item.body.strip())
        return fair_share.Candidate(
            item.key,
            self._costs[item.key] + _BETWEEN,
            self._count(f"; {omissions.name(item)}") + 1,
            part.counted and has_text,
            part.shortest_first,
            item.weight if self._is_leading(item) else 0,
            has_text,
        )

    def _rooms(self, items: list[Item]) -> tuple[float, float]:
        """Return the room for items of rank FIRST in the sparest frame, and the room beside all that is kept free.

        Each share that is kept free grows slower than the budget, or a greater budget would have less room.
        """
        full, sparing, *_, sparest = (frame for frame in frames(self.draft) if frame.has_parts)
        essential = self.cost(sparing, [])
        lead = [_LEAD] if any(self._is_leading(item) for item in items) else []
        parts = [*lead, *(part for part in self.draft.parts if part.rank == FIRST and part.items)]
        titles = [PackNote(*note, omissions.name(items[0])) for note in (_TITLES, _MORE_TITLES)]
        empty = Contents(
            msgspec.structs.replace(sparest.draft, opening=(*sparest.draft.opening, titles[0]), closing=(titles[1],)),
            [(part, [""]) for part in parts],
            omissions.groups(self.left_out([]), self._totals, 0, 0, self.draft.sections),
        )
        names = len(titles) * self._count(omissions.name(items[0]))
        least = self._count(visible(self._pack(empty))) - names
        alone = self._budget - least
        reserved = min(max(0, essential - self.cost(sparest, [])), _ESSENTIAL_SHARE * self._budget)
        reserved += min(max(0, self.cost(full, []) - essential), _NOTES_SHARE * self._budget)
        reserved += min(self.draft.reserve, _WORK_SHARE * self._budget, max(0.0, (self._budget - _WORK_FROM) / 2))
        return alone, alone - reserved

    def choose(self, frame: Frame) -> list[Item]:
        """Return the items that fit beside a frame; [] if it has no room for those that are whole in any frame."""
        if not frame.has_parts:
            return []
        if self._first and self.cost(frame, self._first) > self._budget:
            return []
        chosen = self._take(frame)
        while chosen and self.cost(frame, chosen) > self._budget:
            chosen.pop()
        if chosen:
            return self._top_up(frame, chosen)
        # In a budget too small for the list of what is left out, one item is better than the list.
        candidates = chain(self._ordered_items, self._further_items())
        return next(([item] for item in candidates if self.cost(frame, [item]) <= self._budget), [])

    def _take(self, frame: Frame) -> list[Item]:
        """Return the items that fit beside the frame and the share of the list, each text once."""
        chosen = list(self._first)
        bodies = {item.body for item in chosen if item.body}
        room = self._budget - self.cost(frame, chosen)
        for item in self.draft.items():
            if self._parts[item.key].rank == SECOND and self._costs[item.key] + self._note_cost(frame, item) <= room:
                room -= self._costs[item.key] + self._note_cost(frame, item)
                chosen.append(item)
        room -= self._reserved_tokens()
        rooms = {part.name: part.limit for part in self.draft.parts if part.limit}
        taken = {item.key for item in chosen}
        for item in self._ordered_items:
            if item.key in taken or not self._may_fill(item):
                continue
            cost, part = self._costs[item.key], self._parts[item.key]
            if cost <= min(room, rooms.get(part.name, room)) and _is_new(item, bodies):
                room -= cost
                chosen.append(item)
                if part.limit:
                    rooms[part.name] -= cost
        least = self._least_waiting(frame, chosen)
        misses = 0
        for item in self._further_items():
            if room < _ITEM or misses >= _MISSES or least <= room:
                break
            if self._costs[item.key] > room:
                misses += 1
            elif item.body.strip() and _is_new(item, bodies):
                room -= self._costs[item.key]
                chosen.append(item)
                misses = 0
        return chosen

    def _may_fill(self, item: Item) -> bool:
        """Return whether an item may take room that happens to be left: a greater budget must not lose it by that.

        Of the rank FIRST these are items that are named otherwise, but none of those of which the number counts.
        """
        part = self._parts.get(item.key)
        return part is None or part.rank != FIRST or (item in self._named and not part.counted)

    def _least_waiting(self, frame: Frame, chosen: list[Item]) -> float:
        """Return the room that no item of rank 0 may take: what the shortest missing item with a rank would need.

        It is 0 while not even the titles of the most important ones have room.
        """
        if self._is_unnamed(frame, chosen):
            return 0
        keys = {item.key for item in chosen}
        missing = (key for key, part in self._parts.items() if part.rank and key not in keys)
        return min((self._costs[key] for key in missing), default=math.inf)

    def _note_cost(self, frame: Frame, item: Item) -> int:
        """Return the tokens of the closing notes that a pack has only with an item."""
        notes = (note for note in frame.draft.closing if note.of == item.key)
        return sum(self._count(f"## {note.title}\n\n{note.text}\n") for note in notes)

    def _top_up(self, frame: Frame, chosen: list[Item]) -> list[Item]:
        """Return the items with those added that still have room beside the list of what is left out."""
        room = self._budget - self.cost(frame, chosen, *self._most_lines(frame, chosen))
        keys = {item.key for item in chosen}
        keys |= {item.key for part in self.draft.parts if part.limit for item in part.items}
        bodies = {item.body for item in chosen}
        for item in (*self.draft.items(), *self._built):
            if item.key in keys or self._costs[item.key] > room or not self._may_fill(item):
                continue
            if not _is_new(item, bodies):
                continue
            if item.key not in self._parts and self._least_waiting(frame, chosen) <= room:
                break
            longer = [*chosen, item]
            if self.cost(frame, longer, *self._most_lines(frame, longer)) <= self._budget:
                chosen, room = longer, room - self._costs[item.key]
        return chosen

    @cached_property
    def _ordered_items(self) -> list[Item]:
        """Return the items of all parts in the order in which they are taken.

        Critical items by weight, then one item from each part in turn; without the items of the rank SECOND.
        """
        least = self.draft.leading or _NO_WEIGHT
        turns = zip_longest(*(part.items for part in self.draft.parts if part.rank != SECOND))
        items = [item for turn in turns for item in turn if item is not None]
        return sorted(items, key=lambda item: (-item.weight if item.weight >= least else 0, item.is_doubtful))

    def _further_items(self) -> Iterator[Item]:
        """Yield the items that follow all parts; each is built once, when it is first needed."""
        yield from self._built[:]
        for item in self._whole:
            self._built.append(item)
            self._write(item)
            yield item

    def _reserved_tokens(self) -> int:
        """Return the tokens to reserve for the list of what is left out."""
        left = omissions.merge_repeats([*map(omissions.omit, self.draft.items()), *self.draft.others])
        share = self._lines_share(left)
        shown = left[: int(self._budget * share) // _LINE + 1]
        return min(int(self._budget * share), 2 * self._count(_as_lines(shown)))

    def pack(self, frame: Frame, chosen: list[Item]) -> Pack:
        """Return the finished pack, with as many lines in the list of what is left out as fit."""
        text = self.text(frame, chosen, *self._most_lines(frame, chosen))
        parts = {
            part.name: [item.id for item in items]
            for part, items in self._by_part({item.key for item in chosen}, chosen)
            if items or part is not self.draft.rest
        }
        return Pack(text, self._count(text), self._budget, self._form, parts, self.left_out(chosen))

    def _most_lines(self, frame: Frame, chosen: list[Item]) -> tuple[int, int]:
        """Return how many lines of the list have room, and the width of their titles in characters (0: whole)."""
        left = self._lines(frame, chosen)
        if self._is_unnamed(frame, chosen):
            return 0, 0
        key = id(frame), [item.key for item in chosen]
        if self._most_lines_cache[0] == key:
            return self._most_lines_cache[1]
        least = min(len(left), self.draft.least_lines)
        lines = 0, 0
        for width in _WIDTHS:
            most, line = self._line_limit(frame, chosen, width, least)
            guess = lines[0] + 1 if lines[0] else int((self._budget - self.cost(frame, chosen)) / line)
            cost = partial(self.cost, frame, chosen, width=width)
            lines = most_within(cost, self._budget, most, guess, line), width
            if lines[0] >= least:
                break
        self._most_lines_cache = key, lines
        return lines

    def _is_unnamed(self, frame: Frame, chosen: list[Item]) -> bool:
        """Return whether an item of the rank FIRST has no room even for its title, so that no other is listed."""
        keys = {item.key for item in (*chosen, *(self._named if frame.has_titles else ()))}
        return any(part.rank == FIRST and key not in keys for key, part in self._parts.items())

    def _line_limit(self, frame: Frame, chosen: list[Item], width: int, least: int) -> tuple[int, float]:
        """Return how many lines the list may have, at least `least`, and the estimated tokens of a line.

        With items in the pack the lines may take a share of the budget, otherwise all of it. Lines are first counted as
        plain ones and then as the format writes them, under the headings of their groups.
        """
        left = self._lines(frame, chosen)
        most = min(len(left), 2 + self._budget // _LINE)

        def plain(number: int) -> int:
            return self._count(_as_lines(left[:number], width))

        line = max(1.0, plain(_SAMPLE) / max(1, min(_SAMPLE, len(left))))
        if not chosen:
            return most, line
        share = int(self._budget * self._lines_share(left))
        number = most_within(plain, share, most, int(share / line), line)
        beside = self.cost(frame, chosen, 1, width) - int(line)
        number = most_within(lambda most: self.cost(frame, chosen, most, width) - beside, share, number, number, line)
        return max(least, number), line

    def _lines_share(self, left: Sequence[OmittedItem]) -> float:
        """Return the share of the budget for the list of what is left out: more than usual if that names all."""
        most = _ALL_NAMED * self._budget
        if len(left) * _LINE > most or self._count(_as_lines(left)) > most:
            return self.draft.lines
        return max(self.draft.lines, _ALL_NAMED)

    def _lines(self, frame: Frame, chosen: list[Item]) -> list[OmittedItem]:
        """Return the lines of the list of what is left out, without items that are named elsewhere in the pack."""
        keys = frozenset(item.key for item in chosen)
        named = sum(item.key not in keys for item in self._named) if frame.has_titles else 0
        left = self.left_out(chosen)
        if self._lines_cache[0] != (keys, named):
            self._lines_cache = (keys, named), omissions.merge_repeats(left[named:])
        return self._lines_cache[1]

    def text(self, frame: Frame, chosen: list[Item], listed: int, width: int = 0) -> str:
        """Return the text of the pack with some items and `listed` lines of what is left out.

        `width` is the number of characters of titles in these lines, 0 for whole titles.
        """
        keys = {item.key for item in chosen}
        large = [item for item in self._named if item.key not in keys] if frame.has_titles else []
        parts: list[tuple[PackPart, list[Item]]] = []
        left: list[OmittedItem] = []
        if frame.has_parts:
            leading, doubtful = self._leading(chosen), [item for item in chosen if item.is_doubtful]
            # A draft without `whole` has excerpts, which keep the order of their relevance.
            proposed = [item for item in chosen if self.draft.whole and item.is_proposed and not item.is_doubtful]
            within = self._by_part(keys - {item.key for item in (*leading, *proposed, *doubtful)}, chosen)
            parts = [(_LEAD, leading), *within, (_PROPOSED, proposed), (_CHECK, doubtful)]
            left = self._lines(frame, chosen) if listed else self.left_out(chosen)[len(large) :]
        totals = self._totals - Counter((item.section, omissions.omit(item).kind) for item in large)
        sizes = Counter[str]()
        for item in chosen:
            sizes[item.kind] += self._costs[item.key]
        draft = frame.draft
        first, last = self._title_notes(large)
        closing = tuple(note for note in draft.closing if not note.of or note.of in keys)
        contents = Contents(
            msgspec.structs.replace(draft, opening=(*draft.opening, *first), closing=(*last, *closing)),
            [(part, [self._texts[item.key] for item in items]) for part, items in parts if items],
            omissions.groups(left, totals, listed, width, draft.sections),
            sizes,
        )
        text = visible(self._pack(contents))
        return f"{draft.prefix}\n\n{text}" if draft.prefix else text

    def _title_notes(self, items: Sequence[Item]) -> tuple[list[PackNote], list[PackNote]]:
        """Return notes with the titles of items that are not whole: for the beginning, with a few, and for the end."""
        first = [item for item in items if self._costs[item.key] > self._largest or self._is_leading(item)][:_NAMED]
        rest = [f"- {omissions.name(item)}" for item in items if item not in first]
        named = [PackNote(*_TITLES, "; ".join(map(omissions.name, first)), essential=True)] if first else []
        return named, [PackNote(*_MORE_TITLES, "\n".join(rest), essential=True)] if rest else []

    def _by_part(self, keys: set[str], chosen: list[Item]) -> list[tuple[PackPart, list[Item]]]:
        """Return the items with these keys by their part; items without a part are in `draft.rest`."""
        own = {item.key for item in self.draft.items()}
        parts = [(part, [item for item in part.items if item.key in keys]) for part in self.draft.parts]
        return [*parts, (self.draft.rest, [item for item in chosen if item.key in keys - own])]

    def _is_leading(self, item: Item) -> bool:
        return item.weight >= (self.draft.leading or _NO_WEIGHT)

    def _leading(self, chosen: list[Item]) -> list[Item]:
        """Return the items with the greatest weights, up to about a quarter of the pack."""
        keys = {item.key for item in chosen if self._is_leading(item)}
        parts = self.draft.parts
        second = [item for part in parts if part.rank == SECOND for item in part.items]
        own = [item for item in (*second, *self._ordered_items) if item.key in keys]
        sure = [*own, *(item for item in chosen if item.key in keys and item.key not in self._parts)]
        room = _LEAD_SHARE * sum(self._costs[item.key] for item in chosen)
        leading: list[Item] = []
        for item in sorted(sure, key=lambda item: -item.weight):
            if room <= 0:
                break
            leading.append(item)
            room -= self._costs[item.key]
        return leading

    def left_out(self, packed: list[Item]) -> list[OmittedItem]:
        """Return the items that are not in the pack: first the chosen ones that did not fit, then the others."""
        keys = frozenset(item.key for item in packed)
        if self._left_out_cache[0] != keys:  # the text is built dozens of times, and there may be 10,000 such items
            items = {item.key: item for item in (*self._named, *self.draft.items())}
            chosen = [self._with_reason(item, omissions.omit(item)) for item in items.values() if item.key not in keys]
            built = zip(self.draft.others, self._built, strict=False)
            chosen += [self._with_reason(item, left) for left, item in built if item.key not in keys]
            left = [*chosen, *self.draft.others[len(self._built) :]]
            self._left_out_cache, self._totals = (keys, left), Counter((each.section, each.kind) for each in left)
        return self._left_out_cache[1]

    def _with_reason(self, item: Item, left: OmittedItem) -> OmittedItem:
        """Return an omitted item, with TOO_LARGE as the reason if the item is too large for the budget."""
        is_large = self._costs[item.key] > self._largest
        return msgspec.structs.replace(left, why=TOO_LARGE) if is_large else left


def _as_lines(left: Sequence[OmittedItem], width: int = 0) -> str:
    """Return omitted items as plain lines, from which the tokens of their list are estimated."""
    return "".join(f"- {each.id} {omissions.shorten(each, width).line}\n" for each in left)


def _is_new(item: Item, bodies: set[str]) -> bool:
    """Return whether an item's text is empty, a file or not in `bodies`, and add it there."""
    is_new = not item.body.strip() or item.kind == "file" or item.body not in bodies
    bodies.add(item.body)
    return is_new
