"""Each number that was required of a window (docs/rules.md, from "Window pressure" on), by what it does.

A row is a number, what is seen with it, and what must be seen: at the number and just beside it. A token is a word, so
that sizes are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memctl.record.task_state import DONE, PLANNED, Step
from memctl.window import (
    PROFILES,
    AlertThresholds,
    BudgetComponent,
    CompressionEngine,
    ContentBlock,
    ContentType,
    ContextHealthMonitor,
    ContextPressureMonitor,
    ContextWindowManager,
    Conversation,
    Decision,
    EvictionEngine,
    HealthSnapshot,
    Notes,
    Scoring,
    StateFiles,
    SubAgentAnswer,
    TaskState,
    TokenBudgetManager,
    WindowConfig,
)
from memctl.window.compression import sub_agent
from tests.window.talk import Talk, long_talk

Row = tuple[Callable[[], Any], Any]
RESULTS, OUTPUT = BudgetComponent.TOOL_RESULTS, BudgetComponent.OUTPUT_RESERVED


class Words:
    """Counts words."""

    def tokens(self, text: str, kind: str = "chat") -> int:
        return len(text.split())


def monitor(*tokens: int) -> ContextPressureMonitor:
    """A monitor after requests of so many tokens."""
    made = ContextPressureMonitor()
    for number in tokens:
        made.measure(number)
    return made


def zones(*shares: float) -> list[str]:
    return [ContextPressureMonitor(100_000).measure(round(share * 100_000)).zone.value for share in shares]


def spikes(*steps: int) -> int:
    """How many steps of a window are spikes."""
    seen: list[float] = []
    made = ContextPressureMonitor(10**6, on_velocity_spike=lambda step, baseline, reading: seen.append(step))
    for tokens in accumulate(steps, initial=0):
        made.measure(tokens)
    return len(seen)


def score(policy: str, age: int, type_: ContentType = ContentType.TOOL_RESULT, **more: Any) -> float:
    """The score of a block of an age in turns, in a conversation that has no task."""
    block = ContentBlock("b", type_, "word " * 400, 400, 1, **more)
    (kept,) = EvictionEngine(policy, counter=Words()).evict([block], 0, 1 + age).kept
    assert kept.score is not None
    return round(kept.score, 6)


def merging_score(cosine: float) -> float:
    """The score of a block that a newer one is like."""
    vectors = [[1.0, 0.0], [cosine, (1 - cosine**2) ** 0.5]]
    blocks = [
        ContentBlock(f"b{turn}", ContentType.TOOL_RESULT, f"{turn} " * 400, 400, turn, embedding=vector)
        for turn, vector in enumerate(vectors, 1)
    ]
    kept = EvictionEngine("semantic_merge", counter=Words()).evict(blocks, 0, 20).kept
    return round(kept[0].score or 0, 4)


def placeholder_tokens() -> int:
    block = ContentBlock("b", ContentType.TOOL_RESULT, "a path/to/file:1: retry = 3 # found\n" * 300, 1_800, 1)
    found = EvictionEngine("fifo", counter=Words()).evict([block], 1, 20)
    return Words().tokens(found.replacements["b"] or "")


def summed_up(words: int) -> bool:
    """Whether a result of so many words is summed up."""
    output = "\n".join(f"line {number}" for number in range(words // 2)) + " word" * (words % 2)
    made = CompressionEngine(Words()).compress_tool_result("Bash", output)
    return not made.refused and made.compressed_tokens < 0.2 * made.original_tokens


def level_at(age: int) -> tuple[str, bool]:
    """What an older answer becomes, and whether it has no more than its share of the tokens."""
    talk = Talk("Look.")
    talk.say("What is it like?", " ".join(f"The sky number {n} is as blue as the other." for n in range(100)))
    for number in range(age - 1):
        talk.say(f"And {number}?", "Same.")
    conversation = Conversation.parse(talk.messages, Words())
    old = next(block for block in conversation.blocks if "sky number" in block.content)
    made = CompressionEngine(Words()).progressive_summarize(conversation).conversation
    new = next(block for block in made.blocks if block.block_id == old.block_id)
    if new.content == old.content:
        return "whole", True
    label = new.content[len("[Shortened, ") :].partition("]")[0]
    share = {"L1_key_points": 0.30, "L2_one_line": 0.05, "L3_title": 0.01}[label]
    return label, new.token_count - len(["[Shortened,", "label]"]) <= max(share * old.token_count, 10)


def steps(*shares: float, **more: Any) -> list[int]:
    """How many steps of the cascade are allowed at utilisations, eviction among them."""
    return [len(CompressionEngine(Words(), **more).steps_at(share)) for share in shares]


def refused_summary(words: int) -> bool:
    engine = CompressionEngine(Words(), dispatcher=lambda task, context: SubAgentAnswer("word " * words, 60_000))
    return bool(engine.dispatch_to_sub_agent("Find the callers").refused)


def is_delegated(calls: float, tokens: float, text: str = "Find the callers.") -> bool:
    return not sub_agent.reason_against(text, calls, tokens)


def notes(*lines: tuple[str, str]) -> list[str]:
    """The words with which the lines of notes begin, in their order."""
    made = Notes()
    for category, importance in lines:
        made.write(category, f"{category}-{importance} " + "word " * 400, importance)
    text = made.for_context(Words().tokens)
    assert Words().tokens(text) <= 2_000
    return [line.split()[2] for line in text.split("\n") if line.startswith("- ")]


def budget(used: int = 0, **more: Any) -> TokenBudgetManager:
    made = TokenBudgetManager(**more)
    made.track(RESULTS, used)
    return made


def gate(tokens: int) -> tuple[bool, bool]:
    """Whether so many tokens may be added to tool results, and whether there is a warning."""
    verdict = budget().check_before_add(RESULTS, tokens)
    return verdict.allowed, bool(verdict.warning)


def urgency(turns: float) -> str:
    """How urgent a budget is that lasts so many turns."""
    made = budget()
    made.record_turn({RESULTS: round(made.budgets[RESULTS].remaining / turns)})
    return made.urgency(RESULTS)


def burn_rate() -> float:
    made = budget()
    for tokens in [9_000, *([100] * 20)]:
        made.record_turn(tokens)
    return made.burn_rate


def managed(share: float, before: float | None = None) -> tuple[str, float, list[str]]:
    """What a manager does at a utilisation, what is filled afterwards, and why the state was saved."""
    messages = long_talk(12).messages
    size = 400_000
    taken: list[Decision] = []
    config = {"max_context_tokens": size}
    manager = ContextWindowManager.from_config(config, audit=taken.append, state_manager=Kept())
    if before is not None:
        manager.on_turn_start(messages, round(before * size))
    start = manager.on_turn_start(messages, round(share * size))
    saves = [one.reason for one in taken if one.event == "checkpoint"]
    return start.action.value, start.utilization_after, saves


class Kept:
    """Keeps the last state."""

    state: TaskState | None = None

    def save(self, state: TaskState) -> str:
        self.state = state
        return "w1-v1"

    def load(self) -> TaskState | None:
        return self.state

    def bootstrap_prompt(self) -> str:
        return ""


def resumed(folder: Path) -> list[str]:
    """What a new window is told of 12 steps done, 12 planned and 7 decisions."""
    steps = [Step(f"old step {n:02}", DONE) for n in range(12)] + [Step(f"new step {n:02}", PLANNED) for n in range(12)]
    files = StateFiles(folder, "state.json")
    decisions = tuple(f"choice number {n:02}" for n in range(7))
    files.save(TaskState(goal="Port the shop", steps=tuple(steps), decisions=decisions))
    text = files.bootstrap_prompt()
    return [name for name in (f"{kind} {n:02}" for kind in ("old step", "new step", "choice number") for n in range(12))
            if name in text]  # fmt: skip


def alarms(turns: int, **values: float) -> list[str]:
    """The metrics that alarm after so many turns with the same values."""
    made = ContextHealthMonitor()
    for _ in range(turns):
        made.observe(HealthSnapshot(**values))
    return [alert.metric for alert in made.check_alerts()]


def burning(usual: float, now: float) -> list[str]:
    made = ContextHealthMonitor()
    for rate in [*([usual] * 30), now]:
        made.observe(HealthSnapshot(burn_rate=rate))
    return [alert.metric for alert in made.check_alerts()]


def history(turns: int) -> tuple[int, str, int]:
    """How many snapshots are kept of so many turns, the trend of utilisation, and of how many turns that is."""
    made = ContextHealthMonitor()
    for number in range(turns):
        made.observe(HealthSnapshot(utilization=number / 1_000))
    trend = made.trend_report()["utilization"]
    return len(made.history), trend.direction, trend.samples


PRESSURE: dict[str, Row] = {
    "a window of 128,000": (lambda: ContextPressureMonitor().max_context_tokens, 128_000),
    "yellow from 50 %": (lambda: zones(0.499, 0.50), ["green", "yellow"]),
    "orange from 75 %": (lambda: zones(0.749, 0.75), ["yellow", "orange"]),
    "red from 90 %": (lambda: zones(0.899, 0.90), ["orange", "red"]),
    "velocity of the last 5 steps": (lambda: monitor(0, 9_000, 9_100, 9_200, 9_300, 9_400, 9_500).velocity, 100),
    "a spike above 3 times the baseline": (lambda: (spikes(1_000, 3_000), spikes(1_000, 3_001)), (0, 1)),
    "15,000 after steps of 2,000 are a spike": (lambda: spikes(2_000, 2_000, 2_000, 15_000), 1),
    "a baseline with 0.3 of the latest": (lambda: monitor(0, 1_000, 3_000).baseline, 0.3 * 1_500 + 0.7 * 1_000),
    "the model's count goes first": (lambda: ContextPressureMonitor(1_000).measure(100, 600).utilization_pct, 60.0),
    "red in less than 2 turns": (
        lambda: (managed(0.60, before=0.441)[0], managed(0.60, before=0.455)[0]), ("manage", "evaluate")
    ),
}  # fmt: skip
EVICTION: dict[str, Row] = {
    "fifo: a half-life of 10 turns": (lambda: score("fifo", 10), 0.5),
    "lru: a half-life of 5 turns": (lambda: score("lru", 10, last_referenced_turn=6), 0.5),
    "lru: 0.3 for what nothing refers to": (lambda: score("lru", 5), 0.3 * 0.5),
    "priority: recency 0.30 with 15 turns, nearness 0.25 x 0.5, source 0.20 x 0.3, marks 0.10 x 0.5": (
        lambda: score("priority", 15), 0.30 * 0.5 + 0.25 * 0.5 + 0.20 * 0.3 + 0.10 * 0.5
    ),
    "priority: reuse 0.15, full at 5": (
        lambda: [round(score("priority", 15, metadata={"reference_count": n}) - score("priority", 15), 4)
                 for n in (1, 5, 9)], [0.03, 0.15, 0.15]
    ),
    "priority: sources 1.0, 0.7, 0.5": (
        lambda: [round((score("priority", 15, type_) - score("priority", 15)) / 0.20 + 0.3, 4)
                 for type_ in (ContentType.MEMORY_INJECTION, ContentType.ASSISTANT_RESPONSE)], [0.7, 0.5]
    ),
    "type: results live 8 turns": (lambda: (score("type_based", 4), score("type_based", 8)), (0.5, 0.0)),
    "type: answers live 30": (lambda: score("type_based", 15, ContentType.ASSISTANT_RESPONSE), 0.5),
    "type: memory lives 20": (lambda: score("type_based", 10, ContentType.MEMORY_INJECTION), 0.5),
    "type: thinking lives 2, all else 50": (
        lambda: (Scoring().life(ContentType.THINKING), Scoring().life(ContentType.USER_MESSAGE)), (2, 50)
    ),
    "hybrid: recency 0.30, priority 0.25, type 0.20, references 0.15, duplication 0.10": (
        lambda: score("hybrid", 15, metadata={"reference_count": 5}),
        round(0.30 * 0.5 + 0.25 * (0.385 + 0.15) + 0.20 * 0 + 0.15 * 1 + 0.10 * 1, 6),
    ),
    "alike above 0.85": (lambda: (merging_score(0.86), merging_score(0.84) >= 0.15), (0.14, True)),
    "a placeholder of at most 50 tokens": (lambda: 10 < placeholder_tokens() <= 50, True),
}  # fmt: skip
COMPRESSION: dict[str, Row] = {
    "results above 500 tokens, in less than 20 %": (lambda: (summed_up(500), summed_up(502)), (False, True)),
    "whole for 1 turn": (lambda: level_at(1), ("whole", True)),
    "30 % up to 5 turns": (lambda: (level_at(2), level_at(5)), (("L1_key_points", True),) * 2),
    "5 % up to 20 turns": (lambda: (level_at(6), level_at(20)), (("L2_one_line", True),) * 2),
    "1 % above, and 10 tokens": (lambda: level_at(21), ("L3_title", True)),
    "the cascade at 75, 85, 92 and 95 %": (
        lambda: steps(0.74, 0.75, 0.84, 0.85, 0.91, 0.92, 0.94, 0.95), [1, 2, 2, 3, 3, 4, 4, 5]
    ),
    "no compaction below 85 %": (lambda: steps(0.84, 0.85, cascade={0.5: "conversation_compaction"}), [1, 2]),
    "a sub-agent's summary of 2,000 tokens": (lambda: (refused_summary(2_000), refused_summary(2_001)), (False, True)),
    "a subtask of 10 calls": (lambda: (is_delegated(9, 0), is_delegated(10, 0)), (False, True)),
    "a subtask of 50,000 tokens": (lambda: (is_delegated(0, 49_999), is_delegated(0, 50_000)), (False, True)),
    "a subtask in 2 sentences": (
        lambda: (is_delegated(10, 0, "Find all. List them."), is_delegated(10, 0, "Find all. List them. Push.")),
        (True, False),
    ),
    "notes of 2,000 tokens, by category, critical ones first": (
        lambda: notes(("misc", "critical"), ("bugs", "normal"), ("bugs", "critical"), ("learnings", "high"),
                      ("task_progress", "normal")),
        ["task_progress-normal", "bugs-critical", "bugs-normal", "learnings-high"],
    ),
}  # fmt: skip
BUDGET: dict[str, Row] = {
    "6, 4, 65, 12, 8 and 5 % of 128,000": (
        lambda: [one.hard_limit_tokens for one in budget().budgets.values()],
        [7_680, 5_120, 83_200, 15_360, 10_240, 6_400],
    ),
    "code review 6, 5, 60, 18, 6, 5": (
        lambda: [*PROFILES["code-review"].allocations.values()], [0.06, 0.05, 0.60, 0.18, 0.06, 0.05]
    ),
    "research 5, 5, 55, 15, 15, 5": (
        lambda: [*PROFILES["research"].allocations.values()], [0.05, 0.05, 0.55, 0.15, 0.15, 0.05]
    ),
    "customer support 8, 3, 70, 8, 6, 5": (
        lambda: [*PROFILES["customer-support"].allocations.values()], [0.08, 0.03, 0.70, 0.08, 0.06, 0.05]
    ),
    "a warning from 80 %": (lambda: (gate(12_287), gate(12_288)), ((True, False), (True, True))),
    "a refusal above 100 %": (lambda: (gate(15_360)[0], gate(15_361)[0]), (True, False)),
    "4,000 tokens for the answer": (
        lambda: budget(max_context_tokens=20_000).budgets[OUTPUT].hard_limit_tokens, 4_000
    ),
    "less than 4,000 left is an emergency": (
        lambda: [budget(used, max_context_tokens=20_000).needs_emergency_compaction for used in (15_000, 15_001)],
        [False, True],
    ),
    "5 % for what clients miss": (lambda: budget().output_room, 128_000 * 0.95 - 6_400),
    "critical below 3 turns, a warning below 10": (
        lambda: [urgency(turns) for turns in (2.9, 3, 9.9, 10)], ["critical", "warning", "warning", "normal"]
    ),
    "a burn rate of 20 turns": (burn_rate, 100),
}  # fmt: skip
HEALTH: dict[str, Row] = {
    "utilisation above 90 % for 3 turns": (
        lambda: [alarms(n, utilization=share) for n, share in ((2, 0.91), (3, 0.90), (3, 0.91))],
        [[], [], ["utilization"]],
    ),
    "above 5 evicted a turn, sustained": (
        lambda: [alarms(n, eviction_rate=rate) for n, rate in ((1, 9), (3, 5), (3, 6))], [[], [], ["eviction_rate"]]
    ),
    "compressions below 2x, consistently": (
        lambda: [alarms(n, compression_ratio=ratio) for n, ratio in ((2, 1.5), (3, 2.0), (3, 1.9))],
        [[], [], ["compression_ratio"]],
    ),
    "a burn rate above 3 times the usual": (lambda: (burning(100, 300), burning(100, 301)), ([], ["burn_rate"])),
    "fidelity below 0.75": (
        lambda: (alarms(1, fidelity_score=0.75), alarms(1, fidelity_score=0.74)), ([], ["fidelity_score"])
    ),
    "tool results above 30 %": (
        lambda: (alarms(1, tool_result_bloat=0.30), alarms(1, tool_result_bloat=0.31)), ([], ["tool_result_bloat"])
    ),
    "100 snapshots, of which the last 10 make a trend": (lambda: history(120), (100, "rising", 10)),
    "a trend of 5 at least": (lambda: (history(4)[1], history(5)[1]), ("insufficient_data", "rising")),
}  # fmt: skip
MANAGER: dict[str, Row] = {
    "nothing below 50 %": (lambda: managed(0.49)[0], "none"),
    "candidates from 50 %": (lambda: managed(0.51)[0], "evaluate"),
    "steps from 75 %, down to 60 %": (lambda: (managed(0.80)[0], 0.5 < managed(0.80)[1] <= 0.601), ("manage", True)),
    "an emergency from 95 %, down to 60 %": (
        lambda: (managed(0.95)[0], 0.5 < managed(0.95)[1] <= 0.601), ("emergency_compaction", True)
    ),
    "a safety save at 85 %": (
        lambda: (managed(0.84)[2], managed(0.85)[2]),
        (["tokens are about to be removed from the window"], ["the window is so full that the state is saved"]),
    ),
}  # fmt: skip
DEFAULTS: dict[str, Row] = {
    "settings": (
        lambda: (WindowConfig().compression.cascade, WindowConfig().cross_window.auto_save_threshold,
                 msgspec.structs.astuple(AlertThresholds())),
        ({0.75: "tool_result_summarization", 0.85: "progressive", 0.92: "conversation_compaction", 0.95: "sub_agent"},
         0.85, (0.90, 5, 0.75, 2.0, 0.30)),
    ),
}  # fmt: skip
TABLE = {**PRESSURE, **EVICTION, **COMPRESSION, **BUDGET, **HEALTH, **MANAGER, **DEFAULTS}


@pytest.mark.parametrize(("seen", "wanted"), TABLE.values(), ids=TABLE)
def test_required_number_has_its_effect(seen: Callable[[], Any], wanted: Any) -> None:
    assert seen() == pytest.approx(wanted) if isinstance(wanted, float) else seen() == wanted


def test_a_new_window_has_the_last_10_steps_done_the_next_10_and_the_last_5_decisions(tmp_path: Path) -> None:
    told = [f"old step {n:02}" for n in range(2, 12)] + [f"new step {n:02}" for n in range(10)]
    assert {*told, *(f"choice number {n:02}" for n in range(2, 7))} <= set(resumed(tmp_path))
