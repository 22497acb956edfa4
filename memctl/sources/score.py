"""Score a file for a task by relevance, recency and dependency (rules.md#files-for-a-task).

Relevance has up to 50 points, recency 30 and dependency 20. Their sum is the score, from 0 to 100. If there is a task,
the points are scaled before, so that the parts have up to 70, 20 and 10 % of the score. A file with a score of 70 or
more is loaded ahead.
"""

from __future__ import annotations

import re

import msgspec

from memctl.sources.nearness import Nearness
from memctl.sources.task_files import CALLED, FileMention
from memctl.text import timestamps

RELEVANCE, RECENCY, DEPENDENCY = 50, 30, 20  # points at most
PRELOAD_SCORE = 70  # the score from which a file is loaded ahead
UNCOMMITTED_SCORE = 40  # the least score of a file with uncommitted changes, so that it is loaded if it fits
_WEIGHTS = ((RELEVANCE, 0.50), (RECENCY, 0.30), (DEPENDENCY, 0.20))
MODIFIED, UNRESOLVED, CORE, UTILITY = 15, 10, 20, 5
# With a task, its words decide, and signs that do not depend on the task count a third. Recency then counts commits,
# because projects differ in how much happens in a week. Chosen on one half of the data of `bench.file_ranking`, where
# hardly anything changes with weights of 75, 15 and 10, with 25 points each for words and names, or with recency halved
# after 10 commits.
TEXT, NAMED = 30, 20
_REST = 1 / 3
_HALF = 30  # commits after which recency is half
_TASK_WEIGHTS = ((RELEVANCE, 0.70), (RECENCY, 0.20), (DEPENDENCY, 0.10))
_AGES = ((1, 30, "last hour"), (4, 20, "last 4 hours"), (24, 10, "last 24 hours"), (24 * 7, 5, "last week"))
_CORE = re.compile(
    r"(?:.*/)?(?:pyproject\.toml|setup\.(?:py|cfg)|package\.json|tsconfig[^/]*\.json|go\.mod|cargo\.toml|pom\.xml|gemfile"
    r"|build\.gradle(?:\.kts)?|cmakelists\.txt|makefile|dockerfile|(?:docker-)?compose[^/]*\.ya?ml|requirements[^/]*\.txt"
    r"|(?:[^/]*[._-])?(?:config|configuration|settings|schemas?)(?:[._-][^/]*)?\.[^/]+|[^/]+\.config\.[^/]+"
    r"|[^/]+\.(?:proto|graphql|gql|prisma|avsc|xsd|sql|thrift))|(?:.*/)?(?:config|schemas?|settings)/[^/]+",
    re.IGNORECASE,
)
# Configuration of tests, examples and vendored code is not this project's architecture.
_ELSEWHERE = re.compile(
    r"(?:.*/)?(?:tests?|testing|fixtures?|testdata|__tests__|specs?|examples?|samples?|vendor|third_party|node_modules"
    r"|\.[^/]+\.example)/.*",
    re.IGNORECASE,
)
# An issue's text quotes its template, release notes and tests; the file to change stands second to sixth then. Of 60
# commits of a Go project, their messages of 400 characters and more as tasks, the changed code is first for .475 before
# and .508 with it, among ten for .806 and .822 (half to report; nothing in the other), and tests come later (-.02).
_ISSUE = 300  # characters of a task from which on it is an issue's text
_DOCUMENT_DOWN, _TEST_DOWN = 4, 3  # places
_DOCUMENT = re.compile(r"(?:.*/)?(?:docs?|\.github)/.*|.*\.(?:md|mdx|rst|adoc|txt)", re.IGNORECASE)
_TEST = re.compile(
    r"(?:.*/)?(?:tests?|testdata|fixtures|__tests__|specs?)/.*"
    r"|(?:.*/)?(?:test_[^/]*|[^/]*[._-](?:test|spec)s?\.\w+|conftest\.py)",
    re.IGNORECASE,
)
_UTILITY = re.compile(
    r"(?:.*/)?(?:(?:[^/]*[._-])?(?:utils?|utilities|helpers?|common|misc|shared)(?:[._-][^/]*)?\.[^/]+"
    r"|(?:utils?|utilities|helpers?)/.+)",
    re.IGNORECASE,
)


class FileKnowledge(msgspec.Struct, frozen=True):
    """What is known of a file, by which it is scored.

    - `mention`: how surely the task is about the file, None if the task does not mention it.
    - `changed`: the canonical time of its last change, "" if that was more than a week ago.
    - `is_modified`: whether one of the last five commits changed it. Commits that only change the memory don't count,
      here and in `ago`.
    - `ago`: how many commits ago it was changed last, 0 for an uncommitted change, None if no commit that was read
      changed it.
    - `todos`, `issues`: the number of the file's TODOs, and the ids of open issues that refer to the file.
    - `near`: how near the file is to the active files (those being worked on), None if it has no relation to them.
    - `match`, `words`: how well the file's text matches the task, from 0 to 1, and the task's words in the text.
    """

    mention: FileMention | None = None
    changed: str = ""
    is_modified: bool = False
    ago: int | None = None
    todos: int = 0
    issues: tuple[str, ...] = ()
    near: Nearness | None = None
    match: float = 0.0
    words: tuple[str, ...] = ()


class Score(msgspec.Struct, frozen=True):
    """A file's score from 0 to 100, and the points of its three parts.

    `relevance` has at most 50 points, `recency` 30 and `dependency` 20. `reasons` are pairs of points and the reason
    for them.
    """

    score: float
    relevance: float
    recency: float
    dependency: float
    reasons: tuple[tuple[float, str], ...]


def score(path: str, known: FileKnowledge, now: str, *, for_task: bool = False) -> Score:
    """Return the score of the file at `path`, computed from what is known about the file.

    A file that a person named, or that such a file imports, scores at least 70, so that it is loaded ahead. `now` is
    the current time in canonical form. `for_task` says that the request has the text of a task. Then relevance counts
    70 %, recency 20 % and dependency 10 % instead of 50, 30 and 20 %, and a file with uncommitted changes scores at
    least 40.
    """
    relevance = [*task_points(known), *_beside(path, known, for_task=for_task)]
    recency = _by_commits(known.ago) if for_task else _recency(known.changed, now)
    dependency = [(float(known.near.points), "; ".join(known.near.why))] if known.near else []
    weights = _TASK_WEIGHTS if for_task else _WEIGHTS
    parts = [
        min(sum(points for points, _ in parts_given), most)
        for parts_given, (most, _) in zip((relevance, recency, dependency), weights, strict=True)
    ]
    total = sum(points / most * 100 * weight for points, (most, weight) in zip(parts, weights, strict=True))
    reasons = (*relevance, *recency, *dependency)
    if for_task and known.ago == 0:
        total = max(total, UNCOMMITTED_SCORE)
    if known.near and known.near.is_needed:
        total = max(total, PRELOAD_SCORE)
    return Score(round(total, 1), round(parts[0], 1), round(parts[1], 1), round(parts[2], 1), reasons)


def places_down(path: str, mention: FileMention | None, task: str) -> int:
    """Return how many places down a file goes as documentation or a test, 0 for code, or if the task names the file.

    A short task goes its own way: it often is about documentation or tests.
    """
    if len(task) < _ISSUE or (mention is not None and mention.share >= CALLED):
        return 0
    return _DOCUMENT_DOWN if _DOCUMENT.fullmatch(path) else _TEST_DOWN if _TEST.fullmatch(path) else 0


def task_points(known: FileKnowledge) -> list[tuple[float, str]]:
    """Return the points that a file gets from the words of a task, as pairs of points and the reason for them.

    There are up to 30 points for how well the file's text matches the task, and up to 20 if the task mentions the file.
    """
    points: list[tuple[float, str]] = []
    if known.match:
        words = f"its text has {', '.join(known.words)}" if known.words else "its text has words of the task"
        points.append((round(TEXT * known.match, 1), words))
    if known.mention is not None:
        points.append((round(NAMED * known.mention.share, 1), known.mention.why))
    return points


def _beside(path: str, known: FileKnowledge, *, for_task: bool) -> list[tuple[float, str]]:
    """With a task the points are multiplied by how well the file matches the task."""
    points: list[tuple[float, str]] = []
    if known.is_modified:
        points.append((MODIFIED * _REST if for_task else MODIFIED, "changed in the last five commits"))
    share = _REST * known.match if for_task else 1.0
    if not share:
        return points
    if known.issues or known.todos:
        todos = [f"{known.todos} TODO{'s' if known.todos > 1 else ''}"] if known.todos else []
        points.append((round(UNRESOLVED * share, 1), f"unresolved: {', '.join((*known.issues, *todos))}"))
    if _CORE.fullmatch(path) and not _ELSEWHERE.fullmatch(path):
        points.append((round(CORE * share, 1), "configuration or schema"))
    elif _UTILITY.fullmatch(path):
        points.append((round(UTILITY * share, 1), "utility"))
    return points


def _by_commits(ago: int | None) -> list[tuple[float, str]]:
    if ago is None:
        return []
    when = "changed in the last commit" if ago else "it is in no commit yet"
    when = f"changed {ago} commits ago" if ago > 1 else when
    return [(round(RECENCY / (1 + ago / _HALF), 1), when)]


def _recency(changed: str, now: str) -> list[tuple[float, str]]:
    """A time in the future, by another clock, is new."""
    hours = timestamps.days_between(changed, now) * 24 if changed else _AGES[-1][0] + 1
    return next(([(points, f"changed in the {name}")] for limit, points, name in _AGES if hours <= limit), [])
