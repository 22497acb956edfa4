"""Dividing a context window among the types of context (rules.md#allocation).

Each type has a range of shares. Without a profile it gets the middle of its range: 35, 45, 12.5 and 7.5 %, which is
exactly the whole.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

DEFAULT_WINDOW = 200_000  # tokens; rules.md#allocation


class BudgetShare(msgspec.Struct, frozen=True):
    """A type of context: its name, what it is for, and its least and most share of the window in per mille."""

    name: str
    title: str
    purpose: str
    least: int
    most: int


SHARES = {
    share.name: share
    for share in (
        BudgetShare("system", "Knowledge and system", "instructions, skills, core procedures", 300, 400),
        BudgetShare("active", "Active task", "current files, recent outputs, working state", 400, 500),
        BudgetShare("session", "Session memory", "decisions, issues, persistent state", 100, 150),
        BudgetShare("buffer", "Buffer", "tool outputs, safety margin", 50, 100),
    )
}
# What the agents of one project all have, beside their own; rules.md#task-profiles.
SHARED = BudgetShare("shared", "Shared context", "the same for all agents", 0, 400)
BUFFER_LEAST = 50  # per mille of the window that must stay free; rules.md#allocation


class Portion(msgspec.Struct, frozen=True):
    """What one type of context gets: its soft limit (the allocation), its hard limit, and what the tokens are for."""

    share: BudgetShare
    tokens: int
    hard: int
    parts: list[tuple[str, int]]


class Plan(msgspec.Struct, frozen=True):
    """One type of context in a profile: tokens of a window of 200,000, and how they are spent."""

    name: str
    tokens: int
    parts: tuple[tuple[str, int], ...] = ()


class Profile(msgspec.Struct, frozen=True):
    """A kind of task with its division; `advice` holds texts with tokens of a window of 200,000 to be put in."""

    name: str
    title: str
    plans: tuple[Plan, ...]
    advice: tuple[tuple[str, tuple[int, ...]], ...] = ()

    def lines(self, window: int) -> list[str]:
        """The advice for a window of some size."""
        return [text.format(*(f"{scaled(number, window):,}" for number in numbers)) for text, numbers in self.advice]


def scaled(tokens: int, window: int) -> int:
    """Tokens of a window of DEFAULT_WINDOW as tokens of another."""
    return tokens * window // DEFAULT_WINDOW


def allocate(window: int, profile: Profile) -> list[Portion]:
    """Divide a window; the portions sum exactly to it, and the parts of each exactly to the portion.

    The hard limit is the upper end of the type's range, or the profile's own share where that is larger.
    """
    amounts = divide(window, [plan.tokens for plan in profile.plans])
    portions = []
    for plan, tokens in zip(profile.plans, amounts, strict=True):
        share = SHARES.get(plan.name, SHARED)
        parts = divide(tokens, [number for _, number in plan.parts])
        named = [(name, number) for (name, _), number in zip(plan.parts, parts, strict=True)]
        portions.append(Portion(share, tokens, max(tokens, window * share.most // 1000), named))
    return portions


def divide(total: int, weights: Sequence[int]) -> list[int]:
    """Divide a whole number by weights and lose nothing: what rounding leaves goes to the largest remainders."""
    whole = sum(weights)
    if not whole:
        return [0] * len(weights)
    found = [total * weight // whole for weight in weights]
    order = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % whole), i))
    for index in order[: total - sum(found)]:
        found[index] += 1
    return found
