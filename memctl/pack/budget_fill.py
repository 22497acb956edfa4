"""Fill a budget of tokens with whole items, the most important first, and list what is left out.

A pack of everything is tried first. If that is too large, items get room in one pass, in the order of their rank, and
each is written and counted once:

1. the titles of what no pack may lose, and the items of the rank FIRST, as `fair_share` divides their room
2. the notes: essential ones if they fit, others up to 6 % of the budget
3. the items of the rank SECOND
4. all other items, beside the room for the titles of those that are left
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import cache, partial
from itertools import chain, islice, product

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.pack import fair_share, left_out
from memctl.pack.draft import FIRST, SECOND, Item, OmittedItem, PackDraft, PackPart
from memctl.pack.pack_text import FORMATS, TOO_LARGE, CountTokens, Left, PackText, Taken
from memctl.text.fit import most_within
from memctl.text.phrases import quantity

__all__ = ["AUTO", "FORMATS", "TOO_LARGE", "CountTokens", "Pack", "fill", "format_for"]

AUTO = "auto"
_MICRO, _STANDARD = 500, 2_000  # tokens below which YAML and XML are chosen; rules.md#formats
_NOTES_SHARE = 0.06  # of the budget that non-essential notes may take while items are left out
_SLACK = 0.01  # of the budget that a pass may leave unused, since it estimates titles and headings
_ITEM = 25  # least tokens of an item, with its id, title and facts
_RECORD = 100  # tokens of a record; if all records may fit by this measure, a pack of all is tried first
_LETTERS = 8  # characters of a token at most, on average over a text
_MISSES = 50  # successive items without room, after which no further item is tried
_BUILT = 500  # successive items that bring no new text, after which no further item is tried
_NAMED = 3  # titles of items that are too large for the budget, at the beginning
_TITLES_SHARE = 0.2  # of the budget for the titles of items of the rank FIRST that are not whole
# Tokens that the titles of leading items may have in a small pack, and share of any that those of urgent ones may have.
_LEADING_TITLES, _URGENT_SHARE = 200, 1 / 3
_TITLES_FROM = 300  # tokens from which on no title of an important item gives way to a text
_ESSENTIAL_SHARE = 0.2  # of the budget that is chosen for essential notes
# Tokens from which on items of the rank SECOND have room to themselves, and up to which share. In less, one or two of
# the most important records fill the pack.
_WORK_FROM, _WORK_SHARE = 600, 1 / 3
_NAMES_FROM = 1_000  # tokens from which on the titles of other items have room before the most important are whole
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
    if form != AUTO:
        return _fill(draft, form, budget, count)
    notes = sum(count(note.text) for note in (*draft.opening, *draft.closing))
    size = notes + sum(count(f"{item.id} {item.title}\n{item.body}") for item in draft.items())
    form = format_for(min(size, budget), inter_agent=inter_agent)
    try:
        return _fill(draft, form, budget, count)
    except _TooSmall as error:
        form = format_for(min(size, error.least), inter_agent=inter_agent)
        return _fill(draft, form, budget, count)  # says how much a pack of this size needs


class _TooSmall(MemctlError):
    """The budget is too small for a pack without items; `least` is the one that such a pack needs."""

    def __init__(self, budget: int, form: str, least: int) -> None:
        message = f"a budget of {quantity(budget, 'token')} is too small for the format {form}"
        super().__init__(message, f"give a budget of at least {least} tokens", USAGE)
        self.least = least


def _fill(draft: PackDraft, form: str, budget: int, count: CountTokens) -> Pack:
    writer = PackText(draft, form, budget, count)
    made = _everything(writer, budget) or _with_longer_list(writer, budget, _most(writer, budget, form))
    return Pack(made.text, made.tokens, budget, form, writer.parts(made.taken.whole), made.left.items)


class _Made(msgspec.Struct, frozen=True):
    """What a pack has and leaves out, and its text with the tokens of that."""

    taken: Taken
    left: Left
    text: str
    tokens: int


def _written(writer: PackText, taken: Taken, left: Left, lines: int, form: left_out.Form = left_out.FORMS[0]) -> _Made:
    """Write a pack with `lines` lines of what is left out, in a form."""
    text = writer.text(taken, left, lines, form)
    return _Made(taken, left, text, writer.count(text))


def _everything(writer: PackText, budget: int) -> _Made | None:
    """Return the pack of all that there is; None if it does not fit."""
    draft = writer.draft
    if any(part.limit for part in draft.parts) or (draft.whole and len(draft.others) * _RECORD > budget):
        return None
    items = [item for item in (*draft.items(), *writer.further()) if item.key not in writer.same]
    if sum(len(item.body) for item in items) > _LETTERS * budget:
        return None
    taken = Taken(items, has_others=True)
    left = writer.left(taken)
    made = _written(writer, taken, left, len(left.lines))
    return made if made.tokens <= budget else None


def _most(writer: PackText, budget: int, form: str) -> _Made:
    """Return the pack of what a pass takes, and of what a second one finds for the room that is left after all."""
    made = _fitted(writer, budget, form, _take(writer, budget))
    if budget - made.tokens <= max(_ITEM, _SLACK * budget) or not made.taken.whole:
        return made
    taken = msgspec.structs.replace(made.taken, whole=[*made.taken.whole])
    _take_rest(writer, budget, taken, budget - made.tokens + _lines_plan(writer, budget, taken, made.left.lines).tokens)
    return _fitted(writer, budget, form, taken)


def _take(writer: PackText, budget: int) -> Taken:
    """Return what fits into a budget in the order of rank, by the tokens of each item."""
    taken = Taken()
    room = _take_first(writer, budget, taken)
    taken.settled = len(taken.whole)
    essential, others = writer.notes_costs
    if not writer.draft.keeps_notes:  # otherwise they have their room already
        taken.has_essential = essential <= room
        room -= essential if taken.has_essential else 0
    taken.has_others = others <= min(room, _NOTES_SHARE * budget)
    room -= others if taken.has_others else 0
    for item in writer.of_rank(SECOND):
        cost = writer.cost(item) + _BETWEEN + writer.note_cost(item)
        if cost <= room:
            room -= cost
            taken.whole.append(item)
    _take_rest(writer, budget, taken, room)
    return taken


def _take_first(writer: PackText, budget: int, taken: Taken) -> float:
    """Take the items of the rank FIRST, and the titles before all others; return the room that is left."""
    items = writer.of_rank(FIRST)
    later = [item for item in writer.of_rank(SECOND) if writer.is_urgent(item)]
    alone, room = _rooms(writer, budget, items)
    if items:
        by_key = {item.key: item for item in (*items, *later)}
        ordered = fair_share.in_turn([_candidate(writer, item) for item in items])
        named_only = [_candidate(writer, item) for item in later]
        leading = sum(each.title for each in (*ordered, *named_only) if each.lead or each.is_urgent)
        urgent = sum(each.title for each in (*ordered, *named_only) if each.is_urgent)
        most = max(min(leading, _LEADING_TITLES), min(urgent, _URGENT_SHARE * budget))
        most = min(most, budget - writer.frame_cost((), ()))  # with titles alone there are no parts
        choice = fair_share.choose(ordered, named_only, room, alone, max(_TITLES_SHARE * budget, most))
        taken.whole = [by_key[key] for key in choice.whole]
        taken.titles = [by_key[key] for key in choice.titled]
    else:
        taken.titles = [item for item in writer.ordered if writer.is_too_large(item)][:_NAMED]
    spent = sum(writer.cost(item) + _BETWEEN for item in taken.whole)
    return alone - spent - sum(writer.title_cost(item) for item in taken.titles)


def _candidate(writer: PackText, item: Item) -> fair_share.Candidate:
    part, has_text = writer.part_of(item), bool(item.body.strip())
    return fair_share.Candidate(
        item.key,
        writer.cost(item) + _BETWEEN,
        writer.title_cost(item),
        part.counted and has_text,
        part.shortest_first,
        item.weight if writer.is_leading(item) else 0,
        has_text,
        writer.is_urgent(item),
    )


def _rooms(writer: PackText, budget: int, items: Sequence[Item]) -> tuple[float, float]:
    """Return the room for items of rank FIRST beside the least frame, and the room beside all that is kept free.

    Each share that is kept free grows slower than the budget, or a greater budget would have less room.
    """
    draft = writer.draft
    alone = budget - writer.frame_cost([part for part in draft.parts if part.rank == FIRST and part.items], items)
    essential, others = writer.notes_costs
    if draft.keeps_notes:
        return alone - essential, alone - essential
    kept = min(essential, _ESSENTIAL_SHARE * budget) + min(others, _NOTES_SHARE * budget)
    kept += min(draft.reserve, _WORK_SHARE * budget, max(0.0, (budget - _WORK_FROM) / 2))
    kept += min(_names_room(writer, budget), max(0.0, (budget - _NAMES_FROM) / 2))
    return alone, alone - kept


def _names_room(writer: PackText, budget: int) -> float:
    """Return the tokens to keep for the titles of all that has not the rank FIRST: at most 30 % of the budget.

    Where the shortest titles need more than that, it is ever less, down to the share that the list has anyway.
    """
    first = {item.key for item in writer.of_rank(FIRST)}
    items = [left_out.omit(item) for item in writer.draft.items() if item.key not in first]
    lines = left_out.merge_repeats([*items, *writer.draft.others])
    most = writer.draft.all_named * budget
    if len(lines) * writer.titles.least > most:
        return writer.draft.lines * budget
    longest, shortest = (left_out.spent(lines, writer.titles, form) for form in (left_out.FORMS[0], left_out.FORMS[-1]))
    return min(longest, most) if shortest <= most else max(writer.draft.lines * budget, 2 * most - shortest)


def _take_rest(writer: PackText, budget: int, taken: Taken, room: float) -> None:
    """Take all other items, beside the room for the titles of those that are left; each text once."""
    lines = writer.left(taken).lines
    plan = _lines_plan(writer, budget, taken, lines)
    titled, keys = {item.key for item in taken.titles}, {item.key for item in taken.whole}
    bodies, limits = {item.body for item in taken.whole}, {part.name: part.limit for part in writer.draft.parts}
    listed = {each.id for each in lines if each.number == 1} if plan.number == len(lines) else ()
    room -= plan.tokens

    def take(item: Item, part: PackPart) -> bool:
        nonlocal room
        freed = writer.title_cost(item) if item.id in listed or item.key in titled else 0
        cost = writer.cost(item) + _BETWEEN - freed
        if cost > room or (part.limit and cost > limits[part.name]):
            return False
        room -= cost
        limits[part.name] = limits.get(part.name, 0) - cost
        bodies.add(item.body)
        taken.whole.append(item)
        return True

    def is_new(item: Item) -> bool:
        return item.kind == "file" or not item.body.strip() or item.body not in bodies

    for item in writer.ordered:
        if item.key not in keys and _may_fill(writer, item, titled) and is_new(item):
            take(item, writer.part_of(item))
    least = _least_waiting(writer, taken)
    misses = repeats = 0
    for item in writer.further():
        if room < _ITEM or least <= room or misses >= _MISSES or repeats >= _BUILT:
            break
        if item.key in writer.same or not item.body.strip() or not is_new(item):
            repeats += 1
        elif take(item, writer.draft.rest):
            misses = repeats = 0
        else:
            misses += 1


def _may_fill(writer: PackText, item: Item, titled: Collection[str]) -> bool:
    """Return whether an item may take room that happens to be left: a greater budget must not lose it by that.

    Of the rank FIRST these are items with a text that are named otherwise, but none of those that are counted.
    """
    part = writer.part_of(item)
    return part.rank != FIRST or (item.key in titled and not part.counted and bool(item.body.strip()))


def _least_waiting(writer: PackText, taken: Taken) -> float:
    """Return the room that no item of `others` may take: what the shortest missing item with a rank would need.

    It is 0 while not even the titles of the most important ones have room.
    """
    if _is_unnamed(writer, taken):
        return 0
    keys = {item.key for item in taken.whole}
    missing = [item for item in (*writer.of_rank(FIRST), *writer.of_rank(SECOND)) if item.key not in keys]
    return min((writer.cost(item) for item in missing if item.body.strip()), default=math.inf)


def _is_unnamed(writer: PackText, taken: Taken) -> bool:
    """Return whether an item of the rank FIRST has no room even for its title, so that no other is listed."""
    keys = {item.key for item in (*taken.whole, *taken.titles)}
    return any(item.key not in keys for item in writer.of_rank(FIRST))


def _lines_plan(writer: PackText, budget: int, taken: Taken, lines: Sequence[OmittedItem]) -> left_out.ListPlan:
    """Return which titles the list of what is left out may have beside items; none while an important one has none."""
    if _is_unnamed(writer, taken):
        return left_out.ListPlan()
    shares = writer.draft.all_named * budget, writer.draft.lines * budget
    return left_out.plan(lines, writer.titles, *shares, writer.draft.least_lines)


def _fitted(writer: PackText, budget: int, form: str, taken: Taken) -> _Made:
    """Return the pack of what was taken; its last lines, items and notes give way until its text fits."""
    while (made := _with_most_lines(writer, budget, taken)).tokens > budget:
        if not taken.give_way(keeps_notes=writer.draft.keeps_notes):
            raise _TooSmall(budget, form, made.tokens)
    if taken.whole or not (single := _single(writer, budget, taken)):
        return made
    return _fitted(writer, budget, form, single)


def _with_most_lines(writer: PackText, budget: int, taken: Taken) -> _Made:
    """Return the pack of what was taken, with as many lines of what is left out as fit; it may be larger.

    If all have a line, it may be larger by an item, since the last one gives way before a line does.
    """
    left = writer.left(taken)
    lines = left.lines
    plan = _lines_plan(writer, budget, taken, lines)
    if not taken.whole and plan.number:
        plan = left_out.plan(lines, writer.titles, budget, budget, 0)  # there may be nothing but titles
    number = plan.number if taken.has_list else 0
    write = cache(partial(_written, writer, taken, left, form=plan.form))
    is_all = number == len(lines) and len(taken.whole) > taken.settled
    if number and not is_all and write(number).tokens > budget:
        each = writer.titles.of("x" * (left_out.TITLE // 2))
        number = most_within(lambda lines: write(lines).tokens, budget, number - 1, number - 1, each)
    return write(number)


def _with_longer_list(writer: PackText, budget: int, made: _Made) -> _Made:
    """Return a pack with more titles of what it leaves out, as far as they fit where no item does."""
    lines = made.left.lines
    plan = _lines_plan(writer, budget, made.taken, lines)
    each = writer.titles.of("x" * (left_out.TITLE // 2))
    if not made.taken.has_list or not 0 < plan.number < len(lines) or budget - made.tokens < 2 * each:
        return made
    write = cache(partial(_written, writer, made.taken, made.left, form=plan.form))
    return write(most_within(lambda number: write(number).tokens, budget, len(lines), plan.number, each))


def _single(writer: PackText, budget: int, taken: Taken) -> Taken | None:
    """Return a pack of one item, which is better than notes and a list alone; None if no item fits.

    Titles before all others give way only in the smallest packs, if they are of items without text, to one of their
    weight.
    """
    if not taken.has_notices:
        return None
    heaviest = max((item.weight for item in taken.titles), default=0)
    base = msgspec.structs.replace(taken, settled=1, has_others=False, has_essential=writer.draft.keeps_notes)
    for item in islice(chain(writer.ordered, writer.draft.items(), writer.further()), _BUILT):
        if writer.cost(item) >= budget:
            continue
        has_rival = any(other.body.strip() for other in taken.titles if other is not item)
        gives_way = budget < _TITLES_FROM and item.body.strip() and item.weight >= heaviest and not has_rival
        titles = [taken.titles, *([[]] if gives_way else [])]
        for kept, has_project in product(titles, (True, False)):
            single = msgspec.structs.replace(base, whole=[item], titles=kept, has_project=has_project)
            if _written(writer, single, writer.left(single), 0).tokens <= budget:
                return single
    return None
