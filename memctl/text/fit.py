"""Fit a text into limited room: cut it, or find how much of it fits.

The module also has the largest number of characters that a hook may print.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable

from memctl.text.lazy_regex import lazy_regex

# If a hook's output has more than 10,000 characters, Claude Code shows a preview of 2 kB (seen in version 2.1.329).
LIMIT = 9_500
_ITEM = lazy_regex(r"^(?:[-*+]|\d{1,9}[.)])[ \t]+", re.MULTILINE)
_ABBREVIATED = 160  # characters at most of a first sentence


def length(text: str) -> int:
    """Return the length of a text in UTF-16 code units, of which an emoji has two.

    Hosts that are written in JavaScript count the length of what a hook prints in this unit.
    """
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut(text: str, longest: int) -> str:
    """Return a text of at most `longest` characters: a longer one is cut and ends with "…"."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def cut_at_word(text: str, longest: int, mark: str = " …") -> str:
    """Return the beginning of a text, cut between two words, with `mark` after it: "the beginning …".

    The beginning has fewer than `longest` characters, `mark` not counted. A text of at most `longest` characters is
    returned unchanged.
    """
    return text if len(text) <= longest else text[: longest - 1].rpartition(" ")[0] + mark


def first_sentence(text: str) -> str:
    """Return the first sentence of a Markdown text on one line, or as many words as fit into 160 characters."""
    block = next((block for block in text.split("\n\n") if block.strip()), "")
    line = " ".join(re.sub(r"^\s*(?:[-*+]|\d{1,9}[.)])\s+", "", block).split())
    match = re.match(r".+?[.!?](?=\s+[^a-z\s]|$)", line)
    line = match[0] if match else line
    return line if len(line) <= _ABBREVIATED else cut_at_word(line, _ABBREVIATED, "").rstrip(",;:") + " …"


def reasons_first(sections: Iterable[tuple[str, str]]) -> list[str]:
    """Return the texts of a record's or page's sections, in the order in which they may say why it is there.

    `sections` are pairs of a heading and a text. A rationale comes first, then a resolution, other texts, and other
    lists, the last one first: what is next says more than what is done. Text without a heading comes last. Each item of
    a list becomes a paragraph.
    """

    def rank(place: int, heading: str, text: str) -> tuple[int, int]:
        order = {"Rationale": 0, "Resolution": 1, "": 4}.get(heading, 2)
        return (3, -place) if order > 1 and _ITEM.match(text) else (order, place)

    stripped = [(heading, text.strip()) for heading, text in sections]
    ranked = sorted((rank(place, *section), section[1]) for place, section in enumerate(stripped))
    return [_ITEM.sub("\n", text).strip() if _ITEM.match(text) else text for _, text in ranked]


def most(fits: Callable[[int], bool], least: int, greatest: int) -> int:
    """Return the largest number from `least` to `greatest` for which `fits` returns True; `least` if there is none.

    The number is found by binary search. So if `fits` returns True for a number, it must do so for all smaller numbers.
    """
    while least < greatest:
        middle = (least + greatest + 1) // 2
        if fits(middle):
            least = middle
        else:
            greatest = middle - 1
    return least


def most_within(cost: Callable[[int], int], limit: int, most: int, guess: int, each: float) -> int:
    """Return the largest number from 0 to `most` whose cost is within `limit`, 0 if there is none.

    For instance, it finds how many records fit into a budget, where the cost of a number is the tokens of a text with
    so many records. `cost` returns the cost of a number, and must grow with the number. `guess` is the number that is
    tried first, and `each` is an estimate of how much the cost grows if the number grows by one. Every further number
    to try is computed from the last two costs, which needs a third of the tries of a binary search.
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


def whole_lines(lines: Iterable[str], limit: int, count: Callable[[str], int]) -> str:
    """Return those of the lines that fit into `limit` tokens, as a Markdown list; "" if none fits.

    `count` returns the number of tokens of a text. A line that does not fit any more is skipped, and the next one is
    tried. Of equal lines only one is taken.
    """
    text = ""
    for line in dict.fromkeys(lines):
        longer = f"{text}\n- {line}" if text else f"- {line}"
        if count(longer) <= limit:
            text = longer
    return text
