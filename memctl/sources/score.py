"""The score of a file for a task: relevance, recency and dependency (rules.md#files-for-a-task).

Each part is scaled to 0-100 before it is weighed. Points that are already out of 50, 30 and 20 would never come to the
70 at which a file is loaded ahead.
"""

from __future__ import annotations

import re

import msgspec

from memctl.record import timestamps
from memctl.sources.nearness import Near
from memctl.sources.task import FileMention

RELEVANCE, RECENCY, DEPENDENCY = 50, 30, 20  # points at most
PRELOAD_SCORE = 70  # the score from which a file is loaded ahead
_WEIGHTS = ((RELEVANCE, 0.50), (RECENCY, 0.30), (DEPENDENCY, 0.20))
MENTIONED, MODIFIED, UNRESOLVED, CORE, UTILITY = 25, 15, 10, 20, 5
_AGES = ((1, 30, "last hour"), (4, 20, "last 4 hours"), (24, 10, "last 24 hours"), (24 * 7, 5, "last week"))
_CORE = re.compile(
    r"(?:.*/)?(?:pyproject\.toml|setup\.(?:py|cfg)|package\.json|tsconfig[^/]*\.json|go\.mod|cargo\.toml|pom\.xml|gemfile"
    r"|build\.gradle(?:\.kts)?|cmakelists\.txt|makefile|dockerfile|(?:docker-)?compose[^/]*\.ya?ml|requirements[^/]*\.txt"
    r"|(?:[^/]*[._-])?(?:config|configuration|settings|schemas?)(?:[._-][^/]*)?\.[^/]+|[^/]+\.config\.[^/]+"
    r"|[^/]+\.(?:proto|graphql|gql|prisma|avsc|xsd|sql|thrift))|(?:.*/)?(?:config|schemas?|settings)/[^/]+",
    re.IGNORECASE,
)
# What others, or tests, are made of is not this project's architecture.
_ELSEWHERE = re.compile(
    r"(?:.*/)?(?:tests?|testing|fixtures?|testdata|__tests__|specs?|examples?|samples?|vendor|third_party|node_modules"
    r"|\.[^/]+\.example)/.*",
    re.IGNORECASE,
)
_UTILITY = re.compile(
    r"(?:.*/)?(?:(?:[^/]*[._-])?(?:utils?|utilities|helpers?|common|misc|shared)(?:[._-][^/]*)?\.[^/]+"
    r"|(?:utils?|utilities|helpers?)/.+)",
    re.IGNORECASE,
)


class FileKnowledge(msgspec.Struct, frozen=True):
    """What is known of a file beside its path: how a task mentions it, when it was changed (canonical UTC, "" for long
    ago), whether in the last operations, its open TODOs, the open issues that name it, how near it is to active files.
    """

    mention: FileMention | None = None
    changed: str = ""
    is_modified: bool = False
    todos: int = 0
    issues: tuple[str, ...] = ()
    near: Near | None = None


class Score(msgspec.Struct, frozen=True):
    """From 0 to 100, the points of its parts (at most 50, 30 and 20), and what gave points: pairs of these and why."""

    score: float
    relevance: float
    recency: float
    dependency: float
    reasons: tuple[tuple[float, str], ...]


def score(path: str, known: FileKnowledge, now: str) -> Score:
    """Score a file; each part has its points capped. What is needed for sure scores enough to be loaded ahead."""
    relevance = [*_relevance(path, known)]
    recency = _recency(known.changed, now)
    dependency = [(float(known.near.points), "; ".join(known.near.why))] if known.near else []
    parts = [
        min(sum(points for points, _ in given), most)
        for given, (most, _) in zip((relevance, recency, dependency), _WEIGHTS, strict=True)
    ]
    total = sum(points / most * 100 * weight for points, (most, weight) in zip(parts, _WEIGHTS, strict=True))
    reasons = (*relevance, *recency, *dependency)
    if known.near and known.near.is_needed:
        total = max(total, PRELOAD_SCORE)
    return Score(round(total, 1), round(parts[0], 1), round(parts[1], 1), round(parts[2], 1), reasons)


def _relevance(path: str, known: FileKnowledge) -> list[tuple[float, str]]:
    found: list[tuple[float, str]] = []
    if known.mention is not None:
        found.append((round(MENTIONED * known.mention.share, 1), known.mention.why))
    if known.is_modified:
        found.append((MODIFIED, "changed in the last five operations"))
    if known.issues or known.todos:
        todos = [f"{known.todos} TODO{'s' if known.todos > 1 else ''}"] if known.todos else []
        found.append((UNRESOLVED, f"unresolved: {', '.join((*known.issues, *todos))}"))
    if _CORE.fullmatch(path) and not _ELSEWHERE.fullmatch(path):
        found.append((CORE, "configuration or schema"))
    elif _UTILITY.fullmatch(path):
        found.append((UTILITY, "utility"))
    return found


def _recency(changed: str, now: str) -> list[tuple[float, str]]:
    """The points of the first age that a change is not older than; one of the future, by some other clock, is new."""
    hours = timestamps.days_between(changed, now) * 24 if changed else _AGES[-1][0] + 1
    return next(([(points, f"changed in the {name}")] for limit, points, name in _AGES if hours <= limit), [])
