"""Texts for the tests of the policies, and a counter by which a word is a token."""

from __future__ import annotations

from memctl.window.policy import measures
from memctl.window.policy.blocks import ParsedText, TextBlock
from memctl.window.policy.contexts import Context
from memctl.window.policy.formats import take_apart
from memctl.window.policy.measures import Measures
from memctl.window.policy.staleness import Over

NOW = "2025-11-04T14:32:00Z"
NOTHING = Over({}, frozenset())


def count(text: str, kind: str = "markdown") -> int:
    """As many tokens as words."""
    return len(text.split())


def parsed(text: str) -> ParsedText:
    return take_apart(text, "text", count)


def measured(text: str, task: str = "", known: Over = NOTHING, now: str = NOW) -> Measures:
    return measures.measure(parsed(text), known, now, count, task)


def context(text: str, name: str = "agent") -> Context:
    return Context(name, measured(text))


def blocks(text: str) -> list[TextBlock]:
    return parsed(text).blocks


def words(number: int, first: int = 0) -> str:
    """Distinct words, none of which recurs in a text of other numbers."""
    names = "abcdefghij"
    return " ".join("w" + "".join(names[int(digit)] for digit in str(n)) for n in range(first, first + number))
