"""Filling a budget: whole items only, most important first, never a token too many, and a list of what is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.model.kinds import KINDS
from memctl.packs.draft import FOREIGN, NOTICED, Contents, Draft, Format, Group, Item, Left, Note, Part, harmless
from memctl.packs.formats import choice

CountTokens = Callable[[str], int]

_LIST_SHARE = 0.15  # of the budget goes to the list of what was left out at most, while there are items to pack
_NOTES_SHARE = 0.06  # of the budget may go to notes that can be spared, while items are left out
_LINE = 8  # tokens that a line of that list has at least
_LISTED = 8  # of each kind of record: more make a block of over 200 tokens, which S1 would break up
_LEAD_SHARE = 0.3  # of the items' tokens: with the frame a quarter of the pack (S1, "Critical Information Placement")
_NO_WEIGHT = 11  # more than any importance
_LEAD = Part("critical", "Most important", ())


class Pack(msgspec.Struct, frozen=True):
    """A finished pack: its text, its tokens, the ids per part, and everything that is not in it."""

    text: str
    tokens: int
    budget: int
    format: str
    parts: dict[str, list[str]]
    left_out: list[Left]

    def included(self) -> list[str]:
        return [identifier for part in self.parts.values() for identifier in part]


def fill(draft: Draft, form: str, budget: int, count: CountTokens, *, inter_agent: bool = False) -> Pack:
    """Pack as much of a draft as fits into `budget` tokens as `count` counts them, in a format of `choice.NAMES`.

    With the form "auto" the size of what there is to say chooses, but for the budget. Raises MemctlError if the budget
    is too small for the bare frame of the format.
    """
    if form == choice.AUTO:
        form = _suited(draft, budget, count, inter_agent)
    filling = _Filling(draft, choice.named(form), budget, count)
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
    return filling.pack(form, *best)


def whole_lines(lines: Iterable[str], limit: int, count: CountTokens) -> str:
    """As many whole lines as a limit in tokens allows, as a list."""
    text = ""
    for line in dict.fromkeys(lines):
        longer = f"{text}\n- {line}" if text else f"- {line}"
        if count(longer) <= limit:
            text = longer
    return text


class _Frame(msgspec.Struct, frozen=True):
    """What stands around the items: less of it in smaller budgets."""

    project: str
    opening: tuple[Note, ...]
    closing: tuple[Note, ...]
    has_parts: bool = True


def _frames(draft: Draft) -> Iterator[_Frame]:
    """Frames from the fullest to the barest."""
    noticed = tuple(note for note in draft.opening if note in (NOTICED, FOREIGN))
    yield _Frame(draft.project, draft.opening, draft.closing)
    essential = tuple(note for note in draft.opening if note.essential)
    yield _Frame(draft.project, essential, draft.closing)
    yield _Frame(draft.project, essential, tuple(note for note in draft.closing if note.essential))
    if draft.keeps_notes:
        return
    yield _Frame(draft.project, noticed, ())
    yield _Frame("", noticed, ())
    yield _Frame(draft.project, (), (), has_parts=False)
    yield _Frame("", (), (), has_parts=False)


class _Filling:
    """One draft on its way into one format and budget."""

    def __init__(self, draft: Draft, form: Format, budget: int, count: CountTokens) -> None:
        self.draft = draft
        self._form = form
        self._budget = budget
        self._count = count
        self._texts: Mapping[str, str] = {item.key: harmless(form.item(item)) for item in draft.items()}
        self._costs = {key: count(text) for key, text in self._texts.items()}

    def cost(self, frame: _Frame, kept: list[Item], listed: int = 0) -> int:
        return self._count(self.text(frame, kept, listed))

    def is_wordy(self, frame: _Frame, kept: list[Item]) -> bool:
        """Whether notes that could be spared keep items out, and take more than their share."""
        if len(kept) == len(self.draft.items()) or all(note.essential for note in frame.opening):
            return False
        sparing = msgspec.structs.replace(frame, opening=tuple(note for note in frame.opening if note.essential))
        return self.cost(frame, []) - self.cost(sparing, []) > _NOTES_SHARE * self._budget

    def choose(self, frame: _Frame) -> list[Item]:
        """The items to keep in a frame."""
        if not frame.has_parts:
            return []
        kept = self._take(frame)
        while kept and self.cost(frame, kept) > self._budget:
            kept.pop()
        if kept:
            return kept
        # In a budget too small for the list's share, one item is worth more than any list.
        return next(([item] for _, item in self._in_turn() if self.cost(frame, [item]) <= self._budget), [])

    def _take(self, frame: _Frame) -> list[Item]:
        """Whole items, as long as they fit beside the frame and the list."""
        room = self._budget - self.cost(frame, []) - self._share()
        rooms = {part.name: part.limit or self._budget for part in self.draft.parts}
        kept = []
        for part, item in self._in_turn():
            cost = self._costs[item.key]
            if cost <= room and cost <= rooms[part.name]:
                room -= cost
                rooms[part.name] -= cost
                kept.append(item)
        return kept

    def _in_turn(self) -> list[tuple[Part, Item]]:
        """All items: the critical ones by weight, then turn by turn one from every part."""
        parts = self.draft.parts
        turns = zip_longest(*(part.items for part in parts))
        found = [(part, item) for turn in turns for part, item in zip(parts, turn, strict=True) if item is not None]
        least = self.draft.leading or _NO_WEIGHT
        return sorted(found, key=lambda pair: -pair[1].weight if pair[1].weight >= least else 0)

    def _share(self) -> int:
        """What the list of what is left out may take: no more than it needs."""
        most = int(self._budget * _LIST_SHARE)
        left = [f"{left.id} {left.title} {left.why}\n" for left in self.draft.others[: most // _LINE + 1]]
        left += [f"{item.id} {item.title}\n" for item in self.draft.items()]
        return min(most, 2 * self._count("".join(left)))

    def pack(self, form: str, frame: _Frame, kept: list[Item]) -> Pack:
        """The finished pack, with as long a list of what is left out as fits."""
        text = self.text(frame, kept, self._most_lines(frame, kept))
        keys = {item.key for item in kept}
        parts = {part.name: [item.id for item in part.items if item.key in keys] for part in self.draft.parts}
        return Pack(text, self._count(text), self._budget, form, parts, self.left_out(kept))

    def _most_lines(self, frame: _Frame, kept: list[Item]) -> int:
        low, high = 0, min(len(self._listable(kept)), 2 + self._budget // _LINE)
        while low < high:
            middle = (low + high + 1) // 2
            if self.cost(frame, kept, middle) <= self._budget:
                low = middle
            else:
                high = middle - 1
        return low

    def text(self, frame: _Frame, kept: list[Item], listed: int) -> str:
        """The pack with some of the items, and as many lines of what is left out."""
        keys = {item.key for item in kept}
        leading = self._leading(kept)
        rest = keys - {item.key for item in leading}
        parts = [self._part(part, rest) for part in self.draft.parts] if frame.has_parts else []
        parts = [self._entry(_LEAD, leading), *parts] if leading else parts
        left = self.left_out(kept) if frame.has_parts else []
        contents = Contents(
            project=frame.project,
            opening=frame.opening,
            parts=tuple(parts),
            left_out=tuple(_groups(left, self._listable(kept)[:listed])),
            closing=tuple(note for note in frame.closing if not note.of or note.of in keys),
            draft=self.draft,
            sizes=self._sizes(kept),
        )
        text = harmless(self._form.pack(contents))
        return f"{self.draft.prefix}\n\n{text}" if self.draft.prefix else text

    def _part(self, part: Part, keys: set[str]) -> tuple[Part, tuple[str, ...]]:
        return self._entry(part, [item for item in part.items if item.key in keys])

    def _entry(self, part: Part, items: list[Item]) -> tuple[Part, tuple[str, ...]]:
        return part, tuple(self._texts[item.key] for item in items)

    def _sizes(self, kept: list[Item]) -> dict[str, int]:
        sizes: dict[str, int] = {}
        for item in kept:
            sizes[item.kind] = sizes.get(item.kind, 0) + self._costs[item.key]
        return sizes

    def _leading(self, kept: list[Item]) -> list[Item]:
        """The weightiest of the items that are kept, as many as it takes to fill a quarter."""
        least = self.draft.leading
        weighty = sorted((item for item in kept if least and item.weight >= least), key=lambda item: -item.weight)
        room = _LEAD_SHARE * sum(self._costs[item.key] for item in kept)
        leading: list[Item] = []
        for item in weighty:
            if room <= 0:
                break
            leading.append(item)
            room -= self._costs[item.key]
        return leading

    def left_out(self, kept: list[Item]) -> list[Left]:
        """What is not packed: first what was chosen and did not fit, then the rest."""
        keys = {item.key for item in kept}
        chosen = [_left(item) for item in self.draft.items() if item.key not in keys]
        return [*chosen, *self.draft.others]

    def _listable(self, kept: list[Item]) -> list[Left]:
        """What of it may be listed: of each kind of record the first few, of all else everything."""
        left = self.left_out(kept)
        if self.draft.counts_others:
            left = left[: len(left) - len(self.draft.others)]
        counts: dict[str, int] = {}
        found = []
        for each in left:
            counts[each.kind] = counts.get(each.kind, 0) + 1
            if not each.kind or counts[each.kind] <= _LISTED:
                found.append(each)
        return found


def _left(item: Item) -> Left:
    return Left(item.id, item.title, kind=item.kind if item.kind in KINDS else "")


def _groups(left: list[Left], listed: list[Left]) -> list[Group]:
    """What is left out by kind, with what is listed of it; if nothing is, all of it in one group."""
    if not listed:
        return [Group("", (), len(left), all(each.kind for each in left))] if left else []
    totals: dict[str, int] = {}
    for each in left:
        totals[each.kind] = totals.get(each.kind, 0) + 1
    by_kind = {kind: tuple(each for each in listed if each.kind == kind) for kind in totals}
    return [Group(kind, found, totals[kind] - len(found)) for kind, found in by_kind.items()]


def _suited(draft: Draft, budget: int, count: CountTokens, inter_agent: bool) -> str:
    """The format for what a draft has to say, as far as the budget goes."""
    notes = sum(count(note.text) for note in (*draft.opening, *draft.closing))
    items = sum(count(f"{item.id} {item.title}\n{item.body}") for item in draft.items())
    return choice.suited(min(notes + items, budget), inter_agent=inter_agent)
