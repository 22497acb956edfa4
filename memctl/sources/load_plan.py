"""Which files are loaded ahead: the verdict on each, and as many of the best as fit (rules.md#files-for-a-task).

What scores 70 has the verdict to be loaded ahead. What fits into 70 % of the active context is filled from the best
file on down to a least score, and whatever is left out is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from memctl.sources.facts import Content
from memctl.sources.score import PRELOAD_SCORE, Score
from memctl.tokens.count import Count

PRELOAD, JUST_IN_TIME, ON_DEMAND = "preload", "just-in-time", "on demand"
NO_ROOM = "it does not fit beside the others"
JUST_IN_TIME_SCORE = 40
LARGE = 10_000  # tokens of a file of which only an outline is loaded ahead
OUTLINE = 500  # tokens of that; rules.md#files-for-a-task
_FULL = 0.80  # of the window: if more is in use, nothing is loaded ahead
_ACTIVE, _FILLED = 0.50, 0.70  # the active context's share of the window, and what of that is filled
_RESERVED = {"tool_outputs": 0.15, "expansion": 0.10, "buffer": 0.05}  # what the rest of that is for


class ScoredFile(msgspec.Struct, frozen=True):
    """A file with its score."""

    path: str
    content: Content
    score: Score


class Choice(msgspec.Struct, frozen=True):
    """A scored file with its tokens, the verdict, and why it is not loaded ahead: "" if it is. `outline` says why only
    an outline of it ever is, "" if it is all of it."""

    path: str
    content: Content
    score: Score
    tokens: Count
    verdict: str
    left_out: str
    outline: str = ""

    @property
    def is_loaded(self) -> bool:
        return not self.left_out

    @property
    def cost(self) -> int:
        """The tokens that it takes to load what is loaded of it."""
        return min(self.tokens.tokens, OUTLINE) if self.outline else self.tokens.tokens


class LoadBudget(msgspec.Struct, frozen=True):
    """Tokens: the model's window, what of it is in use, what files may take; and the least score of what is loaded."""

    window: int
    used: int
    budget: int
    least: float

    @property
    def is_crowded(self) -> bool:
        return self.used > self.window * _FULL


def budget_of(window: int) -> int:
    """Return the tokens that files may take of a window: 70 % of the active half of it."""
    return int(window * _ACTIVE * _FILLED)


def reserve_of(window: int) -> dict[str, int]:
    """Return the tokens of the active half of a window that files leave free, by what for."""
    return {name: int(window * _ACTIVE * share) for name, share in _RESERVED.items()}


def verdict(score: float, outline: str, room: LoadBudget) -> str:
    """Return how all of a file should be loaded (rules.md#files-for-a-task).

    What is large or generated is held back that would be loaded ahead; it does not come nearer if nobody needs it.
    """
    if room.is_crowded:
        return JUST_IN_TIME
    if score < JUST_IN_TIME_SCORE:
        return ON_DEMAND
    return PRELOAD if score >= PRELOAD_SCORE and not outline else JUST_IN_TIME


def choose(
    files: Iterable[ScoredFile],
    room: LoadBudget,
    estimate: Callable[[Content], Count],
    count: Callable[[str, Content], Count],
    shown: int,
    generated: Callable[[str], str],
) -> Iterator[Choice]:
    """Yield the files, in their order, with what becomes of each.

    Counted are those that may be loaded, and the first `shown` ones; of the rest the tokens are an estimate.
    `generated` says of a path why a program wrote that file, "" if none did.
    """
    left = room.budget
    for number, file in enumerate(files):
        is_wanted = file.score.score >= room.least and not room.is_crowded and left > 0
        about = estimate(file.content)
        is_near = about.tokens * (1 - min(about.error, 0.9)) <= min(left, LARGE)
        tokens = count(file.path, file.content) if number < shown or (is_wanted and is_near) else about
        is_seen = number < shown or is_wanted
        outline = f"it has more than {LARGE:,} tokens" if tokens.tokens > LARGE else ""
        outline = outline or (generated(file.path) if is_seen else "")
        found = Choice(
            file.path, file.content, file.score, tokens, verdict(file.score.score, outline, room), "", outline
        )
        reason = file.content.facts.refusal or _reason(file.score.score, found.cost, room, left)
        left -= 0 if reason else found.cost
        yield msgspec.structs.replace(found, left_out=reason) if reason else found


def _reason(score: float, cost: int, room: LoadBudget, left: int) -> str:
    if score < room.least:
        return f"its score is below {room.least:g}"
    if room.is_crowded:
        return f"more than {_FULL:.0%} of the window is in use"
    return NO_ROOM if cost > left else ""
