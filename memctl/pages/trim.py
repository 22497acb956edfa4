"""Keeping pages within the tokens of their level: of what records give, the least important is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from memctl.pages.contents import Estimate, Level2, Level3, ListEntry
from memctl.pages.levels import LIMITS
from memctl.text import markdown

_SLACK = 0.85  # of a limit is filled: the estimate is within 7 % of o200k, and ids count for more than words do


def fit_section(page: Level2, render: Callable[[Level2], str], estimate: Estimate) -> Level2:
    """A level 2 page with as many decisions, issues and tasks as its limit allows, one of each before a second."""
    base = render(msgspec.structs.replace(page, decisions=(), issues=(), tasks=(), left_out=99))
    kept = _fit(2, base, (page.decisions, page.issues, page.tasks), estimate)
    left_out = page.left_out - sum(map(len, kept))
    return msgspec.structs.replace(page, decisions=kept[0], issues=kept[1], tasks=kept[2], left_out=left_out)


def fit_detail(page: Level3, render: Callable[[Level3], str], estimate: Estimate) -> Level3:
    """A level 3 page with as many whole decisions and issues, and learnings, as its limit allows."""
    base = render(msgspec.structs.replace(page, decisions=(), issues=(), learnings=(), left_out=99))
    kept = _fit(3, base, (page.decisions, page.issues, page.learnings), estimate)
    left_out = page.left_out - sum(map(len, kept))
    return msgspec.structs.replace(page, decisions=kept[0], issues=kept[1], learnings=kept[2], left_out=left_out)


def _fit(
    level: int, base: str, lists: Sequence[Sequence[ListEntry]], estimate: Estimate
) -> tuple[tuple[ListEntry, ...], tuple[ListEntry, ...], tuple[ListEntry, ...]]:
    """The beginnings of three lists that fit beside a base; they take turns, and the first entry always stays."""
    room = LIMITS[level][1] * _SLACK - estimate(markdown.visible(base))
    kept: list[list[ListEntry]] = [[], [], []]
    closed = [False] * 3
    for turn in range(max(map(len, lists), default=0)):
        for number, entries in enumerate(lists):
            if closed[number] or turn >= len(entries):
                continue
            entry = entries[turn]
            cost = estimate(markdown.visible(f"- {entry.title} [{entry.id}]: {entry.note}\n"))
            if cost > room and (turn or number):
                closed[number] = True  # a shorter one further down would stand before its betters
                continue
            room -= cost
            kept[number].append(entry)
    return tuple(kept[0]), tuple(kept[1]), tuple(kept[2])
