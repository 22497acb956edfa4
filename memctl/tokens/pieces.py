"""An estimate without a tokenizer: cut a text into words, numbers, punctuation and white space, and weigh each.

Measured against o200k: within 3-7 % (JSON 12 %).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache

from memctl.tokens.families import family_of

_PIECE = re.compile(r"[A-Za-z]+|\d+|[^\sA-Za-z0-9]+|\s+")
_FACTORS = {
    "prose": 0.893, "markdown": 0.862, "python": 0.894, "typescript": 0.876, "json": 0.989, "log": 1.029, "chat": 0.874,
    "diff": 0.829,
}  # fmt: skip
ERROR = {kind: 0.12 if kind == "json" else 0.07 for kind in _FACTORS}


def estimate(text: str, kind: str) -> int:
    """About how many o200k tokens a text of a kind has."""
    return math.ceil(sum(map(_weight, _PIECE.findall(text))) * _FACTORS[kind])


def markdown_estimator(model: str) -> Callable[[str], float]:
    """Return a function that says about how many tokens Markdown has for a model; a backslash counts as one more."""
    factor = family_of(model).factors["markdown"]
    return lambda text: (estimate(text, "markdown") + text.count("\\")) * factor


@lru_cache(maxsize=4096)  # a text has far fewer words than pieces
def _weight(piece: str) -> int:
    first = piece[0]
    if first.isascii() and first.isalpha():
        return 1 if len(piece) <= 7 else (len(piece) + 4) // 6
    if first.isdigit():
        return (len(piece) + 2) // 3
    if first.isspace():
        return 1 if "\n" in piece or len(piece) > 1 else 0
    plain = sum(1 for character in piece if character.isascii())
    return (plain + 1) // 2 + len(piece) - plain
