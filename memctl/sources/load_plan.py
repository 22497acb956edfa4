"""Choose the files to load into a model's window before a task starts (rules.md#files-for-a-task).

A file with a score of 70 or more has the verdict "preload", unless a model only gets its outline or the window is
crowded. Files are loaded in the order of their scores, down to the lowest score that the user allows, as long as they
fit into the budget for files. The budget is 35 % of the window unless the user sets another. Each file that is not
loaded gets a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from memctl.sources.score import PRELOAD_SCORE, Score
from memctl.store.source_facts import Content
from memctl.tokens.count import Count

PRELOAD, JUST_IN_TIME, ON_DEMAND = "preload", "just-in-time", "on demand"
NO_ROOM = "no room is left beside the other files"
JUST_IN_TIME_SCORE = 40
LARGE = 10_000  # tokens above which only an outline of a file is loaded
OUTLINE = 500  # tokens of an outline; rules.md#files-for-a-task
_FULL = 0.80  # share of the window in use above which no file is loaded
_ACTIVE, _FILLED = 0.50, 0.70  # the active context's share of the window, and the files' share of the active context
_RESERVED = {"tool_outputs": 0.15, "expansion": 0.10, "buffer": 0.05}  # the other shares of the active context


class ScoredFile(msgspec.Struct, frozen=True):
    """A file of the repository: its path, its content, and its score for a task."""

    path: str
    content: Content
    score: Score


class Choice(msgspec.Struct, frozen=True):
    """A scored file with its tokens, the verdict when to load it, and whether it is loaded now.

    `verdict` is "preload", "just-in-time" or "on demand", as the function `verdict` returns it. Whether the file is
    loaded now depends on the budget, too: `left_out` says why it is not, "" if it is. `outline` says why a model only
    gets an outline of it (for example because it is large), "" if it gets the whole file.
    """

    path: str
    content: Content
    score: Score
    tokens: Count
    verdict: str
    left_out: str
    outline: str = ""

    @property
    def is_loaded(self) -> bool:
        """Whether the file, or its outline, is loaded."""
        return not self.left_out

    @property
    def cost(self) -> int:
        """The tokens to load: those of the file, or at most 500 if only its outline is loaded."""
        return min(self.tokens.tokens, OUTLINE) if self.outline else self.tokens.tokens


class LoadBudget(msgspec.Struct, frozen=True):
    """The room for files in a model's window: the window, its tokens in use, and the budget for files, all in tokens.

    `least` is the lowest score that a file must have to be loaded.
    """

    window: int
    used: int
    budget: int
    least: float

    @property
    def is_crowded(self) -> bool:
        """Whether more than 80 % of the window is in use; then no file is loaded."""
        return self.used > self.window * _FULL

    @property
    def reserve(self) -> dict[str, int]:
        """The tokens of the window that files must leave free, by purpose: 30 % of half the window."""
        return {name: int(self.window * _ACTIVE * share) for name, share in _RESERVED.items()}


def budget_of(window: int) -> int:
    """Return how many tokens of a window files may use: 70 % of the active context, which is half of the window."""
    return int(window * _ACTIVE * _FILLED)


def verdict(score: float, outline: str, room: LoadBudget) -> str:
    """Return the verdict when to load a file (rules.md#files-for-a-task).

    It is "preload" for a `score` of 70 or more, "just-in-time" from 40 on, and "on demand" below. `outline` says why a
    model only gets an outline of the file, "" if it gets all of it; a file with an outline is never "preload". In a
    crowded window (`LoadBudget.is_crowded`) every file is "just-in-time".
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
    """Choose which files to load, and yield a Choice for each file.

    `files` are in the order in which they are to be loaded, and `room` is the budget that they must fit into. `count`
    counts the tokens of the first `shown` files and of those that may be loaded; `estimate` estimates those of all
    others. `generated` returns why the file at a path counts as generated, "" if it does not.
    """
    left = room.budget
    for number, file in enumerate(files):
        is_wanted = file.score.score >= room.least and not room.is_crowded and left > 0
        about = estimate(file.content)
        is_near = about.tokens * (1 - min(about.error, 0.9)) <= min(left, LARGE)
        tokens = count(file.path, file.content) if number < shown or (is_wanted and is_near) else about
        is_seen = number < shown or is_wanted
        outline = f"the file has more than {LARGE:,} tokens" if tokens.tokens > LARGE else ""
        outline = outline or (generated(file.path) if is_seen else "")
        when = verdict(file.score.score, outline, room)
        plan = Choice(file.path, file.content, file.score, tokens, when, "", outline)
        reason = file.content.facts.refusal or _reason(file.score.score, plan.cost, room, left)
        left -= 0 if reason else plan.cost
        yield msgspec.structs.replace(plan, left_out=reason) if reason else plan


def _reason(score: float, cost: int, room: LoadBudget, left: int) -> str:
    if score < room.least:
        return f"its score is below {room.least:g}"
    if room.is_crowded:
        return f"more than {_FULL:.0%} of the window is in use"
    return NO_ROOM if cost > left else ""
