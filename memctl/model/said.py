"""Texts in which somebody says what another agent needs: each on one line, within a length, and none a stand-in."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec

LONGEST_LINE = 500  # characters; the long part belongs into a file or a record
LONGEST_MISSION = 2_000
MOST_LINES = 200
Line = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_LINE)]
ShortText = Annotated[str, msgspec.Meta(max_length=LONGEST_LINE)]
Mission = Annotated[str, msgspec.Meta(max_length=LONGEST_MISSION)]
Lines = Annotated[tuple[Line, ...], msgspec.Meta(max_length=MOST_LINES)]
_STAND_IN = re.compile(
    r"[\W_]*|(?:tbd|tba|tbc|todo|n/?a|unknown|xxx|to be (?:determined|defined|done))\W*", re.IGNORECASE
)


def is_said(text: str) -> bool:
    """Whether a text says something: "TBD", "n/a" and "…" do not; "none" does."""
    return _STAND_IN.fullmatch(text.strip()) is None
