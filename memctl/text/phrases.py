"""Phrases for messages: numbers and articles with their nouns, the first of many names, failed commands."""

from __future__ import annotations

from collections.abc import Sequence

from memctl.text import timestamps


def quantity(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural if needed: "1 file", "1,234 files"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def gap(earlier: str, later: str) -> str:
    """Return the time between two moments in its largest unit, such as "3 days"; "" if it is below a minute.

    Both moments have the form "2025-11-04T14:32:00Z".
    """
    seconds = int(timestamps.days_between(earlier, later) * 86_400)
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            return quantity(seconds // size, unit)
    return ""


def indefinite(noun: str) -> str:
    """Return a noun with its article: "an issue", "a decision"."""
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def some(names: Sequence[str], most: int, mark: str = ", ", last: str = " and ") -> str:
    """Return at most `most` of the names, and the number of the others: "a, b and 3 more".

    `mark` separates the names, and `last` comes before the number.
    """
    more = f"{last}{len(names) - most:,} more" if len(names) > most else ""
    return mark.join(names[:most]) + more


def failure(step: str, message: str) -> str:
    """Return the message that the command `step` failed: "`make test` failed: 2 errors"."""
    return f"`{step}` failed: {message}"


def is_failure(text: str) -> bool:
    """Return whether a text begins with the message that a command failed, such as "`make test` failed: 2 errors"."""
    return text.startswith("`") and text[1:].partition("`")[2].startswith(" failed: ")
