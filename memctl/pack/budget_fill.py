"""Filling a budget: whole items only, most important first, never a token too many, and a list of what is left out."""

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
    harmless,
)
from memctl.record.kinds import KINDS
from memctl.text.markdown import one_line

CountTokens = Callable[[str], int]

# The formats with the modules that write them: each has `NAME_item`, one item as text, and `NAME_pack`, a whole pack.
FORMATS = {"markdown": "markdown", "xml": "xml", "yaml": "short", "tokens": "short", "event": "xml"}
AUTO = "auto"
_MICRO, _STANDARD = 500, 2_000  # tokens of a context up to which a format is chosen; rules.md#formats
_NOTES_SHARE = 0.06  # of the budget may go to notes that can be spared, while items are left out
_LINE = 8  # tokens that a line of what is left out has at least
_ITEM = 25  # tokens that an item has at least, with its id, title and facts
_SAMPLE = 20  # lines by which is guessed what one takes
_MISSES = 50  # items in a row that have no room, after which no other is made to be tried
_WIDTHS = (0, 60, 45, 36)  # characters of the titles in those lines, 0 for all, where lines are wanted and lack room
_LEAD_SHARE = 0.3  # of the items' tokens: with the frame a quarter of the pack; rules.md#quality
_NO_WEIGHT = 100  # more than anything weighs
_LEAD = PackPart("critical", "Most important")
_PROPOSED = PackPart("proposed", "Proposed, not accepted yet")
_CHECK = PackPart("check", "Check before use")  # what may not hold any more: its code has changed
TOO_LARGE = "too large"
_NAMED = 3  # things too large for a budget whose titles come before all that is not


class Pack(msgspec.Struct, frozen=True):
    """A finished pack: its text, its tokens, the ids per part, and everything that is not in it."""

    text: str
    tokens: int
    budget: int
    format: str
    parts: dict[str, list[str]]
    left_out: list[OmittedItem]

    def included(self) -> list[str]:
        return [identifier for part in self.parts.values() for identifier in part]


def suited(size: int, *, inter_agent: bool) -> str:
    """Return the name of the format for a context of `size` tokens (rules.md#formats)."""
    if size < _MICRO:
        return "yaml"
    if size < _STANDARD:
        return "xml"
    return "event" if inter_agent else "tokens"


def fill(draft: PackDraft, form: str, budget: int, count: CountTokens, *, inter_agent: bool = False) -> Pack:
    """Pack as much of a draft as fits into `budget` tokens as `count` counts them, in one of FORMATS.

    With the form "auto" the size of what there is to say chooses, but for the budget. Raises MemctlError if the budget
    is too small for the bare frame of the format.
    """
    if form == AUTO:
        notes = sum(count(note.text) for note in (*draft.opening, *draft.closing))
        items = sum(count(f"{item.id} {item.title}\n{item.body}") for item in draft.items())
        form = suited(min(notes + items, budget), inter_agent=inter_agent)
    filling = _PackBuilder(draft, form, budget, count)
    best: tuple[_Frame, list[Item]] | None = None
    frames = list(_frames(draft))
    for frame in frames:
        if filling.cost(frame, []) > budget:
            continue
        kept = filling.choose(frame)
        if kept or best is None:
            best = frame, kept
        if kept and not filling.is_wordy(frame, kept):
            break
    if best is None:
        needed = filling.cost(frames[-1], [])
        raise MemctlError(
            f"a budget of {budget} is too small for anything in the format {form}", f"give at least {needed}", USAGE
        )
    return filling.pack(*best)


def whole_lines(lines: Iterable[str], limit: int, count: CountTokens) -> str:
    """As many whole lines as a limit in tokens allows, as a list."""
    text = ""
    for line in dict.fromkeys(lines):
        longer = f"{text}\n- {line}" if text else f"- {line}"
        if count(longer) <= limit:
            text = longer
    return text


class _Frame(NamedTuple):
    """What is around the items, as a draft with fewer notes; has it parts, and titles of what is too large?"""

    draft: PackDraft
    has_titles: bool = True
    has_parts: bool = True


def _frames(draft: PackDraft) -> Iterator[_Frame]:
    """Frames from the fullest to the barest."""
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
    """One draft on its way into one format and budget."""

    def __init__(self, draft: PackDraft, form: str, budget: int, count: CountTokens) -> None:
        self.draft = draft
        module = import_module(f"memctl.pack.formats.{FORMATS[form]}")  # only that of this format
        self._item: Callable[[Item], str] = getattr(module, f"{form}_item")
        self._pack: Callable[[Contents], str] = getattr(module, f"{form}_pack")
        self._form, self._budget, self._count = form, budget, count
        self._texts: dict[str, str] = {}
        self._costs: dict[str, int] = {}
        for item in draft.items():
            self._write(item)
        notices = "\n".join(note.text for note in draft.opening if note in (NOTICED, FOREIGN))
        self._largest = budget - count(notices)  # what an item may take at most
        self._large = [item for item in self._in_turn() if self._costs[item.key] > self._largest][:_NAMED]
        self._whole = draft.whole() if draft.whole else iter(())
        self._made: list[Item] = []  # of the items of `others` those that were asked for
        self._left_of: tuple[frozenset[str] | None, list[OmittedItem]] = None, []  # what some keys leave out
        self._totals: Counter[tuple[str, str]] = Counter()  # and how much of it is of each section and kind
        self._lines_of: tuple[tuple[int, list[str]] | None, tuple[int, int]] = None, (0, 0)  # as asked last

    def _write(self, item: Item) -> None:
        text = harmless(self._item(item))
        self._texts[item.key], self._costs[item.key] = text, self._count(text)

    def cost(self, frame: _Frame, kept: list[Item], listed: int = 0, width: int = 0) -> int:
        return self._count(self.text(frame, kept, listed, width))

    def is_wordy(self, frame: _Frame, kept: list[Item]) -> bool:
        """Return whether notes that could be spared keep items out, and take more than their share."""
        opening = tuple(note for note in frame.draft.opening if note.essential)
        if not self.left_out(kept) or opening == frame.draft.opening:
            return False
        sparing = frame._replace(draft=msgspec.structs.replace(frame.draft, opening=opening))
        return self.cost(frame, []) - self.cost(sparing, []) > _NOTES_SHARE * self._budget

    def choose(self, frame: _Frame) -> list[Item]:
        """Return the items to keep in a frame."""
        if not frame.has_parts:
            return []
        kept = self._take(frame)
        while kept and self.cost(frame, kept) > self._budget:
            kept.pop()
        if kept:
            return self._filled_up(frame, kept)
        # In a budget too small for the list's share, one item is worth more than any list.
        found = chain(self._in_turn(), self._others())
        return next(([item] for item in found if self.cost(frame, [item]) <= self._budget), [])

    def _take(self, frame: _Frame) -> list[Item]:
        """Whole items, as long as they fit beside the frame and the list, none with the text of another."""
        room = self._budget - self.cost(frame, []) - self._share()
        rooms = {part.name: part.limit for part in self.draft.parts if part.limit}
        limited = {item.key: part.name for part in self.draft.parts if part.limit for item in part.items}
        kept: list[Item] = []
        bodies = set[str]()
        for item in self._in_turn():
            cost, part = self._costs[item.key], limited.get(item.key, "")
            if cost <= min(room, rooms.get(part, room)) and _is_new(item, bodies):
                room -= cost
                kept.append(item)
                if part:
                    rooms[part] -= cost
        misses = 0
        for item in self._others():
            if room < _ITEM or misses >= _MISSES:
                break
            misses += 1
            if self._costs[item.key] <= room and _is_new(item, bodies):
                room -= self._costs[item.key]
                kept.append(item)
                misses = 0
        return kept

    def _filled_up(self, frame: _Frame, kept: list[Item]) -> list[Item]:
        """With what has room beside the lines of the rest, be it a text that is there already."""
        room, keys = self._budget - self.cost(frame, kept, *self._most_lines(frame, kept)), {item.key for item in kept}
        keys |= {item.key for part in self.draft.parts if part.limit for item in part.items}
        for item in (*self.draft.items(), *self._made):
            if item.key not in keys and self._costs[item.key] <= room:
                longer = [*kept, item]
                if self.cost(frame, longer, *self._most_lines(frame, longer)) <= self._budget:
                    kept, room = longer, room - self._costs[item.key]
        return kept

    def _in_turn(self) -> list[Item]:
        """Return the items of all parts: those that come first, the critical ones by weight, then one from
        every part."""
        least = self.draft.leading or _NO_WEIGHT
        first = [item for part in self.draft.parts if part.is_first for item in part.items]
        turns = zip_longest(*(part.items for part in self.draft.parts if not part.is_first))
        found = [item for turn in turns for item in turn if item is not None]
        return first + sorted(found, key=lambda item: (-item.weight if item.weight >= least else 0, item.has_changed))

    def _others(self) -> Iterator[Item]:
        """Yield the items after all parts, each made once, when it is first needed."""
        yield from self._made[:]
        for item in self._whole:
            self._made.append(item)
            self._write(item)
            yield item

    def _share(self) -> int:
        """Return what the lines of what is left out may take: no more than they need."""
        most = int(self._budget * self.draft.lines)
        left = [f"{left.id} {left.title} {left.why}\n" for left in self.draft.others[: most // _LINE + 1]]
        left += [f"{item.id} {item.title}\n" for item in self.draft.items()]
        return min(most, 2 * self._count("".join(left)))

    def pack(self, frame: _Frame, kept: list[Item]) -> Pack:
        """Return the finished pack, with as long a list of what is left out as fits."""
        text = self.text(frame, kept, *self._most_lines(frame, kept))
        parts = {
            part.name: [item.id for item in items]
            for part, items in self._by_part({item.key for item in kept}, kept)
            if items or part is not self.draft.rest
        }
        return Pack(text, self._count(text), self._budget, self._form, parts, self.left_out(kept))

    def _most_lines(self, frame: _Frame, kept: list[Item]) -> tuple[int, int]:
        """Return how many lines of what is left out have room, and the width of their titles."""
        left = self.left_out(kept)
        asked = id(frame), [item.key for item in kept]
        if self._lines_of[0] == asked:
            return self._lines_of[1]
        least = min(len(left), self.draft.least_lines)
        lines = 0, 0
        for width in _WIDTHS:
            most, line = self._line_limit(frame, kept, width, least)
            guess = lines[0] + 1 if lines[0] else int((self._budget - self.cost(frame, kept)) / line)
            lines = _most(partial(self.cost, frame, kept, width=width), self._budget, most, guess, line), width
            if lines[0] >= least:
                break
        self._lines_of = asked, lines
        return lines

    def _line_limit(self, frame: _Frame, kept: list[Item], width: int, least: int) -> tuple[int, float]:
        """Return how many lines their share of the budget holds, at least `least`, and the tokens of one by a sample.

        Without a whole item beside them the lines are all there is, and may take what they need. What lines take as the
        pack has them is counted beside the headings of their groups, of no more lines than have room as plain ones.
        """
        left = self.left_out(kept)
        most = min(len(left), 2 + self._budget // _LINE)

        def plain(number: int) -> int:
            return self._count("".join(f"- {each.id} {_shortened(each, width).line}\n" for each in left[:number]))

        line = max(1.0, plain(_SAMPLE) / max(1, min(_SAMPLE, len(left))))
        if not kept:
            return most, line
        share = int(self._budget * self.draft.lines)
        number = _most(plain, share, most, int(share / line), line)
        beside = self.cost(frame, kept, 1, width) - int(line)
        number = _most(lambda most: self.cost(frame, kept, most, width) - beside, share, number, number, line)
        return max(least, number), line

    def text(self, frame: _Frame, kept: list[Item], listed: int, width: int = 0) -> str:
        """Return the pack with some of the items, and as many lines of what is left out."""
        keys = {item.key for item in kept}
        large = self._large if frame.has_titles else []
        parts: list[tuple[PackPart, list[Item]]] = []
        left: list[OmittedItem] = []
        if frame.has_parts:
            leading, changed = self._leading(kept), [item for item in kept if item.has_changed]
            # Excerpts, of which nothing is made later, keep the order of their relevance.
            proposed = [item for item in kept if self.draft.whole and item.is_proposed and not item.has_changed]
            within = self._by_part(keys - {item.key for item in (*leading, *proposed, *changed)}, kept)
            parts = [(_LEAD, leading), *within, (_PROPOSED, proposed), (_CHECK, changed)]
            left = self.left_out(kept)[len(large) :]
        totals = self._totals - Counter((item.section, _as_omitted(item).kind) for item in large)
        sizes = Counter[str]()
        for item in kept:
            sizes[item.kind] += self._costs[item.key]
        draft = frame.draft
        closing = tuple(note for note in draft.closing if not note.of or note.of in keys)
        contents = Contents(
            msgspec.structs.replace(draft, opening=(*draft.opening, *_titles(large)), closing=closing),
            [(part, [self._texts[item.key] for item in items]) for part, items in parts if items],
            _groups(left, totals, listed, width, draft.sections),
            sizes,
        )
        text = harmless(self._pack(contents))
        return f"{draft.prefix}\n\n{text}" if draft.prefix else text

    def _by_part(self, keys: set[str], kept: list[Item]) -> list[tuple[PackPart, list[Item]]]:
        """Return the items of some keys by the part that they belong to; those of no part are the rest."""
        own = {item.key for item in self.draft.items()}
        parts = [(part, [item for item in part.items if item.key in keys]) for part in self.draft.parts]
        return [*parts, (self.draft.rest, [item for item in kept if item.key in keys - own])]

    def _leading(self, kept: list[Item]) -> list[Item]:
        """Return the weightiest of the items that are kept, as many as it takes to fill a quarter."""
        least = self.draft.leading or _NO_WEIGHT
        sure = [item for item in kept if item.weight >= least and not item.has_changed]
        room = _LEAD_SHARE * sum(self._costs[item.key] for item in kept)
        leading: list[Item] = []
        for item in sorted(sure, key=lambda item: -item.weight):
            if room <= 0:
                break
            leading.append(item)
            room -= self._costs[item.key]
        return leading

    def left_out(self, kept: list[Item]) -> list[OmittedItem]:
        """Return what is not packed: first what was chosen and did not fit, then the rest."""
        keys = frozenset(item.key for item in kept)
        if self._left_of[0] != keys:  # a text is made some dozens of times, and there may be 10,000 of these
            items = {item.key: item for item in (*self._large, *self.draft.items())}
            chosen = [self._with_reason(item, _as_omitted(item)) for item in items.values() if item.key not in keys]
            made = zip(self.draft.others, self._made, strict=False)
            chosen += [self._with_reason(item, left) for left, item in made if item.key not in keys]
            left = [*chosen, *self.draft.others[len(self._made) :]]
            self._left_of, self._totals = (keys, left), Counter((each.section, each.kind) for each in left)
        return self._left_of[1]

    def _with_reason(self, item: Item, left: OmittedItem) -> OmittedItem:
        """Return what is left out, with why if it is for its size."""
        is_large = self._costs[item.key] > self._largest
        return msgspec.structs.replace(left, why=TOO_LARGE) if is_large else left


def _is_new(item: Item, bodies: set[str]) -> bool:
    """Note the text of an item among those of a pack; return whether it is the first with it, or has none."""
    is_new = not item.body or item.body not in bodies
    bodies.add(item.body)
    return is_new


def _most(cost: Callable[[int], int], limit: int, most: int, guess: int, each: float) -> int:
    """Return the largest number, up to `most`, whose cost is within a limit, 0 if none is.

    It is sought from a guess on by what each took between the last two numbers that were tried, at first by `each`:
    halving makes three times as many texts.
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
    """Yield what is too large for a budget, weightiest first: its title comes before what weighs less and is short."""
    if large:
        titles = "; ".join(one_line(f"{item.id} {item.title}") for item in large)
        yield PackNote("too_large", "Too large for this budget", titles, essential=True)


def _as_omitted(item: Item) -> OmittedItem:
    return OmittedItem(item.id, item.title, kind=item.kind if item.kind in KINDS else "", section=item.section)


def _groups(
    left: list[OmittedItem], totals: Mapping[tuple[str, str], int], listed: int, width: int, sections: Mapping[str, str]
) -> list[OmittedGroup]:
    """Return what is left out by section and kind, with what is listed of it; if nothing is, all of it in one group."""
    if not left:
        return []
    if not listed:
        return [OmittedGroup((), len(left), command="memctl list" if all(kind for _, kind in totals) else "")]

    def group(section: str, kind: str) -> tuple[str, str]:
        return (section, "") if section in sections else ("", kind)

    groups: dict[tuple[str, str], list[OmittedItem]] = {group(*key): [] for key in totals}
    counts = Counter[tuple[str, str]]()
    for key, number in totals.items():
        counts[group(*key)] += number
    for each in left[:listed]:
        groups[group(each.section, each.kind)].append(_shortened(each, width))
    return [_group(*key, tuple(found), counts[key] - len(found), sections) for key, found in groups.items()]


def _group(
    marker: str, kind: str, listed: tuple[OmittedItem, ...], more: int, sections: Mapping[str, str]
) -> OmittedGroup:
    if marker:
        name, command = f"{marker} {one_line(sections[marker])}", f"memctl list --open --section {marker[1:]}"
        return OmittedGroup(listed, more, name, "section", marker, command)
    if kind:
        return OmittedGroup(listed, more, f"{kind}s".capitalize(), f"{kind}s", "", f"memctl list --open --type {kind}")
    return OmittedGroup(listed, more)


@lru_cache(maxsize=4096)  # one text is made some dozens of times, with more or fewer of the same lines
def _shortened(left: OmittedItem, width: int) -> OmittedItem:
    title = one_line(left.title)
    if not width or len(title) <= width:
        return left
    return msgspec.structs.replace(left, title=f"{title[: width - 1].rstrip()}…")
