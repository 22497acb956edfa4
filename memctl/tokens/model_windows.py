"""The windows of Claude's models, where Claude Code compacts them, and where zones begin: the one place for both the
window's tools and the hooks.

Plain numbers and text: a hook after every tool call imports this, and must not pay for more.
"""

from __future__ import annotations

import re

# Claude Code compacts at window - min(max_output, 20,000) - 13,000 (seen by running it, 2.1.329): 167,000 of 200,000.
MOST_OUTPUT, BUFFER = 20_000, 13_000
DEFAULT_OUTPUT = 32_000  # tokens that a model may answer with if nobody says; any above MOST_OUTPUT count the same
SMALL, LARGE = 200_000, 1_000_000
YELLOW_AT, ORANGE_AT, RED_AT = 0.50, 0.75, 0.90  # shares of what can be filled; rules.md#window-pressure
TARGET = 0.60  # of the same; what eviction and compression aim at; rules.md#window-pressure
AGAIN = 0.02  # of the same; so much more must stand there before what has gained too little is tried again
_MILLION = re.compile(r"\[1m\]|[-_:]1m\b", re.IGNORECASE)
# Models whose window Claude Code 2.1.330 says to be SMALL (`--output-format json`, under modelUsage); it takes all
# others to have LARGE ones, unknown ones too.
_SMALL = re.compile(
    r"\bclaude-(?:[23]|instant|(?:opus|sonnet|haiku)-(?:3|4(?:-[0-6])?(?!\d|-\d{1,2}(?!\d))))", re.IGNORECASE
)


def is_large(model: str) -> bool:
    """Whether a name asks for the large window of a model, as `claude-sonnet-4-5[1m]` does."""
    return _MILLION.search(model) is not None


def claude_window(model: str, seen: int = 0) -> int:
    """The window that Claude Code takes a model to have, in tokens, by the model's name.

    `seen` tokens that were in it tell more: what a small one can't hold proves the large one. Less proves nothing, for
    Claude Code compacts after the request that went over its point: 12 of 234 real sessions had up to 175,000 tokens
    in a window of 200,000. The suffix `[1m]` with which somebody asks for the large one is not in transcripts.
    """
    is_small = _SMALL.search(model) is not None and not is_large(model) and seen <= SMALL
    return SMALL if is_small else LARGE


def compacted_at(window: int, max_output: int = DEFAULT_OUTPUT) -> int:
    """The tokens at which Claude Code compacts a window by itself."""
    return window - min(max_output, MOST_OUTPUT) - BUFFER
