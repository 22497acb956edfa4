"""Eviction policies on generated sessions: what they save, and what they regret.

The sessions are those of the tests (`tests/window/generated.py`), in three sizes; each is replayed at three budgets.
The baseline is FIFO, the plainest policy that there is.
"""

from __future__ import annotations

import statistics
from itertools import product

from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.window import EvictionPolicy
from memctl.window.eviction.simulation import Replay, Simulation
from memctl.window.messages import reading
from tests.window import generated

_CALLS = (80, 160, 320)
_BUDGETS = (40_000, 70_000, 100_000)
_BASELINE = EvictionPolicy.FIFO


def table(seeds: int) -> None:
    """A row for each policy: so many sessions of each size, at each budget; with 7 it takes minutes."""
    counter = Counter(FAMILIES["claude"])
    cases: list[dict[EvictionPolicy, Replay]] = []
    for calls, seed in product(_CALLS, range(seeds)):
        loaded = reading.load(generated.transcript(seed, calls), "session", whole=True)
        simulation = Simulation(loaded.parse(counter).blocks, counter)
        cases += [{policy: simulation.replay(policy, budget) for policy in EvictionPolicy} for budget in _BUDGETS]
    told = [case for case in cases if case[_BASELINE].evictions]
    print(f"\nEviction policies, {len(_CALLS) * seeds} sessions of {_CALLS} calls at budgets of {_BUDGETS} tokens")
    print(f"  {len(told)} cases of {len(cases)} in which something has to go; means of a case; regret is")
    print("  what has to be got again, in 1,000 tokens for 100 requests; less and more are beside FIFO, in cases")
    print("  policy          saved   regret  regrets/100  over   less  same  more")
    for policy in EvictionPolicy:
        print(f"  {policy.value:<14} {_row(policy, told)}", flush=True)


def _row(policy: EvictionPolicy, cases: list[dict[EvictionPolicy, Replay]]) -> str:
    found = [case[policy] for case in cases]
    saved = statistics.mean(one.saved / (one.saved + one.tokens) for one in found)
    tokens = statistics.mean(one.regret_tokens_per_100_requests for one in found) / 1000
    times = statistics.mean(one.regrets_per_100_requests for one in found)
    over = sum(one.over_budget for one in found)
    pairs = [(case[policy].regret_tokens, case[_BASELINE].regret_tokens) for case in cases]
    less, same = sum(own < other for own, other in pairs), sum(own == other for own, other in pairs)
    return f"{saved:>6.1%} {tokens:>8.1f} {times:>12.1f} {over:>5} {less:>6} {same:>5} {len(pairs) - less - same:>5}"
