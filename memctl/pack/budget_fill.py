"""Fill a budget of tokens with whole items, the most important first, and list what is left out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from importlib import import_module
from itertools import chain, zip_longest
from typing import NamedTuple

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.pack.draft import (
    FOREIGN,
    NOTICED,
    Contents,
    Item,
    OmittedGroup,
    OmittedItem,
    PackDraft,
    PackNote,
    PackPart,
    sanitize,
)
from memctl.record.kinds import KINDS
from memctl.text.markdown import one_line
from memctl.text.phrases import quantity

CountTokens = Callable[[str], int]

# The formats and the modules that write them: each has the functions `NAME_item` for an item and `NAME_pack` for a
# pack.
FORMATS = {"markdown": "markdown", "xml": "xml", "yaml": "short", "tokens": "short", "event": "xml"}
AUTO = "auto"
_MICRO, _STANDARD = 500, 2_000  # tokens below which YAML and XML are chosen; rules.md#formats
_NOTES_SHARE = 0.06  # of the budget that non-essential notes may take while items are left out
_LINE = 8  # least tokens of a line in the list of what is left out
_ITEM = 25  # least tokens of an item, with its id, title and facts
_SAMPLE = 20  # lines from which the tokens of one line are estimated
_MISSES = 50  # successive items without room, after which no further item is tried
_WIDTHS = (0, 60, 45, 36)  # characters of titles in the list, tried in turn until it has room; 0 for whole titles
_LEAD_SHARE = 0.3  # of the items' tokens, which is a quarter of the pack with its frame; rules.md#quality
_NO_WEIGHT = 100  # more than the weight of any item
_LEAD = PackPart("critical", "Most important")
_PROPOSED = PackPart("proposed", "Proposed, not accepted yet")
_CHECK = PackPart("check", "Check before use")  # records whose code has changed, so that they may be outdated
TOO_LARGE = "too large"
_NAMED = 3  # items too large for the budget whose titles come first


class Pack(msgspec.Struct, frozen=True):
    """A finished pack: its text, its size and budget in tokens, and its format.

    `parts` has the ids of the included items by the name of the part, and `left_out` the items that are not included.
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
    """Return the format for a pack of `size` tokens: "yaml", "xml", or for the largest "event" or "tokens".

    `inter_agent` says that the pack goes from one agent to another: a large one is then an "event". The limits are in
    rules.md#formats.
    """
    if size < _MICRO:
        return "yaml"
    if size < _STANDARD:
        return "xml"
    return "event" if inter_agent else "tokens"


def fill(draft: PackDraft, form: str, budget: int, count: CountTokens, *, inter_agent: bool = False) -> Pack:
    """Build a pack from as much of a draft as fits into `budget` tokens, as `count` counts them.

    `form` is one of FORMATS, or "auto" to choose one by the size of the draft or the budget, whichever is smaller;
    `inter_agent` says for "auto" that the pack goes from one agent to another. Raises MemctlError if the budget is too
    small for an empty pack of the format.
    """
    if form == AUTO:
        notes = sum(count(note.text) for note in (*draft.opening, *draft.closing))
        items = sum(count(f"{item.id} {item.title}\n{item.body}") for item in draft.items())
        form = format_for(min(notes + items, budget), inter_agent=inter_agent)
    builder = _PackBuilder(draft, form, budget, count)
    best: tuple[_Frame, list[Item]] | None = None
    frames = list(_frames(draft))
    for frame in frames:
        if builder.cost(frame, []) > budget:
            continue
        chosen = builder.choose(frame)
        if chosen or best is None:
            best = frame, chosen
        if chosen and not builder.is_wordy(frame, chosen):
            break
    if best is None:
        needed = builder.cost(frames[-1], [])
        raise MemctlError(
            f"a budget of {quantity(budget, 'token')} is too small for the format {form}",
            f"give at least {needed}",
            USAGE,
        )
    return builder.pack(*best)


def whole_lines(lines: Iterable[str], limit: int, count: CountTokens) -> str:
    """Return as many whole lines as fit into `limit` tokens, as a Markdown list; "" if none fits."""
    text = ""
    for line in dict.fromkeys(lines):
        longer = f"{text}\n- {line}" if text else f"- {line}"
        if count(longer) <= limit:
            text = longer
    return text


class _Frame(NamedTuple):
    """Everything in a pack except the items: a draft, perhaps with fewer notes.

    `has_titles` says whether the titles of too large items are shown, `has_parts` whether items are.
    """

    draft: PackDraft
    has_titles: bool = True
    has_parts: bool = True


def _frames(draft: PackDraft) -> Iterator[_Frame]:
    """Yield the frames of a draft, from the one with all notes to the emptiest."""
    essential, last = (tuple(note for note in notes if note.essential) for notes in (draft.opening, draft.closing))
    noticed = tuple(note for note in draft.opening if note in (NOTICED, FOREIGN))
    less = partial(msgspec.structs.replace, draft)
    yield _Frame(draft)
    yield _Frame(less(opening=essential))
    yield _Frame(less(opening=essential, closing=last))
    if draft.keeps_notes:
        return
    for has_titles in (True, False):
        for project in (draft.project, ""):
            yield _Frame(less(project=project, opening=noticed, closing=()), has_titles)
    for project in (draft.project, ""):
        yield _Frame(less(project=project, opening=(), closing=()), has_titles=False, has_parts=False)


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
        for item in draft.items():
            self._write(item)
        notices = "\n".join(note.text for note in draft.opening if note in (NOTICED, FOREIGN))
        self._largest = budget - count(notices)  # the most tokens of an item
        self._large = [item for item in self._ordered_items() if self._costs[item.key] > self._largest][:_NAMED]
        self._whole = draft.whole() if draft.whole else iter(())
        self._built: list[Item] = []  # the items of `draft.others` that were built so far
        self._left_out_cache: tuple[frozenset[str] | None, list[OmittedItem]] = (
            None,
            [],
        )  # the last result of `left_out`
        self._totals: Counter[tuple[str, str]] = Counter()  # its numbers by section and kind
        self._most_lines_cache: tuple[tuple[int, list[str]] | None, tuple[int, int]] = (
            None,
            (0, 0),
        )  # that of `_most_lines`

    def _write(self, item: Item) -> None:
        """Write an item in the format, and count its tokens."""
        text = sanitize(self._item(item))
        self._texts[item.key], self._costs[item.key] = text, self._count(text)

    def cost(self, frame: _Frame, chosen: list[Item], listed: int = 0, width: int = 0) -> int:
        """Return the tokens of the pack with these items; the parameters are those of `text`."""
        return self._count(self.text(frame, chosen, listed, width))

    def is_wordy(self, frame: _Frame, chosen: list[Item]) -> bool:
        """Return whether non-essential notes take more than their share while items are left out."""
        opening = tuple(note for note in frame.draft.opening if note.essential)
        if not self.left_out(chosen) or opening == frame.draft.opening:
            return False
        sparing = frame._replace(draft=msgspec.structs.replace(frame.draft, opening=opening))
        return self.cost(frame, []) - self.cost(sparing, []) > _NOTES_SHARE * self._budget

    def choose(self, frame: _Frame) -> list[Item]:
        """Return the items to put into the pack beside a frame."""
        if not frame.has_parts:
            return []
        chosen = self._take(frame)
        while chosen and self.cost(frame, chosen) > self._budget:
            chosen.pop()
        if chosen:
            return self._top_up(frame, chosen)
        # In a budget too small for the list of what is left out, one item is better than the list.
        found = chain(self._ordered_items(), self._further_items())
        return next(([item] for item in found if self.cost(frame, [item]) <= self._budget), [])

    def _take(self, frame: _Frame) -> list[Item]:
        """Return the items that fit beside the frame and the tokens reserved for the list; each text once."""
        room = self._budget - self.cost(frame, []) - self._reserved_tokens()
        rooms = {part.name: part.limit for part in self.draft.parts if part.limit}
        limited = {item.key: part.name for part in self.draft.parts if part.limit for item in part.items}
        chosen: list[Item] = []
        bodies = set[str]()
        for item in self._ordered_items():
            cost, part = self._costs[item.key], limited.get(item.key, "")
            if cost <= min(room, rooms.get(part, room)) and _is_new(item, bodies):
                room -= cost
                chosen.append(item)
                if part:
                    rooms[part] -= cost
        misses = 0
        for item in self._further_items():
            if room < _ITEM or misses >= _MISSES:
                break
            misses += 1
            if self._costs[item.key] <= room and _is_new(item, bodies):
                room -= self._costs[item.key]
                chosen.append(item)
                misses = 0
        return chosen

    def _top_up(self, frame: _Frame, chosen: list[Item]) -> list[Item]:
        """Return `chosen` with further items that still fit beside the list of what is left out.

        Here an item may have the same text as another one.
        """
        room = self._budget - self.cost(frame, chosen, *self._most_lines(frame, chosen))
        keys = {item.key for item in chosen}
        keys |= {item.key for part in self.draft.parts if part.limit for item in part.items}
        for item in (*self.draft.items(), *self._built):
            if item.key not in keys and self._costs[item.key] <= room:
                longer = [*chosen, item]
                if self.cost(frame, longer, *self._most_lines(frame, longer)) <= self._budget:
                    chosen, room = longer, room - self._costs[item.key]
        return chosen

    def _ordered_items(self) -> list[Item]:
        """Return the items of all parts, in the order in which they are tried.

        First come the items of parts that are first, then critical items by weight, then one item of each part in turn.
        """
        least = self.draft.leading or _NO_WEIGHT
        first = [item for part in self.draft.parts if part.is_first for item in part.items]
        turns = zip_longest(*(part.items for part in self.draft.parts if not part.is_first))
        found = [item for turn in turns for item in turn if item is not None]
        return first + sorted(found, key=lambda item: (-item.weight if item.weight >= least else 0, item.has_changed))

    def _further_items(self) -> Iterator[Item]:
        """Yield the items that are tried after all parts; each is built once, when it is first needed."""
        yield from self._built[:]
        for item in self._whole:
            self._built.append(item)
            self._write(item)
            yield item

    def _reserved_tokens(self) -> int:
        """Return the tokens to reserve for the list of what is left out."""
        most = int(self._budget * self.draft.lines)
        left = [f"{left.id} {left.title} {left.why}\n" for left in self.draft.others[: most // _LINE + 1]]
        left += [f"{item.id} {item.title}\n" for item in self.draft.items()]
        return min(most, 2 * self._count("".join(left)))

    def pack(self, frame: _Frame, chosen: list[Item]) -> Pack:
        """Return the finished pack, with as many lines in the list of what is left out as fit."""
        text = self.text(frame, chosen, *self._most_lines(frame, chosen))
        parts = {
            part.name: [item.id for item in items]
            for part, items in self._by_part({item.key for item in chosen}, chosen)
            if items or part is not self.draft.rest
        }
        return Pack(text, self._count(text), self._budget, self._form, parts, self.left_out(chosen))

    def _most_lines(self, frame: _Frame, chosen: list[Item]) -> tuple[int, int]:
        """Return how many lines of the list have room, and the width of their titles in characters (0: whole)."""
        left = self.left_out(chosen)
        asked = id(frame), [item.key for item in chosen]
        if self._most_lines_cache[0] == asked:
            return self._most_lines_cache[1]
        least = min(len(left), self.draft.least_lines)
        lines = 0, 0
        for width in _WIDTHS:
            most, line = self._line_limit(frame, chosen, width, least)
            guess = lines[0] + 1 if lines[0] else int((self._budget - self.cost(frame, chosen)) / line)
            lines = (
                _largest_fitting(partial(self.cost, frame, chosen, width=width), self._budget, most, guess, line),
                width,
            )
            if lines[0] >= least:
                break
        self._most_lines_cache = asked, lines
        return lines

    def _line_limit(self, frame: _Frame, chosen: list[Item], width: int, least: int) -> tuple[int, float]:
        """Return how many lines the list may have, at least `least`, and the estimated tokens of a line.

        With items in the pack the lines may take a share of the budget, otherwise all of it. Lines are first counted as
        plain ones and then as the format writes them, under the headings of their groups.
        """
        omitted = self.left_out(chosen)
        most = min(len(omitted), 2 + self._budget // _LINE)

        def plain(number: int) -> int:
            return self._count("".join(f"- {each.id} {_shorten(each, width).line}\n" for each in omitted[:number]))

        line = max(1.0, plain(_SAMPLE) / max(1, min(_SAMPLE, len(omitted))))
        if not chosen:
            return most, line
        share = int(self._budget * self.draft.lines)
        number = _largest_fitting(plain, share, most, int(share / line), line)
        beside = self.cost(frame, chosen, 1, width) - int(line)
        number = _largest_fitting(
            lambda most: self.cost(frame, chosen, most, width) - beside, share, number, number, line
        )
        return max(least, number), line

    def text(self, frame: _Frame, chosen: list[Item], listed: int, width: int = 0) -> str:
        """Return the text of the pack with some items and `listed` lines of what is left out.

        `width` is the number of characters of titles in these lines, 0 for whole titles.
        """
        keys = {item.key for item in chosen}
        large = self._large if frame.has_titles else []
        parts: list[tuple[PackPart, list[Item]]] = []
        left: list[OmittedItem] = []
        if frame.has_parts:
            leading, changed = self._leading(chosen), [item for item in chosen if item.has_changed]
            # A draft without `whole` has excerpts, which keep the order of their relevance.
            proposed = [item for item in chosen if self.draft.whole and item.is_proposed and not item.has_changed]
            within = self._by_part(keys - {item.key for item in (*leading, *proposed, *changed)}, chosen)
            parts = [(_LEAD, leading), *within, (_PROPOSED, proposed), (_CHECK, changed)]
            left = self.left_out(chosen)[len(large) :]
        totals = self._totals - Counter((item.section, _omit(item).kind) for item in large)
        sizes = Counter[str]()
        for item in chosen:
            sizes[item.kind] += self._costs[item.key]
        draft = frame.draft
        closing = tuple(note for note in draft.closing if not note.of or note.of in keys)
        contents = Contents(
            msgspec.structs.replace(draft, opening=(*draft.opening, *_titles(large)), closing=closing),
            [(part, [self._texts[item.key] for item in items]) for part, items in parts if items],
            _groups(left, totals, listed, width, draft.sections),
            sizes,
        )
        text = sanitize(self._pack(contents))
        return f"{draft.prefix}\n\n{text}" if draft.prefix else text

    def _by_part(self, keys: set[str], chosen: list[Item]) -> list[tuple[PackPart, list[Item]]]:
        """Return the items with these keys by their part; items without a part are in `draft.rest`."""
        own = {item.key for item in self.draft.items()}
        parts = [(part, [item for item in part.items if item.key in keys]) for part in self.draft.parts]
        return [*parts, (self.draft.rest, [item for item in chosen if item.key in keys - own])]

    def _leading(self, chosen: list[Item]) -> list[Item]:
        """Return the items with the greatest weights, up to about a quarter of the pack."""
        least = self.draft.leading or _NO_WEIGHT
        sure = [item for item in chosen if item.weight >= least and not item.has_changed]
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
        # The text is built some dozens of times, and there may be 10,000 such items.
        if self._left_out_cache[0] != keys:
            items = {item.key: item for item in (*self._large, *self.draft.items())}
            chosen = [self._with_reason(item, _omit(item)) for item in items.values() if item.key not in keys]
            built = zip(self.draft.others, self._built, strict=False)
            chosen += [self._with_reason(item, omitted) for omitted, item in built if item.key not in keys]
            omitted = [*chosen, *self.draft.others[len(self._built) :]]
            self._left_out_cache, self._totals = (keys, omitted), Counter((each.section, each.kind) for each in omitted)
        return self._left_out_cache[1]

    def _with_reason(self, item: Item, omitted: OmittedItem) -> OmittedItem:
        """Return an omitted item, with TOO_LARGE as the reason if the item is too large for the budget."""
        is_large = self._costs[item.key] > self._largest
        return msgspec.structs.replace(omitted, why=TOO_LARGE) if is_large else omitted


def _is_new(item: Item, bodies: set[str]) -> bool:
    """Return whether an item's text is empty or not in `bodies`, and add it there."""
    is_new = not item.body or item.body not in bodies
    bodies.add(item.body)
    return is_new


def _largest_fitting(cost: Callable[[int], int], limit: int, most: int, guess: int, each: float) -> int:
    """Return the largest number up to `most` whose cost is within a limit, 0 if there is none.

    The search starts from `guess` and extrapolates from the last two costs, at first with the cost `each` per step: a
    bisection would build three times as many texts.
    """
    low, high = 0, most + 1
    number, tried = guess, (0, 0)
    while high - low > 1:
        number = min(max(number, low + 1), high - 1)
        spent = cost(number)
        low, high = (number, high) if spent <= limit else (low, number)
        if tried[0]:
            each = max(1.0, (spent - tried[1]) / (number - tried[0]))
        tried = number, spent
        number += math.floor((limit - spent) / each)
    return low


def _titles(large: Sequence[Item]) -> Iterator[PackNote]:
    """Yield a note with the titles of the items that are too large for the budget, if there are any."""
    if large:
        titles = "; ".join(one_line(f"{item.id} {item.title}") for item in large)
        yield PackNote("too_large", "Too large for this budget", titles, essential=True)


def _omit(item: Item) -> OmittedItem:
    """Return an item as one that the pack leaves out."""
    return OmittedItem(item.id, item.title, kind=item.kind if item.kind in KINDS else "", section=item.section)


def _groups(
    omitted: list[OmittedItem],
    totals: Mapping[tuple[str, str], int],
    listed: int,
    width: int,
    sections: Mapping[str, str],
) -> list[OmittedGroup]:
    """Group what is left out by section and kind; without listed lines all of it is one group.

    `totals` are the numbers by (section, kind), `listed` the number of lines, `sections` the titles by marker.
    """
    if not omitted:
        return []
    if not listed:
        return [OmittedGroup((), len(omitted), command="memctl list" if all(kind for _, kind in totals) else "")]

    def group(section: str, kind: str) -> tuple[str, str]:
        return (section, "") if section in sections else ("", kind)

    groups: dict[tuple[str, str], list[OmittedItem]] = {group(*key): [] for key in totals}
    counts = Counter[tuple[str, str]]()
    for key, number in totals.items():
        counts[group(*key)] += number
    for each in omitted[:listed]:
        groups[group(each.section, each.kind)].append(_shorten(each, width))
    return [_group(*key, tuple(found), counts[key] - len(found), sections) for key, found in groups.items()]


def _group(
    marker: str, kind: str, listed: tuple[OmittedItem, ...], more: int, sections: Mapping[str, str]
) -> OmittedGroup:
    """Return the group of a section (`marker`) or of a kind of record; of neither without both."""
    if marker:
        name, command = f"{marker} {one_line(sections[marker])}", f"memctl list --open --section {marker[1:]}"
        return OmittedGroup(listed, more, name, "section", marker, command)
    if kind:
        return OmittedGroup(listed, more, f"{kind}s".capitalize(), f"{kind}s", "", f"memctl list --open --type {kind}")
    return OmittedGroup(listed, more)


@lru_cache(maxsize=4096)  # the text is built some dozens of times, mostly with the same lines
def _shorten(omitted: OmittedItem, width: int) -> OmittedItem:
    """Return an omitted item whose title has at most `width` characters, 0 for any number."""
    title = one_line(omitted.title)
    if not width or len(title) <= width:
        return omitted
    return msgspec.structs.replace(omitted, title=f"{title[: width - 1].rstrip()}…")
