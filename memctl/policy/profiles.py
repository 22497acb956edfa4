"""The profiles of tasks, in tokens of a window of 200,000 (rules.md#task-profiles)."""

from __future__ import annotations

import msgspec

from memctl.policy.allocation import Plan, Profile, divide, scaled

BALANCED = Profile(
    "balanced",
    "the middle of every range",
    (Plan("system", 70_000), Plan("active", 90_000), Plan("session", 25_000), Plan("buffer", 15_000)),
)
SMALL_FEATURE = Profile(
    "small-feature",
    "a small feature: one session of 2 to 4 hours",
    (
        Plan(
            "system", 60_000,
            (("agent definition", 5_000), ("prompt engineering", 8_000), ("context management", 12_000),
             ("language skills", 15_000), ("other skills", 20_000)),
        ),
        Plan(
            "active", 90_000,
            (("level 1", 1_000), ("level 2", 5_000), ("level 3", 10_000), ("level 4: 3 to 5 files", 35_000),
             ("tool outputs", 15_000), ("working notes", 10_000), ("task state", 2_000),
             ("recent modifications", 5_000), ("margin", 7_000)),
        ),
        Plan(
            "session", 30_000,
            (("decisions", 8_000), ("open issues", 5_000), ("implementation notes", 7_000),
             ("recent changes", 10_000)),
        ),
        Plan("buffer", 20_000, (("safety margin", 20_000),)),
    ),
    (
        ("compaction is hardly needed", ()),
        ("at the end, a session summary of about {} tokens", (5_000,)),
    ),
)  # fmt: skip
MULTI_SESSION = Profile(
    "multi-session",
    "a project of several sessions over 2 to 3 days",
    (
        Plan("system", 70_000),
        Plan(
            "active", 85_000,
            (("levels 1 and 2", 6_000), ("level 3", 15_000), ("level 4: 10 to 15 files", 50_000),
             ("tool outputs", 14_000)),
        ),
        Plan("session", 25_000, (("decisions", 10_000), ("issues", 8_000), ("state", 7_000))),
        Plan("buffer", 20_000),
    ),
    (
        ("at 80 % compact to 65 %, which frees {} tokens", (30_000,)),
        ("at the end of a session, a summary of {} tokens", (8_000,)),
        ("a later session begins with {} tokens rehydrated: summary {}, decisions {}, issues {}",
         (20_000, 8_000, 7_000, 5_000)),
    ),
)  # fmt: skip
LARGE_CODEBASE = Profile(
    "large-codebase",
    "the analysis of a large code base, over a week",
    (
        Plan("system", 65_000),
        Plan(
            "active", 95_000,
            (("hierarchy", 15_000), ("samples of 20 files and more", 60_000), ("search results", 15_000),
             ("notes", 5_000)),
        ),
        Plan("session", 25_000),
        Plan("buffer", 15_000),
    ),
    (
        ("at 80 % and more, deduplicate search results (about {}), then keep summaries of files (about {})",
         (12_000, 25_000)),
        ("at the end of the first session, a summary of {} tokens; of each later one, {}", (15_000, 10_000)),
        ("sessions 2 to 5 begin with {} tokens rehydrated and compact every 3 to 4 hours", (25_000,)),
        ("the last session begins with {}: decisions {}, findings {}, architecture {}; {} are for the work",
         (50_000, 15_000, 20_000, 15_000, 120_000)),
    ),
)  # fmt: skip
MULTI_AGENT = Profile(
    "multi-agent",
    "several agents at once; the window is each agent's",
    (
        Plan(
            "shared", 80_000,
            (("level 1", 2_000), ("level 2", 10_000), ("decisions", 20_000), ("constraints", 8_000),
             ("coordination state", 5_000), ("shared resources", 15_000), ("navigation index", 5_000),
             ("protocols", 15_000)),
        ),
        Plan("system", 20_000),
        Plan("active", 60_000),
        Plan("session", 25_000),
        Plan("buffer", 15_000),
    ),
    (
        ("a handoff has {} tokens: metadata {}, summary {}, work products {}, next actions {}, notes {}",
         (25_000, 1_000, 8_000, 10_000, 3_000, 3_000)),
    ),
)  # fmt: skip
PROFILES = {profile.name: profile for profile in (BALANCED, SMALL_FEATURE, MULTI_SESSION, LARGE_CODEBASE, MULTI_AGENT)}

AGENTS = 5
_COORDINATION = (
    ("ownership", 10_000), ("conflict resolution", 10_000), ("blockers", 5_000), ("task queue", 15_000),
)  # fmt: skip


class Team(msgspec.Struct, frozen=True):
    """What a project of several agents comes to: tokens there are, tokens of use (rules.md#task-profiles)."""

    agents: int
    available: int
    shared: int  # counted once
    own: int  # of all agents together
    coordination: int
    coordination_parts: list[tuple[str, int]]

    @property
    def effective(self) -> int:
        return self.shared + self.own + self.coordination

    @property
    def efficiency(self) -> float:
        return self.effective / self.available


def team(window: int, agents: int = AGENTS) -> Team:
    """The sum for some agents with a window each: 720,000 of 1,000,000 for five of 200,000."""
    shared, own = divide(window, [80_000, 120_000])
    coordination = scaled(sum(number for _, number in _COORDINATION), window)
    parts = divide(coordination, [number for _, number in _COORDINATION])
    named = [(name, number) for (name, _), number in zip(_COORDINATION, parts, strict=True)]
    return Team(agents, agents * window, shared, agents * own, coordination, named)
